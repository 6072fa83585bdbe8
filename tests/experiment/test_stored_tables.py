"""Tables made again from an experiment's small files; work of several machines; directories in use."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner
from helpers.project import ROOT
from helpers.runs import PLAN, model

from mtparse.cli.main import main
from mtparse.errors import ConfigError, MtparseError
from mtparse.experiment.grid import reproduce
from mtparse.experiment.plan import load_plan
from mtparse.experiment.stored_plan import load_stored_plan
from mtparse.experiment.tables import remake_tables
from mtparse.runtime.files import lock_directory
from mtparse.runtime.progress import Progress

nojit = pytest.mark.nojit
RESULTS = ROOT / "results" / "six-treebanks"


@pytest.fixture(scope="module")
def plan_file(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan")
    shutil.copytree(small, folder / "data")
    (folder / "plan.yaml").write_text(PLAN.format(root="data", more="seeds: [1, 2]").replace(
        "perceptron: {passes: 2}", "perceptron: {passes: 2, shuffle: true}"))  # fmt: skip
    return folder / "plan.yaml"


@pytest.fixture(scope="module")
def finished(plan_file, tmp_path_factory):
    out = tmp_path_factory.mktemp("experiment") / "out"
    return out, reproduce(load_plan(plan_file), os.fspath(out), jobs=2)


def small_files(experiment: Path, folder: Path) -> Path:
    """A copy of what tables need, and of nothing else."""
    for run in (experiment / "runs").iterdir():
        (folder / "runs" / run.name).mkdir(parents=True)
        for name in ("scores.json", "sentences.csv"):
            shutil.copy(run / name, folder / "runs" / run.name / name)
    shutil.copy(experiment / "plan.json", folder)
    return folder


def tables_of(folder: Path) -> dict[str, bytes]:
    """The tables' files, without what needs the logs."""
    paths = (folder / "tables").iterdir()
    return {p.name: p.read_bytes() for p in paths if p.stem not in ("figure", "curves")}


def test_tables_are_made_again_from_the_small_files(finished, tmp_path):
    out, text = finished
    copy = small_files(out, tmp_path / "copy")
    result = CliRunner().invoke(main, ["tables", str(copy)])
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == text.rstrip() + "\n"
    assert len(tables_of(out)) == 1 + 2 * 6
    assert tables_of(copy) == tables_of(out)
    one = CliRunner().invoke(main, ["tables", str(copy), "--only", "two"]).stdout
    assert "| two |" in one
    assert "| one |" not in one
    assert "average" not in one
    assert tables_of(copy) == tables_of(out)


def test_what_is_no_experiment_is_called_so(finished, tmp_path):
    out, _ = finished
    missing = CliRunner().invoke(main, ["tables", str(tmp_path / "none")])
    assert missing.exit_code == 1
    assert missing.stderr.endswith("none: no such directory; name one that mtparse reproduce has made\n")
    run = next((out / "runs").iterdir())
    other = CliRunner().invoke(main, ["tables", str(run)])
    assert other.exit_code == 1
    assert f"{run.name}: not an experiment, as it has no plan.json; name a directory" in other.stderr


def test_tables_need_no_variable_and_no_texts(finished, tmp_path, monkeypatch):
    out, text = finished
    copy = small_files(out, tmp_path / "copy")
    monkeypatch.delenv("MTPARSE_TREEBANKS", raising=False)
    record = json.loads((copy / "plan.json").read_text())
    for config in record["cells"].values():
        config["data"]["root"] = "$MTPARSE_TREEBANKS"
    (copy / "plan.json").write_text(json.dumps(record))
    for path in copy.glob("runs/*/sentences.csv"):
        lines = path.read_text().splitlines()
        path.write_text("\n".join(",".join(line.split(",")[:4]) for line in lines) + "\n")
    assert remake_tables(os.fspath(copy)) == text


