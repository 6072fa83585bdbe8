"""Partition function and marginals of non-projective trees, by elimination without subtraction.

Koo et al. (2007, section 3) take the determinant and the inverse of the Laplacian of the arc weights. With
peaked scores both lose every digit to cancellation. That Laplacian is a diagonally dominant M-matrix whose
diagonal is the sum of what else is in its column, and such a matrix can be eliminated without a single
subtraction (Grassmann, Taksar, Heyman 1985; O'Cinneide 1996): sums, products and quotients of non-negative
numbers alone, hence small *relative* errors in every entry.

Read the arcs as a Markov chain that moves from word m to its head h at rate ``exp(scores[h, m])`` and ends
in the root. Eliminating word k leaves the rates of the chain watched on the other words only; with ``D_k``
the total rate out of k at that moment, ``Z = prod D_k`` (the determinant). With ``K[h, m]`` the probability
that the chain started in h ends before it visits m, the marginal of arc (h, m) is proportional to
``exp(scores[h, m]) * K[h, m]`` (the quotient of cofactors in Koo et al., section 3.2).

Single-root trees are the limit of multi-root trees as all root weights are multiplied by epsilon -> 0, and
their partition function that of Z / epsilon. As nothing is subtracted, epsilon may be tiny.

Range. Rates are relative to the largest of their column, and are raised to ``exp(-FLOOR)`` where they are
less (those of forbidden arcs too). Then no rate underflows, products that do underflow are below 1e-27 of
what they are added to, and the elimination is accurate to rounding *for the raised rates*. Whether raising
did harm is told by the marginals of the raised arcs: trees without raised arcs keep their weights, so if
these marginals sum to at most TOLERANCE, the distribution is within TOLERANCE of the true one in total
variation, and Z within the same relative error. Otherwise the kernels say so and the caller turns to
`extended`. In single-root mode trees with several roots weigh at most n * exp(FLOOR_SINGLE) * EPSILON,
less than n * exp(-80).
"""

from __future__ import annotations

import math

import numpy as np

from mtparse._jit import kernel
from mtparse.inference.scaling import column_peaks, relative_root
from mtparse.inference.schedule import JOIN, PAIR, SPLIT, schedule, work_layout

FLOOR_MULTI = 640.0
FLOOR_SINGLE = 280.0
EPSILON = 2.0**-520
LOG_EPSILON = -520.0 * math.log(2.0)
TOLERANCE = 1e-16


@kernel
def _scaled_weights(scores, single, weights):
    """Fill ``weights`` (same layout as ``scores``) with raised relative rates; root row without epsilon.

    Returns the logarithm of the factor taken out (-inf: no tree, weights undefined) and the number of
    raised cells.
    """
    size = scores.shape[0]
    floor = FLOOR_SINGLE if single else FLOOR_MULTI
    lowest = math.exp(-floor)
    peaks, root_peak = column_peaks(scores, single)
    shift = root_peak
    for m in range(1, size):
        shift += peaks[m]
    if shift == -np.inf:
        return -np.inf, 0
    raised = 0
    for h in range(size):
        weights[h, 0] = 0.0
        for m in range(1, size):
            if h == m:
                weights[h, m] = 0.0
                continue
            here = scores[h, m]
            relative = relative_root(here, peaks[m], root_peak) if h == 0 else here - peaks[m]
            if relative < -floor:
                raised += 1
                weights[h, m] = lowest
            else:
                weights[h, m] = math.exp(relative)
    return shift, raised


@kernel
def _rates(weights, single):
    """Rates of the chain, shape (n, n + 1): row m - 1 is word m, column h its head, the root first."""
    n = weights.shape[0] - 1
    scale = EPSILON if single else 1.0
    rates = np.empty((n, n + 1))
    for i in range(n):
        rates[i, 0] = weights[0, i + 1] * scale
        for h in range(1, n + 1):
            rates[i, h] = weights[h, i + 1]
    return rates


