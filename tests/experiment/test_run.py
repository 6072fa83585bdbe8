"""Training runs: the validation part, the run directory, what is chosen, what nothing depends on."""

from __future__ import annotations

import hashlib
import json
import os
import shutil

import numpy as np
import pytest
from helpers.project import first_sentences
from helpers.runs import SETTINGS, log_of, train_small

from mtparse.config.run import load_config
from mtparse.errors import ConfigError, ConllError, MtparseError
from mtparse.evaluation.attachment import evaluate
from mtparse.experiment import run as experiment
from mtparse.experiment.run import format_summary, train
from mtparse.model.parser import Parser
from mtparse.runtime.progress import Progress
from mtparse.treebank.conll import read_conll
from mtparse.treebank.gold import validation_mask
from mtparse.treebank.projectivize import projectivize
from mtparse.treebank.trees import head_array, is_projective

nojit = pytest.mark.nojit


@nojit
@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [("fraction", 0.25, [3, 7, 11]), ("sentences", 3, [3, 7, 11]), ("sentences", 1, [11])],
)
def test_validation_is_spread_over_the_file(kind, value, expected):
    assert np.flatnonzero(validation_mask([5] * 12, kind, value)).tolist() == expected


@nojit
@pytest.mark.parametrize("words", [10, 57, 200, 450])
def test_validation_by_words_is_close_to_its_size_and_spread(words):
    lengths = np.random.default_rng(0).integers(1, 20, 60)
    mask = validation_mask(lengths, "words", words)
    assert abs(lengths[mask].sum() - words) <= 20
    halves = lengths[:30][mask[:30]].sum(), lengths[30:][mask[30:]].sum()
    assert abs(halves[0] / lengths[:30].sum() - halves[1] / lengths[30:].sum()) < 0.3


@nojit
@pytest.mark.parametrize(
    ("kind", "value", "what"),
    [("sentences", 4, "training"), ("words", 500, "training"), ("fraction", 0.1, "validation")],
)
def test_a_split_must_leave_something(kind, value, what):
    with pytest.raises(ConfigError, match=f"data.valid: {kind}: .* leaves none for {what}"):
        validation_mask([3] * 4, kind, value)


@nojit
def test_run_directory_holds_all(run, small):
    assert sorted(os.listdir(run)) == [
        "config.yaml",
        "curves.csv",
        "log.jsonl",
        "model.mtparse",
        "parsed.conll",
        "scores.json",
        "sentences.csv",
    ]
    config = load_config(run / "config.yaml")
    assert config == load_config(small / "run.yaml", ["name=run"])
    scores = json.loads((run / "scores.json").read_text())
    assert scores["versions"]["numba"]
    assert set(scores["sha256"]) == {"train", "valid", "test"}
    passes = [r for r in log_of(run) if r["event"] == "pass"]
    assert [r["pass"] for r in passes] == [1, 2, 3, 4]
    assert "trainer.passes" in log_of(run)[-1]["reason"]


@nojit
def test_scores_are_those_of_the_saved_model(run, small):
    scores = json.loads((run / "scores.json").read_text())
    parser = Parser.load(run)
    for part in ("valid", "test"):
        gold = list(read_conll(small / f"{part}.conll"))
        parsed = list(parser.parse(gold))
        assert pytest.approx(scores[part]["all_tokens"]) == evaluate(gold, parsed, punctuation=True).UAS
        assert pytest.approx(scores[part]["without_punctuation"]) == evaluate(gold, parsed).UAS


@nojit
def test_validation_chooses_the_best_pass_and_decoder(run):
    scores = json.loads((run / "scores.json").read_text())
    seen = [
        (r[f"valid_uas_{d}"], d, r["pass"])
        for r in log_of(run)
        if r["event"] == "pass"
        for d in ("mst", "eisner")
    ]
    best = max(s for s, _, _ in seen)
    assert scores["valid"]["all_tokens"] == best
    assert (best, scores["decoder"], scores["passes"]) in seen


