"""What is kept of a run: states that come back as they were, to the run that kept them, and when."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest
from helpers.runs import train_small

from mtparse.config.run import load_config
from mtparse.errors import MtparseError
from mtparse.experiment import run_directory
from mtparse.experiment.run import train
from mtparse.training.checkpoints import Candidate, Checkpoint, Unfinished

pytestmark = pytest.mark.nojit


def test_a_state_is_kept_after_so_many_passes(tmp_path):
    checkpoint, kept = Checkpoint(str(tmp_path / "c"), "perceptron", 3), []
    for number in range(1, 8):
        checkpoint.keep(number, Unfinished(), lambda number=number: kept.append(number) or {})
    assert kept == [3, 6]


def test_states_come_back_as_they_were_to_the_run_that_kept_them(tmp_path):
    best = {"mst": Candidate(0.1, 2, "mst", 7, {"all_tokens": 70.0}, np.arange(4.0))}
    so_far = Unfinished(best, 2, [{"pass": 1}, {"pass": 2}])
    path = str(tmp_path / "run C=0.1")
    Checkpoint(path, "perceptron", 1).keep(2, so_far, lambda: {"u": np.ones(4)})
    back = Checkpoint(path, "perceptron", 1).unfinished()
    assert (back.latest_best, back.records, back.resumed.passes) == (2, so_far.records, 2)
    np.testing.assert_array_equal(back.resumed.arrays["u"], np.ones(4))
    np.testing.assert_array_equal(back.best["mst"].u, np.arange(4.0))
    assert back.best["mst"].right == 7
    assert Checkpoint(path, "max-margin", 1).unfinished() == Unfinished()
    os.rename(f"{path}.state", tmp_path / "run C=0.2.state")
    assert Checkpoint(str(tmp_path / "run C=0.2"), "perceptron", 1).unfinished() == Unfinished()


def test_a_finished_run_of_other_settings_is_not_taken_for_this_one(run, tmp_path):
    shutil.copytree(run, tmp_path / "r")
    config = load_config(tmp_path / "r" / "config.yaml", ["trainer.passes=9"])
    with pytest.raises(MtparseError, match=r"trainer.passes differs from what the run began with"):
        train(config, os.fspath(tmp_path / "r"), resume=True)


def test_the_log_is_on_disk_before_checkpoints_go(small, tmp_path, monkeypatch):
    """After a crash of the system, what a finished run says of itself is there."""
    synced, fsync, complete = set(), os.fsync, run_directory.RunDirectory.complete

    def watched(descriptor):
        fsync(descriptor)
        synced.add((os.fstat(descriptor).st_ino, os.fstat(descriptor).st_size))

    def completed(self):
        log = os.stat(tmp_path / "r" / "log.jsonl")
        assert (log.st_ino, log.st_size) in synced
        complete(self)

    monkeypatch.setattr(os, "fsync", watched)
    monkeypatch.setattr(run_directory.RunDirectory, "complete", completed)
    train_small(small, tmp_path / "r", "trainer.passes=1")
    assert not (tmp_path / "r" / "checkpoint").exists()
