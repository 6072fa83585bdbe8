"""Trainers where there is nothing to learn, too much to count, or no lower point to find."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from helpers.made_up import TEMPLATES
from helpers.training import FAMILIES, TRAINERS, collect, prepared

from mtparse.features.index import FeatureIndex
from mtparse.inference.parts import Structure
from mtparse.runtime.threads import Workers
from mtparse.training.build_design import extract_training
from mtparse.training.objectives import log_linear_loss
from mtparse.training.trainers.log_linear import train_log_linear

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("optimizer", ["lbfgs", "cg"])
def test_a_line_search_that_fails_leaves_the_lowest_point_and_its_reason(optimizer):
    rows, columns, _, _ = prepared(15)
    options = {"C": 1.0, "passes": 3000, "tolerance": 0.0, "optimizer": optimizer}
    passes, weights, result = collect(train_log_linear, rows, columns, FAMILIES[1], **options)
    assert not result.converged
    assert result.reason.startswith("the line search found no lower point after ")
    assert result.passes == len(passes) < 3000
    assert passes[-1].objective == min(p.objective for p in passes)
    np.testing.assert_array_equal(columns.feature_weights(result.u), weights[-1])


@pytest.mark.parametrize("name", TRAINERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_one_word_sentences_leave_nothing_to_learn(name, family):
    train, options = TRAINERS[name]
    sentences = [[["1", form, "_", "X", "X", "_", "0", "x", "_", "_"]] for form in ("Va", "!", "_")]
    heads = [np.array([-1, 0])] * 3
    index = FeatureIndex.build(sentences, heads, TEMPLATES)
    rows, columns = extract_training(index, sentences, heads)
    passes, _, result = collect(train, rows, columns, family, **options)
    assert result.converged
    assert {p.wrong if name == "perceptron" else p.objective for p in passes} == {0}
    assert not result.u.any()


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="five hundred words need compiled kernels")
@pytest.mark.parametrize(
    ("family", "loss"),
    [(Structure(False, True), 499 * np.log(500)), (Structure(True, True), 943.229529)],
)
def test_one_sentence_of_five_hundred_words(family, loss):
    """The loss at zero weights is the logarithm of the number of trees, beyond what float64 can count."""
    heads = [np.arange(-1, 500)]
    sentences = [[[str(i), "la", "_", "X", "X", "_", str(i - 1), "x", "_", "_"] for i in range(1, 501)]]
    index = FeatureIndex.build(sentences, heads, ["", "Hw Mw"])
    rows, columns = extract_training(index, sentences, heads)
    with Workers() as workers:
        found, gradient = log_linear_loss(rows, family, np.zeros(len(columns)), workers)
    assert found == pytest.approx(loss, rel=1e-9)
    assert np.isfinite(gradient).all()
    passes, _, _ = collect(train_log_linear, rows, columns, family, C=1.0, passes=1)
    assert 0 <= passes[0].objective < found