@pytest.mark.parametrize(
    ("name", "trees"),
    [(name, "nonprojective") for name in SETTINGS]
    + [pytest.param(name, "projective", marks=nojit) for name in ("perceptron", "max-margin")]
    + [(name, "projective") for name in ("log-linear", "cg", "paper")],
)
def test_all_trainers_learn(name, trees, small, tmp_path):
    summary = train_small(
        small,
        tmp_path / "r",
        *SETTINGS[name],
        f"trees={trees}",
        "trainer.passes=3",
        "features.templates=[Hw Mp+1]",
    )
    assert summary["test"]["all_tokens"] > 50
    assert summary["decoder"] == "eisner" or trees == "nonprojective"
    assert summary["root"] == "multi"
    text = format_summary(summary)
    assert "test: UAS" in text
    assert ("C = " in text) == (name != "perceptron")


@pytest.mark.parametrize("name", SETTINGS)
def test_crossing_trees_are_made_projective_for_projective_models(name, small, tmp_path, capsys):
    """It is said of how many; losses stay above 0, and parses within what a projective tree can have."""
    gold = list(read_conll(small / "train.conll"))
    trees = [head_array(s.heads) for s in gold]
    crossing = sum(not is_projective(tree) for tree in trees)
    config = load_config(small / "run.yaml", [*SETTINGS[name], "trees=projective", "trainer.passes=8"])
    train(config, os.fspath(tmp_path / "r"), progress=Progress())
    assert f"projectivized {crossing} of 30 training sentences\n" in capsys.readouterr().err
    assert crossing > 3
    objectives = [r["objective"] for r in log_of(tmp_path / "r") if r.get("objective") is not None]
    assert bool(objectives) == (name != "perceptron")
    assert min(objectives, default=0) >= 0
    parsed = Parser.load(tmp_path / "r").parse(gold)
    for tree, found in zip(trees, parsed, strict=True):
        assert (tree == head_array(found.heads)).sum() <= (tree == projectivize(tree, "multi")).sum()


@pytest.mark.parametrize("name", SETTINGS)
def test_unknown_tags_and_labels_in_validation_data_are_no_fault(name, small, tmp_path):
    text = "1\tneu\t_\tQ\tQ\tF=9\t2\tnew\t_\t_\n2\tlos\t_\t_\t_\t_\t0\tnewer\t_\t_\n\n"
    (tmp_path / "new.conll").write_text(text)
    new = f"{tmp_path}/new.conll"
    summary = train_small(
        small,
        tmp_path / "r",
        *SETTINGS[name],
        f"data.valid={new}",
        f"data.test={new}",
        "trainer.passes=1",
    )
    assert summary["valid"]["all_tokens"] in (0, 50, 100)
    parsed = list(read_conll(tmp_path / "r" / "parsed.conll", heads="required"))
    assert [s.deprels for s in parsed] == [["_", "_"]]
    assert evaluate(read_conll(new), parsed).label_accuracy == 0


@pytest.mark.parametrize("name", ["perceptron", "log-linear", "max-margin"])
def test_models_do_not_depend_on_threads_or_directory(name, small, tmp_path):
    overrides = [*SETTINGS[name], "trainer.passes=2", "refit=true"]
    if name != "perceptron":
        overrides.append("trainer.C=[0.01, 0.02, 0.05]")
    models = []
    for jobs in (1, 2):
        train_small(small, tmp_path / f"r{jobs}", *overrides, jobs=jobs)
        models.append((tmp_path / f"r{jobs}" / "model.mtparse").read_bytes())
    assert models[0] == models[1]


@pytest.mark.parametrize("trees", ["nonprojective", "projective"])
def test_models_do_not_depend_on_a_cache(trees, small, tmp_path):
    sets = [f"trees={trees}", "refit=true"]
    train_small(small, tmp_path / "plain", *sets)
    for name in ("made", "found"):
        config = load_config(small / "run.yaml", sets)
        train(config, os.fspath(tmp_path / name), cache=os.fspath(tmp_path / "cache"), jobs=2)
        model = (tmp_path / name / "model.mtparse").read_bytes()
        assert model == (tmp_path / "plain" / "model.mtparse").read_bytes()
        assert len(os.listdir(tmp_path / "cache")) == 2  # before the refit and for it


def test_a_cache_that_is_a_file_is_refused_before_anything_is_written(small, tmp_path):
    config = load_config(small / "run.yaml")
    with pytest.raises(MtparseError, match=r"run.yaml: the cache must be a directory"):
        train(config, os.fspath(tmp_path / "out"), cache=os.fspath(small / "run.yaml"))
    assert not (tmp_path / "out").exists()


