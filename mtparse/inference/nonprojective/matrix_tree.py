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

Words are eliminated four at a time (`block_elimination`), and their number is filled up to a multiple of
four with words that go to the root at rate 1 and that no other word goes to: their D_k is 1.

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

from mtparse.inference.arithmetic.exponential import exponentiate
from mtparse.inference.arithmetic.scaling import column_peaks, relative_root
from mtparse.inference.nonprojective.block_elimination import (
    BLOCK,
    carry_back_block,
    eliminate_block,
    padded,
    solve_block,
)
from mtparse.inference.nonprojective.schedule import LEAF, SPLIT, depth, schedule
from mtparse.runtime.jit import fused_kernel, kernel

FLOOR_MULTI = 640.0
FLOOR_SINGLE = 280.0
EPSILON = 2.0**-520
LOG_EPSILON = -520.0 * math.log(2.0)
TOLERANCE = 1e-16


@kernel
def _scaled_weights(scores, single, weights):
    """Fill ``weights``, shape (n + 1, padded n), with raised relative rates: ``[head, modifier - 1]``.

    The root row is without epsilon, the cells of words to themselves are zero, those of the padding are
    undefined. Returns the logarithm of the factor taken out (-inf: no tree, weights undefined) and the
    number of raised cells.
    """
    size = scores.shape[0]
    columns = weights.shape[1]
    floor = FLOOR_SINGLE if single else FLOOR_MULTI
    peaks, root_peak = column_peaks(scores, single)
    shift = root_peak
    for m in range(1, size):
        shift += peaks[m]
    if shift == -np.inf:
        return -np.inf, 0
    raised = 0
    for m in range(1, size):
        relative = relative_root(scores[0, m], peaks[m], root_peak)
        raised += relative < -floor
        weights[0, m - 1] = relative if relative > -floor else -floor
    for h in range(1, size):
        for m in range(1, size):
            relative = scores[h, m] - peaks[m]
            raised += relative < -floor
            weights[h, m - 1] = relative if relative > -floor else -floor
        raised -= scores[h, h] - peaks[h] < -floor
        weights[h, h - 1] = 0.0
    for h in range(size):
        for m in range(size - 1, columns):
            weights[h, m] = 0.0
    exponentiate(weights.reshape(size * columns), size * columns)
    for h in range(1, size):
        weights[h, h - 1] = 0.0
    return shift, raised


@kernel
def _rates(weights, single, levels):
    """Rates of the chain over the padded words, with room for the work of more levels.

    Returns ``(rates, roots)``, shapes (levels * words, words) and (levels * words,): row m is word m, the
    column its head. Padding words only go to the root, and nothing goes to them: they change nothing.
    """
    n = weights.shape[0] - 1
    words = weights.shape[1]
    scale = EPSILON if single else 1.0
    rates = np.empty((levels * words, words))
    roots = np.empty(levels * words)
    for m in range(n):
        roots[m] = weights[0, m] * scale
        for h in range(n):
            rates[m, h] = weights[h + 1, m]
        for h in range(n, words):
            rates[m, h] = 0.0
    for m in range(n, words):
        roots[m] = 1.0
        for h in range(words):
            rates[m, h] = 0.0
    return rates, roots


@kernel
def _log_product(totals):
    """Logarithm of the product of all D_k."""
    total = 0.0
    for k in range(totals.shape[0]):
        total += math.log(totals[k])
    return total


