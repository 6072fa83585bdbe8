"""Slow and plain answers to the inference problems, by routes the package does not take.

- Enumeration of every tree, up to 6 words or so, checked by closed counts in ``test_oracles.py``.
- The Laplacians of Koo et al. (2007) as printed, in numpy, in mpmath with as many digits as it takes, and in
  whole numbers.
- The textbook projective chart over any semiring; marginals by leaving out one arc at a time.
- Recursive Chu-Liu-Edmonds as in textbooks; one root by trying all.
"""

from __future__ import annotations

import itertools
import math
from functools import cache

import mpmath
import numpy as np


def is_tree(heads) -> bool:
    """Whether every word reaches the root symbol."""
    n = len(heads) - 1
    for m in range(1, n + 1):
        v, steps = m, 0
        while v != 0:
            v = heads[v]
            steps += 1
            if steps > n:
                return False
    return True


def is_projective(heads) -> bool:
    """Whether every word between a head and its modifier descends from the head."""
    for m in range(1, len(heads)):
        for between in range(min(m, heads[m]) + 1, max(m, heads[m])):
            v = between
            while v not in (0, heads[m]):
                v = heads[v]
            if v != heads[m]:
                return False
    return True


@cache
def all_trees(n: int, projective: bool, single: bool) -> np.ndarray:
    """Heads of all trees of a family over n words, shape (trees, n + 1), in lexicographic order."""
    found = []
    for choice in itertools.product(range(n + 1), repeat=n):
        heads = (-1, *choice)
        if single and choice.count(0) != 1:
            continue
        if is_tree(heads) and (not projective or is_projective(heads)):
            found.append(heads)
    return np.array(found, dtype=np.int64)


def tree_score(scores, heads) -> float:
    """Sum of the scores of a tree's arcs."""
    words = np.arange(1, len(heads))
    return float(scores[np.asarray(heads)[1:], words].sum())


def enumerate_family(scores, projective: bool, single: bool):
    """``(log_z, marginals, best_score, best_trees)``; ``(-inf, None, -inf, empty set)`` without a tree."""
    n = len(scores) - 1
    trees = all_trees(n, projective, single)
    words = np.arange(1, n + 1)
    arcs = scores[trees[:, 1:], words]
    totals = arcs.sum(axis=1)
    best = totals.max()
    if best == -np.inf:
        return -np.inf, None, -np.inf, set()
    # Differences of totals are rounded once: at scores of 1e4 rounded totals would cost 1e-11.
    reference = arcs[totals.argmax()]
    differences = np.array([math.fsum([*row, *-reference]) for row in arcs])
    best = math.fsum(reference)
    weights = np.exp(differences)
    probabilities = weights / weights.sum()
    marginals = np.zeros((n + 1, n + 1))
    for m in words:
        np.add.at(marginals[:, m], trees[:, m], probabilities)
    best_trees = {tuple(heads) for heads in trees[differences >= -1e-9].tolist()}
    return best + np.log(weights.sum()), marginals, best, best_trees


def laplacian(weights, single: bool):
    """Koo et al. (2007): the Laplacian of section 3.3, or of section 3.1 for single-root trees.

    ``weights[head, modifier]`` with the root symbol first; entries of any type that can be added.
    """
    size = len(weights)
    matrix = -weights[1:, 1:]
    for m in range(1, size):
        column = sum(weights[h, m] for h in range(1, size) if h != m)
        matrix[m - 1, m - 1] = column if single else column + weights[0, m]
    if single:
        matrix[0, :] = weights[0, 1:]
    return matrix


def marginals_from_inverse(weights, inverse, single: bool):
    """Koo et al. (2007), section 3.2: marginals from the inverse of `laplacian`."""
    size = len(weights)
    marginals = np.zeros_like(weights)
    for m in range(1, size):
        if single:
            marginals[0, m] = weights[0, m] * inverse[m - 1, 0]
        else:
            marginals[0, m] = weights[0, m] * inverse[m - 1, m - 1]
        for h in range(1, size):
            if h != m:
                own = 0 if single and m == 1 else weights[h, m] * inverse[m - 1, m - 1]
                other = 0 if single and h == 1 else weights[h, m] * inverse[m - 1, h - 1]
                marginals[h, m] = own - other
    return marginals