def test_a_cache_that_cannot_be_used_leaves_no_run_directory(small, tmp_path):
    config = load_config(small / "run.yaml")
    train(config, os.fspath(tmp_path / "first"), cache=os.fspath(tmp_path / "cache"))
    (folder,) = (tmp_path / "cache").iterdir()
    (folder / "sha256.json").write_text("{}")
    (tmp_path / "empty").mkdir()
    for out in ("new", "empty"):
        with pytest.raises(MtparseError, match="this folder of the cache is damaged"):
            train(config, os.fspath(tmp_path / out), cache=os.fspath(tmp_path / "cache"))
    shutil.rmtree(folder)
    folder.write_text("")
    with pytest.raises(MtparseError, match=f"{folder.name}: a file, where the cache must keep a folder"):
        train(config, os.fspath(tmp_path / "new"), cache=os.fspath(tmp_path / "cache"))
    assert not (tmp_path / "new").exists()
    assert os.listdir(tmp_path / "empty") == []


def test_the_test_file_is_never_seen_by_training(small, tmp_path):
    models = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        for part in ("train.conll", "valid.conll", "run.yaml"):
            (folder / part).write_bytes((small / part).read_bytes())
        text = (small / "test.conll").read_text(encoding="utf-8")
        if name == "b":
            rows = [line.split("\t") for line in text.splitlines()]
            changed = [[*r[:6], "0", *r[7:]] if len(r) == 10 else r for r in rows]
            text = "\n".join("\t".join(r) for r in changed) + "\n"
        (folder / "test.conll").write_text(text, encoding="utf-8")
        train_small(folder, folder / "out", "trainer.passes=2")
        models.append((folder / "out" / "model.mtparse").read_bytes())
    assert models[0] == models[1]


@nojit
def test_refit_trains_on_all_with_the_chosen_settings(small, tmp_path):
    first = train_small(
        small, tmp_path / "a", "trainer.C=[0.02, 0.1]", "trainer.passes=2", "trainer.patience=1"
    )
    again = train_small(
        small, tmp_path / "b", "trainer.C=[0.02, 0.1]", "trainer.passes=2", "trainer.patience=1", "refit=true"
    )
    assert (first["C"], first["passes"], first["decoder"]) == (again["C"], again["passes"], again["decoder"])
    assert again["features"] > first["features"]
    refit = [r for r in log_of(tmp_path / "b") if r["refit"] and r["event"] == "pass"]
    assert [r["pass"] for r in refit] == list(range(1, again["passes"] + 1)) == [1, 2]
    whole = tmp_path / "whole.conll"
    whole.write_bytes((small / "train.conll").read_bytes() + (small / "valid.conll").read_bytes())
    (tmp_path / "whole.yaml").write_text(
        f"data: {{train: whole.conll, valid: null}}\n"
        f"trainer: {{name: log-linear, C: {again['C']}, passes: {again['passes']}}}\n"
        "features: {set: mcdonald}\n"
    )
    train(load_config(tmp_path / "whole.yaml"), os.fspath(tmp_path / "c"), jobs=1)
    a, b = Parser.load(tmp_path / "b").model, Parser.load(tmp_path / "c").model
    np.testing.assert_array_equal(a.weights, b.weights)
    np.testing.assert_array_equal(a.keys, b.keys)


@nojit
def test_patience_stops_early(small, tmp_path):
    train_small(small, tmp_path / "r", "trainer.passes=30", "trainer.patience=1", "trainer.C=1")
    assert "trainer.patience" in log_of(tmp_path / "r")[-1]["reason"]


@nojit
def test_no_features_are_refused(small, tmp_path):
    with pytest.raises(MtparseError, match=r"no feature is seen on 1000 arcs .*lower features\.min_count"):
        train_small(small, tmp_path / "r", "features.min_count=1000")


