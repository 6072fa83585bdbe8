"""The commands eval and stats, run as a user runs them: output, status, and one line for every failure."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from mtparse.cli.main import Group, main
from mtparse.evaluation.breakdown import TABLES

pytestmark = pytest.mark.nojit

GOLD = "1\t鷺\t_\tN\tN\t_\t2\ts\t_\t_\n2\tstoji\t_\tV\tV\t_\t0\tr\t_\t_\n3\t。\t_\tP\tP\t_\t2\tp\t_\t_\n\n"
SYSTEM = GOLD.replace("\t2\ts", "\t3\ts")
SCORES = """\
  Labeled   attachment score: 1 / 2 * 100 = 50.00 %
  Unlabeled attachment score: 1 / 2 * 100 = 50.00 %
  Label accuracy score:       2 / 2 * 100 = 100.00 %
  Complete sentences:         0 / 1 * 100 = 0.00 %
  Sentences: 1, tokens: 3, scored: 2
"""
BY_ALL = [argument for name in TABLES for argument in ("--by", name)]
PLAIN = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("gold", GOLD), ("system", SYSTEM), ("empty", ""), ("bad", GOLD + "junk\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")


def run(*arguments, data=None):
    return CliRunner().invoke(main, list(arguments), input=data)


def process(*arguments, **options):
    command = [sys.executable, "-m", "mtparse", *arguments]
    return subprocess.run(command, capture_output=True, env=PLAIN, timeout=60, check=False, **options)


class TestEval:
    def test_lines(self):
        result = run("eval", "gold", "system")
        assert (result.exit_code, result.stdout, result.stderr) == (0, SCORES, "")

    def test_all_tokens(self):
        result = run("eval", "--all-tokens", "gold", "system")
        assert "attachment score: 2 / 3 * 100 = 66.67 %" in result.stdout

    def test_json(self):
        assert json.loads(run("eval", "--json", "gold", "system").stdout) == {
            "UAS": 50,
            "LAS": 50,
            "label_accuracy": 100,
            "scored": 2,
            "words": 3,
            "sentences": 1,
            "complete": 0,
        }

    def test_per_sentence(self):
        lines = run("eval", "--per-sentence", "gold", "system").stdout.split("\n")
        assert lines[3] == "     1    3    0   50.00  50.00     1       1           2    0 0 0 0"
        assert "\n".join(lines[6:]) == SCORES

    def test_tables(self):
        """Below the scores, in the order of the options, each once."""
        result = run("eval", "gold", "system", "--by", "length", "--by", "direction", "--by", "length")
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout == SCORES + (
            "\n"
            "  Scores by the number of words in a sentence\n"
            "\n"
            "  length | sentences | words | scored |   UAS |   LAS\n"
            "  -------+-----------+-------+--------+-------+------\n"
            "  1-10   |         1 |     3 |      2 | 50.00 | 50.00\n"
            "\n"
            "  Precision and recall of binned HEAD direction\n"
            "\n"
            "  direction | gold | correct | system | recall (%) | precision (%)\n"
            "  ----------+------+---------+--------+------------+--------------\n"
            "  to_root   |    1 |       1 |      1 |     100.00 |        100.00\n"
            "  left      |    0 |       0 |      0 |        NaN |           NaN\n"
            "  right     |    1 |       1 |      1 |     100.00 |        100.00\n"
        )
        rows = run("eval", "gold", "system", "--by", "tag", "--per-sentence").stdout
        assert re.search(r"^ +1 +3 +0 .*^  Labeled .*^  tag ", rows, re.DOTALL | re.MULTILINE)
        assert "\n  P " not in rows
        assert "\n  P " in run("eval", "gold", "system", "--all-tokens", "--by", "tag").stdout

    def test_choices_are_the_tables(self):
        (by,) = [option for option in main.commands["eval"].params if option.name == "by"]
        assert tuple(by.type.choices) == TABLES
        result = run("eval", "gold", "system", "--by", "word")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "'word' is not one of 'label', 'tag'" in result.stderr

    def test_tables_in_json(self):
        found = json.loads(run("eval", "--json", "gold", "system", "--by", "tag", "--by", "label").stdout)
        assert list(found["by"]) == ["tag", "label"]
        assert [(row["tag"], row["UAS"]) for row in found["by"]["tag"]] == [("N", 0), ("V", 100)]
        assert found["by"]["label"]["labels"][1]["recall_with_head"] == 0
        plain = run("eval", "--json", "gold", "system").stdout
        assert json.loads(plain) == {name: value for name, value in found.items() if name != "by"}
        found = json.loads(run("eval", "--json", "empty", "empty", *BY_ALL).stdout)
        assert found["by"]["distance"][0]["recall"] is None

    def test_tables_are_none_of_a_sentence(self):
        result = run("eval", "gold", "system", "--by", "tag", "--json", "--per-sentence")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "--by goes with --json or with --per-sentence, not with both." in result.stderr

    def test_ignored_subtypes(self):
        Path("fine").write_text(GOLD.replace("\ts\t", "\ts:t\t"), encoding="utf-8")
        assert "Label accuracy score:       1 / 2 " in run("eval", "gold", "fine").stdout
        for sides in (("gold", "fine"), ("fine", "gold")):
            result = run("eval", *sides, "--ignore-subtypes", "--by", "label")
            assert "Label accuracy score:       2 / 2 " in result.stdout
            assert "s:t" not in result.stdout
        result = run("eval", "fine", "gold", "--ignore-subtypes", "--json", "--per-sentence")
        assert json.loads(result.stdout)["correct_labels"] == 2

    def test_standard_input(self):
        assert run("eval", "gold", "-", data=SYSTEM.encode()).stdout == SCORES
        assert run("eval", "-", "system", data=GOLD.encode()).stdout == SCORES

    def test_rows_of_eight_columns(self, tmp_path):
        """The shared task's parsers wrote no more; a gold file has all ten."""
        (tmp_path / "short").write_text(SYSTEM.replace("\t_\t_\n", "\n"), encoding="utf-8")
        assert run("eval", "gold", "short").stdout == SCORES
        assert "short:1: sentence 1: 8 columns found" in run("eval", "short", "gold").stderr

    def test_nothing_scored(self):
        """Undefined, with a hint, and null in JSON."""
        result = run("eval", "--json", "empty", "empty")
        assert json.loads(result.stdout)["UAS"] is None
        assert result.stderr == "mtparse: warning: nothing was scored, the files are empty\n"
        dots = "1\t.\t_\tP\tP\t_\t0\tp\t_\t_\n"
        result = run("eval", "-", "empty", data=dots.encode())
        assert result.exit_code == 1
        with open("dots", "w", encoding="utf-8") as file:
            file.write(dots)
        result = run("eval", "dots", "dots")
        assert "with --all-tokens punctuation counts too" in result.stderr
        assert "0 / 0 * 100 = NaN %" in result.stdout

    @pytest.mark.parametrize("arguments", ["- -", "gold", "--no x x"])
    def test_usage(self, arguments):
        result = run("eval", *arguments.split())
        assert result.exit_code == 2
        assert result.stderr.startswith("Usage: ")