@kernel
def _eliminate(rates, size, keep, totals):
    """Eliminate words ``size - 1`` down to ``keep``, in place; ``totals[k]`` becomes D_k.

    The rows of eliminated words keep the rates as they were when the word was eliminated. Cells
    ``rates[i, i + 1]`` (self-loops, which the chain's watched version drops) collect numbers that are
    never read.
    """
    k = size - 1
    # Two words at a time, so that each row is loaded and stored half as often.
    while k > keep:
        total = 0.0
        for j in range(k + 1):
            total += rates[k, j]
        totals[k] = total
        inverse = 1.0 / total
        share = rates[k - 1, k + 1] * inverse
        second = 0.0
        for j in range(k):
            rates[k - 1, j] += share * rates[k, j]
            second += rates[k - 1, j]
        totals[k - 1] = second
        inverse_second = 1.0 / second
        for i in range(k - 1):
            share = rates[i, k + 1] * inverse
            share_second = (rates[i, k] + share * rates[k, k]) * inverse_second
            for j in range(k):
                rates[i, j] += share * rates[k, j] + share_second * rates[k - 1, j]
        k -= 2
    if k == keep:
        total = 0.0
        for j in range(k + 1):
            total += rates[k, j]
        totals[k] = total
        inverse = 1.0 / total
        for i in range(k):
            share = rates[i, k + 1] * inverse
            for j in range(k + 1):
                rates[i, j] += share * rates[k, j]


@kernel
def _word(row, keep, kept, rest):
    """The word of a work row: those to keep come first."""
    return kept + row if row < keep else rest + row - keep


@kernel
def _carry_back(rates, size, keep, totals, reach, kept, rest):
    """K of the eliminated words for the kept words as targets: steps back through `_eliminate`.

    ``K[k, m] = (rate(k -> root) + sum_j rate(k -> j) K[j, m]) / D_k`` over the j that were left with k.
    Work row ``i < keep`` is word ``kept + i``, row ``keep + i`` is word ``rest + i``; K is ``reach``.
    """
    width = keep
    for k in range(keep, size):
        row = reach[rest + k - keep, kept : kept + width]
        start = rates[k, 0]
        for t in range(width):
            row[t] = start
        # Four terms at a time, so that the row is loaded and stored a quarter as often.
        j = 0
        while j + 3 < k:
            first = reach[_word(j, keep, kept, rest), kept : kept + width]
            second = reach[_word(j + 1, keep, kept, rest), kept : kept + width]
            third = reach[_word(j + 2, keep, kept, rest), kept : kept + width]
            fourth = reach[_word(j + 3, keep, kept, rest), kept : kept + width]
            a = rates[k, j + 1]
            b = rates[k, j + 2]
            c = rates[k, j + 3]
            d = rates[k, j + 4]
            for t in range(width):
                row[t] += (a * first[t] + b * second[t]) + (c * third[t] + d * fourth[t])
            j += 4
        while j < k:
            first = reach[_word(j, keep, kept, rest), kept : kept + width]
            a = rates[k, j + 1]
            for t in range(width):
                row[t] += a * first[t]
            j += 1
        inverse = 1.0 / totals[k]
        for t in range(width):
            row[t] *= inverse


@kernel
def _split(here, start, size, keep, kept, rest, below):
    """Copy the rates among the words of an interval, those to keep first."""
    for i in range(size):
        source = here[(kept + i if i < keep else rest + i - keep) - start]
        target = below[i]
        target[0] = source[0]
        for j in range(keep):
            target[1 + j] = source[1 + kept - start + j]
        for j in range(size - keep):
            target[1 + keep + j] = source[1 + rest - start + j]


