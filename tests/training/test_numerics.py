"""Training stops, with sentence and pass, where a number is not finite or a loss is below its bound."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.runs import SETTINGS, train_small
from helpers.training import FAMILIES, prepared

from mtparse.errors import MtparseError, NumericsError
from mtparse.inference.parts import Structure, arc_number
from mtparse.runtime.threads import Workers
from mtparse.training.loop import Resumed
from mtparse.training.objectives import log_linear_loss, max_margin_loss
from mtparse.training.trainers import log_linear, max_margin, perceptron
from mtparse.treebank.trees import is_projective

nojit = pytest.mark.nojit

TRAIN = {
    "perceptron": perceptron.train_perceptron,
    "max-margin": max_margin.train_max_margin,
}


def broken_state(name, rows, columns, value):
    """The state of a run after pass 3 in which one weight of the second sentence's arcs is no number."""
    u = np.zeros(len(columns))
    shared = set(rows.arcs.indices[: rows.arcs.starts[rows.first_arc[1]]].tolist())
    own = rows.arcs.indices[rows.arcs.starts[rows.first_arc[1]] : rows.arcs.starts[rows.first_arc[2]]]
    u[next(c for c in own.tolist() if c not in shared)] = value
    if name == "perceptron":
        return {"u": u, "total": np.zeros(len(columns))}
    theta = np.zeros(rows.parts)
    state = {"theta": theta, "mu": theta + 0.1, "u": u, "eta": np.ones(rows.sentences)}
    return {**state, "dual": np.zeros(1)}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", TRAIN)
def test_a_weight_that_is_no_number_stops_a_sequential_trainer(name, family, value):
    rows, columns, _, _ = prepared(projective=family.projective)
    options = {} if name == "perceptron" else {"C": 0.1}
    resumed = Resumed(3, broken_state(name, rows, columns, value))
    with Workers() as workers, pytest.raises(NumericsError, match=r"training sentence 2, pass 4: a score"):
        TRAIN[name](
            rows, columns, family,
            passes=9, on_pass=lambda *_: False, workers=workers, resumed=resumed, **options,
        )  # fmt: skip


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("loss", [log_linear_loss, max_margin_loss])
def test_a_weight_that_is_no_number_stops_an_objective(loss, family, value):
    rows, columns, _, _ = prepared(projective=family.projective)
    u = broken_state("perceptron", rows, columns, value)["u"]
    with Workers() as workers, pytest.raises(NumericsError) as caught:
        loss(rows, family, u, workers, 7)
    assert (caught.value.sentence, caught.value.number) == (1, 7)


@nojit
@pytest.mark.parametrize("loss", [log_linear_loss, max_margin_loss])
def test_a_tree_of_another_family_makes_no_negative_loss(loss):
    rows, columns, _, heads = prepared()
    crossed = next(s for s, tree in enumerate(heads) if not is_projective(tree))
    u = np.zeros(len(columns))
    for m, h in enumerate(heads[crossed][1:], 1):  # the tree with crossing arcs shall be the best by far
        arc = rows.first_arc[crossed] + arc_number(h, m, len(heads[crossed]) - 1)
        u[rows.arcs.indices[rows.arcs.starts[arc] : rows.arcs.starts[arc + 1]]] = 100.0
    with Workers() as workers, pytest.raises(NumericsError, match="the loss is below 0"):
        loss(rows, Structure(True, False), u, workers)


@pytest.mark.parametrize("name", ["log-linear", "cg", "max-margin", "perceptron"])
def test_a_run_names_the_line_of_the_sentence(name, small, tmp_path, monkeypatch):
    module = {"max-margin": max_margin, "perceptron": perceptron}.get(name, log_linear)

    def broken(*args):
        raise NumericsError(2, 5)

    kernel = {"max-margin": "sweep", "perceptron": "perceptron_pass"}.get(name, "log_linear_loss")
    monkeypatch.setattr(module, kernel, broken)
    line = sum(len(t.split("\n")) + 1 for t in (small / "train.conll").read_text().split("\n\n")[:2]) + 1
    with pytest.raises(MtparseError, match=rf"train.conll:{line}: training sentence 3, pass 5: "):
        train_small(small, tmp_path / "r", *SETTINGS[name])
