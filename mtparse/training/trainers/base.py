"""What a trainer is: a frozen dataclass whose fields are its keys in a config, and how it trains."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mtparse.training.loop import Loop, TrainResult
from mtparse.training.problem import TrainingProblem


def setting(
    default: Any, *, low: float | None = None, high: float | None = None, choices: Sequence[str] | None = None
) -> Any:
    """A field of a trainer, with the values that a config may give it.

    Parameters
    ----------
    default
        Its type says which values there are: bool, int, float, str, or, for C, a tuple of floats.
    low, high
        Of numbers: the closed range.
    choices
        Of texts: all there are.
    """
    return dataclasses.field(default=default, metadata={"low": low, "high": high, "choices": choices})


COSTS = setting((0.01, 0.03, 0.1, 0.3, 1.0), low=1e-12, high=1e12)
"""The field C of trainers that have one: values among which validation chooses."""


@dataclass(frozen=True)
class Trainer:
    """Settings of a trainer; a subclass has a name, more fields, and trains.

    Class attributes say what tuning must know. A field of the same name takes their place.

    Attributes
    ----------
    C : tuple of float, or None
        Weights of the training error to try; None where a trainer has none.
    warm_start : bool or None
        Whether training with a C begins where the one before ended.
    shuffle : bool or None
        Whether the order of sentences is drawn at random; None where order means nothing.
    replays : bool
        Whether it is resumed by going through a journal again, instead of from a state.
    relative_cost : float
        Time of a pass, that of the perceptron being 1: long runs are begun first.
    """

    passes: int = setting(100, low=1, high=10**6)
    patience: int = setting(0, low=0, high=10**6)

    name: ClassVar[str]
    C: ClassVar[Any] = None
    warm_start: ClassVar[Any] = None
    shuffle: ClassVar[Any] = None
    replays: ClassVar[bool] = False
    relative_cost: ClassVar[float] = 1.0

    @property
    def uses_seed(self) -> bool:
        """Whether training draws anything at random."""
        return bool(self.shuffle)

    def train(self, problem: TrainingProblem, C: float | None, loop: Loop) -> TrainResult:
        """Train once, with one C (None where there is none).

        Raises
        ------
        NumericsError
            If a number is not finite or a loss below 0, with the sentence and the pass.
        """
        raise NotImplementedError

    def passes_of(self, loop: Loop) -> int:
        """At most so many passes: the loop's if it has a say."""
        return self.passes if loop.passes is None else loop.passes
