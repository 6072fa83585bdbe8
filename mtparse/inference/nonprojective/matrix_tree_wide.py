"""`matrix_tree` in the arithmetic of `extended`: slower, for any scores, and the judge of "no tree".

The same elimination on the same schedule. Rates keep their true values here: forbidden arcs are exact
zeros, and the epsilon of single-root trees is 2**-(512 * 2**46), which no score can make up for, so that
the power of epsilon in Z counts the fewest root arcs that a tree needs.
"""

from __future__ import annotations

import numpy as np

from mtparse.inference.arithmetic.wide_range import (
    ONE,
    ZERO,
    add,
    divide,
    exponential,
    logarithm,
    multiply,
    to_float,
)
from mtparse.inference.nonprojective.schedule import JOIN, LEAF, SPLIT, schedule, work_layout
from mtparse.runtime.jit import kernel

EPSILON_EXPONENT = -(2.0**46)


@kernel
def _rates(scores, single):
    """Row m - 1 is word m, column h its head, the root first; the diagonal is zero."""
    n = scores.shape[0] - 1
    rates = np.empty((n, n + 1), np.complex128)
    for i in range(n):
        for h in range(n + 1):
            rates[i, h] = ZERO if h == i + 1 else exponential(scores[h, i + 1])
        if single and rates[i, 0].real > 0.0:
            rates[i, 0] = complex(rates[i, 0].real, rates[i, 0].imag + EPSILON_EXPONENT)
    return rates


@kernel
def _eliminate(rates, size, keep, totals):
    """Eliminate words ``size - 1`` down to ``keep``, in place; ``totals[k]`` becomes D_k.

    Stops at a total of zero, which says that there is no tree, and returns False.
    """
    for k in range(size - 1, keep - 1, -1):
        total = ZERO
        for j in range(k + 1):
            total = add(total, rates[k, j])
        totals[k] = total
        if total.real == 0.0:
            return False
        for i in range(k):
            if rates[i, k + 1].real > 0.0:
                share = divide(rates[i, k + 1], total)
                for j in range(k + 1):
                    rates[i, j] = add(rates[i, j], multiply(share, rates[k, j]))
    return True


@kernel
def _carry_back(rates, size, keep, totals, reach, kept, rest):
    """K of the eliminated words for the kept words as targets; as in `matrix_tree`."""
    for k in range(keep, size):
        row = rest + k - keep
        for t in range(kept, kept + keep):
            reach[row, t] = rates[k, 0]
        for j in range(k):
            share = rates[k, j + 1]
            if share.real > 0.0:
                other = kept + j if j < keep else rest + j - keep
                for t in range(kept, kept + keep):
                    reach[row, t] = add(reach[row, t], multiply(share, reach[other, t]))
        for t in range(kept, kept + keep):
            reach[row, t] = divide(reach[row, t], totals[k])


@kernel
def _split(here, start, size, keep, kept, rest, below, totals):
    """Copy the words of an interval, those to keep first, and eliminate the others."""
    for i in range(size):
        source = (kept + i if i < keep else rest + i - keep) - start
        below[i, 0] = here[source, 0]
        for j in range(size):
            below[i, j + 1] = here[source, 1 + (kept + j if j < keep else rest + j - keep) - start]
    _eliminate(below, size, keep, totals)


@kernel
def _escape_probabilities(rates):
    """K[h, m] for all pairs of words, given that a tree exists. O(n³)."""
    n = rates.shape[0]
    reach = np.empty((n, n), np.complex128)
    for m in range(n):
        reach[m, m] = ZERO
    steps = schedule(n, 2)
    widths, offsets = work_layout(n)
    work = np.empty(offsets[-1], np.complex128)
    totals = np.empty((widths.shape[0], n), np.complex128)
    for step in range(steps.shape[0]):
        operation = steps[step, 0]
        level = steps[step, 1]
        start = steps[step, 2]
        size = steps[step, 3]
        half = steps[step, 4]
        if level == 0:
            here = rates
        else:
            width = widths[level]
            here = work[offsets[level] : offsets[level + 1]].reshape(width, width + 1)
        if operation == LEAF:
            if size == 1:
                continue
            reach[start, start + 1] = divide(here[0, 0], add(here[0, 0], here[0, 2]))
            reach[start + 1, start] = divide(here[1, 0], add(here[1, 0], here[1, 1]))
            continue
        cut = size // 2
        keep = size - cut if half == 1 else cut
        kept = start + half * cut
        rest = start + (1 - half) * cut
        width = widths[level + 1]
        below = work[offsets[level + 1] : offsets[level + 2]].reshape(width, width + 1)
        if operation == SPLIT:
            _split(here, start, size, keep, kept, rest, below, totals[level])
        elif operation == JOIN:
            _carry_back(below, size, keep, totals[level], reach, kept, rest)
    return reach


@kernel
def _log_partition(rates, single):
    """Log-partition of the chain with these rates, which are overwritten; -inf if there is no tree."""
    n = rates.shape[0]
    totals = np.empty(n, np.complex128)
    if not _eliminate(rates, n, 0, totals):
        return -np.inf
    z = ONE
    for k in range(n):
        z = multiply(z, totals[k])
    if single:
        exponent = z.imag - EPSILON_EXPONENT
        if exponent < 0.5 * EPSILON_EXPONENT:
            return -np.inf
        z = complex(z.real, exponent)
    return logarithm(z)


@kernel
def extended_matrix_tree_log_partition(scores, single):
    """Log-partition of non-projective trees at any range of scores; -inf if there is no tree.

    Parameters as in `matrix_tree.matrix_tree_marginals`, with scores below 1e12 in size. O(n³).
    """
    return _log_partition(_rates(scores, single), single)


@kernel
def extended_matrix_tree_marginals(scores, single, mu):
    """Marginals and log-partition of non-projective trees at any range of scores.

    Parameters as in `matrix_tree.matrix_tree_marginals`, with scores below 1e12 in size. Returns the
    log-partition; -inf if there is no tree, with ``mu`` zero. O(n³).
    """
    n = scores.shape[0] - 1
    mu[:] = 0.0
    rates = _rates(scores, single)
    log_z = _log_partition(rates.copy(), single)
    if log_z == -np.inf:
        return log_z
    reach = _escape_probabilities(rates)
    for m in range(n):
        total = rates[m, 0]
        for h in range(n):
            reach[h, m] = multiply(rates[m, h + 1], reach[h, m])
            total = add(total, reach[h, m])
        mu[0, m + 1] = to_float(divide(rates[m, 0], total))
        for h in range(n):
            mu[h + 1, m + 1] = to_float(divide(reach[h, m], total))
    return log_z
