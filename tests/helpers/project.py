"""Where the project's files are, and what tests of the command and of files share."""

from __future__ import annotations

import signal
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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