def change_score(path: Path, value: float) -> None:
    """Put a validation score into ``scores.json``."""
    scores = json.loads(path.read_text())
    scores["valid"]["all_tokens"] = value
    path.write_text(json.dumps(scores))


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda d: shutil.rmtree(d / "runs" / "two-log-linear-projective"),
         "1 of 12 runs are not finished, two-log-linear-projective among them"),
        (lambda d: (d / "runs" / "two-log-linear-projective" / "sentences.csv").unlink(),
         r"two-log-linear-projective: scores.json or sentences.csv is missing or damaged"),
        (lambda d: (d / "runs" / "two-log-linear-projective" / "sentences.csv").write_text(
            (d / "runs" / "one-perceptron-projective-seed1" / "sentences.csv").read_text()),
         r"two-log-linear-projective: scores.json or sentences.csv is missing or damaged"),
        (lambda d: (d / "runs" / "two-log-linear-projective" / "scores.json").write_text("{"),
         r"two-log-linear-projective: scores.json or sentences.csv is missing or damaged"),
        (lambda d: change_score(d / "runs" / "two-log-linear-projective" / "scores.json", float("nan")),
         r"two-log-linear-projective: scores.json or sentences.csv is missing or damaged"),
        (lambda d: (d / "plan.json").unlink(), r"not an experiment, as it has no plan.json"),
        (lambda d: (d / "plan.json").write_text('{"cells": {"x": {}}, "earlier": {}}'), "plan.json: damaged"),
        (lambda d: (d / "plan.json").rename(d / "plan.yaml"), "an experiment of mtparse 0.1"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named_and_nothing_written(harm, message, finished, tmp_path):
    copy = small_files(finished[0], tmp_path / "copy")
    harm(copy)
    with pytest.raises(MtparseError, match=message):
        remake_tables(os.fspath(copy))
    assert not (copy / "tables").exists()


def test_tables_of_no_language(finished):
    with pytest.raises(ConfigError, match="--only three: the plan has one, two"):
        remake_tables(os.fspath(finished[0]), ["three"])


def test_a_changed_plan_is_what_the_tables_show(plan_file, tmp_path):
    """Runs that the plan no longer has are not in them; other languages stay; the order is the plan's."""
    out = os.fspath(tmp_path / "out")
    sets = ["trainers.perceptron.shuffle=false", "trees=[projective]"]
    reproduce(load_plan(plan_file, sets).only(["two"]), out)
    reproduce(load_plan(plan_file, ["trees=[projective]"]).only(["one"]), out, resume=True)
    reproduce(load_plan(plan_file, ["trees=[projective]"]).only(["two"]), out, resume=True)
    assert load_stored_plan(out).languages == ["two", "one"]
    seeded = reproduce(load_plan(plan_file, ["trees=[projective]"]), out, resume=True)
    assert list(load_stored_plan(out).cells) == list(load_plan(plan_file, ["trees=[projective]"]).cells)
    assert load_stored_plan(out).languages == ["one", "two"]
    assert remake_tables(out) == seeded
    two = reproduce(load_plan(plan_file, ["trees=[projective]"]).only(["two"]), out, resume=True)
    assert remake_tables(out, ["two"]) == two
    assert remake_tables(out) == seeded
    with pytest.raises(MtparseError, match=r"of run two-perceptron-projective differs from"):
        reproduce(load_plan(plan_file, [*sets, "trainers.perceptron.passes=9"]), out, resume=True)


def machines(plan_file, tmp_path, *overrides):
    """Each language run into a directory of its own, the runs copied into the first."""
    folders = [tmp_path / language for language in ("one", "two")]
    for language, folder in zip(("one", "two"), folders, strict=True):
        sets = overrides if language == "two" else ()
        reproduce(load_plan(plan_file, sets).only([language]), os.fspath(folder))
    for run in (folders[1] / "runs").iterdir():
        shutil.copytree(run, folders[0] / "runs" / run.name)
    return folders[0]


def test_an_experiment_of_several_machines(finished, plan_file, tmp_path, capsys):
    whole, text = finished
    out = machines(plan_file, tmp_path)
    again = reproduce(load_plan(plan_file), os.fspath(out), resume=True, progress=Progress(quiet=True))
    assert again == text
    assert tables_of(out) == tables_of(whole)
    assert (out / "tables" / "curves.csv").read_text().count("\n") == 1 + 8 * 2 + 2 * 2 * 2 * 3
    for name in os.listdir(whole / "runs"):
        assert model(out, name) == model(whole, name)
    assert capsys.readouterr().err == ""


def test_runs_of_another_plan_are_not_taken(plan_file, tmp_path):
    out = machines(plan_file, tmp_path, "trainers.log-linear.C=0.5")
    with pytest.raises(MtparseError, match=r"two-log-.*config.yaml: trainer.C differs from the plan"):
        reproduce(load_plan(plan_file), os.fspath(out), resume=True)


def test_a_run_of_another_plan_in_the_place_of_one_made_here_is_not_taken(finished, plan_file, tmp_path):
    shutil.copytree(finished[0], tmp_path / "here")
    sets = ["trainers.log-linear.C=0.5"]
    reproduce(load_plan(plan_file, sets).only(["two"]), os.fspath(tmp_path / "there"))
    for run in (tmp_path / "there" / "runs").iterdir():
        shutil.copytree(run, tmp_path / "here" / "runs" / run.name, dirs_exist_ok=True)
    with pytest.raises(MtparseError, match=r"two-log-.*config.yaml: trainer.C differs from the plan"):
        reproduce(load_plan(plan_file), os.fspath(tmp_path / "here"), resume=True)
    with pytest.raises(MtparseError, match=r"than the plan.s two-log-.*: in scores.json C is 0.5"):
        remake_tables(os.fspath(tmp_path / "here"))


def test_a_run_of_another_cell_is_not_taken(finished, tmp_path):
    copy = small_files(finished[0], tmp_path / "copy")
    one, two = (copy / "runs" / f"{language}-log-linear-projective" for language in ("one", "two"))
    shutil.copytree(one, two, dirs_exist_ok=True)
    with pytest.raises(MtparseError, match=r"two-log-linear-projective: in scores.json name is 'one-log-"):
        remake_tables(os.fspath(copy))


def test_runs_of_other_treebanks_and_versions_are_noticed(plan_file, tmp_path, capsys):
    out = machines(plan_file, tmp_path)
    scores = out / "runs" / "two-perceptron-projective-seed2" / "scores.json"
    good = json.loads(scores.read_text())
    other = {**good, "versions": {**good["versions"], "numpy": "9.9"}}
    scores.write_text(json.dumps(other))
    reproduce(load_plan(plan_file), os.fspath(out), resume=True, progress=Progress(quiet=True))
    err = capsys.readouterr().err
    assert err.startswith(f"mtparse: warning: {out}: runs of different versions: numpy ")
    assert err.endswith(" and 9.9\n")
    scores.write_text(json.dumps({**good, "sha256": {**good["sha256"], "train": "0"}}))
    with pytest.raises(MtparseError, match=r"made from another file two/train than other runs here"):
        reproduce(load_plan(plan_file), os.fspath(out), resume=True)


def test_missing_runs_are_made_only_from_the_treebanks_of_copied_ones(plan_file, tmp_path):
    folder = tmp_path / "plan"
    shutil.copytree(plan_file.parent, folder)
    shutil.copy(folder / "data" / "valid.conll", folder / "data" / "own.conll")
    plan = folder / "plan.yaml"
    plan.write_text(plan.read_text().replace("two: {train: valid.conll", "two: {train: own.conll"))
    out = machines(plan, tmp_path)
    assert "two/train" not in json.loads((out / "inputs.json").read_text())
    shutil.rmtree(out / "runs" / "two-perceptron-projective-seed2")
    with open(folder / "data" / "own.conll", "a") as file:
        file.write("1\ta\t_\tX\tX\t_\t0\tROOT\t_\t_\n\n")
    with pytest.raises(MtparseError, match=r"two/train has changed since the experiment began"):
        reproduce(load_plan(plan), os.fspath(out), resume=True)


def test_a_directory_in_use_is_never_to_be_removed(finished, plan_file, small, tmp_path):
    out, _ = finished
    release = lock_directory(out)
    wait = "another process works in this directory; wait until it has ended, or name another directory"
    commands = (
        ["reproduce", str(plan_file), "--only", "one", "--out", str(out)],
        ["reproduce", str(plan_file), "--out", str(out), "--resume"],
        ["train", str(small / "run.yaml"), "--out", str(out)],
        ["tables", str(out)],
    )
    for command in commands:
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 1
        assert wait in result.stderr
        assert "remove" not in result.stderr
    release()
    result = CliRunner().invoke(main, commands[0])
    assert "holds an experiment; resume it with --resume, or name another directory" in result.stderr
    assert "remove" not in result.stderr
    result = CliRunner().invoke(main, commands[2])
    assert "exists and is not empty; name another directory with --out\n" in result.stderr


def script():
    """``scripts/experiments/six_treebanks`` as a module."""
    path = ROOT / "scripts" / "experiments" / "six_treebanks"
    module = ModuleType("six_treebanks")
    module.__file__ = os.fspath(path)
    exec(compile(path.read_text(), path, "exec"), module.__dict__)
    return module


def test_the_script_keeps_what_the_tables_need(finished, small, tmp_path, monkeypatch):
    out, text = finished
    six = script()
    monkeypatch.setattr(six, "LANGUAGES", ("one", "two"))
    best = {name: six.best_setting(out, name) for name in six.LANGUAGES}
    shutil.copytree(out, tmp_path / "out")
    for name, scores in best.items():
        shutil.copytree(out / "runs" / scores["name"], tmp_path / "out" / "best" / name)
    results = tmp_path / "results"
    results.mkdir()
    (results / "runs" / "old").mkdir(parents=True)
    six.copy_small_files(tmp_path / "out", results)
    assert not (results / "runs" / "old").exists()
    assert {path.name for path in results.rglob("*") if path.is_file()} == {
        "plan.json", "cost.json", "scores.json", "sentences.csv",
        *(path.name for path in (out / "tables").iterdir() if path.name != "curves.csv"),
    }  # fmt: skip
    assert str(small) not in (results / "plan.json").read_text()
    assert remake_tables(os.fspath(results)) == text
    assert tables_of(results) == tables_of(out)
    rows = [line.split(" | ") for line in six.best_table(results).splitlines() if line.startswith("| ")]
    assert [row[6] for row in rows[2:4]] == [f"{s['test']['all_tokens']:.2f}" for s in best.values()]
    assert float(rows[2][-2]) == pytest.approx(best["one"]["test"]["all_tokens"] - 75.97, abs=0.006)
    assert rows[4][0] == "| average"


@nojit
def test_the_tables_in_the_repository_are_those_of_the_runs_there(tmp_path):
    shutil.copytree(RESULTS, tmp_path / "copy")
    for name in tables_of(RESULTS):
        (tmp_path / "copy" / "tables" / name).unlink()
    remake_tables(os.fspath(tmp_path / "copy"))
    assert tables_of(tmp_path / "copy") == tables_of(RESULTS)
    assert script().best_table(RESULTS) == (RESULTS / "best.md").read_text()


@pytest.mark.parametrize(
    ("step", "words"),
    [("paper", "the step rule of the paper's figure 2 (`step: paper`)"),
     ("adaptive", "a step for each sentence (`step: adaptive`)")],
)  # fmt: skip
def test_tables_name_the_step_of_max_margin_models(step, words, small, tmp_path):
    text = PLAN.format(root=small, more="trees: [projective]")
    trainer = f"max-margin: {{C: 0.05, passes: 1, step: {step}}}"
    text = text.replace("log-linear: {C: [0.1, 0.02], passes: 3}", trainer)
    (tmp_path / "plan.yaml").write_text(text)
    tables = reproduce(load_plan(tmp_path / "plan.yaml").only(["two"]), os.fspath(tmp_path / "out"))
    assert tables.count(f"Max-margin models are trained with {words}.") == 2  # tables 2 and 3
    assert remake_tables(os.fspath(tmp_path / "out")) == tables
