"""Experiments with several seeds and with cross-validation: their runs, what tables say of them."""

from __future__ import annotations

import csv
import json
import os
import statistics

import pytest
from click.testing import CliRunner
from helpers.runs import model

from mtparse.cli.main import main
from mtparse.config.run import load_config
from mtparse.errors import ConfigError
from mtparse.evaluation.attachment import evaluate, evaluate_sentences
from mtparse.experiment import grid as module
from mtparse.experiment.grid import reproduce
from mtparse.experiment.plan import Cell, load_plan
from mtparse.experiment.run import train
from mtparse.model.parser import Parser
from mtparse.treebank.conll import read_conll

nojit = pytest.mark.nojit

PLAN = """\
data: {{root: {root}}}
languages:
  one: {{train: train.conll, valid: {{fraction: 0.2}}{test}}}
trees: [projective, nonprojective]
trainers:
  perceptron: {{passes: 2, shuffle: true}}
  log-linear: {{C: 0.1, passes: 2}}
features: {{set: mcdonald}}
{more}
"""


def plan(small, folder, more, *overrides, test=", test: test.conll"):
    (folder / "plan.yaml").write_text(PLAN.format(root=small, more=more, test=test))
    return load_plan(folder / "plan.yaml", overrides)


@pytest.fixture(scope="module")
def seeded(small, tmp_path_factory):
    """An experiment with three seeds."""
    folder = tmp_path_factory.mktemp("seeded")
    experiment = plan(small, folder, "seeds: [4, 5, 6]")
    return folder / "out", experiment, reproduce(experiment, os.fspath(folder / "out"), jobs=2)


@pytest.fixture(scope="module")
def folded(small, tmp_path_factory):
    """An experiment with four folds."""
    folder = tmp_path_factory.mktemp("folded")
    experiment = plan(small, folder, "folds: 4\nrefit: true", test="")
    return folder / "out", experiment, reproduce(experiment, os.fspath(folder / "out"), jobs=2)


def scores_of(out, name) -> dict:
    return json.loads((out / "runs" / name / "scores.json").read_text())


def records(out, name) -> list[dict]:
    return json.loads((out / "tables" / f"{name}.json").read_text())


def variation(out, trainer, trees) -> dict:
    (row,) = [r for r in records(out, "variation") if (r["trainer"], r["trees"]) == (trainer, trees)]
    return row


def test_what_draws_at_random_is_run_with_every_seed_and_the_rest_once(seeded, tmp_path):
    out, experiment, _ = seeded
    families = ("projective", "nonprojective")
    assert sorted(os.listdir(out / "runs")) == sorted(
        [f"one-perceptron-{trees}-seed{seed}" for trees in families for seed in (4, 5, 6)]
        + [f"one-log-linear-{trees}" for trees in families]
    )
    assert scores_of(out, "one-log-linear-projective")["seed"] == 4
    weights = set()
    for seed in (4, 5, 6):
        name = f"one-perceptron-projective-seed{seed}"
        config = load_config(out / "runs" / name / "config.yaml")
        assert config == experiment.cells[Cell("one", "perceptron", "projective", seed)]
        assert config.seed == seed
        train(config, os.fspath(tmp_path / name), jobs=1)
        assert (tmp_path / name / "model.mtparse").read_bytes() == model(out, name)
        weights.add(Parser.load(out / "runs" / name).model.weights.tobytes())
    assert len(weights) == 3


def test_tables_show_mean_and_deviation_over_seeds(seeded):
    out, _, text = seeded
    for trees in ("projective", "nonprojective"):
        found = [scores_of(out, f"one-perceptron-{trees}-seed{s}")["test"]["all_tokens"] for s in (4, 5, 6)]
        assert len(set(found)) > 1
        mean, deviation = statistics.fmean(found), statistics.stdev(found)
        assert f"{mean:.2f} ± {deviation:.2f}" in text
        assert records(out, "table2")[0][f"perceptron, {trees}"] == pytest.approx(mean)
        row = variation(out, "perceptron", trees)
        assert (row["over"], row["values"]) == ("seeds", 3)
        assert row["UAS"] == pytest.approx(mean)
        assert row["standard deviation"] == pytest.approx(deviation)
        assert (row["lowest"], row["highest"]) == (min(found), max(found))
        once = scores_of(out, f"one-log-linear-{trees}")["test"]["all_tokens"]
        assert records(out, "table2")[0][f"log-linear, {trees}"] == once
        row = variation(out, "log-linear", trees)
        assert (row["over"], row["values"], row["UAS"]) == ("one run", 1, once)
        assert row["standard deviation"] is None
    assert "Means over the seeds 4, 5, 6" in text
    assert "Run once, as nothing is drawn at random: log-linear." in text
    with open(out / "tables" / "choices.csv", newline="") as file:
        choices = list(csv.DictReader(file))
    assert [row["seed"] for row in choices] == ["4", "5", "6"] * 2 + ["", ""]
    assert "fold" not in choices[0]
    with open(out / "tables" / "curves.csv", newline="") as file:
        curves = list(csv.DictReader(file))
    assert len(curves) == 8 * 2
    assert {(row["trainer"], row["seed"]) for row in curves} == {
        *(("perceptron", seed) for seed in "456"), ("log-linear", ""),
    }  # fmt: skip