class TestStats:
    def test_table_and_json(self):
        result = run("stats", "gold", "system")
        assert result.exit_code == 0
        assert [line.split()[0] for line in result.stdout.splitlines()] == ["file", "gold", "system"]
        rows = json.loads(run("stats", "--json", "gold", "empty").stdout)
        assert [(row["file"], row["words"]) for row in rows] == [("gold", 3), ("empty", 0)]
        assert rows[1]["crossing_arcs"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("stats", "bad"), "bad:5: sentence 2: 1 column found, 10 expected, separated by tabs"),
        (("eval", "gold", "bad"), "bad:5: sentence 2: 1 column found, 10 expected, separated by tabs"),
        (("eval", "gold", "empty"), "gold:1: sentence 1 begins here, but the system file is empty"),
        (("stats", "none"), "none: No such file or directory"),
        (("stats", "."), ".: Is a directory"),
        (("stats", "gold", "--encoding", "no"), "encoding: 'no' is unknown; utf-8 and latin-1 are common"),
    ],
)
def test_one_line_for_a_failure(arguments, message):
    """Faults of data, system or settings: nothing on stdout, one line on stderr, status 1 or 2."""
    result = run(*arguments)
    status = 2 if "--encoding" in arguments else 1
    assert (result.exit_code, result.stdout, result.stderr) == (status, "", f"mtparse: error: {message}\n")


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (KeyboardInterrupt(), 130, "mtparse: error: interrupted\n"),
        (MemoryError(), 1, "mtparse: error: out of memory\n"),
        (OSError(28, "No space left on device"), 1, "mtparse: error: No space left on device\n"),
        (OSError("two\nlines"), 1, "mtparse: error: two lines\n"),
        (UnicodeError("bad text"), 1, "mtparse: error: bad text\n"),
        (BrokenPipeError(32, "Broken pipe"), 141, ""),
    ],
)
def test_group_ends_in_one_line(error, status, line):
    @click.command(cls=Group, invoke_without_command=True)
    def group():
        raise error

    result = CliRunner().invoke(group, [])
    assert (result.exit_code, result.stderr) == (status, line)