@nojit
def test_templates_of_the_config_alone(small, tmp_path):
    settings = ["features.set=none", "trainer.passes=1", "trainer.C=1"]
    train_small(small, tmp_path / "r", *settings, "features.templates=[Hw Mp+1, Hp Mp]")
    assert set(Parser.load(tmp_path / "r").model.templates) == {"Hw Mp+1", "Hp Mp"}
    rows = [line.split("\t") for line in (small / "train.conll").read_text(encoding="utf-8").splitlines()]
    bare = ["\t".join([*row[:2], "_", *row[3:5], "_", *row[6:]]) if len(row) > 1 else "" for row in rows]
    (tmp_path / "bare.conll").write_text("\n".join([*bare, ""]), encoding="utf-8")
    with pytest.raises(MtparseError, match=r"no feature template can be used: each one in features"):
        train_small(
            small,
            tmp_path / "s",
            *settings,
            "features.templates=[Hl Ml]",
            f"data.train={tmp_path}/bare.conll",
        )


@nojit
def test_a_used_directory_is_refused(small, tmp_path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "precious").write_text("x")
    with pytest.raises(MtparseError, match="exists and is not empty; name another directory with --out"):
        train_small(small, tmp_path / "r")
    assert os.listdir(tmp_path / "r") == ["precious"]


