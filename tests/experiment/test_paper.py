"""Experiments on the paper's data: its figures beside ours, the check of the data; the figure of the runs."""

from __future__ import annotations

import json
import os
import sys

import pytest
from helpers.project import ROOT
from helpers.runs import PLAN

from mtparse.errors import ConfigError, MtparseError
from mtparse.experiment import figures, paper
from mtparse.experiment import grid as module
from mtparse.experiment.figures import read_curves
from mtparse.experiment.grid import reproduce
from mtparse.experiment.plan import Cell, load_plan
from mtparse.runtime.progress import Progress

DRAWS = True


def paper_plan(small, folder, more="shared_task: conllx"):
    text = PLAN.format(root=small, more=f"trees: [projective]\n{more}")
    (folder / "plan.yaml").write_text(text.replace("one:", "dutch:").replace("two:", "turkish:"))
    return load_plan(folder / "plan.yaml")


@pytest.fixture(scope="module")
def finished(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper")
    out = folder / "out"
    return out, reproduce(paper_plan(small, folder), os.fspath(out), jobs=1)


def test_the_paper_stands_beside_the_results(finished):
    out, text = finished
    ours = {r["language"]: r for r in json.loads((out / "tables" / "table2.json").read_text())}
    rows = json.loads((out / "tables" / "paper.json").read_text())
    assert len(rows) == 2 * 3
    for row in rows:
        if row["language"] != "average":
            folder = out / "runs" / f"{row['language']}-{row['trainer']}-projective"
            scores = json.loads((folder / "scores.json").read_text())["test"]
            assert row["UAS"] == scores["without_punctuation"]  # as the paper's, whatever the plan counts
            assert ours[row["language"]][f"{row['trainer']}, projective"] == scores["all_tokens"]
            assert row["paper"] == paper.UAS[row["language"]][row["trainer"], "projective"]
        assert row["difference"] == pytest.approx(row["UAS"] - row["paper"])
    mean = next(r for r in rows if (r["language"], r["trainer"]) == ("average", "log-linear"))
    assert mean["paper"] == pytest.approx((76.23 + 72.26) / 2)
    assert "Beside the paper" in text


def test_data_are_checked_against_the_shared_task(finished, small, tmp_path, monkeypatch, capsys):
    out, text = finished
    rows = json.loads((out / "tables" / "counts.json").read_text())
    assert {row["the same"] for row in rows} == {"NO"}
    dutch = {row["file"]: row for row in rows if row["language"] == "dutch"}
    assert dutch["training"]["sentences there"] == 13_349
    assert dutch["test"]["sentences"] == 10
    assert "| NO |" in text
    counts = [dutch[part][what] for part in ("training", "test") for what in ("words", "sentences")]
    monkeypatch.setitem(paper.COUNTS, "dutch", paper.Counts(*counts))
    plan = paper_plan(small, tmp_path)
    text = reproduce(plan.only(["dutch"]), os.fspath(tmp_path / "o"), progress=Progress())
    assert "| NO |" not in text
    assert "| yes |" in text
    assert "warning" not in capsys.readouterr().err
    module._read_all(plan, plan.cells, lambda *_: None, Progress(quiet=True))  # warnings are no progress
    err = capsys.readouterr().err
    assert err.startswith("mtparse: warning: turkish: ")
    assert "but 57510 in the shared task's file" in err
    assert err.count("\n") == 1


def test_the_figures_of_the_paper_are_copied_right():
    """Their averages, added up by hand; the max-margin one is printed in the paper's table 3."""
    mean = {setting: sum(row[setting] for row in paper.UAS.values()) / 6 for setting in paper.UAS["arabic"]}
    assert mean["perceptron", "nonprojective"] == pytest.approx(78.8050, abs=1e-3)
    assert mean["max-margin", "nonprojective"] == pytest.approx(79.8183, abs=1e-3)
    assert mean["log-linear", "nonprojective"] == pytest.approx(79.7600, abs=1e-3)
    assert mean["perceptron", "projective"] == pytest.approx(78.5400, abs=1e-3)
    assert mean["max-margin", "projective"] == pytest.approx(79.1150, abs=1e-3)
    assert mean["log-linear", "projective"] == pytest.approx(78.8783, abs=1e-3)
    sums = {language: round(sum(row.values()), 2) for language, row in paper.UAS.items()}
    assert sums == {
        "arabic": 435.09, "dutch": 468.00, "japanese": 551.13,
        "slovene": 474.46, "spanish": 488.17, "turkish": 432.65,
    }  # fmt: skip


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("shared_task: conll2007", "shared_task must be one of conllx, or null"),
        ("shared_task: [conllx]", "shared_task must be one of conllx, or null"),
    ],
)
def test_unknown_shared_tasks_are_refused(more, message, small, tmp_path):
    with pytest.raises(ConfigError, match=message):
        paper_plan(small, tmp_path, more)


