"""What several test modules use: where things are, a small treebank and a run trained on it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "data" / "demo"


def heed_interrupts() -> None:
    """For ``preexec_fn``: what a shell starts in the background ignores SIGINT, what nohup starts SIGHUP.

    So do their children.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def first_sentences(path: Path, count: int) -> str:
    """The first sentences of a CoNLL file."""
    return "\n\n".join(path.read_text(encoding="utf-8").split("\n\n")[:count]) + "\n\n"


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
    from mtparse.config import load_config
    from mtparse.experiment import train

    out = tmp_path_factory.mktemp("runs") / "small"
    train(load_config(small / "run.yaml"), os.fspath(out), jobs=1)
    return out