def test_significance_is_of_the_mean_over_seeds(seeded, small):
    """As if each sentence of the log-linear model stood there three times."""
    out, _, _ = seeded
    gold = list(read_conll(small / "test.conll"))

    def valid(names):
        return statistics.fmean(scores_of(out, name)["valid"]["all_tokens"] for name in names)

    def chosen(*patterns):
        families = ("nonprojective", "projective")
        return max(([f"one-{text.format(trees)}" for text in patterns] for trees in families), key=valid)

    def sums(names, times):
        rows = [
            list(evaluate_sentences(gold, read_conll(out / "runs" / n / "parsed.conll"), punctuation=True))
            for n in names
        ]
        return [sum(times * [row.correct_heads for row in one]) for one in zip(*rows, strict=True)]

    a = sums(chosen(*(f"perceptron-{{}}-seed{seed}" for seed in (4, 5, 6))), 1)
    b = sums(chosen("log-linear-{}"), 3)
    (pair,) = records(out, "significance")
    assert pair["improved"] == sum(y > x for x, y in zip(a, b, strict=True))
    assert pair["worsened"] == sum(y < x for x, y in zip(a, b, strict=True))
    assert pair["sentences"] == len(gold)
    assert pair["improved"] + pair["worsened"] > 2


def test_every_sentence_is_tested_once_over_the_folds(folded, small, tmp_path):
    out, experiment, text = folded
    assert len(os.listdir(out / "runs")) == 4 * 4
    gold = list(read_conll(small / "train.conll"))
    places = {tuple(s.forms): i for i, s in enumerate(gold)}
    assert len(places) == len(gold)
    for trainer in ("perceptron", "log-linear"):
        for trees in ("projective", "nonprojective"):
            names = [f"one-{trainer}-{trees}-fold{fold}" for fold in (1, 2, 3, 4)]
            parsed = [s for n in names for s in read_conll(out / "runs" / n / "parsed.conll")]
            parsed.sort(key=lambda s: places[tuple(s.forms)])
            uas = evaluate(gold, parsed, punctuation=True).UAS
            assert records(out, "table2")[0][f"{trainer}, {trees}"] == pytest.approx(uas, abs=1e-9)
            folds = [scores_of(out, name)["test"]["all_tokens"] for name in names]
            assert f"{uas:.2f} ± {statistics.stdev(folds):.2f}" in text
            row = variation(out, trainer, trees)
            assert (row["over"], row["values"]) == ("folds", 4)
            assert row["standard deviation"] == pytest.approx(statistics.stdev(folds))
    assert "all words of 4 folds of the training file, each tested once" in text
    (first,) = records(out, "table1")
    assert first["test"] == sum(map(len, gold))
    assert first["training"] + first["validation"] == pytest.approx(0.75 * first["test"], abs=1)
    (pair,) = records(out, "significance")
    assert pair["sentences"] == len(gold)
    name = "one-log-linear-nonprojective-fold3"
    config = load_config(out / "runs" / name / "config.yaml")
    assert config == experiment.cells[Cell("one", "log-linear", "nonprojective", fold=3)]
    train(config, os.fspath(tmp_path / name), jobs=1)
    assert (tmp_path / name / "model.mtparse").read_bytes() == model(out, name)


@nojit
def test_seeds_and_folds_together(small, tmp_path):
    few = ["trees=[projective]", "languages.one.train=valid.conll"]
    experiment = plan(small, tmp_path, "seeds: [1, 2]\nfolds: 2", *few, test="")
    text = reproduce(experiment, os.fspath(tmp_path / "out"), jobs=1)
    out = tmp_path / "out"
    assert sorted(os.listdir(out / "runs")) == [
        *(f"one-log-linear-projective-fold{fold}" for fold in (1, 2)),
        *(f"one-perceptron-projective-seed{seed}-fold{fold}" for seed in (1, 2) for fold in (1, 2)),
    ]
    gold = list(read_conll(small / "valid.conll"))
    by_seed = []
    for seed in (1, 2):
        total = []
        for fold in (1, 2):
            run = out / "runs" / f"one-perceptron-projective-seed{seed}-fold{fold}"
            parsed = read_conll(run / "parsed.conll")
            total.append(evaluate(gold[fold - 1 :: 2], parsed, punctuation=True))
        by_seed.append(sum(total[1:], total[0]).UAS)
    assert records(out, "table2")[0]["perceptron, projective"] == pytest.approx(statistics.fmean(by_seed))
    rows = {(r["trainer"], r["over"]): r for r in records(out, "variation")}
    assert set(rows) == {("perceptron", "folds"), ("perceptron", "seeds"), ("log-linear", "folds")}
    assert rows["perceptron", "seeds"]["standard deviation"] == pytest.approx(statistics.stdev(by_seed))
    assert "± is the standard deviation over the folds" in text


