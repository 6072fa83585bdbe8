"""What the trainers share: the record of a pass, the result, the registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np


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

STOPPED = "stopped: no better validation score within trainer.patience passes"


def out_of_passes(passes: int) -> str:
    """The reason of a run that used up its passes."""
    return f"all {passes} passes done, not converged (trainer.passes allows no more)"
