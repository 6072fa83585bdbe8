"""Best projective trees: Eisner's algorithm (Eisner 1996), single- and multi-root.

The charts are those of `inside_outside` with (max, +) for (+, ×), again stored as ``chart[j, i]`` so that
the inner loops run along rows. No back-pointers: the tree is read off by looking again for the split that
gave a span its value, n times O(n).
"""

from __future__ import annotations

import numpy as np

from mtparse.runtime.jit import inlined, kernel

_RIGHT, _LEFT, _ARC_RIGHT, _ARC_LEFT = 0, 1, 2, 3


@kernel
def _larger(a, b):
    return a if a > b else b


@kernel
def _close(scores, into, j, i, pair, best_right, best_left, right, left, arc_right, arc_left):
    """Spans from i to j, given the best pair of spans below their arcs and the best other ways to split them.

    Returns the scores that wider spans need: ``right[j, i]``, ``left[j, i]``, ``arc_left[j, i]``.
    """
    to_right = pair + into[j, i]
    to_left = pair + scores[j + 1, i + 1]
    whole_right = _larger(best_right, to_right)
    whole_left = _larger(best_left, to_left)
    arc_right[j, i] = to_right
    arc_left[j, i] = to_left
    right[j, i] = whole_right
    left[j, i] = whole_left
    return whole_right, whole_left, to_left


@kernel
def _fill_charts(scores, right, left, arc_right, arc_left, join):
    """Scores of the best spans; words from 0. ``join[j, i]``: best pair of spans below an arc. O(n³)."""
    n = right.shape[0]
    into = np.empty((n, n))
    for m in range(n):
        for h in range(n):
            into[m, h] = scores[h + 1, m + 1]
    best_right = np.empty(n)
    best_left = np.empty(n)
    for j in range(n):
        right[j, j] = 0.0
        left[j, j] = 0.0
        below = join[j]
        for i in range(j):
            below[i] = right[j - 1, i]
            best_right[i] = -np.inf
            best_left[i] = -np.inf
        # Two values of i at a time, so that the sums over k are loaded and stored half as often.
        i = j - 1
        while i > 0:
            w_right, w_left, to_left = _close(
                scores, into, j, i, below[i], best_right[i], best_left[i], right, left, arc_right, arc_left
            )
            h = i - 1
            below[h] = _larger(below[h], w_left)
            v_right, v_left, to_left_too = _close(
                scores,
                into,
                j,
                h,
                below[h],
                _larger(best_right[h], arc_right[i, h] + w_right),
                _larger(best_left[h], left[i, h] + to_left),
                right,
                left,
                arc_right,
                arc_left,
            )
            for k in range(h):
                below[k] = _larger(_larger(below[k], right[h, k] + w_left), right[h - 1, k] + v_left)
                best_right[k] = _larger(
                    _larger(best_right[k], arc_right[i, k] + w_right), arc_right[h, k] + v_right
                )
                best_left[k] = _larger(_larger(best_left[k], left[i, k] + to_left), left[h, k] + to_left_too)
            i -= 2
        if i == 0:
            _close(
                scores, into, j, 0, below[0], best_right[0], best_left[0], right, left, arc_right, arc_left
            )


@inlined
def _push(stack, count, kind, i, j):
    if i < j:
        stack[count, 0] = kind
        stack[count, 1] = i
        stack[count, 2] = j
        count += 1
    return count


@kernel
def _read_off(stack, count, right, left, arc_right, arc_left, join, heads):
    """Set the heads of all words that the stacked spans cover, the spans' own heads excepted."""
    while count > 0:
        count -= 1
        kind = stack[count, 0]
        i = stack[count, 1]
        j = stack[count, 2]
        if kind == _RIGHT:
            k = j
            while arc_right[k, i] + right[j, k] != right[j, i]:
                k -= 1
            count = _push(stack, count, _ARC_RIGHT, i, k)
            count = _push(stack, count, _RIGHT, k, j)
        elif kind == _LEFT:
            k = i
            while left[k, i] + arc_left[j, k] != left[j, i]:
                k += 1
            count = _push(stack, count, _LEFT, i, k)
            count = _push(stack, count, _ARC_LEFT, k, j)
        else:
            if kind == _ARC_RIGHT:
                heads[j + 1] = i + 1
            else:
                heads[i + 1] = j + 1
            k = j - 1
            while right[k, i] + left[j, k + 1] != join[j, i]:
                k -= 1
            count = _push(stack, count, _RIGHT, i, k)
            count = _push(stack, count, _LEFT, k + 1, j)


@kernel
def best_projective_tree(scores, single, heads):
    """The projective tree with the highest sum of arc scores.

    Ties are broken span by span towards low heads: two heads share the words between them so that the left
    one gets as many as possible, a span under its leftmost word has as its last dependent the last word
    possible, a span under its rightmost word as its first dependent the first; a single root is the first
    word possible, and of several the last is the last word possible.

    Parameters
    ----------
    scores : float64 array, shape (n + 1, n + 1)
        Arc scores ``[head, modifier]``, n >= 1; no NaN or +inf off the diagonal and column 0. Not changed.
    single : bool
        Whether trees have exactly one root arc.
    heads : int64 array, shape (n + 1,)
        Overwritten with the heads; ``heads[0] = -1``. Undefined where there is no tree.

    Returns
    -------
    float
        Sum of the scores of the tree's arcs; -inf if there is no tree. O(n³) time, O(n²) memory.
    """
    n = scores.shape[0] - 1
    right = np.empty((n, n))
    left = np.empty((n, n))
    arc_right = np.empty((n, n))
    arc_left = np.empty((n, n))
    join = np.empty((n, n))
    _fill_charts(scores, right, left, arc_right, arc_left, join)
    heads[0] = -1
    # Spans on the stack are disjoint but for shared ends, hence fewer than 2n.
    stack = np.empty((2 * n + 4, 3), np.int64)
    count = 0
    if single:
        best = -np.inf
        root = -1
        for m in range(n):
            total = left[m, 0] + scores[0, m + 1] + right[n - 1, m]
            if total > best:
                best = total
                root = m
        if root < 0:
            return -np.inf
        heads[root + 1] = 0
        count = _push(stack, count, _LEFT, 0, root)
        count = _push(stack, count, _RIGHT, root, n - 1)
    else:
        # spine[j]: best forest of the first j words; open_arc[m]: of the words before m, m's left part
        # and the root arc of m.
        spine = np.full(n + 1, -np.inf)
        open_arc = np.full(n, -np.inf)
        spine[0] = 0.0
        for m in range(n):
            for i in range(m + 1):
                open_arc[m] = max(open_arc[m], spine[i] + left[m, i])
            open_arc[m] += scores[0, m + 1]
            for k in range(m + 1):
                spine[m + 1] = max(spine[m + 1], open_arc[k] + right[m, k])
        if spine[n] == -np.inf:
            return -np.inf
        end = n
        while end > 0:
            m = end - 1
            while open_arc[m] + right[end - 1, m] != spine[end]:
                m -= 1
            i = m
            while spine[i] + left[m, i] + scores[0, m + 1] != open_arc[m]:
                i -= 1
            heads[m + 1] = 0
            count = _push(stack, count, _LEFT, i, m)
            count = _push(stack, count, _RIGHT, m, end - 1)
            end = i
    _read_off(stack, count, right, left, arc_right, arc_left, join, heads)
    total = 0.0
    for m in range(1, n + 1):
        total += scores[heads[m], m]
    return total
