"""Small training sets, every trainer with settings for them, and what a trainer says on its way."""

from __future__ import annotations

from helpers.made_up import TEMPLATES, made_up

from mtparse.features.index import FeatureIndex
from mtparse.inference.parts import Structure
from mtparse.runtime.threads import Workers
from mtparse.training.build_design import extract_training
from mtparse.training.trainers.log_linear import train_log_linear
from mtparse.training.trainers.max_margin import train_max_margin
from mtparse.training.trainers.perceptron import train_perceptron
from mtparse.treebank.projectivize import projectivize

FAMILIES = [Structure(projective, single) for projective in (False, True) for single in (False, True)]


def prepared(seed=0, size=5, longest=6, projective=False, merge=True):
    """Rows and columns of a few random single-root trees."""
    sentences, heads = made_up(seed, size, longest)
    if projective:
        heads = [projectivize(h, "single") for h in heads]
    index = FeatureIndex.build(sentences, heads, TEMPLATES)
    return (*extract_training(index, sentences, heads, merge=merge), sentences, heads)


def collect(train, rows, columns, family, **options):
    """Run a trainer; its passes, the weights after each, and the result."""
    passes, weights = [], []

    def on_pass(record, u):
        passes.append(record)
        weights.append(columns.feature_weights(u))
        return False

    with Workers() as workers:
        result = train(rows, columns, family, on_pass=on_pass, workers=workers, **options)
    return passes, weights, result

TRAINERS = {
    "perceptron": (train_perceptron, {"passes": 5}),
    "lbfgs": (train_log_linear, {"passes": 12, "C": 0.7}),
    "cg": (train_log_linear, {"passes": 8, "C": 0.7, "optimizer": "cg"}),
    "adaptive": (train_max_margin, {"passes": 6, "C": 0.5}),
    "paper": (train_max_margin, {"passes": 6, "C": 0.05, "step": "paper"}),
}
