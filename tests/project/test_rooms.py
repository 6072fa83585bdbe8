"""The rooms of the package: who imports whom is as CONTRIBUTING.md says, and nobody imports in a circle."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from helpers.project import ROOT

PACKAGE = ROOT / "mtparse"


def modules() -> dict[str, Path]:
    """The modules of the package by their dotted names, without ``mtparse.``; packages by their own."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts).removesuffix("__init__").rstrip(".")] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """What of the package a module imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative imports hide where a module is from"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.partition(".")[0] == "mtparse":
                inner = name.partition(".")[2]
                found.add(inner if inner in known else inner.rpartition(".")[0])
    return found


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    known = modules()
    return {name: imports(path, known) for name, path in known.items()}


@pytest.fixture(scope="module")
def allowed() -> dict[str, list[str]]:
    """The table of CONTRIBUTING.md: each room with those from which it may import."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([\w, ]*)\|", text, re.MULTILINE)
    return {room: [name.strip() for name in names.split(",") if name.strip()] for room, names in rows}


def test_the_table_is_complete(allowed):
    rooms = {path.stem for path in PACKAGE.iterdir() if path.name[0] != "_" and path.suffix in ("", ".py")}
    assert set(allowed) == rooms
    order = list(allowed)
    for room, below in allowed.items():
        assert all(order.index(name) < order.index(room) for name in below), room


def test_rooms_import_from_below_only(graph, allowed):
    wrong = []
    for module, others in graph.items():
        room = module.partition(".")[0]
        if room not in allowed:  # the package itself and its entry point stand on top of all
            continue
        for other in others:
            below = other.partition(".")[0]
            if below and below != room and below not in allowed[room]:
                wrong.append(f"{module} imports {other}")
    # the version alone is asked of the package itself
    assert wrong == []
    assert {module for module, others in graph.items() if "" in others} <= {"cli.main"}


def test_nothing_is_allowed_that_nobody_needs(graph, allowed):
    used = {(a.partition(".")[0], b.partition(".")[0]) for a, others in graph.items() for b in others}
    listed = {(room, name) for room, names in allowed.items() for name in names}
    assert listed - used == set()


def test_no_modules_import_each_other(graph):
    TopologicalSorter({name: others - {"", name} for name, others in graph.items()}).prepare()


def test_modules_are_named_in_the_table_or_by_their_names(allowed):
    """The table names what is there."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| [\w, ]*\| (.*) \|$", text, re.MULTILINE))
    here = {room: {name.split(".")[-1] for name in modules() if name.startswith(f"{room}.")} for room in rows}
    for room, text in rows.items():
        named = set(re.findall(r"`(\w+)`", text))
        assert named - here[room] - set(allowed) == set(), room


def test_tests_import_helpers_from_helper_modules_only():
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    tests = {path.stem for path in files} | {"conftest"}
    for path in files:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module}
        names |= {alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names}
        assert {name for name in names if name.partition(".")[0] in tests} == set(), path


def test_files_can_be_read_in_one_sitting():
    for folder in (PACKAGE, ROOT / "tests"):
        for path in folder.rglob("*.py"):
            assert len(path.read_text(encoding="utf-8").splitlines()) <= 450, path