def test_an_interrupted_experiment_with_folds_is_resumed(folded, tmp_path, monkeypatch):
    whole, experiment, text = folded
    out = os.fspath(tmp_path / "out")
    real, calls = module.run_trainer, []

    def interrupted(*arguments, **options):
        if len(calls) == 5:
            raise KeyboardInterrupt
        calls.append(arguments)
        return real(*arguments, **options)

    monkeypatch.setattr(module, "run_trainer", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reproduce(experiment, out, jobs=1)
    monkeypatch.setattr(module, "run_trainer", real)
    assert reproduce(experiment, out, jobs=2, resume=True) == text
    for name in os.listdir(whole / "runs"):
        assert model(tmp_path / "out", name) == model(whole, name)


@nojit
def test_one_seed_has_no_suffix(small, tmp_path):
    experiment = plan(small, tmp_path, "seeds: [7]")
    assert {cell.seed for cell in experiment.cells} == {None}
    assert {config.seed for config in experiment.cells.values()} == {7}
    assert Cell("one", "perceptron", "projective") in experiment.cells


@nojit
@pytest.mark.parametrize(
    "cell",
    [
        Cell("a-b", "log-linear", "nonprojective"),
        Cell("x-perceptron-projective", "max-margin", "projective", seed=3),
        Cell("l\nm", "perceptron", "projective", seed=0, fold=10),
        Cell("a", "perceptron", "nonprojective", fold=2),
    ],
)
def test_names_of_runs_are_read_back(cell):
    assert Cell.parse(str(cell)) == cell
    with pytest.raises(ValueError, match="names no run"):
        Cell.parse(f"{cell}-x")


@nojit
@pytest.mark.parametrize(
    ("more", "test", "message"),
    [
        ("seed: 1\nseeds: [1, 2]", True, "seed and seeds: give only one"),
        ("seeds: 3", True, "seeds must be a list of whole numbers without repeats"),
        ("seeds: []", True, "seeds must be a list"),
        ("seeds: [1, 1]", True, "seeds must be a list of whole numbers without repeats"),
        ("seeds: [1, -1]", True, "seeds: each must be a whole number from 0 to 4294967295"),
        ("folds: 1", False, "folds: must be a whole number from 2 to 1000"),
        ("folds: 3", True, "one: with folds the parts of the training file are tested; leave test out"),
        ("", False, "languages.one needs a test file and validation data"),
        ("folds: 3\nshared_task: conllx", False, "folds: not with shared_task"),
    ],
)
def test_wrong_seeds_and_folds_are_refused(more, test, message, small, tmp_path):
    text = PLAN.format(root=small, more=more, test=", test: test.conll" if test else "")
    (tmp_path / "plan.yaml").write_text(text.replace("one:", "dutch:") if "shared" in more else text)
    with pytest.raises(ConfigError) as caught:
        load_plan(tmp_path / "plan.yaml")
    assert message in str(caught.value)


def test_a_seed_without_effect_is_warned_of(small, tmp_path):
    def stderr(*arguments) -> str:
        result = CliRunner().invoke(main, [*map(str, arguments), "--quiet"])
        assert result.exit_code == 0, result.output
        return result.stderr

    command = ["train", small / "run.yaml", "--set", "trainer.passes=1"]
    log_linear = "mtparse: warning: seed: no effect with log-linear: nothing is drawn at random\n"
    assert stderr(*command, "--out", tmp_path / "a", "--seed", 1) == log_linear
    assert stderr(*command, "--out", tmp_path / "b", "--set", "seed=9") == log_linear
    perceptron = [*command, "--set", "trainer.name=perceptron", "--set", "trainer.C="]
    text = stderr(*perceptron, "--out", tmp_path / "c", "--seed", 3)
    assert text == log_linear.replace("log-linear", "perceptron (shuffle: false)")
    assert stderr(*perceptron, "--out", tmp_path / "d", "--seed", 3, "--set", "trainer.shuffle=true") == ""
    assert stderr(*command, "--out", tmp_path / "e") == ""
    plan(small, tmp_path, "")
    reproduced = ["reproduce", tmp_path / "plan.yaml", "--set", "trees=[projective]"]
    assert stderr(*reproduced, "--out", tmp_path / "f", "--set", "seed=3") == ""
    unshuffled = [*reproduced, "--set", "trainers.perceptron.shuffle=false"]
    for name, seed in (("g", "seed=3"), ("h", "seeds=[1, 2]")):
        text = stderr(*unshuffled, "--out", tmp_path / name, "--set", seed)
        assert "seed: no effect with perceptron (shuffle: false), log-linear" in text
        assert text.count("\n") == 1
    assert os.listdir(tmp_path / "h" / "runs").count("one-perceptron-projective") == 1
    assert stderr(*unshuffled, "--out", tmp_path / "i") == ""
