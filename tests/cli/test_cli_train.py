"""The commands train and parse: effects, exit codes, messages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner
from helpers.project import ROOT

from mtparse.cli.main import main
from mtparse.treebank.conll import read_conll


def call(*arguments, **options):
    return CliRunner().invoke(main, list(map(str, arguments)), **options)


def test_train_prints_what_it_chose(small, tmp_path):
    out = tmp_path / "r"
    result = call(
        "train", small / "run.yaml", "--out", out, "--set", "trainer.passes=2", "--seed", 7, "--jobs", 1
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("chosen: C = 0.1, ")
    assert "\nvalid: UAS " in result.stdout
    assert "\ntest: UAS " in result.stdout
    assert result.stdout.endswith(f"\nmodel: {out / 'model.mtparse'}\n")
    assert "features in" in result.stderr
    assert "seed: 7" in (out / "config.yaml").read_text()


def test_quiet_says_nothing_on_stderr(small, tmp_path):
    result = call(
        "train", small / "run.yaml", "--out", tmp_path / "r", "--set", "trainer.passes=1", "--quiet"
    )
    assert (result.exit_code, result.stderr) == (0, "")


def test_default_run_directory(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("train", small / "run.yaml", "--set", "trainer.passes=1").exit_code == 0
    assert os.listdir("runs/run")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("trainer.C=0", "trainer.C"),
        ("trainer.iteratons=5", "unknown key trainer.iteratons"),
        ("data.train=nowhere.conll", "nowhere.conll is missing"),
        ("features.templates=[Hq]", "'Hq' is not an attribute"),
    ],
)
def test_faults_are_found_before_any_work(override, message, small, tmp_path):
    out = tmp_path / "r"
    result = call("train", small / "run.yaml", "--out", out, "--set", override)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not out.exists()


def test_parse_to_file_and_to_stdout(run, small, tmp_path):
    out = tmp_path / "o.conll"
    assert call("parse", run, small / "test.conll", "-o", out).exit_code == 0
    piped = call("parse", run / "model.mtparse", input=(small / "test.conll").read_bytes())
    assert piped.exit_code == 0
    assert piped.stdout_bytes == out.read_bytes()
    gold, parsed = list(read_conll(small / "test.conll")), list(read_conll(out))
    assert [s.forms for s in gold] == [s.forms for s in parsed]
    assert all(s.has_heads for s in parsed)


def test_a_bad_sentence_leaves_no_output(run, small, tmp_path):
    path, out = tmp_path / "t.conll", tmp_path / "o.conll"
    path.write_bytes((small / "test.conll").read_bytes() + b"1\tonly\tfour\tX\n")
    out.write_text("older")
    result = call("parse", run, path, "-o", out)
    assert result.exit_code == 1
    assert "4 columns found, 10 expected" in result.stderr
    assert out.read_text() == "older"
    assert sorted(os.listdir(tmp_path)) == ["o.conll", "t.conll"]


@pytest.mark.parametrize(
    ("model", "message"),
    [("nowhere", "No such file"), ("run.yaml", "not a model file"), (".", "no model.mtparse")],
)
def test_what_is_no_model(model, message, small):
    result = call("parse", small / model, small / "test.conll")
    assert result.exit_code == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_usage_errors(run):
    assert call("parse", run, "--decoder", "eisnr").exit_code == 2
    assert call("train").exit_code == 2
    assert call("train", "x.yaml", "--jobs", -1).exit_code == 2


def test_locale_does_not_matter(run, small):
    outputs = set()
    for locale in ({"LC_ALL": "C", "PYTHONUTF8": "0"}, {"LC_ALL": "C.UTF-8"}):
        result = subprocess.run(
            [sys.executable, "-m", "mtparse", "parse", run, small / "test.conll"],
            capture_output=True,
            check=True,
            env={**os.environ, **locale},
        )
        outputs.add(result.stdout)
    assert len(outputs) == 1


def test_names_beyond_ascii_in_any_locale(small, tmp_path):
    """Files that the config names, its folder, the run and its directory."""
    made = []
    folder = tmp_path / "gö"
    for locale in ({"LC_ALL": "C", "PYTHONUTF8": "0"}, {"LC_ALL": "C.UTF-8"}):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **locale}
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(small, folder / "ağaç")
        (folder / "ağaç" / "train.conll").rename(folder / "ağaç" / "eğitim.conll")
        text = (folder / "ağaç" / "run.yaml").read_text().replace("train.conll", "eğitim.conll")
        (folder / "ağaç" / "run.yaml").write_text(f"{text}name: koşu\n", encoding="utf-8")
        for command in (
            "train ağaç/run.yaml --set trainer.passes=1 --quiet",
            "parse runs/koşu ağaç/test.conll -o gölge.conll",
        ):
            subprocess.run(
                [sys.executable, "-m", "mtparse", *command.split()],
                check=True, capture_output=True, cwd=folder, env=environment,
            )  # fmt: skip
        names = ("runs/koşu/model.mtparse", "runs/koşu/config.yaml", "gölge.conll")
        made.append([(folder / name).read_bytes() for name in names])
    assert made[0] == made[1]


def test_a_finished_run_is_not_trained_again(run):
    result = call("train", "--resume", run)
    assert result.exit_code == 0
    assert result.stderr == f"{run}: this run is finished, nothing to resume\n"
    assert result.stdout.startswith("chosen: ")


def test_hash_seed_does_not_matter(small, tmp_path):
    models = set()
    for seed in ("0", "1", "random"):
        subprocess.run(
            [
                sys.executable,
                "-m",
                "mtparse",
                "train",
                small / "run.yaml",
                "--out",
                tmp_path / seed,
                "--quiet",
            ],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
        )
        models.add((tmp_path / seed / "model.mtparse").read_bytes())
    assert len(models) == 1


def test_an_empty_input_is_pointed_out(run):
    result = call("parse", run, input="")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "mtparse: warning: the input holds no sentence\n"
