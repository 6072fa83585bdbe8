"""What a tree is made of: which trees there are, the arcs of a sentence that may be in one, and their order.

Scores, expectations, gold trees and costs are vectors over these parts, in one order, which is said here and
nowhere else: modifier by modifier, the heads of each outwards from it, left ones first, so that what stands
between head and modifier grows by one word a step (features need that).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtparse.runtime.jit import kernel


class Structure(NamedTuple):
    """Which trees a model is trained over."""

    projective: bool
    single: bool


class Parts(NamedTuple):
    """The arcs of one sentence that may be in its tree.

    Attributes
    ----------
    n : int
        Words.
    heads : uint16 (A,)
        Heads of the arcs, in the order of this module.
    first : int32 (n+2,)
        Arcs of modifier m are ``first[m]:first[m+1]``.
    """

    n: int
    heads: np.ndarray
    first: np.ndarray


@kernel
def head_at(m, k):
    """Head of the k-th of all arcs of modifier m, from 0: m-1, ..., 1, 0, m+1, ..., n."""
    return m - 1 - k if k < m else k + 1


@kernel
def arc_number(head, modifier, n):
    """Place of an arc among all n² of a sentence."""
    return (modifier - 1) * n + (modifier - 1 - head if head < modifier else head - 1)


@kernel
def fill_all_arcs(n, heads, first):
    """Write the parts of a sentence in which every arc may be: heads (n*n,) and first (n+2,)."""
    first[0] = 0
    for m in range(1, n + 1):
        first[m] = (m - 1) * n
        for k in range(n):
            heads[first[m] + k] = head_at(m, k)
    first[n + 1] = n * n


@kernel
def left_heads(parts, m):
    """Where the arcs of modifier m begin whose heads stand on its right; those before stand on its left."""
    middle = parts.first[m]
    while middle < parts.first[m + 1] and parts.heads[middle] < m:
        middle += 1
    return middle


@kernel
def to_matrix(parts, theta, matrix):
    """Write a vector over parts as scores (n+1, n+1), ``[head, modifier]``; all other arcs get -inf."""
    matrix[:] = -np.inf
    for m in range(1, parts.n + 1):
        for a in range(parts.first[m], parts.first[m + 1]):
            matrix[parts.heads[a], m] = theta[a]


@kernel
def from_matrix(parts, matrix, out):
    """The entries (A,) of a matrix ``[head, modifier]`` that belong to parts."""
    for m in range(1, parts.n + 1):
        for a in range(parts.first[m], parts.first[m + 1]):
            out[a] = matrix[parts.heads[a], m]


@kernel
def from_heads(parts, heads, out):
    """A tree as a vector (A,): 1 for its arcs, 0 for others."""
    for m in range(1, parts.n + 1):
        for a in range(parts.first[m], parts.first[m + 1]):
            out[a] = 1.0 if parts.heads[a] == heads[m] else 0.0