def test_a_directory_that_cannot_be_is_found_before_the_work(small, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    with monkeypatch.context() as patch:
        patch.setattr(experiment, "prepare", lambda *args: pytest.fail("the work began"))
        with pytest.raises(OSError, match=r"file/r"):
            train_small(small, tmp_path / "file" / "r")
    train_small(small, tmp_path / "new" / "folders" / "r", "trainer.passes=1")
    assert (tmp_path / "new" / "folders" / "r" / "model.mtparse").exists()


_CYCLE = "1\ta\t_\tX\tX\t_\t2\t_\t_\t_\n2\tb\t_\tX\tX\t_\t1\t_\t_\t_\n"


@nojit
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: "", "train.conll is empty"),
        (lambda t: "\n\n", "the file holds no sentence"),
        (lambda t: "1\ta\t_\tX\tX\t_\t_\t_\t_\t_\n", "train.conll:1: .*HEAD missing"),
        (lambda t: t + _CYCLE, "cycle"),
        (lambda t: t + 2 * (_CYCLE + "\n") + t, "sentence 31: the heads form a cycle, 1 -> 2 -> 1"),
    ],
)
def test_training_data_without_trees_is_refused(change, message, small, tmp_path):
    for part in ("train.conll", "valid.conll", "test.conll", "run.yaml"):
        (tmp_path / part).write_bytes((small / part).read_bytes())
    text = change((small / "train.conll").read_text(encoding="utf-8"))
    (tmp_path / "train.conll").write_text(text, encoding="utf-8")
    with pytest.raises(MtparseError, match=message):
        train_small(tmp_path, tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_root_settings(small, tmp_path):
    with pytest.raises(ConllError, match=r"words have HEAD 0 \([\d, ]+\), only one may; set root: multi"):
        train_small(small, tmp_path / "a", "root=single")
    assert train_small(small, tmp_path / "b", "root=multi", "trainer.passes=1")["root"] == "multi"
    text = first_sentences(small / "train.conll", 30)
    single = [s for s in text.split("\n\n") if s and sum(r.split("\t")[6] == "0" for r in s.split("\n")) == 1]
    for part in ("valid.conll", "test.conll", "run.yaml"):
        (tmp_path / part).write_bytes((small / part).read_bytes())
    (tmp_path / "train.conll").write_text("\n\n".join(single) + "\n\n", encoding="utf-8")
    assert train_small(tmp_path, tmp_path / "c", "trainer.passes=1")["root"] == "single"
    assert train_small(tmp_path, tmp_path / "d", "trainer.passes=1", "root=single")["root"] == "single"


@nojit
def test_a_faulty_test_file_is_found_before_the_work(small, tmp_path):
    for part in ("train.conll", "valid.conll", "run.yaml"):
        (tmp_path / part).write_bytes((small / part).read_bytes())
    (tmp_path / "test.conll").write_text("1\ta\n")
    with pytest.raises(ConllError, match=r"test\.conll:1: sentence 1: 2 columns found"):
        train_small(tmp_path, tmp_path / "r")
    assert not (tmp_path / "r").exists()


@nojit
def test_a_test_file_that_breaks_meanwhile_loses_no_model(small, tmp_path, monkeypatch):
    for part in ("train.conll", "valid.conll", "test.conll", "run.yaml"):
        (tmp_path / part).write_bytes((small / part).read_bytes())

    def breaks(*args):
        (tmp_path / "test.conll").write_text("1\ta\n")
        return choose(*args)

    choose = experiment.choose
    with monkeypatch.context() as patch:
        patch.setattr(experiment, "choose", breaks)
        with pytest.raises(ConllError, match=r"test\.conll:1: sentence 1: 2 columns found"):
            train_small(tmp_path, tmp_path / "r", "trainer.passes=1")
    assert len(Parser.load(tmp_path / "r").model.weights) > 100
    assert "test" not in json.loads((tmp_path / "r" / "scores.json").read_text())
    (tmp_path / "test.conll").write_bytes((small / "test.conll").read_bytes())
    summary = train(
        load_config(tmp_path / "run.yaml", ["trainer.passes=1"]), str(tmp_path / "r"), resume=True
    )
    assert summary["test"]["words"] > 50


@nojit
def test_a_refit_takes_the_roots_of_the_validation_data_into_account(small, tmp_path):
    single = "1\ta\t_\tN\tN\t_\t2\t_\t_\t_\n2\tb\t_\tV\tV\t_\t0\t_\t_\t_\n\n"
    (tmp_path / "train.conll").write_text(3 * single)
    (tmp_path / "valid.conll").write_text(single.replace("\t2\t", "\t0\t"))
    (tmp_path / "run.yaml").write_text(
        "data: {train: train.conll, valid: valid.conll}\ntrainer: {C: 1, passes: 3}\n"
    )
    assert train_small(tmp_path, tmp_path / "a")["root"] == "single"
    assert train_small(tmp_path, tmp_path / "b", "refit=true")["root"] == "multi"
    with pytest.raises(ConllError, match=r"valid.conll:2: .*2 words have HEAD 0"):
        train_small(tmp_path, tmp_path / "c", "refit=true", "root=single")


@nojit
def test_scores_that_are_undefined_are_null(tmp_path):
    words = "1\t.\t_\tP\tP\t_\t2\t_\t_\t_\n2\t,\t_\tP\tP\t_\t0\t_\t_\t_\n\n"
    (tmp_path / "train.conll").write_text(4 * words)
    (tmp_path / "run.yaml").write_text(
        "data: {train: train.conll, valid: {sentences: 1}, test: train.conll}\ntrainer: {C: 1, passes: 2}\n"
    )
    summary = train_small(tmp_path, tmp_path / "a")
    assert "NaN" not in (tmp_path / "a" / "scores.json").read_text()
    assert "NaN" not in (tmp_path / "a" / "log.jsonl").read_text()
    assert summary["test"]["without_punctuation"] is None
    assert "n/a without punctuation" in format_summary(summary)
    with pytest.raises(ConfigError, match="nothing but punctuation"):
        train_small(tmp_path, tmp_path / "b", "punctuation=false")


@nojit
def test_nothing_to_learn_refits_to_nothing(tmp_path):
    pair = "1\tx\t_\tX\tX\t_\t{}\t_\t_\t_\n2\tx\t_\tX\tX\t_\t{}\t_\t_\t_\n\n"
    text = pair.format(0, 1) + pair.format(2, 0)
    (tmp_path / "train.conll").write_text(text)
    (tmp_path / "valid.conll").write_text(text)
    (tmp_path / "run.yaml").write_text(
        "data: {train: train.conll, valid: valid.conll}\nrefit: true\ntrainer: {C: 1, passes: 3}\n"
    )
    summary = train_small(tmp_path, tmp_path / "a")
    assert summary["passes"] == 0
    model = Parser.load(tmp_path / "a").model
    assert not model.weights.any()
    assert [e["reason"] for e in model.info["ended"]] == ["converged: the start is optimal"]


@nojit
def test_the_hash_is_that_of_what_was_read(run, small):
    scores = json.loads((run / "scores.json").read_text())
    for part in ("train", "valid"):
        assert scores["sha256"][part] == hashlib.sha256((small / f"{part}.conll").read_bytes()).hexdigest()


@nojit
def test_a_file_in_the_place_of_a_config(tmp_path):
    with pytest.raises(TypeError, match="a Config is needed, not a str; load_config reads one"):
        train("run.yaml", str(tmp_path / "out"))
    assert not list(tmp_path.iterdir())
