"""Max-margin models by exponentiated gradient on the dual: figure 2 of the paper.

The dual is maximised over marginals μ_i of distributions over trees,

    Q(μ) = C Σ_i l_i·μ_i - 0.5 ||w(μ)||²,   w(μ) = C Σ_i Σ_arcs (y_i - μ_i) f,

with l = 0 on gold arcs and 1 elsewhere. Each μ_i is kept as the marginals of θ_i, which moves along the
gradient of Q: θ_i += η C (l_i + w·f).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mtparse.features.feature_keys import arc_number
from mtparse.inference.dispatch import call_marginals, marginals_address
from mtparse.runtime.jit import kernel
from mtparse.runtime.threads import Workers
from mtparse.training.design import ArcRows, Columns
from mtparse.training.loop import (
    STOPPED,
    Keep,
    OnPass,
    Pass,
    Resumed,
    TrainResult,
    keep_nothing,
    out_of_passes,
    passes_left,
    require_good,
)
from mtparse.training.losses import by_words, first_word_row, sentence_scores
from mtparse.training.objectives import Family, max_margin_loss, squared_norm

GROWTH = 1.05
LARGEST = 1e6
"""A step grows to this many times 1/C at most: beyond, θ would overflow and nothing would be gained."""
HALVINGS = 30


@kernel
def _move(rows, s, old, new, scale, multiplicity, u):
    """u -= scale * K * X'(new - old) for the arcs of a sentence; old, new are (n+1, n+1).

    Returns what this adds to ||w||² = Σ u² / K, summed up on the way.
    """
    n = rows.lengths[s]
    grown = 0.0
    arc = rows.first_arc[s]
    change = np.zeros((n + 1, n + 1))
    for m in range(1, n + 1):
        for k in range(n):
            h = m - 1 - k if k < m else k + 1
            value = scale * (new[h, m] - old[h, m])
            change[h, m] = value
            if value != 0.0:
                for j in range(rows.starts[arc], rows.starts[arc + 1]):
                    c = rows.indices[j]
                    step = value * multiplicity[c]
                    grown += value * (step - 2.0 * u[c])
                    u[c] -= step
            arc += 1
    sums = by_words(change)
    first = first_word_row(rows, s)
    for i in range(2 * n + 1):
        for j in range(rows.word_starts[first + i], rows.word_starts[first + i + 1]):
            c = rows.word_indices[j]
            value = sums[i, rows.word_forms[j]]
            step = value * multiplicity[c]
            grown += value * (step - 2.0 * u[c])
            u[c] -= step
    return grown


@kernel
def initialize(rows, marginals_at, single, beta, C, multiplicity, u, theta, mu):
    """θ_i is β on gold arcs and 0 elsewhere; μ_i its marginals; u = K * w(μ).

    ``marginals_at`` is as from `mtparse.inference.dispatch.marginals_address`.
    """
    for s in range(rows.lengths.shape[0]):
        n = rows.lengths[s]
        first = rows.first_arc[s]
        scores = np.zeros((n + 1, n + 1))
        tree = np.zeros((n + 1, n + 1))
        marginals = np.empty((n + 1, n + 1))
        for m in range(1, n + 1):
            h = rows.gold[rows.first_word[s] + m]
            tree[h, m] = 1.0
            scores[h, m] = beta
            theta[first + arc_number(h, m, n)] = beta
        call_marginals(marginals_at, scores, single, marginals)
        for m in range(1, n + 1):
            for h in range(n + 1):
                if h != m:
                    mu[first + arc_number(h, m, n)] = marginals[h, m]
        _move(rows, s, tree, marginals, C, multiplicity, u)


@kernel
def sweep(
    rows, order, marginals_at, single, C, adaptive,
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
        n = rows.lengths[s]
        first = rows.first_arc[s]
        scores = np.empty((n + 1, n + 1))
        candidate = np.empty((n + 1, n + 1))
        old = np.zeros((n + 1, n + 1))
        new = np.empty((n + 1, n + 1))
        sentence_scores(rows, s, u, scores)
        if not np.isfinite(np.sum(scores)):
            return s
        for m in range(1, n + 1):
            g = rows.gold[rows.first_word[s] + m]
            for h in range(n + 1):
                if h != m:
                    old[h, m] = mu[first + arc_number(h, m, n)]
                    if h != g:
                        scores[h, m] += 1.0
        accepted = False
        step = eta[s]
        for _ in range(HALVINGS):
            candidate[:, 0] = 0.0
            for m in range(1, n + 1):
                largest = -np.inf
                candidate[m, m] = 0.0
                for h in range(n + 1):
                    if h != m:
                        x = theta[first + arc_number(h, m, n)] + eta[s] * C * scores[h, m]
                        candidate[h, m] = x
                        largest = max(largest, x)
                # A column's shift changes nothing but the size of the numbers.
                for h in range(n + 1):
                    candidate[h, m] -= largest
            call_marginals(marginals_at, candidate, single, new)
            grown = _move(rows, s, old, new, C, multiplicity, u)
            if not np.isfinite(grown):
                return s
            if not adaptive:
                accepted = True
                break
            change = -0.5 * grown / C  # of Q / C
            for m in range(1, n + 1):
                g = rows.gold[rows.first_word[s] + m]
                for h in range(n + 1):
                    if h != m and h != g:
                        change += new[h, m] - old[h, m]
            if change >= -1e-12:
                accepted = True
                break
            _move(rows, s, old, new, -C, multiplicity, u)
            eta[s] *= 0.5
        if not accepted:
            # At rounding: no step helps now, but the other sentences may move on.
            eta[s] = 0.5 * step
            continue
        if adaptive:
            eta[s] = min(eta[s] * GROWTH, LARGEST / C)
        for m in range(1, n + 1):
            for h in range(n + 1):
                if h != m:
                    arc = first + arc_number(h, m, n)
                    theta[arc] = candidate[h, m]
                    mu[arc] = new[h, m]
    return -1


@kernel
def expected_errors(rows, mu):
    """Σ_i l_i·μ_i: the wrong heads that the dual's distributions expect."""
    total = 0.0
    for s in range(rows.lengths.shape[0]):
        n = rows.lengths[s]
        for m in range(1, n + 1):
            g = rows.gold[rows.first_word[s] + m]
            for h in range(n + 1):
                if h != m and h != g:
                    total += mu[rows.first_arc[s] + arc_number(h, m, n)]
    return total


