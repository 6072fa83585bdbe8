"""Max-margin models by exponentiated gradient on the dual: figure 2 of the paper.

The dual is maximised over marginals μ_i of distributions over trees,

    Q(μ) = C Σ_i l_i·μ_i - 0.5 ||w(μ)||²,   w(μ) = C Σ_i Σ_arcs (y_i - μ_i) f,

with l = 0 on gold arcs and 1 elsewhere. Each μ_i is kept as the marginals of θ_i, which moves along the
gradient of Q: θ_i += η C (l_i + w·f).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mtparse.inference.dispatch import marginals_address
from mtparse.inference.parts import Structure
from mtparse.runtime.jit import kernel
from mtparse.runtime.threads import Workers
from mtparse.training.design import Columns, Design, parts_of
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
from mtparse.training.losses import all_finite, gold_parts, hamming_cost, marginals_of
from mtparse.training.objectives import max_margin_loss, squared_norm
from mtparse.training.problem import TrainingProblem
from mtparse.training.products import move, score
from mtparse.training.trainers.base import COSTS, Trainer, setting

GROWTH = 1.05
LARGEST = 1e6
"""A step grows to this many times 1/C at most: beyond, θ would overflow and nothing would be gained."""
HALVINGS = 30


@dataclass(frozen=True)
class MaxMargin(Trainer):
    """Settings of :func:`train_max_margin`."""

    C: tuple[float, ...] = COSTS
    step: str = setting("adaptive", choices=("adaptive", "paper"))
    beta: float = setting(9.0, low=0, high=1000)
    tolerance: float = setting(1e-4, low=0, high=1)
    warm_start: bool = setting(False)
    shuffle: bool = setting(False)

    name: ClassVar[str] = "max-margin"
    relative_cost: ClassVar[float] = 3.4

    def train(self, problem: TrainingProblem, C: float | None, loop: Loop) -> TrainResult:
        assert C is not None
        return train_max_margin(
            problem.design, problem.columns, problem.structure,
            C=C, passes=self.passes_of(loop), step=self.step, beta=self.beta, tolerance=self.tolerance,
            shuffle=self.shuffle, seed=loop.seed, on_pass=loop.on_pass, workers=loop.workers,
            start=loop.start, resumed=loop.resumed, keep=loop.keep,
        )  # fmt: skip


@kernel
def initialize(design, marginals_at, single, beta, C, multiplicity, u, theta, mu):
    """θ_i is β on gold arcs and 0 elsewhere; μ_i its marginals; u = K * w(μ).

    ``marginals_at`` is as from `mtparse.inference.dispatch.marginals_address`.
    """
    for s in range(design.lengths.shape[0]):
        begin, end = design.first_arc[s], design.first_arc[s + 1]
        parts = parts_of(design, s)
        gold = gold_parts(design, s, parts)
        theta_s, mu_s, change = theta[begin:end], mu[begin:end], np.empty(end - begin)
        theta_s[:] = 0.0
        for a in gold:
            theta_s[a] = beta
        marginals_of(marginals_at, single, parts, theta_s, mu_s)
        change[:] = mu_s
        for a in gold:
            change[a] -= 1.0
        for a in range(end - begin):
            change[a] *= C
        move(design, s, change, multiplicity, u)


@kernel
def sweep(
    design, order, marginals_at, single, C, adaptive,
    multiplicity, eta, u, theta, mu,
):  # fmt: skip
    """One pass of exponentiated gradient over the sentences in ``order``.

    ``theta`` and ``mu`` are float64 (arcs,), ``eta`` (S,) the step sizes; all are updated, as is ``u``.
    ``marginals_at`` is as from `mtparse.inference.dispatch.marginals_address`.
    With ``adaptive`` a sentence's step is halved until the dual does not fall, and then grows by 5 %.
    Returns the sentence at which a number was not finite, with which the pass ended, or -1.
    """
    for position in range(order.shape[0]):
        s = order[position]
        begin, end = design.first_arc[s], design.first_arc[s + 1]
        theta_s, mu_s = theta[begin:end], mu[begin:end]
        parts = parts_of(design, s)
        slope, cost, candidate = np.empty(end - begin), np.empty(end - begin), np.empty(end - begin)
        new, change = np.empty(end - begin), np.empty(end - begin)
        score(design, s, u, slope)
        if not all_finite(slope):
            return s
        hamming_cost(gold_parts(design, s, parts), cost)
        for a in range(end - begin):
            slope[a] += cost[a]
        accepted = False
        step = eta[s]
        for _ in range(HALVINGS):
            _step(parts, theta_s, eta[s] * C, slope, candidate)
            marginals_of(marginals_at, single, parts, candidate, new)
            for a in range(end - begin):
                change[a] = C * (new[a] - mu_s[a])
            grown = move(design, s, change, multiplicity, u)
            if not np.isfinite(grown):
                return s
            if not adaptive:
                accepted = True
                break
            gained = -0.5 * grown / C  # of Q / C
            for a in range(end - begin):
                gained += cost[a] * (new[a] - mu_s[a])
            if gained >= -1e-12:
                accepted = True
                break
            for a in range(end - begin):
                change[a] = -change[a]
            move(design, s, change, multiplicity, u)
            eta[s] *= 0.5
        if not accepted:
            # At rounding: no step helps now, but the other sentences may move on.
            eta[s] = 0.5 * step
            continue
        if adaptive:
            eta[s] = min(eta[s] * GROWTH, LARGEST / C)
        theta_s[:] = candidate
        mu_s[:] = new
    return -1


@kernel
def _step(parts, theta, eta, slope, candidate):
    """candidate = theta + eta * slope, less each word's largest, which only makes the numbers smaller."""
    for m in range(1, parts.n + 1):
        largest = -np.inf
        for a in range(parts.first[m], parts.first[m + 1]):
            candidate[a] = theta[a] + eta * slope[a]
            largest = max(largest, candidate[a])
        for a in range(parts.first[m], parts.first[m + 1]):
            candidate[a] -= largest


