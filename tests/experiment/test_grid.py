"""Whole experiments: the runs that train makes, resumed after an interruption, tables from what is stored."""

from __future__ import annotations

import csv
import json
import os
import shutil

import pytest
from click.testing import CliRunner
from helpers.project import ROOT
from helpers.runs import PLAN, model

from mtparse.cli.main import main
from mtparse.config.run import load_config
from mtparse.errors import ConfigError, MtparseError
from mtparse.evaluation.attachment import evaluate
from mtparse.experiment import grid as module
from mtparse.experiment import grid_directory as store
from mtparse.experiment.grid import reproduce
from mtparse.experiment.plan import Cell, load_plan
from mtparse.experiment.run import train
from mtparse.runtime.files import lock_directory
from mtparse.runtime.progress import Progress
from mtparse.training.checkpoints import Checkpoint
from mtparse.treebank.conll import read_conll


@pytest.fixture(scope="module")
def plan_file(small, tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "plan.yaml"
    path.write_text(PLAN.format(root=small, more=""))
    return path


@pytest.fixture(scope="module")
def finished(plan_file, tmp_path_factory):
    out = tmp_path_factory.mktemp("experiment") / "out"
    text = reproduce(load_plan(plan_file), os.fspath(out), jobs=2)
    return out, text


def test_every_cell_is_the_run_that_train_makes(finished, tmp_path):
    out, _ = finished
    assert sorted(os.listdir(out / "runs")) == sorted(
        f"{language}-{trainer}-{trees}"
        for language in ("one", "two")
        for trainer in ("perceptron", "log-linear")
        for trees in ("projective", "nonprojective")
    )
    for cell in ("two-log-linear-nonprojective", "one-perceptron-projective"):
        config = load_config(out / "runs" / cell / "config.yaml")
        train(config, os.fspath(tmp_path / cell), jobs=1)
        assert (tmp_path / cell / "model.mtparse").read_bytes() == model(out, cell)


def test_a_cache_changes_nothing(finished, plan_file, tmp_path):
    out, _ = finished
    plan = load_plan(plan_file).only(["one"])
    cache = os.fspath(tmp_path / "cache")
    reproduce(plan, os.fspath(tmp_path / "out"), jobs=2, cache=cache)
    for cell in os.listdir(tmp_path / "out" / "runs"):
        assert model(tmp_path / "out", cell) == model(out, cell)
    assert len(os.listdir(cache)) == 2  # a tree family each


def test_tables_say_what_the_runs_scored(finished, small):
    out, text = finished
    assert (out / "tables" / "tables.md").read_text() == text
    gold = list(read_conll(small / "test.conll"))
    parsed = read_conll(out / "runs" / "one-log-linear-projective" / "parsed.conll")
    uas = evaluate(gold, parsed, punctuation=True).UAS
    rows = json.loads((out / "tables" / "table2.json").read_text())
    assert rows[0]["language"] == "one"
    assert rows[0]["log-linear, projective"] == pytest.approx(uas)
    with open(out / "tables" / "table2.csv", newline="") as file:
        assert float(next(csv.DictReader(file))["log-linear, projective"]) == pytest.approx(uas)
    best = max(v for k, v in rows[0].items() if k != "language")
    assert f"**{best:.2f}**" in text
    for trainer in json.loads((out / "tables" / "table3.json").read_text()):
        cells = [f"one-{trainer['trainer']}-{trees}" for trees in ("projective", "nonprojective")]
        scores = [json.loads((out / "runs" / c / "scores.json").read_text()) for c in cells]
        chosen = max(scores, key=lambda s: (s["valid"]["all_tokens"], s["trees"] == "nonprojective"))
        assert trainer["one"] == chosen["test"]["all_tokens"]
        assert trainer["average"] == pytest.approx((trainer["one"] + trainer["two"]) / 2)
    choices = json.loads((out / "tables" / "choices.json").read_text())
    assert len(choices) == 8
    for row in choices:
        found = out / "runs" / f"{row['language']}-{row['trainer']}-{row['trees']}" / "scores.json"
        scores = json.loads(found.read_text())
        assert row["validation UAS"] == scores["valid"]["all_tokens"]
        assert (row["passes"], row["decoder"]) == (scores["passes"], scores["decoder"])
        assert row["C"] == ("" if scores["C"] is None else f"{scores['C']:g}")
    (pair,) = json.loads((out / "tables" / "significance.json").read_text())
    assert pair["pair"] == "log-linear against perceptron"
    assert pair["sentences"] == 2 * len(gold)
    first = json.loads((out / "tables" / "table1.json").read_text())[0]
    assert first["crossing %"] > first["non-projective %"] > 0


def test_a_finished_experiment_is_only_printed(finished, plan_file, monkeypatch):
    out, text = finished
    monkeypatch.setattr(module, "run_trainer", None)
    assert reproduce(load_plan(plan_file), os.fspath(out), resume=True) == text


def test_resume_after_an_interruption_gives_the_same(finished, plan_file, tmp_path, monkeypatch):
    whole, text = finished
    out = os.fspath(tmp_path / "out")
    real, calls = module.run_trainer, []

    def interrupted(*arguments, **options):
        if len(calls) == 4:
            raise KeyboardInterrupt
        calls.append(arguments)
        return real(*arguments, **options)

    monkeypatch.setattr(module, "run_trainer", interrupted)
    with pytest.raises(KeyboardInterrupt, match="what is finished is kept; --resume continues"):
        reproduce(load_plan(plan_file), out, jobs=1)
    assert not os.path.exists(os.path.join(out, "tables"))

    with pytest.raises(MtparseError, match="exists and is not empty"):
        reproduce(load_plan(plan_file), out, jobs=1)
    with pytest.raises(MtparseError, match=r"seed of run one-perceptron-projective differs from"):
        reproduce(load_plan(plan_file, ["seed=2"]), out, jobs=1, resume=True)

    def counted(*arguments, **options):
        if options["checkpoint"].finished() is None:
            calls.append(arguments)
        return real(*arguments, **options)

    monkeypatch.setattr(module, "run_trainer", counted)
    assert reproduce(load_plan(plan_file), out, jobs=2, resume=True) == text
    assert len(calls) == 12
    for cell in os.listdir(whole / "runs"):
        assert model(tmp_path / "out", cell) == model(whole, cell)
    assert not os.listdir(tmp_path / "out" / "parts")


def test_changed_data_and_code_are_not_resumed(small, tmp_path, monkeypatch):
    for part in ("train.conll", "valid.conll", "test.conll"):
        (tmp_path / part).write_bytes((small / part).read_bytes())
    (tmp_path / "plan.yaml").write_text(PLAN.format(root=tmp_path, more="trees: [projective]"))
    plan, out = load_plan(tmp_path / "plan.yaml").only(["two"]), os.fspath(tmp_path / "out")
    reproduce(plan, out)
    reproduce(plan, out, resume=True)
    (tmp_path / "test.conll").write_bytes((small / "valid.conll").read_bytes())
    text = reproduce(plan, out, resume=True)  # what is finished is printed
    (tmp_path / "out" / "runs" / "two-perceptron-projective" / "sentences.csv").unlink()
    with pytest.raises(MtparseError, match=r"two/test has changed since the experiment began"):
        reproduce(plan, out, resume=True)
    (tmp_path / "test.conll").write_bytes((small / "test.conll").read_bytes())
    monkeypatch.setattr(store, "DIGEST", "another")
    with pytest.raises(MtparseError, match=r"the code has changed since the experiment began"):
        reproduce(plan, out, resume=True)
    monkeypatch.undo()
    assert reproduce(plan, out, resume=True) == text


def test_finished_tables_need_no_treebanks(small, tmp_path, capsys):
    shutil.copytree(small, tmp_path / "data")
    (tmp_path / "plan.yaml").write_text(PLAN.format(root=tmp_path / "data", more="trees: [projective]"))
    plan, out = load_plan(tmp_path / "plan.yaml"), os.fspath(tmp_path / "out")
    text = reproduce(plan, out)
    (tmp_path / "data" / "test.conll").write_text("")
    assert reproduce(plan, out, resume=True, progress=Progress(quiet=True)) == text
    err = capsys.readouterr().err
    assert err.startswith("mtparse: warning: one/test, two/test: the file has changed since")
    shutil.rmtree(tmp_path / "data")
    assert reproduce(plan, out, resume=True) == text
    assert not capsys.readouterr().err


def test_an_experiment_can_grow(finished, plan_file, tmp_path):
    """Begun with --only, gone on with all languages, printed for one."""
    whole, text = finished
    out = os.fspath(tmp_path / "out")
    one = reproduce(load_plan(plan_file).only(["two"]), out, jobs=1)
    before = json.loads((tmp_path / "out" / "cost.json").read_text())["seconds"]
    assert reproduce(load_plan(plan_file, ["threads=3"]), out, jobs=1, resume=True) == text
    assert json.loads((tmp_path / "out" / "cost.json").read_text())["seconds"] > before
    assert reproduce(load_plan(plan_file).only(["two"]), out, resume=True) == one
    for cell in os.listdir(whole / "runs"):
        assert model(tmp_path / "out", cell) == model(whole, cell)


def test_settings_of_validation_take_each_others_place(small, tmp_path):
    (tmp_path / "plan.yaml").write_text(PLAN.format(root=small, more=""))
    plan = load_plan(tmp_path / "plan.yaml", ["languages.two.valid.words=50"])
    valid = plan.cells[Cell("two", "perceptron", "projective")].data.valid
    assert (valid.kind, valid.value) == ("words", 50)


def test_damaged_runs_and_parts_are_made_again(finished, plan_file, tmp_path, monkeypatch):
    whole, text = finished
    shutil.copytree(whole, tmp_path / "out")
    runs = tmp_path / "out" / "runs"
    (runs / "one-perceptron-projective" / "scores.json").write_text("{")
    (runs / "one-log-linear-projective" / "parsed.conll").unlink()
    (runs / "two-perceptron-projective" / "log.jsonl").unlink()
    (runs / "two-perceptron-nonprojective" / "model.mtparse").write_bytes(b"")
    counts = runs / "one-perceptron-nonprojective" / "sentences.csv"
    counts.write_text("".join(counts.read_text().splitlines(keepends=True)[:-1]))
    counts = runs / "two-log-linear-projective" / "sentences.csv"
    counts.write_text(counts.read_text().replace(",", ";", 3))
    (tmp_path / "out" / "cost.json").write_text('{"seconds": null}')
    part = tmp_path / "out" / "parts" / "one-perceptron-projective" / "run.run"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"no zip file")
    left = tmp_path / "out" / "parts" / "two-log-linear-projective"  # of a run that is finished
    left.mkdir()
    assert reproduce(load_plan(plan_file), os.fspath(tmp_path / "out"), resume=True) == text
    assert not left.exists()
    for cell in os.listdir(whole / "runs"):
        assert model(tmp_path / "out", cell) == model(whole, cell)


