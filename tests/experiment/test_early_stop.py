"""``scripts/experiments/early_stop`` says of the logs of whole runs what runs with patience choose."""

from __future__ import annotations

import os
from types import ModuleType

from helpers.project import ROOT
from helpers.runs import PLAN

from mtparse.config.run import load_config
from mtparse.experiment.grid import reproduce
from mtparse.experiment.plan import load_plan
from mtparse.experiment.run import train


def script() -> ModuleType:
    """The script as a module."""
    path = ROOT / "scripts" / "experiments" / "early_stop"
    module = ModuleType("early_stop")
    exec(compile(path.read_text(), path, "exec"), module.__dict__)
    return module


def test_it_chooses_as_training_does(small, tmp_path, monkeypatch, capsys):
    (tmp_path / "plan.yaml").write_text(PLAN.format(root=small, more=""))
    keys = ("passes=9", "patience=0")
    passes = [f"trainers.{name}.{key}" for name in ("perceptron", "log-linear") for key in keys]
    plan = load_plan(tmp_path / "plan.yaml", passes).only(["one"])
    reproduce(plan, os.fspath(tmp_path / "out"), jobs=1)
    early = script()
    shorter = 0
    for cell in plan.cells:
        folder = tmp_path / "out" / "runs" / str(cell)
        runs = early.runs_of(folder / "log.jsonl")
        for patience in (0, 1, 2):
            config = load_config(folder / "config.yaml", [f"trainer.patience={patience}"])
            wanted = train(config, os.fspath(tmp_path / f"{cell}-{patience}"), jobs=1)
            (uas, *chosen), done = early.stopped(config, runs, patience)
            assert chosen == [wanted["C"], wanted["passes"], wanted["decoder"]]
            assert uas == wanted["valid"]["all_tokens"]
            assert done == sum(ended["passes"] for ended in wanted["ended"])
            shorter += done < sum(map(len, runs))
    assert shorter
    monkeypatch.setattr("sys.argv", ["early_stop", os.fspath(tmp_path / "out")])
    early.main()
    assert "| 10 | 0 of 4 | 0.00 | 0 % |" in capsys.readouterr().out
