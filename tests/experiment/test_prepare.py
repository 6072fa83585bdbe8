"""What trainers see of a treebank: its trees, made projective where the model's are, and nothing else."""

from __future__ import annotations

import io

import numpy as np
import pytest
from helpers import oracles

from mtparse.config.run import config_from_dict, load_config
from mtparse.experiment.prepare import prepare
from mtparse.experiment.run import train
from mtparse.runtime.progress import Progress
from mtparse.runtime.threads import Workers
from mtparse.treebank.conll import read_conll
from mtparse.treebank.gold import Treebank

pytestmark = pytest.mark.nojit


def treebank(trees) -> Treebank:
    text = "".join(
        "".join(f"{m}\tw{m}\t_\tT{m}\tT{m}\t_\t{h}\t_\t_\t_\n" for m, h in enumerate(tree[1:], 1)) + "\n"
        for tree in trees
    )
    sentences = list(read_conll(io.BytesIO(text.encode())))
    return Treebank(sentences, [np.array(tree, np.int64) for tree in trees])


def trained_on(tmp_path, trees, kind: str, single: bool):
    """The gold trees as the trainer gets them."""
    config = config_from_dict({"data": {"train": "t"}, "trees": kind}, tmp_path, name="t")
    with Workers() as workers:
        _, data = prepare(config, treebank(trees), None, single, workers, Progress(quiet=True))
    assert data.structure.single == single
    assert data.structure.projective == (kind == "projective")
    rows = data.design
    return [rows.gold[rows.first_word[s] : rows.first_word[s + 1]].tolist() for s in range(rows.sentences)]


def shared(a, b) -> int:
    return sum(x == y for x, y in zip(a[1:], b[1:], strict=True))


@pytest.mark.parametrize("single", [True, False])
def test_trees_are_projectivized_within_the_family(single, tmp_path):
    """To a nearest tree of those that the model chooses from: with one root where its trees have one."""
    trees = oracles.all_trees(5, False, single).tolist()[::23]
    allowed = oracles.all_trees(5, True, single).tolist()
    several = 0
    for tree, seen in zip(trees, trained_on(tmp_path, trees, "projective", single), strict=True):
        if tree in allowed:
            assert seen == tree
            continue
        assert seen in allowed
        assert shared(tree, seen) == max(shared(tree, other) for other in allowed)
        several += tree.count(0) == 1 and seen.count(0) > 1
    assert bool(several) == (not single)


def test_nonprojective_models_see_the_trees_as_they_are(tmp_path):
    trees = oracles.all_trees(4, False, False).tolist()[::5]
    assert trained_on(tmp_path, trees, "nonprojective", False) == trees


def test_a_template_that_is_there_already_is_warned_of(small, tmp_path, capsys):
    templates = 'features.templates=["Mp Hp", "Hs1 Mp+1", "Mp+1 Hs1"]'
    config = load_config(small / "run.yaml", ["trainer.passes=1", templates])
    train(config, str(tmp_path / "r"), progress=Progress(quiet=True))
    lines = [line for line in capsys.readouterr().err.splitlines() if "features.templates" in line]
    assert lines == [
        f"mtparse: warning: features.templates: {text!r} changes nothing, it is there already"
        for text in ("Mp Hp", "Mp+1 Hs1")
    ]
