"""Partition function and marginals of projective trees: Eisner's inside-outside algorithm.

Koo et al. (2007, section 2.2) refer to it for projective trees; the recursions are those of Eisner (1996) and
Paskin (2001). Charts over words i <= j, counted from 0, all stored as ``chart[j, i]``:

- ``right[j, i]``: complete span, i heads all of i..j;  ``left[j, i]``: the same headed by j;
- ``arc_right[j, i]``: incomplete span with the arc i -> j;  ``arc_left[j, i]``: with the arc j -> i.

For one j all spans are filled for falling i. A span's value is pushed to the sums of the wider spans that
use it, so that the inner loops add multiples of contiguous rows and compile to vector instructions. The
outside values are the derivatives of log Z, by running the same program backwards.

The root is attached last. Single-root: ``Z = sum_m left[m, 0] * w[0, m] * right[n - 1, m]``. Multi-root: a
chain of root arcs from left to right.

Range. Weights are relative to the largest of their column, times SHRINK = 4/27. n words have fewer than
(27/4)**n projective trees, so that no sum over trees exceeds a small constant and nothing overflows. A
product that underflows loses at most 5e-324 of Z; where the scaled Z is at least SMALLEST_Z the loss is
below 1e-25, however many there are. Otherwise the kernels say so and the caller turns to `extended`.
"""

from __future__ import annotations

import math

import numpy as np

from mtparse.inference.arithmetic.exponential import exponentiate
from mtparse.inference.arithmetic.scaling import column_peaks, relative_root
from mtparse.runtime.jit import fused_kernel, kernel, summing_kernel

SHRINK = 4.0 / 27.0
LOG_SHRINK = math.log(4.0) - math.log(27.0)
SMALLEST_Z = 1e-290


@kernel
def _weights(scores, single, by_modifier, by_head):
    """Scaled weights of word arcs, words from 0, as ``[m, h]`` and ``[h, m]``; and of root arcs.

    Returns ``(root_weights, shift)`` with the logarithm of the factor taken out (-inf: no tree).
    """
    n = scores.shape[0] - 1
    peaks, root_peak = column_peaks(scores, single)
    root = np.zeros(n)
    shift = root_peak - n * LOG_SHRINK
    for m in range(1, n + 1):
        shift += peaks[m]
    if shift == -np.inf:
        return root, shift
    for m in range(n):
        root[m] = relative_root(scores[0, m + 1], peaks[m + 1], root_peak)
    for h in range(n):
        for m in range(n):
            by_head[h, m] = scores[h + 1, m + 1] - peaks[m + 1]
        by_head[h, h] = -np.inf
    exponentiate(root, n)
    exponentiate(by_head.reshape(n * n), n * n)
    for h in range(n):
        root[h] *= SHRINK
        for m in range(n):
            by_head[h, m] *= SHRINK
    for m in range(n):
        for h in range(n):
            by_modifier[m, h] = by_head[h, m]
    return root, shift


@fused_kernel
def _inside(by_modifier, by_head, right, left, arc_right, arc_left):
    """Fill the four charts; O(n³)."""
    n = by_head.shape[0]
    join = np.empty(n)
    sum_right = np.empty(n)
    sum_left = np.empty(n)
    for j in range(n):
        right[j, j] = 1.0
        left[j, j] = 1.0
        for i in range(j):
            join[i] = right[j - 1, i]
            sum_right[i] = 0.0
            sum_left[i] = 0.0
        for i in range(j - 1, -1, -1):
            to_right = join[i] * by_modifier[j, i]
            to_left = join[i] * by_head[j, i]
            whole_right = sum_right[i] + to_right
            whole_left = sum_left[i] + to_left
            arc_right[j, i] = to_right
            arc_left[j, i] = to_left
            right[j, i] = whole_right
            left[j, i] = whole_left
            for k in range(i):
                join[k] += right[i - 1, k] * whole_left
                sum_right[k] += arc_right[i, k] * whole_right
                sum_left[k] += left[i, k] * to_left


@summing_kernel
def _attach_root(root, right, left, single, spine, open_arc):
    """Scaled Z. Multi-root: ``spine[j]`` sums the forests of the first j words, ``open_arc[m]`` those of
    the words before m and m's left part, with the root arc of m."""
    n = root.shape[0]
    if single:
        z = 0.0
        for m in range(n):
            z += left[m, 0] * root[m] * right[n - 1, m]
        return z
    spine[0] = 1.0
    for m in range(n):
        total = 0.0
        for i in range(m + 1):
            total += spine[i] * left[m, i]
        open_arc[m] = total * root[m]
        total = 0.0
        for k in range(m + 1):
            total += open_arc[k] * right[m, k]
        spine[m + 1] = total
    return spine[n]