@pytest.mark.nojit
def test_the_shared_task_has_six_languages(small, tmp_path):
    (tmp_path / "plan.yaml").write_text(PLAN.format(root=small, more="shared_task: conllx"))
    with pytest.raises(ConfigError, match=r"languages.one: with shared_task the languages are arabic, dutch"):
        load_plan(tmp_path / "plan.yaml")


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("name", "variable"), [("six-treebanks", "MTPARSE_TREEBANKS"), ("conllx", "MTPARSE_CONLLX")]
)
def test_large_plans_in_configs_load(name, variable, tmp_path, monkeypatch):
    path = ROOT / "configs" / f"{name}.yaml"
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ConfigError, match=f"environment variable {variable} is not"):
        load_plan(path)
    with pytest.raises(ConfigError, match=r"arabic.*train.* is missing"):
        load_plan(path, [f"data.root={tmp_path}"]).require_files()
    monkeypatch.setenv(variable, os.fspath(tmp_path))
    plan = load_plan(path)
    assert plan.languages == list(paper.COUNTS)
    assert len(plan.cells) == 36
    trainer = plan.cells[Cell("dutch", "log-linear", "projective")].trainer
    assert trainer.passes == 100
    if name == "conllx":
        assert (trainer.optimizer, trainer.patience) == ("cg", 0)
        assert plan.cells[Cell("dutch", "max-margin", "projective")].trainer.step == "paper"
    assert (plan.shared_task is None) == (name == "six-treebanks")


def test_a_fault_in_a_later_language_is_found_first(small, tmp_path):
    (tmp_path / "bad.conll").write_text("1\ta\t_\tX\tX\t_\t2\t_\t_\t_\n2\tb\t_\tX\tX\t_\t1\t_\t_\t_\n\n")
    text = PLAN.format(root=small, more="")
    text = text.replace("two: {train: valid.conll", f"two: {{train: {tmp_path}/bad.conll")
    (tmp_path / "plan.yaml").write_text(text.replace("valid: {fraction: 0.3}", "valid: valid.conll"))
    out = tmp_path / "out"
    with pytest.raises(MtparseError, match=r"bad.conll:1: "):
        reproduce(load_plan(tmp_path / "plan.yaml"), os.fspath(out))
    assert not (out / "runs").exists()
    assert not (out / "parts").exists()


def test_the_figure_is_drawn_from_the_logs(finished):
    pytest.importorskip("matplotlib")
    out, _ = finished
    assert (out / "tables" / "figure.png").read_bytes().startswith(b"\x89PNG")
    svg = (out / "tables" / "figure.svg").read_text()
    for trainer in ("perceptron", "log-linear"):
        panels = 2 if trainer == "perceptron" else 3  # no line over C
        assert svg.count(f"stroke: {figures.COLORS[trainer]}") >= 2 * panels
    assert f"stroke: {figures.COLORS['max-margin']}" not in svg
    log = out / "runs" / "dutch-log-linear-projective" / "log.jsonl"
    curves = read_curves(os.fspath(log), "all_tokens")
    assert list(curves) == [0.02, 0.1]
    records = [json.loads(line) for line in log.read_text().splitlines()]
    passes = [r for r in records if r["event"] == "pass" and r["C"] == 0.1]
    assert curves[0.1].passes == [1, 2, 3]
    assert curves[0.1].scores == [r["valid_uas_eisner"] for r in passes]
    assert curves[0.1].seconds == [r["seconds"] for r in passes]


def test_the_same_runs_give_the_same_figure(finished, small, tmp_path):
    pytest.importorskip("matplotlib")
    out, _ = finished
    plan = paper_plan(small, tmp_path)
    runs = {cell: os.fspath(out / "runs" / str(cell)) for cell in plan.cells}
    figures.draw_unless_drawn(plan, runs, os.fspath(tmp_path / "again"))
    for ending in ("svg", "png"):
        drawn = (out / "tables" / f"figure.{ending}").read_bytes()
        assert (tmp_path / f"again.{ending}").read_bytes() == drawn


def test_the_figure_follows_the_tables(finished, small, tmp_path):
    pytest.importorskip("matplotlib")
    out, _ = finished
    figure = out / "tables" / "figure.svg"
    both = figure.read_bytes()
    plan = paper_plan(small, tmp_path)
    reproduce(plan.only(["dutch"]), os.fspath(out), resume=True)
    assert "turkish" not in figure.read_text()
    reproduce(plan, os.fspath(out), resume=True)
    assert figure.read_bytes() == both


def test_a_figure_that_fails_costs_no_tables(finished, small, tmp_path, monkeypatch, capsys):
    out, text = finished
    monkeypatch.setattr(module, "draw_unless_drawn", lambda *_: 1 / 0)
    assert reproduce(paper_plan(small, tmp_path), os.fspath(out), resume=True, progress=Progress()) == text
    assert "mtparse: warning: no figure: ZeroDivisionError" in capsys.readouterr().err


def test_any_name_of_a_language_can_be_drawn_and_tabled(small, tmp_path):
    pytest.importorskip("matplotlib")
    text = PLAN.format(root=small, more="trees: [projective]").replace("  one:", "  'a|b $x^_$':")
    (tmp_path / "plan.yaml").write_text(text)
    plan = load_plan(tmp_path / "plan.yaml").only(["a|b $x^_$"])
    tables = reproduce(plan, os.fspath(tmp_path / "out"))
    assert "| a\\|b $x^_$ |" in tables
    assert (tmp_path / "out" / "tables" / "figure.png").exists()


def test_without_matplotlib_the_tables_are_still_made(finished, small, tmp_path, monkeypatch, capsys):
    out, text = finished
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    plan = paper_plan(small, tmp_path)
    (out / "tables" / "figure.png").unlink()
    assert reproduce(plan, os.fspath(out), resume=True, progress=Progress()) == text
    assert "no figure, as matplotlib is missing: pip install '.[plots]' brings it" in capsys.readouterr().err