@kernel
def _escape_probabilities(rates):
    """K[h, m] for all pairs of words, counted from 0, and the logarithm of the product of all D_k.

    For n >= 2; ``rates`` is left alone. O(n³): T(n) = 2 T(n / 2) + O(n³).
    """
    n = rates.shape[0]
    reach = np.empty((n, n))
    for m in range(n):
        reach[m, m] = 0.0
    steps = schedule(n)
    widths, offsets = work_layout(n)
    work = np.empty(offsets[-1])
    totals = np.empty((widths.shape[0], n))
    log_product = 0.0
    # The first words to be solved have seen all others eliminated: their D_k complete the determinant.
    first = True
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
        if operation == PAIR:
            out_of_one = here[0, 0] + here[0, 2]
            out_of_two = here[1, 0] + here[1, 1]
            reach[start, start + 1] = here[0, 0] / out_of_one
            reach[start + 1, start] = here[1, 0] / out_of_two
            if first:
                log_product += math.log(out_of_two)
                log_product += math.log(here[0, 0] + here[0, 2] * reach[start + 1, start])
                first = False
            continue
        cut = size // 2
        keep = size - cut if half == 1 else cut
        kept = start + half * cut
        rest = start + (1 - half) * cut
        width = widths[level + 1]
        below = work[offsets[level + 1] : offsets[level + 2]].reshape(width, width + 1)
        if operation == SPLIT:
            _split(here, start, size, keep, kept, rest, below)
            _eliminate(below, size, keep, totals[level])
            if first:
                for k in range(keep, size):
                    log_product += math.log(totals[level, k])
                if keep == 1:
                    log_product += math.log(below[0, 0])
                    first = False
        elif operation == JOIN:
            _carry_back(below, size, keep, totals[level], reach, kept, rest)
    return reach, log_product


@kernel
def matrix_tree_marginals(scores, single, mu):
    """Marginals and log-partition in plain floating point, with a verdict on their accuracy.

    Parameters
    ----------
    scores : float64 array, shape (n + 1, n + 1)
        Arc scores ``[head, modifier]``, n >= 1; no NaN or +inf off the diagonal and column 0. Not changed.
    single : bool
        Whether trees have exactly one root arc.
    mu : float64 array, shape (n + 1, n + 1)
        Overwritten with the marginals; undefined where the verdict is false.

    Returns
    -------
    log_z : float
        -inf if the scores allow no tree at all (``mu`` is zero then).
    good : bool
        False if the result is not certain to be accurate. O(n³).
    """
    size = scores.shape[0]
    n = size - 1
    if n == 1:
        mu[:] = 0.0
        mu[0, 1] = 0.0 if scores[0, 1] == -np.inf else 1.0
        return scores[0, 1], True
    shift, raised = _scaled_weights(scores, single, mu)
    if shift == -np.inf:
        mu[:] = 0.0
        return -np.inf, True
    reach, log_product = _escape_probabilities(_rates(mu, single))
    log_z = log_product + shift
    if single:
        log_z -= LOG_EPSILON
    sums = np.empty(size)
    root_scale = EPSILON if single else 1.0
    for m in range(1, size):
        mu[0, m] *= root_scale
        sums[m] = mu[0, m]
    for h in range(1, size):
        for m in range(1, size):
            mu[h, m] *= reach[h - 1, m - 1]
            sums[m] += mu[h, m]
    for h in range(size):
        for m in range(1, size):
            mu[h, m] /= sums[m]
    if raised == 0:
        return log_z, True
    return log_z, _lower_again(scores, single, mu)


@kernel
def _lower_again(scores, single, mu):
    """Take the raise of raised arcs back out of their marginals; say whether these were negligible."""
    size = scores.shape[0]
    floor = FLOOR_SINGLE if single else FLOOR_MULTI
    peaks, root_peak = column_peaks(scores, single)
    mass = 0.0
    for h in range(size):
        for m in range(1, size):
            if h == m:
                continue
            here = scores[h, m]
            relative = relative_root(here, peaks[m], root_peak) if h == 0 else here - peaks[m]
            if relative < -floor:
                mass += mu[h, m]
                mu[h, m] *= math.exp(relative + floor)
    return mass <= TOLERANCE


@kernel
def matrix_tree_log_partition(scores, single):
    """Log-partition alone, about a fifth of the work of the marginals.

    Parameters and results as in `matrix_tree_marginals`; where arcs had to be raised it computes the
    marginals too, because only they can tell whether that was harmless. O(n³).
    """
    size = scores.shape[0]
    n = size - 1
    if n == 1:
        return scores[0, 1], True
    weights = np.empty((size, size))
    shift, raised = _scaled_weights(scores, single, weights)
    if shift == -np.inf:
        return -np.inf, True
    if raised > 0:
        return matrix_tree_marginals(scores, single, weights)
    rates = _rates(weights, single)
    totals = np.empty(n)
    _eliminate(rates, n, 0, totals)
    log_z = shift - (LOG_EPSILON if single else 0.0)
    for k in range(n):
        log_z += math.log(totals[k])
    return log_z, True
