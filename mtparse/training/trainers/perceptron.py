"""Averaged perceptron (Collins 2002), the paper's baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mtparse.inference.dispatch import best_tree_address
from mtparse.inference.parts import Structure
from mtparse.runtime.threads import Workers
from mtparse.training.design import Columns, Design
from mtparse.training.loop import (
    STOPPED,
    Keep,
    Loop,
    OnPass,
    Pass,
    Resumed,
    TrainResult,
    keep_nothing,
    out_of_passes,
    passes_left,
    require_good,
)
from mtparse.training.losses import perceptron_pass
from mtparse.training.problem import TrainingProblem
from mtparse.training.trainers.base import Trainer, setting


@dataclass(frozen=True)
class Perceptron(Trainer):
    """Settings of :func:`train_perceptron`."""

    shuffle: bool = setting(False)

    name: ClassVar[str] = "perceptron"

    def train(self, problem: TrainingProblem, C: float | None, loop: Loop) -> TrainResult:
        return train_perceptron(
            problem.design, problem.columns, problem.structure,
            passes=self.passes_of(loop), shuffle=self.shuffle, seed=loop.seed,
            on_pass=loop.on_pass, workers=loop.workers, resumed=loop.resumed, keep=loop.keep,
        )  # fmt: skip


def train_perceptron(
    design: Design,
    columns: Columns,
    structure: Structure,
    *,
    passes: int,
    on_pass: OnPass,
    workers: Workers,
    shuffle: bool = False,
    seed: int = 1,
    resumed: Resumed | None = None,
    keep: Keep = keep_nothing,
) -> TrainResult:
    """Train for at most ``passes`` passes.

    On a sentence decoded wrongly the gold arcs' features are added and the predicted arcs' subtracted;
    the model is the mean of the weights after every sentence of every pass. Averaging is lazy and
    exact. The sentences come in the order of the file, or, with ``shuffle``, in a new order each pass.

    Cost: per pass one sparse product and one best tree a sentence. Sequential: one thread.

    Raises
    ------
    NumericsError
        If a score is not finite, with the sentence and the pass.
    """
    if resumed is None:
        done, u, total = 0, np.zeros(len(columns)), np.zeros(len(columns))
    else:
        done, u, total = resumed.passes, resumed.arrays["u"], resumed.arrays["total"]
    step = done * design.sentences
    best_tree_at = best_tree_address(structure.projective)
    mean = u
    for number, order in passes_left(passes, done, design.sentences, shuffle, seed):
        step, wrong, bad = perceptron_pass(
            design, order, best_tree_at, structure.single, columns.multiplicity, u, total, step
        )
        require_good(bad, number)
        mean = u - total / step
        if on_pass(Pass(number, wrong=wrong), mean):
            return TrainResult(mean, number, False, STOPPED)
        if wrong == 0:
            return TrainResult(mean, number, True, "converged: a pass without a mistake")
        if number < passes:
            keep(number, lambda: {"u": u, "total": total})
    return TrainResult(mean, passes, False, out_of_passes(passes))
