"""The parts of the data: kept apart, folds that cover the training file, files that can be read again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading

import pytest
from click.testing import CliRunner
from helpers.runs import train_small

from mtparse.cli.main import main
from mtparse.config.run import config_to_dict, load_config
from mtparse.errors import ConfigError
from mtparse.experiment.run import train
from mtparse.experiment.split import read_split, read_test, shared_data
from mtparse.model.parser import Parser
from mtparse.treebank.conll import read_conll, write_conll

nojit = pytest.mark.nojit


def texts(treebank) -> list[str]:
    return [" ".join(s.forms) for s in treebank.sentences]


def parts_of(small, *overrides):
    config = load_config(small / "run.yaml", overrides)
    parts = read_split(config)
    return config, parts, read_test(config, parts)


@nojit
def test_every_sentence_is_in_one_fold_and_in_nothing_else_of_that_run(small):
    whole = [" ".join(s.forms) for s in read_conll(small / "train.conll")]
    assert len(set(whole)) == len(whole) == 30
    tested = []
    for fold in range(1, 8):
        test_part = f"data.test={{fold: {fold}, of: 7}}"
        config, parts, test = parts_of(small, "data.valid.fraction=0.2", test_part)
        training, valid = texts(parts.training), texts(parts.valid)
        assert sorted(training + valid + texts(test)) == sorted(whole)
        assert texts(test) == whole[fold - 1 :: 7]
        assert len(valid) == int(0.2 * (len(training) + len(valid)))
        assert set(parts.hashes) == {"train"}
        assert not list(shared_data(config, parts, test))
        tested += texts(test)
    assert sorted(tested) == sorted(whole)


def test_a_fold_is_scored_as_if_it_were_a_file(small, tmp_path):
    """The run of a fold is that of three files that hold its parts."""
    overrides = ["trainer.passes=2", "data.valid.sentences=5"]
    found = train_small(small, tmp_path / "fold", *overrides, "data.test={fold: 2, of: 3}")
    _, parts, test = parts_of(small, *overrides, "data.test={fold: 2, of: 3}")
    files = {"train": parts.training, "valid": parts.valid, "test": test}
    for name, treebank in files.items():
        write_conll(treebank.sentences, tmp_path / f"{name}.conll")
    named = [f"data.{name}={tmp_path}/{name}.conll" for name in files]
    same = train_small(small, tmp_path / "files", "trainer.passes=2", *named)
    assert found["test"] == same["test"]
    assert found["valid"] == same["valid"]
    fold, whole = (Parser.load(tmp_path / name).model for name in ("fold", "files"))
    assert fold.weights.tolist() == whole.weights.tolist()
    parsed = (tmp_path / "fold" / "parsed.conll").read_bytes()
    assert parsed == (tmp_path / "files" / "parsed.conll").read_bytes()
    stored = config_to_dict(load_config(tmp_path / "fold" / "config.yaml"))
    assert stored["data"]["test"] == {"fold": 2, "of": 3}


@nojit
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{fold: 0, of: 3}", "must be a whole number from 1 to 3"),
        ("{fold: 4, of: 3}", "must be a whole number from 1 to 3"),
        ("{fold: 1, of: 1}", "must be a whole number from 2 to 1000"),
        ("{fold: 1}", "must be {fold: K, of: N}, a path, null"),
        ("{fraction: 0.1}", "must be {fold: K, of: N}, a path, null"),
    ],
)
def test_wrong_folds_are_refused(value, message, small):
    with pytest.raises(ConfigError) as caught:
        load_config(small / "run.yaml", [f"data.test={value}"])
    assert str(caught.value).endswith(message)


@nojit
def test_more_folds_than_sentences_are_refused(small, tmp_path):
    with pytest.raises(ConfigError, match=r"31 folds, but the training file has only 30 sentences"):
        train_small(small, tmp_path / "r", "data.test={fold: 1, of: 31}")
    assert not (tmp_path / "r").exists()


@pytest.fixture
def altered(small, tmp_path):
    """Files of some training and some test sentences."""

    def make(name: str, shared: int, own: int) -> str:
        training = (small / "train.conll").read_text().split("\n\n")[:shared]
        test = (small / "test.conll").read_text().split("\n\n")[:own]
        path = tmp_path / f"{name}.conll"
        path.write_text("\n\n".join([*training, *test]) + "\n\n")
        return str(path)

    return make


@nojit
def test_data_that_are_used_twice_are_warned_of(small, altered):
    def warnings(*overrides):
        return list(shared_data(*parts_of(small, *overrides)))

    assert not warnings()
    (text,) = warnings("data.test=train.conll")
    assert text.endswith("/train.conll: the test file is the training file: scores on it say little about "
                         "other text")  # fmt: skip
    (text,) = warnings("data.test=valid.conll")
    assert "valid.conll: the test file is the validation file" in text
    assert len(warnings("data.valid=train.conll", "data.test=train.conll")) == 2
    assert "the validation file is the training file" in warnings("data.valid=train.conll")[0]
    (text,) = warnings(f"data.test={altered('most', 20, 5)}")
    assert "% of the words of the test data are in sentences that the training and validation data" in text
    assert 50 < float(text.split(": ")[1].split(" %")[0]) < 100
    assert not warnings(f"data.test={altered('few', 3, 9)}")
    (text,) = warnings(f"data.valid={altered('valid', 20, 0)}")
    assert "100 % of the words of the validation data are in sentences that the training data have" in text


@nojit
def test_validation_sentences_that_are_trained_on_too_are_warned_of(small, tmp_path):
    shutil.copy(small / "train.conll", tmp_path / "again.conll")
    files = f"data.train=[train.conll, {tmp_path}/again.conll]"
    (text,) = shared_data(*parts_of(small, files, "data.valid.sentences=9", "data.test="))
    assert "100 % of the words of the validation data are in sentences that the training data" in text


@nojit
def test_one_file_named_twice_is_refused(small, tmp_path):
    config = load_config(small / "run.yaml", ["data.train=[train.conll, ./train.conll]"])
    with pytest.raises(ConfigError, match=r"train.conll: data.train names this file twice"):
        train(config, str(tmp_path / "r"))


def test_train_and_reproduce_print_the_warning(small, tmp_path):
    result = CliRunner().invoke(
        main,
        ["train", str(small / "run.yaml"), "--set", "data.test=train.conll", "--set", "trainer.passes=1",
         "--out", str(tmp_path / "r"), "--quiet"],
    )  # fmt: skip
    assert result.exit_code == 0
    assert result.stderr.startswith("mtparse: warning: ")
    assert "the test file is the training file" in result.stderr
    (tmp_path / "plan.yaml").write_text(
        f"data: {{root: {small}}}\nlanguages: {{one: {{train: train.conll, test: train.conll}}}}\n"
        "trees: [projective]\ntrainers: {perceptron: {passes: 1}}\n"
    )
    out = str(tmp_path / "o")
    result = CliRunner().invoke(main, ["reproduce", str(tmp_path / "plan.yaml"), "--out", out, "--quiet"])
    assert result.exit_code == 0
    assert result.stderr.count("the test file is the training file") == 1


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_a_file_that_can_be_read_only_once_is_refused_before_the_work(part, small, tmp_path):
    """Nothing is written, and the pipe is not opened: that would wait for a writer."""
    os.mkfifo(tmp_path / "pipe")
    out = tmp_path / "r"
    command = ["train", str(small / "run.yaml"), "--set", f"data.{part}={tmp_path}/pipe", "--out", str(out)]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert f"{tmp_path}/pipe: a pipe or device can be read only once" in result.stderr
    assert "save it to a file first" in result.stderr
    assert not out.exists()


def test_process_substitution_is_refused_before_the_work(small, tmp_path):
    command = (
        f"{sys.executable} -m mtparse train {small}/run.yaml --set data.test=<(cat {small}/test.conll) "
        f"--out {tmp_path}/r"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "can be read only once" in done.stderr
    assert not (tmp_path / "r").exists()


def test_compare_reads_each_file_once(run, small, tmp_path):
    """Three pipes, gold among them, give what three files give; standard input can be one of them."""
    gold, parsed = small / "test.conll", run / "parsed.conll"
    expected = CliRunner().invoke(main, ["compare", str(gold), str(parsed), str(gold), "--json"])
    assert expected.exit_code == 0
    writers, pipes = [], []
    for number, path in enumerate((gold, parsed, gold)):
        pipe = tmp_path / f"pipe{number}"
        os.mkfifo(pipe)
        pipes.append(str(pipe))
        writers.append(threading.Thread(target=pipe.write_bytes, args=(path.read_bytes(),), daemon=True))
        writers[-1].start()
    found = CliRunner().invoke(main, ["compare", *pipes, "--json"])
    assert found.stdout == expected.stdout
    for writer in writers:
        writer.join()
    piped = CliRunner().invoke(
        main, ["compare", "-", str(parsed), str(gold), "--json"], input=gold.read_bytes()
    )
    assert piped.stdout == expected.stdout
    assert CliRunner().invoke(main, ["compare", "-", "-", str(gold)]).exit_code == 2


@nojit
@pytest.mark.parametrize(
    ("lengths", "longer", "shorter"),
    [((2, 3, 2), "a", "gold file {}/g"), ((2, 2, 3), "b", "gold file {}/g"),
     ((3, 2, 3), "g", "system file {}/a"), ((3, 3, 2), "g", "system file {}/b")],
)  # fmt: skip
def test_compare_refuses_files_that_end_early(lengths, longer, shorter, small, tmp_path):
    sentences = (small / "test.conll").read_text().split("\n\n")
    for name, length in zip("gab", lengths, strict=True):
        (tmp_path / name).write_text("\n\n".join(sentences[:length]) + "\n\n")
    result = CliRunner().invoke(main, ["compare", *(str(tmp_path / name) for name in "gab")])
    assert result.exit_code == 1
    assert f"{tmp_path}/{longer}:28: sentence 3 begins here, but the" in result.stderr
    assert f"{shorter.format(tmp_path)} ends after sentence 2" in result.stderr
