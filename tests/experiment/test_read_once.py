"""How often a command opens and parses each treebank: training files once, whatever the runs made of them."""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter

import pytest
from helpers.project import first_sentences
from helpers.runs import train_small

from mtparse.experiment import grid
from mtparse.experiment.grid import reproduce
from mtparse.experiment.plan import load_plan
from mtparse.treebank import gold

nojit = pytest.mark.nojit

PLAN = """\
languages:
  one: {train: train.conll, valid: valid.conll, test: test.conll}
  two: {train: [a.conll, b.conll], valid: {fraction: 0.3}, test: c.conll}
trainers:
  perceptron: {passes: 1}
  log-linear: {C: 0.1, passes: 1}
features: {set: mcdonald}
"""
CELLS = 4
"""Runs of a language of the plan."""

_listeners: list = []


def _hook(event: str, arguments: tuple) -> None:
    if event == "open" and _listeners and isinstance(arguments[0], str):
        _listeners[-1](arguments[0])


sys.addaudithook(_hook)  # hears whatever opens a file; it cannot be taken away again


@pytest.fixture
def files(small, tmp_path):
    """A folder of a few sentences of the small treebank, each file read by one language only."""
    (tmp_path / "data").mkdir()
    shutil.copy(small / "run.yaml", tmp_path / "data")
    parts = {"train": "train", "valid": "valid", "test": "test", "a": "train", "b": "valid", "c": "test"}
    for name, part in parts.items():
        (tmp_path / "data" / f"{name}.conll").write_text(first_sentences(small / f"{part}.conll", 6))
    (tmp_path / "data" / "plan.yaml").write_text(PLAN)
    return tmp_path / "data"


@pytest.fixture
def counts(files, monkeypatch):
    """How often each file of the folder is opened, and how often parsed."""
    opened, parsed = Counter(), Counter()

    def hear(path: str) -> None:
        if path.endswith(".conll") and os.path.dirname(path) == os.fspath(files):
            opened[os.path.basename(path)] += 1

    def read(path, data, **options):
        parsed[os.path.basename(path)] += 1
        return real(path, data, **options)

    real = gold._read
    monkeypatch.setattr(gold, "_read", read)
    _listeners.append(hear)
    yield opened, parsed
    _listeners.remove(hear)


@nojit
def test_train_reads_training_files_once(files, counts, tmp_path):
    train_small(files, tmp_path / "run", "trainer.passes=1", "refit=true")
    once = {"train.conll": 1, "valid.conll": 1, "test.conll": 2}  # to check it, and to parse it at the end
    assert counts == (once, once)


@nojit
def test_train_reads_the_file_of_a_fold_once(files, counts, tmp_path):
    fold = ["data.valid={fraction: 0.2}", "data.test={fold: 2, of: 3}"]
    train_small(files, tmp_path / "run", "trainer.passes=1", "data.train=[a.conll, b.conll]", *fold)
    assert counts == ({"a.conll": 1, "b.conll": 1},) * 2


@nojit
def test_reproduce_reads_training_files_once(files, counts, tmp_path):
    reproduce(load_plan(files / "plan.yaml"), os.fspath(tmp_path / "out"), jobs=1)
    tested = {"test.conll": 1 + CELLS, "c.conll": 1 + CELLS}
    once = {**dict.fromkeys(("train.conll", "valid.conll", "a.conll", "b.conll"), 1), **tested}
    assert counts == (once, once)


def test_reproduce_reads_the_file_of_all_folds_once(files, counts, tmp_path):
    text = PLAN.replace("valid: valid.conll, test: test.conll", "valid: {fraction: 0.4}")
    (files / "plan.yaml").write_text(text.replace(", test: c.conll", "") + "folds: 2\n")
    reproduce(load_plan(files / "plan.yaml"), os.fspath(tmp_path / "out"), jobs=1)
    once = dict.fromkeys(("train.conll", "a.conll", "b.conll"), 1)
    assert counts == (once, once)


def test_resume_reads_no_training_file_twice(files, counts, tmp_path):
    """Files of a finished language are only hashed, those of one with a missing run read, all once."""
    opened, parsed = counts
    plan, out = load_plan(files / "plan.yaml", ["trees=[projective]"]), tmp_path / "out"
    reproduce(plan, os.fspath(out), jobs=1)
    (out / "runs" / "two-perceptron-projective" / "scores.json").unlink()
    opened.clear()
    parsed.clear()
    reproduce(plan, os.fspath(out), jobs=1, resume=True)
    hashed = dict.fromkeys(("train.conll", "valid.conll", "test.conll"), 1)
    assert opened == {**hashed, "a.conll": 1, "b.conll": 1, "c.conll": 2}
    assert parsed == {"a.conll": 1, "b.conll": 1, "c.conll": 2}


def test_a_file_that_changes_meanwhile_changes_nothing(files, tmp_path, monkeypatch):
    """What was checked is what is trained on."""
    plan = load_plan(files / "plan.yaml")
    reproduce(plan, os.fspath(tmp_path / "whole"), jobs=1)
    real = grid.prepare

    def prepare(*arguments):
        for name in ("train", "valid", "a", "b"):
            (files / f"{name}.conll").write_text("changed")
        return real(*arguments)

    monkeypatch.setattr(grid, "prepare", prepare)
    reproduce(plan, os.fspath(tmp_path / "out"), jobs=1)
    for cell in plan.cells:
        made, wanted = (tmp_path / name / "runs" / str(cell) for name in ("out", "whole"))
        for name in ("model.mtparse", "parsed.conll"):
            assert (made / name).read_bytes() == (wanted / name).read_bytes()
