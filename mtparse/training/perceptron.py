"""Averaged perceptron (Collins 2002), the paper's baseline."""

from __future__ import annotations

import numpy as np

from mtparse.training.base import STOPPED, OnPass, Pass, TrainResult, out_of_passes
from mtparse.training.data import ArcRows, Columns
from mtparse.training.kernels import perceptron_pass
from mtparse.training.objectives import Family
from mtparse.workers import Workers


def train_perceptron(
    rows: ArcRows,
    columns: Columns,
    family: Family,
    *,
    passes: int,
    on_pass: OnPass,
    workers: Workers,
    shuffle: bool = False,
    seed: int = 1,
) -> TrainResult:
    """Train for at most ``passes`` passes.

    On a sentence decoded wrongly the gold arcs' features are added and the predicted arcs' subtracted;
    the model is the mean of the weights after every sentence of every pass. Averaging is lazy and
    exact. The sentences come in the order of the file, or, with ``shuffle``, in a new order each pass.

    Cost: per pass one sparse product and one best tree a sentence. Sequential: one thread.
    """
    u = np.zeros(len(columns))
    total = np.zeros(len(columns))
    order = np.arange(rows.sentences)
    random = np.random.default_rng(seed)
    step = 0
    mean = u
    for number in range(1, passes + 1):
        if shuffle:
            order = random.permutation(rows.sentences)
        step, wrong = perceptron_pass(
            rows, order, family.projective, family.single, columns.multiplicity, u, total, step
        )
        mean = u - total / step
        if on_pass(Pass(number, wrong=wrong), mean):
            return TrainResult(mean, number, False, STOPPED)
        if wrong == 0:
            return TrainResult(mean, number, True, "converged: a pass without a mistake")
    return TrainResult(mean, passes, False, out_of_passes(passes))
