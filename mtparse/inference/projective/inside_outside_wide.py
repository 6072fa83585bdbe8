"""`inside_outside` in the arithmetic of `extended`: slower, for any scores, and the judge of "no tree".

Same charts, same order of work; see there. Weights keep their true values, forbidden arcs are exact zeros.
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
from mtparse.runtime.jit import kernel


@kernel
def _zeros(rows, columns):
    """A matrix of extended zeros."""
    return np.zeros((rows, columns), np.complex128)


@kernel
def _multiply_add(target, position, a, b):
    target[position] = add(target[position], multiply(a, b))


@kernel
def _inside(weights, right, left, arc_right, arc_left):
    """Fill the four charts; ``weights[h, m]`` with words from 1."""
    n = right.shape[0]
    join = np.empty(n, np.complex128)
    sum_right = np.empty(n, np.complex128)
    sum_left = np.empty(n, np.complex128)
    for j in range(n):
        right[j, j] = ONE
        left[j, j] = ONE
        for i in range(j):
            join[i] = right[j - 1, i]
            sum_right[i] = ZERO
            sum_left[i] = ZERO
        for i in range(j - 1, -1, -1):
            arc_right[j, i] = multiply(join[i], weights[i + 1, j + 1])
            arc_left[j, i] = multiply(join[i], weights[j + 1, i + 1])
            right[j, i] = add(sum_right[i], arc_right[j, i])
            left[j, i] = add(sum_left[i], arc_left[j, i])
            for k in range(i):
                _multiply_add(join, k, right[i - 1, k], left[j, i])
                _multiply_add(sum_right, k, arc_right[i, k], right[j, i])
                _multiply_add(sum_left, k, left[i, k], arc_left[j, i])


@kernel
def _attach_root(weights, right, left, single, spine, open_arc):
    """Z; ``spine`` and ``open_arc`` are filled in multi-root mode."""
    n = right.shape[0]
    if single:
        z = ZERO
        for m in range(n):
            z = add(z, multiply(multiply(left[m, 0], weights[0, m + 1]), right[n - 1, m]))
        return z
    spine[0] = ONE
    for m in range(n):
        open_arc[m] = ZERO
        for i in range(m + 1):
            _multiply_add(open_arc, m, spine[i], left[m, i])
        open_arc[m] = multiply(open_arc[m], weights[0, m + 1])
        spine[m + 1] = ZERO
        for k in range(m + 1):
            _multiply_add(spine, m + 1, open_arc[k], right[m, k])
    return spine[n]


@kernel
def _detach_root(weights, right, left, single, spine, open_arc, z, out_right, out_left, mu):
    """Derivatives of log Z by the spans that meet the root, and the marginals of root arcs."""
    n = right.shape[0]
    if single:
        for m in range(n):
            weight = divide(weights[0, m + 1], z)
            _multiply_add(out_left[m], 0, weight, right[n - 1, m])
            _multiply_add(out_right[n - 1], m, weight, left[m, 0])
            mu[0, m + 1] = min(to_float(multiply(multiply(weight, left[m, 0]), right[n - 1, m])), 1.0)
        return
    out_spine = np.zeros(n + 1, np.complex128)
    out_open = np.zeros(n, np.complex128)
    out_spine[n] = divide(ONE, z)
    for m in range(n - 1, -1, -1):
        for k in range(m + 1):
            _multiply_add(out_open, k, out_spine[m + 1], right[m, k])
            _multiply_add(out_right[m], k, out_spine[m + 1], open_arc[k])
        mu[0, m + 1] = min(to_float(multiply(out_open[m], open_arc[m])), 1.0)
        outer = multiply(out_open[m], weights[0, m + 1])
        for i in range(m + 1):
            _multiply_add(out_spine, i, outer, left[m, i])
            _multiply_add(out_left[m], i, outer, spine[i])


@kernel
def _outside(weights, right, left, arc_right, arc_left, out_right, out_left, mu):
    """Marginals of word arcs: `_inside` backwards. ``out_right`` and ``out_left`` hold the root's part."""
    n = right.shape[0]
    out_arc = _zeros(n, n)
    out_join = np.zeros(n, np.complex128)
    out_sum_right = np.zeros(n, np.complex128)
    out_sum_left = np.zeros(n, np.complex128)
    for j in range(n - 1, -1, -1):
        for i in range(j):
            by_whole_left = out_left[j, i]
            by_whole_right = out_right[j, i]
            by_to_left = ZERO
            for k in range(i):
                by_whole_left = add(by_whole_left, multiply(out_join[k], right[i - 1, k]))
                by_whole_right = add(by_whole_right, multiply(out_sum_right[k], arc_right[i, k]))
                by_to_left = add(by_to_left, multiply(out_sum_left[k], left[i, k]))
                _multiply_add(out_right[i - 1], k, out_join[k], left[j, i])
                _multiply_add(out_arc[i], k, out_sum_right[k], right[j, i])
                _multiply_add(out_left[i], k, out_sum_left[k], arc_left[j, i])
            by_to_left = add(by_to_left, by_whole_left)
            by_to_right = add(out_arc[j, i], by_whole_right)
            out_sum_left[i] = by_whole_left
            out_sum_right[i] = by_whole_right
            out_join[i] = add(
                multiply(by_to_right, weights[i + 1, j + 1]), multiply(by_to_left, weights[j + 1, i + 1])
            )
            mu[i + 1, j + 1] = min(to_float(multiply(by_to_right, arc_right[j, i])), 1.0)
            mu[j + 1, i + 1] = min(to_float(multiply(by_to_left, arc_left[j, i])), 1.0)
        for k in range(j):
            out_right[j - 1, k] = add(out_right[j - 1, k], out_join[k])


@kernel
def _weights(scores):
    size = scores.shape[0]
    weights = _zeros(size, size)
    for h in range(size):
        for m in range(1, size):
            if h != m:
                weights[h, m] = exponential(scores[h, m])
    return weights


@kernel
def extended_projective_log_partition(scores, single):
    """Log-partition of projective trees at any range of scores; -inf if there is no tree.

    Parameters as in `inside_outside.projective_marginals`, with scores below 1e12 in size. O(n³).
    """
    n = scores.shape[0] - 1
    weights = _weights(scores)
    right = _zeros(n, n)
    left = _zeros(n, n)
    _inside(weights, right, left, _zeros(n, n), _zeros(n, n))
    spine = np.zeros(n + 1, np.complex128)
    open_arc = np.zeros(n, np.complex128)
    return logarithm(_attach_root(weights, right, left, single, spine, open_arc))


@kernel
def extended_projective_marginals(scores, single, mu):
    """Marginals and log-partition of projective trees at any range of scores.

    Parameters as in `inside_outside.projective_marginals`, with scores below 1e12 in size. Returns the
    log-partition; -inf if there is no tree, with ``mu`` zero. O(n³).
    """
    n = scores.shape[0] - 1
    mu[:] = 0.0
    weights = _weights(scores)
    right = _zeros(n, n)
    left = _zeros(n, n)
    arc_right = _zeros(n, n)
    arc_left = _zeros(n, n)
    _inside(weights, right, left, arc_right, arc_left)
    spine = np.zeros(n + 1, np.complex128)
    open_arc = np.zeros(n, np.complex128)
    z = _attach_root(weights, right, left, single, spine, open_arc)
    if z.real == 0.0:
        return -np.inf
    out_right = _zeros(n, n)
    out_left = _zeros(n, n)
    _detach_root(weights, right, left, single, spine, open_arc, z, out_right, out_left, mu)
    _outside(weights, right, left, arc_right, arc_left, out_right, out_left, mu)
    return logarithm(z)
