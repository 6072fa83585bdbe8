"""A trainer from outside of the package, as CONTRIBUTING.md says how to add one: stochastic gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mtparse.inference.dispatch import marginals_address
from mtparse.training.loop import STOPPED, Loop, Pass, TrainResult, out_of_passes, passes_left, require_good
from mtparse.training.losses import LOG_LINEAR, shard_loss
from mtparse.training.problem import TrainingProblem
from mtparse.training.trainers.base import COSTS, Trainer, setting


@dataclass(frozen=True)
class StochasticGradient(Trainer):
    """Log-linear models, a step for each sentence: w -= rate * (gradient of C * loss + w / sentences)."""

    rate: float = setting(0.2, low=0, high=10)
    C: tuple[float, ...] = COSTS
    shuffle: bool = setting(False)

    name: ClassVar[str] = "stochastic-gradient"
    relative_cost: ClassVar[float] = 2.0

    def train(self, problem: TrainingProblem, C: float | None, loop: Loop) -> TrainResult:
        assert C is not None
        design, columns, structure = problem.design, problem.columns, problem.structure
        at, passes = marginals_address(structure.projective), self.passes_of(loop)
        done, u = 0, np.zeros(len(columns))
        if loop.resumed is not None:
            done, u = loop.resumed.passes, loop.resumed.arrays["u"]
        for number, order in passes_left(passes, done, design.sentences, self.shuffle, loop.seed):
            total = 0.0
            for s in order:
                gradient = np.zeros(len(u))
                loss, bad = shard_loss(LOG_LINEAR, at, structure.single, design, s, s + 1, u, gradient)
                require_good(bad, number)
                u -= self.rate * (C * columns.multiplicity * gradient + u / design.sentences)
                total += loss
            if loop.on_pass(Pass(number, objective=C * total), u):
                return TrainResult(u, number, False, STOPPED)
            if number < passes:
                loop.keep(number, lambda u=u: {"u": u})
        return TrainResult(u, passes, False, out_of_passes(passes))
