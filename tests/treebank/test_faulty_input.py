"""One faulty sentence in a file: every command says where, in one line, and leaves nothing behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from mtparse.cli.main import main
from mtparse.treebank.conll import read_conll

pytestmark = pytest.mark.nojit


def row(number, head, form="mot"):
    return f"{number}\t{form}\t_\tN\tN\t_\t{head}\tx\t_\t_\n"


GOOD = row(1, 2) + row(2, 0) + "\n"

ROWS = {
    "blanks for tabs": (row(1, 0).replace("\t", "    "), 4, "1 column found"),
    "nine columns": (row(1, 2) + row(2, 0)[:-3] + "\n", 5, "9 columns found"),
    "eleven columns": (row(1, 2) + row(2, "0\t_"), 5, "11 columns found"),
    "no form": (row(1, 2) + row(2, 0, form=""), 5, "column 2 (FORM) is empty"),
    "cut off": (row(1, 2) + "2\tmot\t_\tN", 5, "4 columns found"),
    "latin-1": (row(1, 2) + row(2, 0, form="\udce9t\udce9"), 5, "byte 0xE9 is not valid utf-8"),
    "half a surrogate": (row(1, 0, form="\udced\udca0\udcbd"), 4, "byte 0xED is not valid utf-8"),
}
"""Faults that no command passes over: the second sentence, the line of the fault, the message."""

HEADS = {
    "missing": (row(1, "_") + row(2, 0), 4, "HEAD missing (_) for word 1"),
    "out of range": (row(1, 0) + row(2, 7), 5, "HEAD 7 of word 2 is out of range"),
    "negative": (row(1, -1) + row(2, 0), 4, "HEAD '-1' of word 1 is negative"),
    "text": (row(1, "un") + row(2, 0), 4, "HEAD 'un' of word 1 is not an integer"),
    "a decimal": (row(1, 0) + row(2, "1.0"), 5, "HEAD '1.0' of word 2 is not an integer"),
}
"""Faults of a column that parsing does not read."""

TREES = {
    "cycle": (row(1, 2) + row(2, 1), 4, "the heads form a cycle, 1 -> 2 -> 1 (lines 4-5), and no root"),
    "its own": (row(1, 0) + row(2, 2), 5, "word 2 is its own HEAD"),
}
"""Faults that do not matter to a scorer, which counts tokens."""

TRAINING = ("train", "stats", "projectivize")
COMMANDS = {
    "train": "train run.yaml --out out",
    "stats": "stats in.conll",
    "projectivize": "projectivize in.conll -o out",
    "gold": "eval in.conll good.conll",
    "system": "eval good.conll in.conll",
    "parse": "parse MODEL in.conll -o out --jobs 1",
    "stdout": "parse MODEL in.conll --jobs 1",
}
CASES = [
    pytest.param(command, *fault, id=f"{command}-{name}")
    for faults, commands in ((ROWS, COMMANDS), (HEADS, (*TRAINING, "gold", "system")), (TREES, TRAINING))
    for name, fault in faults.items()
    for command in commands
]


def call(command: str, text: str, model) -> tuple:
    """Run a command in the current folder on a file of two sentences, the second one given."""
    Path("in.conll").write_text(GOOD + text, encoding="utf-8", errors="surrogateescape")
    Path("good.conll").write_text(2 * GOOD)
    Path("run.yaml").write_text(
        "data: {train: in.conll, valid: null}\ntrainer: {name: perceptron, passes: 1}\n"
    )
    before = sorted(os.listdir())
    result = CliRunner().invoke(main, COMMANDS[command].replace("MODEL", str(model)).split())
    return result, sorted(set(os.listdir()) - set(before))


@pytest.mark.parametrize(("command", "text", "line", "message"), CASES)
def test_it_is_named_and_nothing_is_left(command, text, line, message, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result, made = call(command, text, run)
    assert result.exit_code == 1
    assert f"in.conll:{line}: sentence 2: {message}" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert made == []
    assert result.stdout in ("", result.stdout.rstrip("\n") + "\n\n")  # sentences before the fault are whole


@pytest.mark.parametrize("text", [fault[0] for fault in (*HEADS.values(), *TREES.values())])
def test_heads_do_not_matter_to_parsing(text, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result, made = call("parse", text, run)
    assert (result.exit_code, made) == (0, ["out"])
    assert [len(s) for s in read_conll("out", heads="required")] == [2, text.count("\n")]


@pytest.mark.parametrize(("text", "right"), [(TREES["cycle"][0], 3), (TREES["its own"][0], 2)])
def test_scoring_needs_no_trees(text, right, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result, _ = call("system", text, run)
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"Unlabeled attachment score: {right} / 4 " in result.stdout