def numpy_matrix_tree(scores, single: bool):
    """``(log_z, marginals)`` by LU factorisation in float64: right at mild scales only."""
    with np.errstate(over="ignore"):
        weights = np.exp(scores)
    matrix = laplacian(weights, single)
    return np.linalg.slogdet(matrix)[1], marginals_from_inverse(weights, np.linalg.inv(matrix), single)


def _exponentials(scores):
    weights = np.empty(scores.shape, dtype=object)
    for cell, score in np.ndenumerate(scores):
        ignored = cell[1] == 0 or cell[0] == cell[1]
        weights[cell] = mpmath.mpf(0) if ignored or score == -np.inf else mpmath.exp(mpmath.mpf(float(score)))
    return weights


def _mp_matrix_tree(scores, single):
    weights = _exponentials(scores)
    matrix = mpmath.matrix(laplacian(weights, single).tolist())
    determinant = mpmath.det(matrix)
    if determinant == 0:
        return None
    inverse = np.array((matrix**-1).tolist(), dtype=object).reshape(len(scores) - 1, -1)
    marginals = marginals_from_inverse(weights, inverse, single)
    return float(mpmath.log(abs(determinant))), marginals.astype(float)


def mp_matrix_tree(scores, single: bool):
    """``(log_z, marginals)`` by LU factorisation with twice the digits until nothing changes any more."""
    digits, last = 60, None
    while True:
        with mpmath.workdps(digits):
            now = _mp_matrix_tree(scores, single)
        if now is not None and last is not None:
            close = abs(now[0] - last[0]) <= 1e-15 * abs(now[0])
            if close and np.abs(now[1] - last[1]).max() <= 1e-18:
                return now
        last = now
        digits *= 2


