"""What the trainers share: the record of a pass, the result, how a run is interrupted and resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from mtparse.errors import NumericsError
from mtparse.runtime.threads import Workers
from mtparse.training.replay import Journal


@dataclass(frozen=True)
class Pass:
    """What a trainer says after one pass over the training set (one step of an optimiser).

    ``objective`` is what is minimised (max-margin: the primal, with the dual and the relative gap
    beside it); None where the trainer has none.
    """

    number: int
    objective: float | None = None
    dual: float | None = None
    gap: float | None = None
    gradient_norm: float | None = None
    wrong: int | None = None
    step: float | None = None


@dataclass(frozen=True)
class TrainResult:
    """How a training run ended.

    Attributes
    ----------
    u : float64 (columns,)
        The columns' summed weights after the last pass.
    passes : int
        Passes done.
    converged : bool
        Whether the trainer's certificate was reached: the gradient norm of a log-linear model, the
        duality gap of a max-margin model, a pass without a mistake of the perceptron.
    reason : str
        Why it stopped, with the setting to raise where it did not converge.
    state : dict of arrays
        Where a warm start with another C goes on from; empty where a trainer has no C.
    """

    u: np.ndarray
    passes: int
    converged: bool
    reason: str
    state: dict[str, np.ndarray] = field(default_factory=dict, repr=False)


OnPass = Callable[[Pass, np.ndarray], bool]
"""Called after every pass with its record and the summed weights u (not to be kept or changed); True
stops the run."""

Keep = Callable[[int, Callable[[], dict[str, np.ndarray]]], None]
"""Called after every pass that is not the last, with its number and a function that gives the arrays from
which training can go on as if it had never stopped (not to be changed; valid during the call)."""


@dataclass(frozen=True)
class Resumed:
    """Where an interrupted run goes on: the passes done, and the arrays that were kept after them."""

    passes: int
    arrays: Mapping[str, np.ndarray]


def keep_nothing(number: int, arrays: Callable[[], dict[str, np.ndarray]]) -> None:
    """A `Keep` for runs that need not survive an interruption."""


def passes_left(
    passes: int, done: int, sentences: int, shuffle: bool, seed: int
) -> Iterator[tuple[int, np.ndarray]]:
    """The numbers of the passes after the first ``done``, each with its order of the sentences.

    The order is the file's, or, with ``shuffle``, a new one in each pass.
    """
    order = np.arange(sentences)
    random = np.random.default_rng(seed)
    for number in range(1, passes + 1):
        if shuffle:
            order = random.permutation(sentences)
        if number > done:
            yield number, order


def require_good(bad: int, number: int) -> None:
    """Stop a run in which numbers went wrong.

    Parameters
    ----------
    bad
        A sentence's place in the training set, from 0; -1 where nothing is wrong.
    number
        The pass.

    Raises
    ------
    NumericsError
        If there is such a sentence.
    """
    if bad >= 0:
        raise NumericsError(bad, number)


@dataclass(frozen=True)
class Loop:
    """What a trainer needs beside its problem and its settings, for one run.

    Attributes
    ----------
    on_pass
        Is told of every pass, and may end the run.
    workers
        Threads.
    passes
        At most so many; None: as the settings say.
    seed
        Of all that is drawn at random.
    start
        The ``state`` of the result with another C, where a warm start begins.
    resumed
        Where an interrupted run goes on.
    keep
        Stores a state after a pass.
    journal
        Evaluations of the objective, for trainers whose state cannot be stored (``Trainer.replays``).
    """

    on_pass: OnPass
    workers: Workers
    passes: int | None = None
    seed: int = 1
    start: Mapping[str, np.ndarray] | None = None
    resumed: Resumed | None = None
    keep: Keep = keep_nothing
    journal: Journal | None = None


STOPPED = "stopped: no better validation score within trainer.patience passes"


def out_of_passes(passes: int) -> str:
    """The reason of a run that used up its passes."""
    return f"{passes} passes done, as many as trainer.passes allows, not converged"