def test_a_bug_keeps_its_traceback():
    @click.command(cls=Group, invoke_without_command=True)
    def group():
        raise RuntimeError("bug")

    assert isinstance(CliRunner().invoke(group, []).exception, RuntimeError)


def test_every_command_has_help():
    for name, command in main.commands.items():
        result = run(name, "--help")
        assert result.exit_code == 0
        assert command.help
        assert all(option.help for option in command.params if isinstance(option, click.Option)), name


class TestProcess:
    """What only a process of its own shows."""

    def test_locale_plays_no_part(self, tmp_path):
        (tmp_path / "鷺").write_text(GOLD, encoding="utf-8")
        result = process("stats", "鷺")
        assert (result.returncode, result.stderr) == (0, b"")
        assert "鷺 " in result.stdout.decode("utf-8")
        assert process("eval", "gold", "-", input=SYSTEM.encode()).stdout.decode() == SCORES
        (tmp_path / "other").write_text(GOLD.replace("鷺", "橋"), encoding="utf-8")
        assert "this file has word 1, '橋'" in process("eval", "gold", "other").stderr.decode("utf-8")

    def test_version_and_help(self):
        """They answer at once because no command's modules are loaded."""
        assert process("--version").stdout.startswith(b"mtparse ")
        assert b"eval" in process("-h").stdout
        code = "import sys, mtparse.cli.main; print({'numpy', 'numba', 'scipy', 'yaml'} & set(sys.modules))"
        assert subprocess.check_output([sys.executable, "-c", code]).decode().strip() == "set()"


@pytest.mark.parametrize(
    "arguments", [("stats", "-", "-"), ("validate", "-", "/dev/stdin"), ("eval", "/dev/stdin", "-"),
                  ("compare", "gold", "-", "-")]
)  # fmt: skip
def test_standard_input_is_one_file(arguments):
    result = run(*arguments, data=GOLD)
    assert result.exit_code == 2
    assert "Only one file can be standard input." in result.stderr


@pytest.mark.parametrize("arguments", [("eval", "", "gold"), ("projectivize", "gold", "-o", "")])
def test_an_empty_name_is_shown(arguments):
    result = run(*arguments)
    assert (result.exit_code, result.stderr) == (1, "mtparse: error: '': No such file or directory\n")


def test_a_system_without_labels_is_pointed_out():
    Path("blind").write_text(
        GOLD.replace("\ts\t", "\t_\t").replace("\tr\t", "\t_\t").replace("\tp\t", "\t_\t")
    )
    result = run("eval", "gold", "blind")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines()[:3] == [
        "  Labeled   attachment score: n/a, SYSTEM has no labels",
        result.stdout.splitlines()[1],
        "  Label accuracy score:       n/a, SYSTEM has no labels",
    ]
    assert "100.00" in result.stdout.splitlines()[1]
    found = json.loads(run("eval", "gold", "blind", "--json").stdout)
    assert (found["UAS"], found["LAS"], found["label_accuracy"]) == (100.0, None, None)
    for line in run("eval", "gold", "blind", "--json", "--per-sentence").stdout.splitlines():
        assert json.loads(line)["LAS"] is None
    assert "100.00    n/a     2     n/a" in run("eval", "gold", "blind", "--per-sentence").stdout
    text = run("eval", "gold", "blind", *BY_ALL).stdout
    assert text.split("\n\n")[1] == "  Precision, recall and confusion of DEPREL: n/a, SYSTEM has no labels"
    found = json.loads(run("eval", "gold", "blind", "--json", *BY_ALL).stdout)["by"]
    assert found["label"] is None
    assert (found["tag"][0]["UAS"], found["tag"][0]["LAS"], found["length"][0]["LAS"]) == (100.0, None, None)


def test_a_sentence_without_labels_in_a_system_with_some_is_scored():
    blind = GOLD.replace("\ts\t", "\t_\t").replace("\tr\t", "\t_\t").replace("\tp\t", "\t_\t")
    Path("twice").write_text(GOLD + GOLD)
    Path("half").write_text(GOLD + blind)
    records = run("eval", "twice", "half", "--json", "--per-sentence").stdout.splitlines()
    assert [json.loads(record)["LAS"] for record in records] == [100.0, 0.0]