def inverse_times_determinant(matrix) -> tuple[list[list[int]] | None, int]:
    """Whole numbers ``(A, d)`` such that A / d is the inverse; ``(None, 0)`` of a singular matrix.

    Gauss-Jordan elimination in which every division is exact (Bareiss 1968).
    """
    n = len(matrix)
    work = [[*map(int, row), *(int(i == j) for j in range(n))] for i, row in enumerate(matrix)]
    last = 1
    for k in range(n):
        swap = next((i for i in range(k, n) if work[i][k]), None)
        if swap is None:
            return None, 0
        work[k], work[swap] = work[swap], work[k]
        pivot = work[k]
        for i in range(n):
            if i != k:
                factor = work[i][k]
                work[i] = [(pivot[k] * a - factor * b) // last for a, b in zip(work[i], pivot, strict=True)]
        last = pivot[k]
    return [row[n:] for row in work], last


def exact_matrix_tree(scores, single: bool):
    """``(log_z, marginals)`` in whole numbers; ``(-inf, None)`` without a tree.

    Only the weights are rounded, to 60 digits; sums of their products are then as exact.
    """
    with mpmath.workdps(60):
        weights = _exponentials(scores)
        lowest = min((w.man_exp[1] for w in weights.flat if w), default=0)
        for cell, weight in np.ndenumerate(weights):
            mantissa, exponent = weight.man_exp
            weights[cell] = mantissa << (exponent - lowest) if weight else 0
        inverse, determinant = inverse_times_determinant(laplacian(weights, single))
        if not determinant:
            return -np.inf, None
        n = len(scores) - 1
        numerators = marginals_from_inverse(weights, np.array(inverse, dtype=object).reshape(n, n), single)
        shares = [float(mpmath.mpf(x) / determinant) for x in numerators.flat]
        log_z = mpmath.log(abs(determinant)) + n * lowest * mpmath.log(2)
        return float(log_z), np.array(shares).reshape(scores.shape)


def projective_total(weights, single: bool, plus, zero, one):
    """Sum over projective trees of the product of arc weights, in the semiring ``(plus, *)``.

    The textbook chart with the root symbol as leftmost word; ``*`` is what the weights understand by it.
    """
    size = len(weights)
    right = {(i, i): one for i in range(size)}
    left = dict(right)
    arc_right, arc_left = {}, {}
    for width in range(1, size):
        for i in range(size - width):
            j = i + width
            inner = zero
            for k in range(i, j):
                inner = plus(inner, right[i, k] * left[k + 1, j])
            arc_right[i, j] = inner * weights[i, j]
            arc_left[i, j] = inner * weights[j, i] if i else zero
            right[i, j] = left[i, j] = zero
            for k in range(i + 1, j + 1):
                right[i, j] = plus(right[i, j], arc_right[i, k] * right[k, j])
            for k in range(i, j):
                left[i, j] = plus(left[i, j], left[i, k] * arc_left[k, j])
    n = size - 1
    if not single:
        return right[0, n]
    total = zero
    for m in range(1, size):
        total = plus(total, left[1, m] * weights[0, m] * right[m, n])
    return total


class Tropical:
    """A score whose product is a sum, for `projective_total` with ``max``."""

    def __init__(self, value):
        self.value = value

    def __mul__(self, other):
        return Tropical(self.value + other.value)

    def __lt__(self, other):
        return self.value < other.value

    def __gt__(self, other):
        return self.value > other.value


def best_projective_score(scores, single: bool) -> float:
    """Score of the best projective tree."""
    weights = np.empty(scores.shape, dtype=object)
    for cell, score in np.ndenumerate(scores):
        weights[cell] = Tropical(score)
    return projective_total(weights, single, max, Tropical(-np.inf), Tropical(0.0)).value


def mp_projective(scores, single: bool, arcs=None):
    """``(log_z, marginals)`` with 60 digits; a marginal is the share of Z that goes when its arc does.

    ``(-inf, None)`` without a tree. ``arcs`` limits the marginals computed to these (head, modifier) pairs;
    the others are NaN.
    """
    with mpmath.workdps(60):
        weights = _exponentials(scores)

        def total():
            return projective_total(weights, single, lambda a, b: a + b, mpmath.mpf(0), mpmath.mpf(1))

        z = total()
        if not z:
            return -np.inf, None
        size = len(scores)
        marginals = np.full(scores.shape, np.nan)
        if arcs is None:
            marginals[:] = 0.0
            arcs = [(h, m) for h in range(size) for m in range(1, size) if h != m]
        for arc in arcs:
            kept = weights[arc]
            weights[arc] = mpmath.mpf(0)
            marginals[arc] = float((z - total()) / z)
            weights[arc] = kept
        return float(mpmath.log(z)), marginals


def naive_best_tree(scores, single: bool):
    """``(score, heads)`` of the best non-projective tree, ``(-inf, None)`` without one."""
    n = len(scores) - 1
    scores = np.array(scores, dtype=float)
    np.fill_diagonal(scores, -np.inf)
    if single:
        candidates = []
        for root in range(1, n + 1):
            limited = scores.copy()
            limited[0, 1:] = -np.inf
            limited[0, root] = scores[0, root]
            candidates.append(naive_best_tree(limited, False))
        return max(candidates, key=lambda candidate: candidate[0])
    arcs = {(h, m): scores[h, m] for h in range(n + 1) for m in range(1, n + 1) if scores[h, m] > -np.inf}
    chosen = _contract_recursively(arcs, set(range(1, n + 1)))
    if chosen is None:
        return -np.inf, None
    heads = [-1] * (n + 1)
    for h, m in chosen:
        heads[m] = h
    return tree_score(scores, heads), heads


def _contract_recursively(arcs, nodes):
    """The arcs of the best tree over ``nodes`` and root 0, or None; ``arcs[head, modifier]`` is a score."""
    best = {}
    for m in nodes:
        incoming = [(score, arc) for arc, score in arcs.items() if arc[1] == m]
        if not incoming:
            return None
        best[m] = max(incoming)[1][0]
    cycle = _find_cycle(best)
    if not cycle:
        return {(head, m) for m, head in best.items()}
    name = max(nodes) + 1
    smaller, origin = {}, {}
    for (h, m), score in arcs.items():
        if h in cycle and m in cycle:
            continue
        key = (name if h in cycle else h, name if m in cycle else m)
        gain = score - arcs[best[m], m] if m in cycle else score
        if gain > smaller.get(key, -np.inf):
            smaller[key] = gain
            origin[key] = (h, m)
    chosen = _contract_recursively(smaller, (nodes - cycle) | {name})
    if chosen is None:
        return None
    chosen = {origin[arc] for arc in chosen}
    (entered,) = (m for _, m in chosen if m in cycle)
    return chosen | {(best[m], m) for m in cycle if m != entered}


def _find_cycle(best):
    """The words of some cycle of the head choices; empty if there is none."""
    for start in best:
        path = []
        v = start
        while v in best and v not in path:
            path.append(v)
            v = best[v]
        if v in path:
            return set(path[path.index(v) :])
    return set()