@pytest.mark.parametrize(
    "change",
    [
        {"valid": None},
        {"valid": {"all_tokens": "x"}},
        {"C": "x"},
        {"passes": None},
        {"seconds": [1]},
        "[" * 100_000,
    ],
)
def test_scores_that_make_no_sense_are_made_again(change, finished, plan_file, tmp_path):
    whole, _ = finished
    plan, out = load_plan(plan_file).only(["one"]), tmp_path / "out"
    shutil.copytree(whole, out)
    shutil.copytree(whole, tmp_path / "good")
    scores = out / "runs" / "one-perceptron-projective" / "scores.json"
    before = json.loads(scores.read_text())
    scores.write_text(change if isinstance(change, str) else json.dumps({**before, **change}))
    (out / "cost.json").write_text('{"seconds": 1' + 400 * "0" + "}")
    expected = reproduce(plan, os.fspath(tmp_path / "good"), resume=True)
    assert reproduce(plan, os.fspath(out), resume=True) == expected
    assert json.loads(scores.read_text())["valid"] == before["valid"]


def test_a_run_in_which_another_process_works_is_not_removed(finished, plan_file, tmp_path):
    whole, _ = finished
    shutil.copytree(whole, tmp_path / "out")
    run = tmp_path / "out" / "runs" / "one-perceptron-projective"
    (run / "scores.json").unlink()
    release = lock_directory(run)
    with pytest.raises(
        MtparseError, match="one-perceptron-projective: another process works in this directory"
    ):
        reproduce(load_plan(plan_file), os.fspath(tmp_path / "out"), resume=True)
    assert (run / "model.mtparse").exists()
    release()


