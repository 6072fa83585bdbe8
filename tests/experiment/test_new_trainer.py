"""The recipe of CONTRIBUTING.md: a trainer of one module and one place in a list does all that others do."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from helpers.project import DEMO
from helpers.runs import log_of
from helpers.toy_trainer import StochasticGradient

from mtparse.config.run import config_to_dict, load_config
from mtparse.errors import ConfigError
from mtparse.experiment.grid import reproduce
from mtparse.experiment.plan import load_plan
from mtparse.experiment.run import train
from mtparse.training.loop import Loop
from mtparse.training.trainers import TRAINERS

DRAWS = True

pytestmark = pytest.mark.nojit


@pytest.fixture(autouse=True)
def listed(monkeypatch):
    monkeypatch.setitem(TRAINERS, StochasticGradient.name, StochasticGradient)


def config(small, *overrides):
    sets = ["trainer.name=stochastic-gradient", "trainer.passes=3"]
    return load_config(small / "run.yaml", [*sets, "trainer.C=[0.1, 1]", *overrides])


def test_its_fields_are_the_keys_of_a_config(small):
    found = config(small, "trainer.rate=0.1", "trainer.shuffle=true")
    assert found.trainer == StochasticGradient(passes=3, C=(0.1, 1.0), rate=0.1, shuffle=True)
    assert config_to_dict(found)["trainer"] == {
        "name": "stochastic-gradient", "passes": 3, "patience": 0,
        "rate": 0.1, "C": [0.1, 1.0], "shuffle": True,
    }  # fmt: skip
    with pytest.raises(ConfigError, match=r"trainer.rate=11: must be a number from 0 to 10"):
        config(small, "trainer.rate=11")
    with pytest.raises(ConfigError, match=r"trainer.rate = 1: rate has no meaning for the perceptron"):
        load_config(small / "run.yaml", ["trainer.name=perceptron", "trainer.C=", "trainer.rate=1"])
    with pytest.raises(ConfigError, match=r"unknown key trainer.rates; did you mean trainer.rate\?"):
        config(small, "trainer.rates=1")


def test_it_trains_and_tunes(small, tmp_path):
    summary = train(config(small), os.fspath(tmp_path / "r"), jobs=1)
    assert [end["C"] for end in summary["ended"]] == [0.1, 1.0]
    passes = [record for record in log_of(tmp_path / "r") if record["event"] == "pass"]
    assert len(passes) == 6
    best = max(max(p["valid_uas_mst"], p["valid_uas_eisner"]) for p in passes)
    assert summary["valid"]["all_tokens"] == best > 50
    for C in (0.1, 1.0):
        first, *_, last = (p["objective"] for p in passes if p["C"] == C)
        assert last < first


def test_it_resumes_to_the_same_model(small, tmp_path, monkeypatch):
    settings = config(small, "checkpoint=1", "trainer.shuffle=true")
    train(settings, os.fspath(tmp_path / "whole"), jobs=1)
    run, seen = StochasticGradient.train, []

    def dying(self, problem, C, loop):
        def on_pass(record, u):
            seen.append((C, record.number))
            if len(seen) in (2, 5):
                raise OSError("the power failed")
            return loop.on_pass(record, u)

        changed = {name: getattr(loop, name) for name in Loop.__dataclass_fields__} | {"on_pass": on_pass}
        return run(self, problem, C, Loop(**changed))

    monkeypatch.setattr(StochasticGradient, "train", dying)
    for resume in (False, True):
        with pytest.raises(OSError, match="power"):
            train(settings, os.fspath(tmp_path / "r"), jobs=1, resume=resume)
    train(settings, os.fspath(tmp_path / "r"), jobs=1, resume=True)
    assert seen == [(0.1, 1), (0.1, 2), (0.1, 2), (0.1, 3), (1.0, 1), (1.0, 1), (1.0, 2), (1.0, 3)]
    model = (tmp_path / "r" / "model.mtparse").read_bytes()
    assert model == (tmp_path / "whole" / "model.mtparse").read_bytes()


def test_it_reproduces_a_demo_language(tmp_path):
    (tmp_path / "plan.yaml").write_text(
        f"data: {{root: {DEMO}/avelu, valid: {{sentences: 5}}}}\n"
        "languages: {turkish: {train: valid.conll, test: test.conll}}\n"
        "trees: [nonprojective]\n"
        "trainers: {perceptron: {passes: 1}, stochastic-gradient: {passes: 1, C: 0.1}}\n"
        "features: {set: mcdonald}\n"
        "shared_task: conllx\n"
    )
    tables = reproduce(load_plan(tmp_path / "plan.yaml"), os.fspath(tmp_path / "out"), jobs=1)
    assert "| stochastic-gradient |" in tables
    rows = json.loads((tmp_path / "out" / "tables" / "paper.json").read_text())
    ours = {row["trainer"]: row for row in rows if row["language"] == "turkish"}
    assert ours["stochastic-gradient"]["paper"] is None
    assert ours["perceptron"]["paper"] == 71.70
    assert np.isfinite(ours["stochastic-gradient"]["UAS"])
    assert (tmp_path / "out" / "tables" / "figure.svg").exists()
