"""What training with one C gave, or has given so far: in memory, and in files that outlive the process."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from mtparse.errors import ModelError
from mtparse.runtime.array_file import read_packed, write_packed
from mtparse.training.loop import Resumed, TrainResult
from mtparse.training.replay import Journal

_RUN, _STATE = b"MTPRUN\0\0", b"MTPSTATE"
_VERSION = 1
_NOTHING = np.empty(0)
_SENSELESS = (AttributeError, KeyError, TypeError, ValueError)
_SHARE = 20
"""A checkpoint that took a second is followed by no other for so many seconds."""


@dataclass(frozen=True)
class Candidate:
    """A point of training and how it did: the candidates among which validation chooses.

    ``right`` are the right heads of the words that the choice counts, ``scores`` the validation UAS of
    all words and of those that are no punctuation.
    """

    C: float | None
    passes: int
    decoder: str
    right: int
    scores: dict[str, float | None]
    u: np.ndarray = field(repr=False)


@dataclass(frozen=True)
class Trial:
    """What training with one C gave: the best point of each decoder and how it ended."""

    C: float | None
    result: TrainResult
    best: dict[str, Candidate]


@dataclass
class Unfinished:
    """How far training with one C is.

    Attributes
    ----------
    best
        The best point of each decoder so far.
    latest_best
        The pass that gave the latest of them.
    records
        The lines of the log so far.
    resumed
        Where the trainer goes on; None at the start.
    """

    best: dict[str, Candidate] = field(default_factory=dict)
    latest_best: int = 0
    records: list[dict] = field(default_factory=list)
    resumed: Resumed | None = None


def save_trial(path: str, trial: Trial, records: list[dict]) -> None:
    """Keep what training gave, the state of a warm start with it; the file appears whole.

    The last weights are kept only if there is no best point, as no one asks for them otherwise.
    """
    result = asdict(replace(trial.result, u=_NOTHING, state={}))
    del result["u"], result["state"]
    arrays = {f"state_{name}": array for name, array in trial.result.state.items()}
    if not trial.best:
        arrays["u"] = trial.result.u
    header = {"C": trial.C, "result": result, "log": _lines(records), **_described(trial.best, arrays)}
    write_packed(path, _RUN, _VERSION, header, arrays)


def load_trial(path: str) -> tuple[Trial, list[dict]] | None:
    """What :func:`save_trial` kept, if it did and it can be read; otherwise the run is done again."""
    try:
        header, arrays = read_packed(path, _RUN, _VERSION, "finished run")
        state = _stripped(arrays, "state_")
        result = TrainResult(arrays.get("u", _NOTHING), **header["result"], state=state)
        return Trial(header["C"], result, _best(header, arrays)), _records(header)
    except (FileNotFoundError, ModelError, *_SENSELESS):
        return None


class Checkpoint:
    """The files of one training: a state from which it goes on, or, once it has ended, what it gave.

    Parameters
    ----------
    path
        What the files' names begin with.
    trainer
        Its name, without which a state is of no use.
    every
        Passes between states; 0: none; None: a state after every pass, as long as writing them takes no more
        than a 20th of the time.
    """

    def __init__(self, path: str, trainer: str, every: int | None) -> None:
        self._path, self._every = path, every
        self._of = f"{trainer}, {os.path.basename(path)}"
        self._free_at = 0.0

    def finished(self) -> tuple[Trial, list[dict]] | None:
        """What the training gave, and the lines of its log, if it has ended."""
        return load_trial(f"{self._path}.run")

    def unfinished(self) -> Unfinished:
        """Where to go on; at the start where there is no state, or none that is whole."""
        try:
            header, arrays = read_packed(f"{self._path}.state", _STATE, _VERSION, "checkpoint")
            if header["of"] != self._of:
                return Unfinished()
            resumed = Resumed(header["passes"], _stripped(arrays, "state_"))
            return Unfinished(_best(header, arrays), header["latest_best"], _records(header), resumed)
        except (FileNotFoundError, ModelError, *_SENSELESS):
            return Unfinished()

    def journal(self, columns: int) -> Journal:
        """Where evaluations of the objective are kept, see :class:`mtparse.training.replay.Journal`."""
        return Journal(f"{self._path}.journal", columns)

    def keep(self, number: int, so_far: Unfinished, arrays: Callable[[], Mapping[str, np.ndarray]]) -> None:
        """Keep a state, if one is due; it takes the place of the one before when it is whole.

        Parameters
        ----------
        number
            Passes done.
        so_far
            Its ``resumed`` does not count.
        arrays
            Gives what the trainer needs to go on.
        """
        began = time.monotonic()
        if self._every == 0 or (number % self._every if self._every else began < self._free_at):
            return
        kept = {f"state_{name}": array for name, array in arrays().items()}
        header = {
            "of": self._of,
            "passes": number,
            "latest_best": so_far.latest_best,
            "log": _lines(so_far.records),
            **_described(so_far.best, kept),
        }
        write_packed(f"{self._path}.state", _STATE, _VERSION, header, kept)
        ended = time.monotonic()
        self._free_at = ended + _SHARE * (ended - began)

    def finish(self, trial: Trial, records: list[dict]) -> None:
        """Keep what the training gave; what served to go on is removed."""
        save_trial(f"{self._path}.run", trial, records)
        for name in ("state", "journal"):
            with suppress(FileNotFoundError):
                os.unlink(f"{self._path}.{name}")


def _lines(records: list[dict]) -> list[str]:
    return [json.dumps(record) for record in records]  # the header would sort their keys


def _records(header: Mapping[str, Any]) -> list[dict]:
    return [json.loads(line) for line in header["log"]]


def _described(best: Mapping[str, Candidate], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """The best points for a header; their weights are put into ``arrays``."""
    arrays |= {f"best_{name}": choice.u for name, choice in best.items()}
    shown = {name: asdict(replace(choice, u=_NOTHING)) for name, choice in best.items()}
    for choice in shown.values():
        del choice["u"]
    return {"best": shown}


def _best(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> dict[str, Candidate]:
    return {name: Candidate(**c, u=arrays[f"best_{name}"]) for name, c in header["best"].items()}


def _stripped(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
