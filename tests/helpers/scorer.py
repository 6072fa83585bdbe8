"""Treebanks to score: small ones made of strings, and those with recorded outputs of the official script."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from helpers.project import ROOT

from mtparse.treebank.conll import read_conll

TREEBANKS = Path(os.environ.get("MTPARSE_TREEBANKS", ROOT / "../shared/treebanks"))
SCORER = TREEBANKS.parent / "scorer"
HERE = ROOT / "tests" / "scorer"

RECORDED = {
    "gold": (HERE / "gold.conll", HERE / "system.conll", HERE / "expected.txt"),
    "rounding": tuple(HERE / f"rounding.{name}" for name in ("gold.conll", "system.conll", "expected.txt")),
    "made-up": tuple(SCORER / f"made-up.{name}" for name in ("gold.conll", "system.conll", "expected.txt")),
} | {
    name: (TREEBANKS / name / "test.conll", SCORER / f"{name}.system.conll", SCORER / f"{name}.expected.txt")
    for name in ("turkish", "japanese")
}
"""Gold, system and what the official script printed for them: ours (tests/scorer), and those in a folder
beside the treebanks."""


def recorded(name: str) -> tuple[Path, Path, Path]:
    """The three files of a pair; the test is skipped where they are absent."""
    gold, system, record = RECORDED[name]
    if gold.parent != HERE and not (gold.exists() and record.exists()):
        pytest.skip(f"no recorded outputs at {SCORER}; it is sought beside MTPARSE_TREEBANKS")
    return gold, system, record


def treebank(*sentences, name=None):
    """Make sentences of strings of words: FORM, FORM//HEAD, FORM//HEAD//LABEL or FORM//HEAD//LABEL//TAG.

    What is left out is 0, x and N.
    """
    lines = []
    for sentence in sentences:
        for number, entry in enumerate(sentence.split(" "), 1):
            given = entry.split("//")
            form, head, label, tag = given + ["0", "x", "N"][len(given) - 1 :]
            lines.append(f"{number}\t{form}\t_\t{tag}\t{tag}\t_\t{head}\t{label}\t_\t_")
        lines.append("")
    stream = io.BytesIO("\n".join([*lines, ""]).encode())
    if name:
        stream.name = name
    return read_conll(stream)