@kernel
def expected_cost(design, mu):
    """Σ_i l_i·μ_i: the wrong heads that the dual's distributions expect."""
    total = 0.0
    for s in range(design.lengths.shape[0]):
        begin, end = design.first_arc[s], design.first_arc[s + 1]
        cost = np.empty(end - begin)
        hamming_cost(gold_parts(design, s, parts_of(design, s)), cost)
        for a in range(end - begin):
            total += cost[a] * mu[begin + a]
    return total


def train_max_margin(
    design: Design,
    columns: Columns,
    structure: Structure,
    *,
    C: float,
    passes: int,
    on_pass: OnPass,
    workers: Workers,
    step: str = "adaptive",
    beta: float = 9.0,
    tolerance: float = 1e-4,
    shuffle: bool = False,
    seed: int = 1,
    start: Mapping[str, np.ndarray] | None = None,
    resumed: Resumed | None = None,
    keep: Keep = keep_nothing,
) -> TrainResult:
    """Minimise C Σ max_y (E(y) - margin(y)) + 0.5 ||w||² through its dual.

    Parameters
    ----------
    step
        ``paper``: η = 1/C for all sentences, halved after a pass in which the dual fell (figure 2).
        ``adaptive``: a step for each sentence, starting at 1/C, halved until its own dual does not fall
        and grown by 5 % otherwise (Collins, Globerson, Koo, Carreras, Bartlett 2008).
    beta
        Where θ starts on gold arcs.
    tolerance
        Stops when (primal - dual) / primal is at most this.
    start
        The state of a result with another C: its θ and μ (a point of the dual whatever C is), and w and the
        steps, scaled to this C.

    Raises
    ------
    NumericsError
        If a number is not finite or a loss negative, with the sentence and the pass.

    Notes
    -----
    Cost: per pass one sparse product, one set of marginals a sentence (more where steps are halved), the
    transpose for the arcs whose marginal moved, and a loss-augmented decoding for the primal.
    The sweep is sequential (one thread); the primal uses all workers.
    """
    inference = (marginals_address(structure.projective), structure.single)
    done = number = resumed.passes if resumed else 0
    if resumed:
        theta, mu, u, eta = (resumed.arrays[name] for name in ("theta", "mu", "u", "eta"))
        last = float(resumed.arrays["dual"][0])
    else:
        if start:
            theta, mu = start["theta"].copy(), start["mu"].copy()
            u, eta = start["u_over_C"] * C, start["eta_times_C"] / C
        else:
            theta, mu = np.zeros(design.parts), np.zeros(design.parts)
            u, eta = np.zeros(len(columns)), np.full(design.sentences, 1.0 / C)
            initialize(design, *inference, beta, C, columns.multiplicity, u, theta, mu)
        last = C * expected_cost(design, mu) - 0.5 * squared_norm(columns, u)

    def result(converged: bool, reason: str) -> TrainResult:
        state = {"theta": theta, "mu": mu, "u_over_C": u / C, "eta_times_C": eta * C}
        return TrainResult(u, number, converged, reason, state)

    for number, order in passes_left(passes, done, design.sentences, shuffle, seed):
        bad = sweep(design, order, *inference, C, step == "adaptive", columns.multiplicity, eta, u, theta, mu)
        require_good(bad, number)
        penalty = 0.5 * squared_norm(columns, u)
        dual = C * expected_cost(design, mu) - penalty
        primal = C * max_margin_loss(design, structure, u, workers, number) + penalty
        gap = (primal - dual) / primal if primal > 0.0 else 0.0
        record = Pass(number, objective=primal, dual=dual, gap=gap, step=float(np.median(eta)))
        stop = on_pass(record, u)
        if gap <= tolerance:
            return result(True, f"converged: relative duality gap {gap:.2g}")
        if stop:
            return result(False, STOPPED)
        if step == "paper" and dual < last:
            eta *= 0.5
        last = dual
        if number < passes:
            kept = {"theta": theta, "mu": mu, "u": u, "eta": eta, "dual": np.array([dual])}
            keep(number, lambda kept=kept: kept)
    return result(False, out_of_passes(passes))
