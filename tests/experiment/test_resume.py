"""Interrupted training goes on to the very model of an uninterrupted run, and refuses what it cannot do."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.runs import SETTINGS, log_of, train_small

from mtparse.config.run import load_config
from mtparse.errors import MtparseError
from mtparse.experiment import run_directory, tuning
from mtparse.experiment.run import train
from mtparse.runtime.array_file import read_packed, write_packed
from mtparse.runtime.progress import Progress
from mtparse.training import checkpoints
from mtparse.training.checkpoints import Candidate, Checkpoint, Trial, Unfinished
from mtparse.training.loop import TrainResult
from mtparse.training.replay import Journal
from mtparse.training.trainers import LogLinear

nojit = pytest.mark.nojit

FILES = [
    "config.yaml", "curves.csv", "log.jsonl", "model.mtparse", "parsed.conll", "scores.json", "sentences.csv",
]  # fmt: skip


class Stop(BaseException):
    """What no handler of the program expects: as if the process were killed."""


def killed_after(monkeypatch, count: int) -> None:
    """From the ``count``-th pass of a process on, die: before or, every other time, after the checkpoint."""
    done = 0
    keep = Checkpoint.keep

    def dying(self, *args):
        nonlocal done
        done += 1
        if done == count and count % 2:
            raise Stop
        keep(self, *args)
        if done == count:
            raise Stop

    monkeypatch.setattr(Checkpoint, "keep", dying)


def meanwhile(monkeypatch, work) -> None:
    """Let another process do something just before this one locks its run directory."""
    lock = run_directory.lock_directory

    def late(path):
        monkeypatch.undo()
        work()
        return lock(path)

    monkeypatch.setattr(run_directory, "lock_directory", late)


def resume(small, out, *overrides, **options):
    return train(load_config(small / "run.yaml", overrides), os.fspath(out), jobs=1, resume=True, **options)


CASES = {
    "perceptron": [*SETTINGS["perceptron"], "trainer.shuffle=true"],
    "log-linear": ["trainer.C=[0.02, 0.1]"],
    "cg": SETTINGS["cg"],
    "max-margin": [*SETTINGS["max-margin"], "trainer.shuffle=true"],
    "paper": SETTINGS["paper"],
    "warm": ["trainer.name=max-margin", "trainer.C=[0.02, 0.05]", "trainer.warm_start=true"],
}


@nojit
def test_resuming_is_said(small, tmp_path, monkeypatch, capsys):
    overrides = [*SETTINGS["perceptron"], "trainer.passes=3", "checkpoint=1"]
    with monkeypatch.context() as patch:
        killed_after(patch, 2)
        with pytest.raises(Stop):
            train_small(small, tmp_path / "run", *overrides)
    resume(small, tmp_path / "run", *overrides, progress=Progress())
    assert "perceptron: resumes after pass 2\n" in capsys.readouterr().err


@pytest.mark.parametrize("every", ["1", "2", "auto"])
@pytest.mark.parametrize("name", CASES)
def test_interrupted_again_and_again_it_ends_in_the_same_model(name, every, small, tmp_path, monkeypatch):
    overrides = [*CASES[name], "trainer.passes=5", "refit=true", f"checkpoint={every}"]
    whole = train_small(small, tmp_path / "whole", *overrides)
    out = tmp_path / "cut"
    cuts = 0
    for count in (1, 2, 3, 2, 4, 3, 2, 4, 99):
        with monkeypatch.context() as patch:
            killed_after(patch, count)
            try:
                summary = resume(small, out, *overrides) if cuts else train_small(small, out, *overrides)
            except Stop:
                cuts += 1
                assert not (out / "model.mtparse").exists()
                continue
        break
    assert cuts >= 3
    for file in ("model.mtparse", "parsed.conll", "sentences.csv"):
        assert (out / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    assert sorted(os.listdir(out)) == FILES
    assert summary.pop("resumed")
    del summary["seconds"], whole["seconds"]
    assert summary == whole
    timeless = [
        [{k: v for k, v in r.items() if k != "seconds"} for r in log_of(tmp_path / d)]
        for d in ("cut", "whole")
    ]
    assert timeless[0] == timeless[1]


def test_training_goes_on_where_it_was_and_does_nothing_twice(small, tmp_path, monkeypatch):
    overrides = [*SETTINGS["max-margin"], "trainer.passes=6", "checkpoint=1"]
    with monkeypatch.context() as patch:
        killed_after(patch, 4)
        with pytest.raises(Stop):
            train_small(small, tmp_path / "r", *overrides)
    validated = []
    attachment = tuning.attachment
    monkeypatch.setattr(tuning, "attachment", lambda *a: validated.append(1) or attachment(*a))
    resume(small, tmp_path / "r", *overrides)
    assert len(validated) == 2


def test_an_optimiser_repeats_no_evaluation(small, tmp_path, monkeypatch):
    from mtparse.training.trainers import log_linear

    overrides = ["trainer.passes=6", "checkpoint=1"]
    evaluated = []
    loss = log_linear.log_linear_loss
    monkeypatch.setattr(log_linear, "log_linear_loss", lambda *a: evaluated.append(1) or loss(*a))
    train_small(small, tmp_path / "whole", *overrides)
    expected = len(evaluated)
    with monkeypatch.context() as patch:
        killed_after(patch, 4)
        with pytest.raises(Stop):
            train_small(small, tmp_path / "r", *overrides)
    resume(small, tmp_path / "r", *overrides)
    assert len(evaluated) == 2 * expected


def test_a_finished_run_is_left_alone(small, tmp_path, monkeypatch):
    whole = train_small(small, tmp_path / "r")
    before = {f: (tmp_path / "r" / f).stat().st_mtime_ns for f in FILES}
    monkeypatch.setattr(LogLinear, "train", None)
    assert resume(small, tmp_path / "r") == whole
    assert {f: (tmp_path / "r" / f).stat().st_mtime_ns for f in FILES} == before


@pytest.fixture
def cut(small, tmp_path, monkeypatch):
    """A run that ended after two passes, and its treebank, which may be changed."""
    folder = tmp_path / "small"
    shutil.copytree(small, folder)
    with monkeypatch.context() as patch:
        killed_after(patch, 2)
        with pytest.raises(Stop):
            train_small(folder, folder / "r", "checkpoint=1")
    return folder


def test_other_settings_are_refused(cut):
    with pytest.raises(MtparseError, match=r"trainer.passes differs from what the run began with"):
        resume(cut, cut / "r", "trainer.passes=9", "name=other")
    stored = cut / "r" / "config.yaml"
    text = stored.read_text()
    stored.write_text(text.replace("seed: 1", "seed: 2"))
    with pytest.raises(MtparseError, match=r"seed differs from what the run began with"):
        train(load_config(stored), os.fspath(cut / "r"), resume=True)
    stored.write_text(text)
    resume(cut, cut / "r", "threads=1", "checkpoint=3")


@pytest.mark.parametrize("part", ["train", "valid"])
def test_another_treebank_is_refused(part, cut):
    with open(cut / f"{part}.conll", "a", encoding="utf-8") as file:
        file.write("1\ta\t_\tX\tX\t_\t0\tROOT\t_\t_\n\n")
    with pytest.raises(MtparseError, match=r"the (training|validation) file has changed since the run began"):
        resume(cut, cut / "r")


def test_another_version_is_refused(cut, monkeypatch):
    path = cut / "r" / "checkpoint" / "inputs.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "scipy": "0.1"}))
    with pytest.raises(MtparseError, match=r"the version of scipy has changed"):
        resume(cut, cut / "r")


@pytest.mark.parametrize("damaged", ["", "{", "[]", "{}", '{"config": 3}', None])
def test_without_knowing_what_began_nothing_goes_on(damaged, cut):
    path = cut / "r" / "checkpoint" / "inputs.json"
    path.unlink() if damaged is None else path.write_text(damaged)
    with pytest.raises(MtparseError, match=r"inputs.json: missing or damaged"):
        resume(cut, cut / "r")


def test_a_process_may_die_before_it_has_begun(small, tmp_path, monkeypatch):
    def dies(*_):
        raise Stop

    monkeypatch.setattr(run_directory.RunDirectory, "_begin", dies)
    monkeypatch.setattr(run_directory.RunDirectory, "discard_if_unused", lambda _: False)
    with pytest.raises(Stop):
        train_small(small, tmp_path / "r")
    monkeypatch.undo()
    assert os.listdir(tmp_path / "r") == ["config.yaml"]
    assert resume(small, tmp_path / "r")["resumed"]


def test_an_interrupted_run_is_not_begun_anew(cut):
    with pytest.raises(MtparseError, match=r"holds a run that was interrupted; resume it with --resume .*r,"):
        train_small(cut, cut / "r")


def test_two_processes_do_not_share_a_run(cut):
    from mtparse.runtime.files import lock_directory

    release = lock_directory(cut / "r")
    with pytest.raises(MtparseError, match="another process works in this directory"):
        resume(cut, cut / "r")
    release()
    resume(cut, cut / "r")


def test_what_is_no_run_cannot_be_resumed(small, tmp_path):
    with pytest.raises(MtparseError, match=r"none: no such directory; name that of an interrupted run"):
        resume(small, tmp_path / "none")
    with pytest.raises(MtparseError, match=r"no run to resume, config.yaml is missing"):
        resume(small, tmp_path)


def test_a_run_without_checkpoints_cannot_be_resumed(small, tmp_path, monkeypatch):
    scored = [tuning.attachment]  # for one pass
    monkeypatch.setattr(tuning, "attachment", lambda *a: scored.pop()(*a))
    with pytest.raises(IndexError):
        train_small(small, tmp_path / "r", "checkpoint=0")
    assert sorted(os.listdir(tmp_path / "r")) == ["config.yaml", "log.jsonl"]
    with pytest.raises(MtparseError, match=r"neither a finished run .* nor one with checkpoints"):
        resume(small, tmp_path / "r", "checkpoint=0")


@pytest.mark.parametrize(
    ("ending", "place"), [("state", 0.5), ("journal", 0.5), ("journal", 0), ("journal", 5e-5)]
)
def test_a_damaged_checkpoint_costs_time_only(ending, place, cut):
    (path,) = (cut / "r" / "checkpoint").glob(f"*.{ending}")
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 1
    path.write_bytes(data)
    resume(cut, cut / "r")
    train_small(cut, cut / "whole")
    assert (cut / "r" / "model.mtparse").read_bytes() == (cut / "whole" / "model.mtparse").read_bytes()


def altered(path: Path, change) -> None:
    """Rewrite a state with a right checksum and other contents."""
    header, arrays = read_packed(path, b"MTPSTATE", 1, "checkpoint")
    write_packed(path, b"MTPSTATE", 1, *change(header, arrays))


@pytest.mark.parametrize(
    "change",
    [
        lambda header, arrays: ({k: v for k, v in header.items() if k != "latest_best"}, arrays),
        lambda header, arrays: ({**header, "of": "perceptron, run"}, arrays),
        lambda header, arrays: ({**header, "log": 3}, arrays),
        lambda header, arrays: (header, {}),
    ],
)
def test_a_state_of_something_else_costs_time_only(change, cut):
    (path,) = (cut / "r" / "checkpoint").glob("*.state")
    altered(path, change)
    resume(cut, cut / "r")
    train_small(cut, cut / "whole")
    assert (cut / "r" / "model.mtparse").read_bytes() == (cut / "whole" / "model.mtparse").read_bytes()


def test_a_folder_that_is_no_run_stays_as_it_is(small, tmp_path):
    for name in ("train.conll", "valid.conll", "test.conll"):
        shutil.copy(small / name, tmp_path / name)
    (tmp_path / "config.yaml").write_text("# mine\n" + (small / "run.yaml").read_text())
    (tmp_path / "log.jsonl").write_text("mine")
    with pytest.raises(MtparseError, match=r"neither a finished run"):
        train(load_config(tmp_path / "config.yaml"), os.fspath(tmp_path), resume=True)
    for name in ("test.conll", "valid.conll", "train.conll", "log.jsonl"):
        (tmp_path / name).unlink()
    with pytest.raises(MtparseError, match="neither a finished run"):
        train(load_config(tmp_path / "config.yaml"), os.fspath(tmp_path), resume=True)
    assert os.listdir(tmp_path) == ["config.yaml"]
    assert (tmp_path / "config.yaml").read_text().startswith("# mine")


@pytest.mark.parametrize("damaged", ["", "5", "null", "[]", "{}", '{"test": 1}', "[" * 100_000, None])
def test_a_finished_run_with_damaged_scores_is_not_trained_again(damaged, run, tmp_path):
    shutil.copytree(run, tmp_path / "r")
    scores = tmp_path / "r" / "scores.json"
    scores.unlink() if damaged is None else scores.write_text(damaged)
    model = (tmp_path / "r" / "model.mtparse").read_bytes()
    config = load_config(tmp_path / "r" / "config.yaml")
    with pytest.raises(MtparseError, match=r"neither a finished run .* nor one with checkpoints"):
        train(config, os.fspath(tmp_path / "r"), resume=True)
    assert (tmp_path / "r" / "model.mtparse").read_bytes() == model


def test_checkpoints_that_are_there_are_used_whatever_is_wanted_now(cut):
    resume(cut, cut / "r", "checkpoint=0")
    assert sorted(os.listdir(cut / "r")) == FILES
    train_small(cut, cut / "whole", "checkpoint=0")
    assert (cut / "r" / "model.mtparse").read_bytes() == (cut / "whole" / "model.mtparse").read_bytes()


def test_a_run_that_another_process_finished_meanwhile_is_left_alone(cut, monkeypatch):
    meanwhile(monkeypatch, lambda: resume(cut, cut / "r"))
    with pytest.raises(MtparseError, match="another process has finished this run meanwhile"):
        resume(cut, cut / "r")
    assert sorted(os.listdir(cut / "r")) == FILES


def test_a_directory_that_another_process_filled_meanwhile_is_left_alone(small, tmp_path, monkeypatch):
    meanwhile(monkeypatch, lambda: train_small(small, tmp_path / "r"))
    with pytest.raises(MtparseError, match="exists and is not empty"):
        train_small(small, tmp_path / "r")
    assert sorted(os.listdir(tmp_path / "r")) == FILES


def test_what_cannot_be_begun_leaves_nothing_and_hides_no_error(small, tmp_path, monkeypatch):
    def fails(*_):
        (tmp_path / "r" / "config.yaml").unlink()
        raise MtparseError("the real one")

    monkeypatch.setattr(run_directory.RunDirectory, "_begin", fails)
    with pytest.raises(MtparseError, match="the real one"):
        train_small(small, tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_a_directory_with_leftovers_only_is_free(small, tmp_path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / ".mtparse-0.tmp").write_text("half a config")
    train_small(small, tmp_path / "r")
    assert sorted(os.listdir(tmp_path / "r")) == FILES


def test_leftovers_of_a_killed_process_are_cleared(cut):
    (cut / "r" / ".mtparse-0.tmp").write_text("")
    (cut / "r" / "checkpoint" / ".mtparse-1.tmp").write_text("")
    (cut / "r" / ".mtparse-2.tmp").mkdir()
    resume(cut, cut / "r")
    assert sorted(os.listdir(cut / "r")) == FILES


def test_a_journal_answers_what_it_was_told_and_refuses_other_steps(tmp_path):
    points = [np.arange(3.0), np.ones(3)]
    journal = Journal(str(tmp_path / "j"), 3)
    for i, point in enumerate(points):
        assert journal.recall(point) is None
        journal.append(point, i + 0.5, -point)
    journal.close()
    with open(tmp_path / "j", "ab") as file:
        file.write(b"half a record")
    journal = Journal(str(tmp_path / "j"), 3)
    for i, point in enumerate(points):
        value, gradient = journal.recall(point)
        assert value == i + 0.5
        np.testing.assert_array_equal(gradient, -point)
    assert journal.recall(points[0]) is None
    journal.close()
    journal = Journal(str(tmp_path / "j"), 3)
    with pytest.raises(MtparseError, match="takes other steps"):
        journal.recall(points[1])


def test_checkpoints_do_not_take_much_time(tmp_path, monkeypatch):
    clock = iter([0.0, 1.0, 5.0, 20.9, 21.1, 21.2, 22.0, 23.3, 23.4])
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: next(clock))
    checkpoint = Checkpoint(str(tmp_path / "c"), "perceptron", None)
    kept = []
    for number in range(1, 7):  # written at 0 (it takes 1), 21.1 (it takes 0.1), 23.3
        checkpoint.keep(number, Unfinished(), lambda number=number: kept.append(number) or {})
    assert kept == [1, 4, 6]


@pytest.mark.parametrize("validated", [True, False])
def test_runs_come_back_as_they_were(validated, tmp_path):
    best = {"mst": Candidate(0.1, 2, "mst", 7, {"all_tokens": 70.0}, np.arange(4.0))} if validated else {}
    result = TrainResult(np.ones(4), 3, False, "enough", {"theta": np.zeros(2)})
    checkpoints.save_trial(str(tmp_path / "r"), Trial(0.1, result, best), [{"pass": 1}])
    back, records = checkpoints.load_trial(str(tmp_path / "r"))
    assert records == [{"pass": 1}]
    assert (back.C, back.result.passes, back.result.reason) == (0.1, 3, "enough")
    np.testing.assert_array_equal(back.result.state["theta"], np.zeros(2))
    assert len(back.result.u) == (0 if validated else 4)
    if validated:
        assert back.best["mst"].right == 7
        np.testing.assert_array_equal(back.best["mst"].u, np.arange(4.0))
    assert checkpoints.load_trial(str(tmp_path / "none")) is None


@pytest.mark.parametrize("name", ["log-linear", "max-margin"])
def test_a_full_disk_loses_no_checkpoint(name, small, tmp_path, monkeypatch):
    overrides = [*SETTINGS[name], "trainer.passes=5", "checkpoint=1"]
    train_small(small, tmp_path / "whole", *overrides)
    C = load_config(small / "run.yaml", overrides).trainer.C[0]
    state = f"{tmp_path}/r/checkpoint/run C={C}.state"
    write, written = checkpoints.write_packed, []

    def full(path, *args):
        written.append(path)
        if len(written) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        write(path, *args)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "write_packed", full)
        with pytest.raises(OSError, match="No space left on device") as caught:
            train_small(small, tmp_path / "r", *overrides)
    assert caught.value.filename == state
    assert (
        Checkpoint(state.removesuffix(".state"), load_config(small / "run.yaml", overrides).trainer.name, 1)
        .unfinished()
        .resumed.passes
        == 2
    )
    resume(small, tmp_path / "r", *overrides)
    for file in ("model.mtparse", "parsed.conll"):
        assert (tmp_path / "r" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