def test_parts_are_known_by_a_checksum(finished, plan_file, tmp_path, monkeypatch):
    """No damaged part is loaded, whichever byte it is."""
    plan = load_plan(plan_file).only(["one"])
    real, parts = Checkpoint.finish, []

    def keep(self, run, records):
        real(self, run, records)
        path = f"{self._path}.run"
        with open(path, "rb") as file:
            parts.append((run.C, path, file.read()))

    monkeypatch.setattr(Checkpoint, "finish", keep)
    reproduce(plan, os.fspath(tmp_path / "o"))
    monkeypatch.undo()
    kept = module.Store(os.fspath(tmp_path / "o"), plan, True)
    C, path, data = parts[-1]
    os.makedirs(os.path.dirname(path))
    checkpoint = Checkpoint(path.removesuffix(".run"), "any", None)
    for place in range(0, len(data), 997):
        damaged = bytearray(data)
        damaged[place] ^= 1
        with open(path, "wb") as file:
            file.write(damaged)
        assert checkpoint.finished() is None
    with open(path, "wb") as file:
        file.write(data)
    assert checkpoint.finished()[0].C == C
    with pytest.raises(MtparseError, match="another process works in this directory"):
        reproduce(plan, os.fspath(tmp_path / "o"), resume=True)
    kept.close()


