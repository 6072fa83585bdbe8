"""The README is true: its commands and its Python run, and it mentions every command and key."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml
from helpers.project import ROOT

from mtparse.cli.main import main

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)


def shell_lines() -> list[str]:
    lines = [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()]
    return [line for line in lines if "mtparse " in line and not line.startswith(("scripts/", "#"))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder in which the README's commands find what they name."""
    path = tmp_path_factory.mktemp("readme")
    for name in ("configs", "data"):
        (path / name).symlink_to(ROOT / name)
    return path


@pytest.fixture(scope="module")
def outputs(folder) -> dict[str, str]:
    """The README's commands, run in its order."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    found = {}
    for line in shell_lines():
        command = re.sub(rf"\bmtparse (?={'|'.join(main.commands)})", f"{sys.executable} -m mtparse ", line)
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode in ((0, 141) if "| head" in line else (0,)), f"{line}\n{done.stderr}"
        found[line] = done.stdout
    return found


def test_commands_run(outputs):
    assert len(outputs) >= 6
    assert {re.search(r"mtparse (\w+)", line)[1] for line in outputs} >= set(main.commands) - {"projectivize"}
    scores = next(text for line, text in outputs.items() if line.startswith("mtparse eval"))
    uas = float(re.search(r"Unlabeled .* = ([\d.]+) %", scores)[1])
    assert 70 < uas < 100


def test_python_runs(outputs, folder):
    (code,) = [text for kind, text in BLOCKS if kind == "python"]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert 70 < float(done.stdout.splitlines()[-1]) < 100


def test_configs_in_the_readme_are_valid(tmp_path):
    from mtparse.config.run import config_from_dict

    texts = [text for kind, text in BLOCKS if kind == "yaml"]
    assert texts
    for text in texts:
        values = {"data": {"train": "t"}, **yaml.safe_load(text)}
        config_from_dict(values, tmp_path, name="x")


def test_the_readme_is_short_and_has_a_line_for_every_command():
    assert len(README.splitlines()) <= 200
    rows = re.findall(r"^\| `mtparse (\w+)[^`]*` \| .+ \|$", README, re.MULTILINE)
    assert sorted(rows) == sorted(main.commands)


def test_every_command_and_option_has_help_with_an_example_that_is_a_command():
    for name, command in main.commands.items():
        assert command.get_short_help_str(60).endswith(".")  # not cut off in the list
        assert len(command.short_help) <= 60
        examples = re.findall(rf"^ *mtparse {name} (.*)$", command.help, re.MULTILINE)
        assert examples or f"mtparse {name}" in command.help
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.name}"
        options = {opt for parameter in command.params for opt in parameter.opts}
        for option in re.findall(r"(?<![\w-])--[a-z-]+", "\n".join(examples)):
            assert option in options, (name, option)


REFERENCE = {
    "train": ["model.mtparse", "config.yaml", "log.jsonl", "curves.csv", "parsed.conll", "scores.json",
              "sentences.csv", "byte for byte", "configs/reference.yaml", "2,000 words", "on_bad_tree"],
    "reproduce": ["tables/", "plan.json", "inputs.json", "cost.json", "seeds", "folds", "the same --set"],
    "tables": ["not written"],
    "parse": ["DEPREL", "PHEAD", "5,000 words", "stays", "at least five"],
    "eval": ["eval.pl 1.9", "punctuation", "Complete", "n/a", "DEPREL + ATTACHMENT", "CPOSTAG", "3-6, 7-...",
             "to_root", "self", "11-20", "--by tag --by label", 'the key "by"', "subtypes"],
    "compare": ["sign test", "randomization", "punctuation"],
    "validate": ["warning", "exit status is 1"],
    "projectivize": ["one root", "DEPS"],
    "warmup": ["NUMBA_CACHE_DIR"],
}  # fmt: skip
"""What was taken out of the README because --help says it."""


@pytest.mark.parametrize("name", REFERENCE)
def test_help_has_what_the_readme_leaves_to_it(name):
    text = " ".join(main.commands[name].help.split())
    assert not [fact for fact in REFERENCE[name] if fact not in text]


def test_help_has_what_all_commands_share():
    text = " ".join(main.help.split())
    for fact in ("gzip, xz, bzip2", "LF", "1 for", "2 for", "130", "143", "129", "141"):
        assert fact in text


def test_figures_of_the_first_table_are_those_of_the_results():
    best = (ROOT / "results" / "six-treebanks" / "best.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in best.splitlines() if re.match(r"\| \w+ \| [\w-]+, ", line)]
    ours = {row[0].strip("| "): row[6] for row in rows}
    line = next(line for line in README.splitlines() if line.startswith("| mtparse, "))
    shown = [cell.strip("* ") for cell in line.split("|")[2:8]]
    assert shown == [ours[name] for name in ("arabic", "dutch", "japanese", "slovene", "spanish", "turkish")]
    benchmarks = (ROOT / "results" / "benchmarks.md").read_text(encoding="utf-8")
    assert f"| one thread, words/s | {line.split('|')[8].strip()} (" in benchmarks


def test_files_named_in_the_readme_exist():
    for name in set(re.findall(r"`((?:configs|data|results|scripts|mtparse)/[\w./-]+)`", README)):
        assert (ROOT / name).exists(), name


def test_tests_named_in_the_table_of_cases_exist():
    text = (ROOT / "tests" / "CASES.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([BF]\d\d) \|.*\| ([^|]*) \|$", text, re.MULTILINE)
    assert [case for case, _ in rows] == sorted({case for case, _ in rows})
    assert len(rows) >= 46
    for case, cell in rows:
        names = re.findall(r"`(tests/[\w/]+\.py)::([\w:]+)`", cell)
        assert names, case
        for path, name in names:
            block = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            for part in name.split("::"):
                block = next((node for node in block.body if getattr(node, "name", None) == part), None)
                assert block is not None, f"{case}: {path}::{name}"


def test_help_is_quick_to_import():
    heavy = "{'numpy', 'numba', 'scipy', 'yaml'}"
    code = f"import sys, mtparse.cli.main; sys.exit(bool({heavy} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True)
