"""Experiments interrupted in the middle of a training."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from helpers.runs import PLAN, model

from mtparse.experiment.grid import reproduce
from mtparse.experiment.plan import load_plan
from mtparse.training.checkpoints import Checkpoint
from mtparse.training.trainers import log_linear


def test_an_interruption_within_a_value_of_c_is_resumed_there(small, tmp_path, monkeypatch):
    """Neither the passes before it nor, of a log-linear model, its evaluations are done again."""
    out = os.fspath(tmp_path / "out")
    (tmp_path / "plan.yaml").write_text(PLAN.format(root=small, more=""))
    plan = load_plan(tmp_path / "plan.yaml").only(["one"])
    plan = replace(plan, cells={cell: replace(config, checkpoint=1) for cell, config in plan.cells.items()})
    keep, evaluate_once = Checkpoint.keep, log_linear.log_linear_loss
    kept, evaluations = [], []

    def dying(self, number, *arguments):
        keep(self, number, *arguments)
        kept.append(number)
        if len(kept) in (1, 4):
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "keep", dying)
    monkeypatch.setattr(
        log_linear, "log_linear_loss", lambda *a: evaluations.append(1) or evaluate_once(*a)
    )
    for resume in (False, True):
        with pytest.raises(KeyboardInterrupt):
            reproduce(plan, out, jobs=1, resume=resume)
    reproduce(plan, out, jobs=1, resume=True)
    trained = len(evaluations)
    evaluations.clear()
    reproduce(plan, os.fspath(tmp_path / "again"), jobs=1)
    assert trained == len(evaluations)
    for cell in map(str, plan.cells):
        assert model(tmp_path / "out", cell) == model(tmp_path / "again", cell)