@pytest.mark.parametrize("name", ["plan.json", "inputs.json"])
def test_without_its_record_an_experiment_does_not_go_on(name, finished, plan_file, tmp_path):
    whole, _ = finished
    shutil.copytree(whole, tmp_path / "out")
    (tmp_path / "out" / name).write_text("")
    (tmp_path / "out" / "runs" / "one-perceptron-projective" / "sentences.csv").unlink()
    with pytest.raises(MtparseError, match=f"{name}: (missing or )?damaged"):
        reproduce(load_plan(plan_file), os.fspath(tmp_path / "out"), resume=True)


def test_a_repaired_file_is_gone_on_with(small, tmp_path, monkeypatch):
    """What was made without the faulty file is kept; moving everything changes nothing."""
    old, new = tmp_path / "old", tmp_path / "new"
    shutil.copytree(small, old)
    good = (old / "test.conll").read_text()
    (old / "bad.conll").write_text(good.replace("\t0\t", "\t99\t", 1))
    text = PLAN.format(root="data", more="trees: [projective]").replace("root: data", "root: .")
    text = text.replace("{fraction: 0.3}, test: test", "{fraction: 0.3}, test: bad")
    (old / "plan.yaml").write_text(text)
    with pytest.raises(MtparseError, match=r"bad\.conll"):
        reproduce(load_plan(old / "plan.yaml"), os.fspath(old / "out"))
    assert not (old / "out" / "runs").exists()  # it is found at once, unless it comes later
    shutil.rmtree(old / "out")
    with monkeypatch.context() as patch:
        patch.setattr(module, "read_test", lambda *_: None)
        with pytest.raises(MtparseError, match=r"bad\.conll"):
            reproduce(load_plan(old / "plan.yaml"), os.fspath(old / "out"))
    first = (old / "out" / "runs" / "one-perceptron-projective" / "scores.json").read_bytes()
    (old / "bad.conll").write_text(good)
    old.rename(new)
    reproduce(load_plan(new / "plan.yaml"), os.fspath(new / "out"), resume=True)
    assert (new / "out" / "runs" / "one-perceptron-projective" / "scores.json").read_bytes() == first
    (new / "train.conll").write_bytes((new / "valid.conll").read_bytes())
    (new / "out" / "runs" / "one-perceptron-projective" / "model.mtparse").unlink()
    with pytest.raises(MtparseError, match=r"one/train has changed since the experiment began"):
        reproduce(load_plan(new / "plan.yaml"), os.fspath(new / "out"), resume=True)


def test_refit_in_an_experiment(small, tmp_path):
    (tmp_path / "plan.yaml").write_text(PLAN.format(root=small, more="refit: true\ntrees: [projective]"))
    plan = load_plan(tmp_path / "plan.yaml").only(["one"])
    reproduce(plan, os.fspath(tmp_path / "out"), jobs=2)
    cell = "one-log-linear-projective"
    train(load_config(tmp_path / "out" / "runs" / cell / "config.yaml"), os.fspath(tmp_path / "r"), jobs=1)
    assert (tmp_path / "r" / "model.mtparse").read_bytes() == model(tmp_path / "out", cell)


