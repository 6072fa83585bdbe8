"""Warm starts over C: the same optima, a chain that continues exactly, runs and experiments that use it."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from helpers.runs import PLAN, model
from helpers.training import FAMILIES, prepared

from mtparse.config.run import load_config
from mtparse.experiment import grid as module
from mtparse.experiment.grid import reproduce
from mtparse.experiment.plan import load_plan
from mtparse.experiment.run import train
from mtparse.runtime.threads import Workers
from mtparse.training.trainers.log_linear import train_log_linear
from mtparse.training.trainers.max_margin import train_max_margin

FAMILY = FAMILIES[1]


def run(train_model, rows, columns, passes_seen=None, **options):
    def on_pass(record, u):
        if passes_seen is not None:
            passes_seen.append(record)
        return False

    with Workers() as workers:
        return train_model(rows, columns, FAMILY, on_pass=on_pass, workers=workers, **options)


@pytest.mark.nojit
@pytest.mark.parametrize("optimizer", ["lbfgs", "cg"])
def test_log_linear_comes_to_the_same_optimum(optimizer):
    rows, columns, *_ = prepared(3, size=8)
    options = {"passes": 400, "optimizer": optimizer, "tolerance": 1e-6}
    cold = run(train_log_linear, rows, columns, C=0.3, **options)
    before = run(train_log_linear, rows, columns, C=0.25, **options)
    warm = run(train_log_linear, rows, columns, C=0.3, start=before.state, **options)
    assert cold.converged
    assert warm.converged
    np.testing.assert_allclose(warm.u, cold.u, atol=1e-4 * np.abs(cold.u).max())
    assert warm.passes < cold.passes
    again = run(train_log_linear, rows, columns, C=0.3, start=warm.state, **{**options, "tolerance": 1e-5})
    assert again.passes <= 1


def test_max_margin_comes_to_the_same_optimum():
    rows, columns, *_ = prepared(3, size=8)
    options = {"passes": 4000, "tolerance": 1e-6}
    from_scratch, from_before = [], []
    cold = run(train_max_margin, rows, columns, from_scratch, C=0.1, **options)
    # From a vertex of the dual's domain exponentiated gradient hardly gets away: not to the end before.
    before = run(train_max_margin, rows, columns, C=0.05, passes=30)
    warm = run(train_max_margin, rows, columns, from_before, C=0.1, start=before.state, **options)
    assert from_before[0].dual > from_scratch[0].dual
    assert cold.converged
    assert warm.converged
    np.testing.assert_allclose(warm.u, cold.u, atol=1e-2 * np.abs(cold.u).max())


@pytest.mark.nojit
@pytest.mark.parametrize("step", ["adaptive", "paper"])
def test_max_margin_goes_on_from_its_own_state(step):
    rows, columns, *_ = prepared(5)
    options = {"C": 0.125, "step": step, "tolerance": 0.0}
    whole = run(train_max_margin, rows, columns, passes=6, **options)
    first = run(train_max_margin, rows, columns, passes=3, **options)
    kept = {name: array.copy() for name, array in first.state.items()}
    second = run(train_max_margin, rows, columns, passes=3, start=first.state, **options)
    np.testing.assert_array_equal(second.u, whole.u)
    for name, array in first.state.items():
        np.testing.assert_array_equal(array, kept[name])


def plan(small, tmp_path, more=""):
    trainers = "trainers:\n  max-margin: {C: [0.1, 0.02, 0.3], passes: 2, warm_start: true}\n"
    text = PLAN.format(root=small, more=more).replace("trainers:\n", trainers)
    (tmp_path / "plan.yaml").write_text(text.replace("passes: 3}", "passes: 3, warm_start: true}"))
    return load_plan(tmp_path / "plan.yaml").only(["one"])


def test_an_experiment_resumes_a_chain(small, tmp_path, monkeypatch):
    """Interrupted and resumed at any link, refitted, each run is what train makes of its config."""
    experiment = plan(small, tmp_path, "refit: true\ntrees: [nonprojective]")
    whole = tmp_path / "whole"
    text = reproduce(experiment, os.fspath(whole), jobs=2)
    real = module.run_trainer
    out = tmp_path / "out"

    trained = 0

    def one_run(*arguments, **options):
        """Train what is not stored yet, once; then interrupt."""
        nonlocal trained
        if options["checkpoint"].finished() is None:
            trained += 1
            if trained == 2:
                raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(module, "run_trainer", one_run)
    for _ in range(6):
        trained = 0
        try:
            reproduce(experiment, os.fspath(out), jobs=1, resume=out.exists())
        except KeyboardInterrupt:
            continue
    assert (out / "tables" / "tables.md").read_text() == text
    for cell in ("one-max-margin-nonprojective", "one-log-linear-nonprojective"):
        config = load_config(out / "runs" / cell / "config.yaml")
        assert config.trainer.warm_start
        train(config, os.fspath(tmp_path / cell), jobs=1)
        expected = (tmp_path / cell / "model.mtparse").read_bytes()
        assert model(out, cell) == expected == model(whole, cell)


def test_refit_goes_through_the_chain_again(small, tmp_path):
    experiment = plan(small, tmp_path, "refit: true\ntrees: [projective]")
    reproduce(experiment, os.fspath(tmp_path / "out"), jobs=1)
    folder = tmp_path / "out" / "runs" / "one-max-margin-projective"
    scores = json.loads((folder / "scores.json").read_text())
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    refitted = [(r["C"], r["passes"]) for r in log if r["refit"] and r["event"] == "end"]
    smaller = [(e["C"], e["passes"]) for e in scores["ended"] if e["C"] < scores["C"]]
    assert refitted == [*smaller, (scores["C"], scores["passes"])]