@fused_kernel
def _detach_root(root, right, left, single, spine, open_arc, z, out_right, out_left, mu):
    """Derivatives of log Z by the complete spans that meet the root, and the marginals of root arcs."""
    n = root.shape[0]
    if single:
        for m in range(n):
            weight = root[m] / z
            out_left[m, 0] += weight * right[n - 1, m]
            out_right[n - 1, m] += weight * left[m, 0]
            mu[0, m + 1] = min(weight * left[m, 0] * right[n - 1, m], 1.0)
        return
    out_spine = np.zeros(n + 1)
    out_open = np.zeros(n)
    out_spine[n] = 1.0 / z
    for m in range(n - 1, -1, -1):
        outer = out_spine[m + 1]
        for k in range(m + 1):
            out_open[k] += outer * right[m, k]
            out_right[m, k] += outer * open_arc[k]
        mu[0, m + 1] = min(out_open[m] * open_arc[m], 1.0)
        outer = out_open[m] * root[m]
        for i in range(m + 1):
            out_spine[i] += outer * left[m, i]
            out_left[m, i] += outer * spine[i]


@summing_kernel
def _outside(by_modifier, by_head, right, left, arc_right, arc_left, out_right, out_left, mu):
    """Marginals of word arcs: `_inside` backwards. ``out_right`` and ``out_left`` hold the root's part."""
    n = by_head.shape[0]
    out_arc = np.zeros((n, n))
    out_join = np.empty(n)
    out_sum_right = np.empty(n)
    out_sum_left = np.empty(n)
    for j in range(n - 1, -1, -1):
        for i in range(j):
            whole_right = right[j, i]
            whole_left = left[j, i]
            to_left = arc_left[j, i]
            by_whole_left = out_left[j, i]
            by_whole_right = out_right[j, i]
            by_to_left = 0.0
            for k in range(i):
                by_whole_left += out_join[k] * right[i - 1, k]
                by_whole_right += out_sum_right[k] * arc_right[i, k]
                by_to_left += out_sum_left[k] * left[i, k]
            for k in range(i):
                out_right[i - 1, k] += out_join[k] * whole_left
                out_arc[i, k] += out_sum_right[k] * whole_right
                out_left[i, k] += out_sum_left[k] * to_left
            by_to_left += by_whole_left
            by_to_right = out_arc[j, i] + by_whole_right
            out_sum_left[i] = by_whole_left
            out_sum_right[i] = by_whole_right
            out_join[i] = by_to_right * by_modifier[j, i] + by_to_left * by_head[j, i]
            mu[i + 1, j + 1] = min(by_to_right * arc_right[j, i], 1.0)
            mu[j + 1, i + 1] = min(by_to_left * to_left, 1.0)
        if j > 0:
            for k in range(j):
                out_right[j - 1, k] += out_join[k]


@kernel
def projective_marginals(scores, single, mu):
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
        -inf if some word has no possible head (``mu`` is zero then).
    good : bool
        False if the result is not certain to be accurate. O(n³).
    """
    n = scores.shape[0] - 1
    mu[:] = 0.0
    by_modifier = np.empty((n, n))
    by_head = np.empty((n, n))
    root, shift = _weights(scores, single, by_modifier, by_head)
    if shift == -np.inf:
        return -np.inf, True
    right = np.empty((n, n))
    left = np.empty((n, n))
    arc_right = np.empty((n, n))
    arc_left = np.empty((n, n))
    spine = np.empty(n + 1)
    open_arc = np.empty(n)
    _inside(by_modifier, by_head, right, left, arc_right, arc_left)
    z = _attach_root(root, right, left, single, spine, open_arc)
    if z < SMALLEST_Z:
        return -np.inf, False
    out_right = np.zeros((n, n))
    out_left = np.zeros((n, n))
    _detach_root(root, right, left, single, spine, open_arc, z, out_right, out_left, mu)
    _outside(by_modifier, by_head, right, left, arc_right, arc_left, out_right, out_left, mu)
    return math.log(z) + shift, True


@kernel
def projective_log_partition(scores, single):
    """Log-partition alone: the inside half of `projective_marginals`, same parameters and results."""
    n = scores.shape[0] - 1
    by_modifier = np.empty((n, n))
    by_head = np.empty((n, n))
    root, shift = _weights(scores, single, by_modifier, by_head)
    if shift == -np.inf:
        return -np.inf, True
    right = np.empty((n, n))
    left = np.empty((n, n))
    arc_right = np.empty((n, n))
    arc_left = np.empty((n, n))
    _inside(by_modifier, by_head, right, left, arc_right, arc_left)
    z = _attach_root(root, right, left, single, np.empty(n + 1), np.empty(n))
    if z < SMALLEST_Z:
        return -np.inf, False
    return math.log(z) + shift, True