@pytest.mark.nojit
def test_command(plan_file, tmp_path):
    arguments = ["reproduce", str(plan_file), "--out", str(tmp_path / "o"), "--only", "two", "--jobs", "2"]
    result = CliRunner().invoke(main, [*arguments, "--set", "trainers.log-linear.C=0.1"])
    assert result.exit_code == 0, result.output
    assert "| two |" in result.stdout
    assert "| one |" not in result.stdout
    assert "Table 3" in result.stdout
    assert CliRunner().invoke(main, ["tables", str(tmp_path / "o")]).stdout == result.stdout


@pytest.mark.nojit
def test_plans_in_configs_load():
    plan = load_plan(ROOT / "configs" / "demo.yaml")
    assert len(plan.cells) == 6 * 3 * 2
    plan.require_files()
    assert plan.cells[Cell("avelu", "perceptron", "projective")].trainer.C is None


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"languags: {}": ""}, "unknown key languags; did you mean languages"),
        ({"languages:": "langs:"}, "unknown key langs"),
        ({"perceptron:": "perceptrn:"}, "trainers.perceptrn: must be one of"),
        ({"perceptron: {passes: 2}": "perceptron: 2"}, "trainers.perceptron must be a section"),
        ({"passes: 2": "name: max-margin"}, "trainers.perceptron.name: leave it out"),
        ({"features:": "name: ../x\nfeatures:"}, "name: must be text that can name a folder"),
        ({"features:": "name: [a]\nfeatures:"}, "name: must be text that can name a folder"),
        ({"  one:": "  null:"}, "a language must be text without a comma"),
        ({"  one:": "  'a,b':"}, "a language must be text without a comma"),
        ({"  one:": f"  {'a' * 101}:"}, "of at most 100 bytes"),
        ({"passes: 3": "pases: 3"}, r"one-log-linear-projective\): unknown key trainer.pases"),
        ({"C: [0.1, 0.02]": "C: 0"}, r"trainer.C = 0"),
        ({"features:": "trees: [sideways]\nfeatures:"}, "trees must be a list"),
        ({", test: test.conll}": "}"}, "languages.one needs a test file"),
        ({"trainers:": "trainers: 3\nname:"}, "trainers must be a section"),
        ({"data: {": "data: 3 #"}, "data must be a section"),
        ({"one: {train: train.conll, valid: valid.conll, test: test.conll}": "one: x"}, "languages.one must"),
    ],
)
def test_wrong_plans_are_refused(change, message, small, tmp_path):
    text = PLAN.format(root=small, more="languags: {}" if "languags: {}" in change else "")
    for old, new in change.items():
        text = text.replace(old, new) if new else text
    (tmp_path / "plan.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_plan(tmp_path / "plan.yaml")


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("seed", "must have the form KEY=VALUE"),
        ("seed.x=1", "seed has no keys"),
        ("trainers.log-linear.C=-1", "trainer.C = -1"),
        ("nonsense=1", "unknown key nonsense"),
    ],
)
def test_wrong_overrides_are_refused(override, message, small, tmp_path):
    (tmp_path / "plan.yaml").write_text(PLAN.format(root=small, more="seed: 1"))
    with pytest.raises(ConfigError, match=message):
        load_plan(tmp_path / "plan.yaml", [override])


@pytest.mark.nojit
def test_missing_and_empty_files_are_all_named(small, tmp_path):
    (tmp_path / "empty.conll").write_text("")
    text = PLAN.format(root=small, more="").replace(
        "two: {train: valid.conll", f"two: {{train: {tmp_path}/empty.conll"
    )
    (tmp_path / "plan.yaml").write_text(text.replace("train: train.conll", "train: nowhere.conll"))
    with pytest.raises(ConfigError, match=r"nowhere.conll is missing; .*empty.conll is empty"):
        reproduce(load_plan(tmp_path / "plan.yaml"), os.fspath(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.nojit
def test_only_names_languages_of_the_plan(plan_file):
    with pytest.raises(ConfigError, match="--only three: the plan has one, two"):
        load_plan(plan_file).only(["three"])
    with pytest.raises(ConfigError, match="--only names no language"):
        load_plan(plan_file).only([])
