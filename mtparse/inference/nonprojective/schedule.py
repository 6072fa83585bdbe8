"""The order of work of the divide and conquer that `matrix_tree` and `extended` share."""

from __future__ import annotations

import numpy as np

from mtparse.runtime.jit import inlined, kernel

SPLIT, LEAF, JOIN = 0, 1, 2


@inlined
def _add(steps, count, operation, level, start, size, half):
    steps[count, 0] = operation
    steps[count, 1] = level
    steps[count, 2] = start
    steps[count, 3] = size
    steps[count, 4] = half
    return count + 1


@kernel
def schedule(n, leaf):
    """List the steps that compute K (see `matrix_tree`) for all pairs of n units: words, or blocks of words.

    To get K for targets in one half of an interval, the units of the other half are eliminated (SPLIT),
    the half that is kept is solved on its own, and K is carried back to the eliminated units (JOIN).
    Intervals of at most ``leaf`` units are solved directly (LEAF). The order is depth first, so that one
    work matrix a level is enough, and it is a list rather than a recursion, so that kernels can be cached.

    Parameters
    ----------
    n : int
        Number of units, at least 1.
    leaf : int
        Size of the intervals that are not split, at least 1.

    Returns
    -------
    int64 array, shape (steps, 5)
        Rows ``(operation, level, start, size, half)`` about the units ``start .. start + size - 1``
        (counted from 0). Half 0 keeps the first ``size // 2`` units, half 1 the others.
    """
    steps = np.empty((5 * n, 5), np.int64)
    count = 0
    start = np.zeros(64, np.int64)
    size = np.zeros(64, np.int64)
    stage = np.zeros(64, np.int64)
    size[0] = n
    level = 0
    while level >= 0:
        s = size[level]
        if s <= leaf:
            count = _add(steps, count, LEAF, level, start[level], s, 0)
            level -= 1
            continue
        if stage[level] > 0:
            count = _add(steps, count, JOIN, level, start[level], s, stage[level] - 1)
        if stage[level] == 2:
            level -= 1
            continue
        half = stage[level]
        count = _add(steps, count, SPLIT, level, start[level], s, half)
        stage[level] += 1
        cut = s // 2
        start[level + 1] = start[level] + half * cut
        size[level + 1] = s - cut if half == 1 else cut
        stage[level + 1] = 0
        level += 1
    return steps[:count]


@kernel
def work_layout(n):
    """Where the work matrices of `schedule`'s levels lie in one flat array.

    What an interval of level ``l`` (at most ``ceil(n / 2**l)`` words) is split into is worked on in matrix
    ``l + 1``, of shape ``(widths[l + 1], widths[l + 1] + 1)``, from ``offsets[l + 1]`` up to
    ``offsets[l + 2]``. Level 0 is the caller's own matrix.

    Returns
    -------
    widths, offsets : int64 arrays, shapes (levels,) and (levels + 1,)
        ``offsets[-1]`` is the length of the flat array, about 4/3 n².
    """
    levels = 2
    width = n
    while width > 2:
        width = (width + 1) // 2
        levels += 1
    widths = np.zeros(levels, np.int64)
    offsets = np.zeros(levels + 1, np.int64)
    width = n
    for level in range(1, levels):
        widths[level] = width
        offsets[level + 1] = offsets[level] + width * (width + 1)
        width = (width + 1) // 2
    return widths, offsets


@kernel
def depth(n, leaf):
    """Number of levels of `schedule`: one more than the largest level of its steps."""
    levels = 1
    while n > leaf:
        n = (n + 1) // 2
        levels += 1
    return levels
