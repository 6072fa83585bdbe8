"""Fixtures of several test modules: a small treebank and a run trained on it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers.project import DEMO, first_sentences


@pytest.fixture(scope="session")
def small(tmp_path_factory) -> Path:
    """A folder with train, valid and test parts of a few sentences each, some trees with crossing arcs."""
    folder = tmp_path_factory.mktemp("small")
    for part, count in (("train", 30), ("valid", 10), ("test", 10)):
        text = first_sentences(DEMO / "dunta" / f"{part}.conll", count)
        (folder / f"{part}.conll").write_text(text, encoding="utf-8")
    (folder / "run.yaml").write_text(
        "data: {train: train.conll, valid: valid.conll, test: test.conll}\n"
        "trainer: {name: log-linear, C: 0.1, passes: 4}\n"
        "features: {set: mcdonald}\n"
    )
    return folder


@pytest.fixture(scope="session")
def run(small, tmp_path_factory) -> Path:
    """A run directory trained on the small treebank."""
    from mtparse.config.run import load_config
    from mtparse.experiment.run import train

    out = tmp_path_factory.mktemp("runs") / "small"
    train(load_config(small / "run.yaml"), os.fspath(out), jobs=1)
    return out