@kernel
def _escape_probabilities(rates, roots, reach):
    """Fill ``reach`` with K[h, m] for all pairs of words, counted from 0; return the log of their Z.

    Rows of the first level of ``rates`` are left alone, the others are work space. For one level l of the
    schedule, word i's rates are in row ``l * words + i``. O(n³): T(n) = 2 T(n / 2) + O(n³). Of each level
    only the rows and columns of one interval at a time are touched, so that memory stays O(n²).
    """
    words = reach.shape[0]
    steps = schedule(words // BLOCK, 1)
    hops = np.empty((words, words))
    exits = np.empty(words)
    totals = np.empty(words)
    log_product = 0.0
    # The first words to be solved have seen all others eliminated: their D_k complete the determinant.
    first = True
    for step in range(steps.shape[0]):
        operation = steps[step, 0]
        here = steps[step, 1] * words
        below = here + words
        start = steps[step, 2] * BLOCK
        half = steps[step, 4]
        stop = start + steps[step, 3] * BLOCK
        cut = start + steps[step, 3] // 2 * BLOCK
        if operation == LEAF:
            solve_block(rates, roots, here, start, reach)
            if first:
                eliminate_block(rates, roots, here, here, start, start, start, hops, exits, totals)
                log_product = _log_product(totals)
                first = False
        elif operation == SPLIT:
            # What remains is contiguous if elimination starts at the far end. The first block's results go
            # to the next level, so that no copy is needed.
            source = here
            if half == 0:
                for block in range(stop - BLOCK, cut - 1, -BLOCK):
                    eliminate_block(rates, roots, source, below, start, block, block, hops, exits, totals)
                    source = below
            else:
                for block in range(start, cut, BLOCK):
                    after = block + BLOCK
                    eliminate_block(rates, roots, source, below, after, stop, block, hops, exits, totals)
                    source = below
        elif half == 0:
            for block in range(cut, stop, BLOCK):
                carry_back_block(hops, exits, start, block, block, reach, start, cut - start)
        else:
            for block in range(cut - BLOCK, start - 1, -BLOCK):
                carry_back_block(hops, exits, block + BLOCK, stop, block, reach, cut, stop - cut)
    return log_product


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
    words = padded(n)
    weights = np.empty((size, words))
    shift, raised = _scaled_weights(scores, single, weights)
    if shift == -np.inf:
        mu[:] = 0.0
        return -np.inf, True
    rates, roots = _rates(weights, single, depth(words // BLOCK, 1))
    reach = np.empty((words, words))
    log_z = _escape_probabilities(rates, roots, reach) + shift
    if single:
        log_z -= LOG_EPSILON
    _normalise(weights, reach, EPSILON if single else 1.0, mu)
    if raised == 0:
        return log_z, True
    return log_z, _lower_again(scores, single, mu)


@fused_kernel
def _normalise(weights, reach, root_scale, mu):
    """Marginals from rates and K: ``weights[h, m] * K[h, m]``, and columns that sum to 1."""
    n = weights.shape[0] - 1
    inverse = np.empty(n)
    for m in range(n):
        inverse[m] = weights[0, m] * root_scale
    for h in range(n):
        for m in range(n):
            inverse[m] += weights[h + 1, m] * reach[h, m]
    for m in range(n):
        inverse[m] = 1.0 / inverse[m]
    mu[0, 0] = 0.0
    for m in range(n):
        mu[0, m + 1] = (weights[0, m] * root_scale) * inverse[m]
    for h in range(n):
        mu[h + 1, 0] = 0.0
        for m in range(n):
            mu[h + 1, m + 1] = (weights[h + 1, m] * reach[h, m]) * inverse[m]


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
    """Log-partition alone, about a quarter of the work of the marginals.

    Parameters and results as in `matrix_tree_marginals`; where arcs had to be raised it computes the
    marginals too, because only they can tell whether that was harmless. O(n³).
    """
    size = scores.shape[0]
    n = size - 1
    if n == 1:
        return scores[0, 1], True
    words = padded(n)
    weights = np.empty((size, words))
    shift, raised = _scaled_weights(scores, single, weights)
    if shift == -np.inf:
        return -np.inf, True
    if raised > 0:
        return matrix_tree_marginals(scores, single, np.empty((size, size)))
    rates, roots = _rates(weights, single, 1)
    hops = np.empty((words, words))
    exits = np.empty(words)
    totals = np.empty(words)
    for block in range(words - BLOCK, -1, -BLOCK):
        eliminate_block(rates, roots, 0, 0, 0, block, block, hops, exits, totals)
    return _log_product(totals) + shift - (LOG_EPSILON if single else 0.0), True
