"""Products of the training matrix, sentence by sentence: scores of parts, and what they add to weights.

``design`` is a :class:`mtparse.training.design.Design` throughout; vectors over the parts of a sentence have
its A entries, in the order of :mod:`mtparse.inference.parts`.
"""

from __future__ import annotations

import numpy as np

from mtparse.features.compiled_templates import BINS, HEAD, MODIFIER
from mtparse.features.extraction import word_row
from mtparse.features.feature_keys import distance_bin
from mtparse.inference.parts import left_heads
from mtparse.runtime.jit import kernel, summing_kernel
from mtparse.training.design import first_word_row, parts_of

EPSILON = 1e-12
"""Coefficients of parts below this are not added; their sum is far below the rounding of the rest."""


@kernel
def _word_scores(design, s, u):
    """Sums of all word rows of a sentence by variant, the general ones added to the others: (2n+1, BINS)."""
    size = 2 * design.lengths[s] + 1
    first = first_word_row(design, s)
    words = design.words
    sums = np.zeros((size, BINS))
    for i in range(size):
        for j in range(words.starts[first + i], words.starts[first + i + 1]):
            sums[i, words.variants[j]] += u[words.indices[j]]
        for variant in range(1, BINS):
            sums[i, variant] += sums[i, 0]
    return sums


@summing_kernel
def score(design, s, u, theta):
    """theta (A,) = X_s u, for weights u (columns,)."""
    parts = parts_of(design, s)
    by_word = _word_scores(design, s, u)
    indices, starts = design.arcs.indices, design.arcs.starts
    row = design.first_arc[s]
    begin = starts[row]
    for m in range(1, parts.n + 1):
        for a in range(parts.first[m], parts.first[m + 1]):
            h = parts.heads[a]
            variant = distance_bin(h, m)
            total = by_word[h, variant] + by_word[parts.n + m, variant]
            row += 1
            end = starts[row]
            for j in range(begin, end):
                total += u[indices[j]]
            begin = end
            theta[a] = total


@kernel
def by_words(parts, c):
    """A vector over arcs summed by word row and variant: (2n+1, BINS)."""
    n = parts.n
    sums = np.zeros((2 * n + 1, BINS))
    for m in range(1, n + 1):
        begin, middle = parts.first[m], left_heads(parts, m)
        for k in range(begin, parts.first[m + 1]):
            a = begin + middle - 1 - k if k < middle else k  # by rising head, in which order sums are taken
            h = parts.heads[a]
            variant = distance_bin(h, m)
            sums[h, variant] += c[a]
            sums[n + m, variant] += c[a]
    for i in range(2 * n + 1):
        for variant in range(1, BINS):
            sums[i, 0] += sums[i, variant]
    return sums


@kernel
def add(design, s, c, out):
    """out += X_s' c, for a vector c (A,)."""
    indices, starts = design.arcs.indices, design.arcs.starts
    row = design.first_arc[s]
    for a in range(c.shape[0]):
        if abs(c[a]) > EPSILON:
            for j in range(starts[row + a], starts[row + a + 1]):
                out[indices[j]] += c[a]
    parts = parts_of(design, s)
    sums = by_words(parts, c)
    words = design.words
    first = first_word_row(design, s)
    for i in range(2 * parts.n + 1):
        for j in range(words.starts[first + i], words.starts[first + i + 1]):
            out[words.indices[j]] += sums[i, words.variants[j]]


@kernel
def add_part(design, s, m, a, scale, multiplicity, out):
    """`add` for a vector that is 1 for one part alone, an arc of modifier m."""
    parts = parts_of(design, s)
    row = design.first_arc[s] + a
    arcs, words = design.arcs, design.words
    for j in range(arcs.starts[row], arcs.starts[row + 1]):
        c = arcs.indices[j]
        out[c] += scale * multiplicity[c]
    h = parts.heads[a]
    variant = distance_bin(h, m)
    for word in (word_row(HEAD, h, parts.n), word_row(MODIFIER, m, parts.n)):
        word += first_word_row(design, s)
        for j in range(words.starts[word], words.starts[word + 1]):
            if words.variants[j] == 0 or words.variants[j] == variant:
                c = words.indices[j]
                out[c] += scale * multiplicity[c]


@kernel
def move(design, s, change, multiplicity, u):
    """u -= K * X_s' change, for a vector (A,).

    Returns what this adds to ||w||² = Σ u² / K, summed up on the way.
    """
    indices, starts = design.arcs.indices, design.arcs.starts
    row = design.first_arc[s]
    grown = 0.0
    for a in range(change.shape[0]):
        value = change[a]
        if value != 0.0:
            for j in range(starts[row + a], starts[row + a + 1]):
                c = indices[j]
                step = value * multiplicity[c]
                grown += value * (step - 2.0 * u[c])
                u[c] -= step
    parts = parts_of(design, s)
    sums = by_words(parts, change)
    words = design.words
    first = first_word_row(design, s)
    for i in range(2 * parts.n + 1):
        for j in range(words.starts[first + i], words.starts[first + i + 1]):
            c = words.indices[j]
            value = sums[i, words.variants[j]]
            step = value * multiplicity[c]
            grown += value * (step - 2.0 * u[c])
            u[c] -= step
    return grown


@kernel
def add_shards(shards, out):
    """out = the sum of the rows of ``shards`` (B, columns), in their order."""
    for c in range(out.shape[0]):
        out[c] = shards[0, c]
    for b in range(1, shards.shape[0]):
        for c in range(out.shape[0]):
            out[c] += shards[b, c]