def train_max_margin(
    rows: ArcRows,
    columns: Columns,
    family: Family,
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
    inference = (marginals_address(family.projective), family.single)
    done = number = resumed.passes if resumed else 0
    if resumed:
        theta, mu, u, eta = (resumed.arrays[name] for name in ("theta", "mu", "u", "eta"))
        last = float(resumed.arrays["dual"][0])
    else:
        if start:
            theta, mu = start["theta"].copy(), start["mu"].copy()
            u, eta = start["u_over_C"] * C, start["eta_times_C"] / C
        else:
            theta, mu = np.zeros(rows.arcs), np.zeros(rows.arcs)
            u, eta = np.zeros(len(columns)), np.full(rows.sentences, 1.0 / C)
            initialize(rows, *inference, beta, C, columns.multiplicity, u, theta, mu)
        last = C * expected_errors(rows, mu) - 0.5 * squared_norm(columns, u)

    def result(converged: bool, reason: str) -> TrainResult:
        state = {"theta": theta, "mu": mu, "u_over_C": u / C, "eta_times_C": eta * C}
        return TrainResult(u, number, converged, reason, state)

    for number, order in passes_left(passes, done, rows.sentences, shuffle, seed):
        bad = sweep(rows, order, *inference, C, step == "adaptive", columns.multiplicity, eta, u, theta, mu)
        require_good(bad, number)
        penalty = 0.5 * squared_norm(columns, u)
        dual = C * expected_errors(rows, mu) - penalty
        primal = C * max_margin_loss(rows, family, u, workers, number) + penalty
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
