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
    assert {line.split("mtparse ")[1].split()[0] for line in outputs} >= set(main.commands) - {"projectivize"}
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


def test_every_command_and_option_has_help_and_stands_in_the_readme():
    assert len(main.commands) >= 7
    for name, command in main.commands.items():
        assert command.help
        heading = next(line for line in README.splitlines() if line.startswith(f"### `mtparse {name} "))
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.name}"
                assert parameter.opts[-1] in heading or parameter.opts[0] in heading, (name, parameter.opts)


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
