"""Compiled loops over the training matrix: scores, expectations, decoding.

``rows`` is a :class:`mtparse.training.data.ArcRows` throughout.
"""

from __future__ import annotations

import numpy as np

from mtparse._jit import kernel
from mtparse.features.kernels import arc_number
from mtparse.inference.kernels import best_tree_kernel, marginals_kernel

EPSILON = 1e-12
"""Expectations below this are not added to the gradient; their sum is far below its rounding."""


@kernel
def sentence_scores(rows, first, n, weights, scores):
    """Fill ``scores`` (n+1, n+1) with X w for the arcs of one sentence; column 0 and diagonal are 0."""
    scores[:, 0] = 0.0
    arc = first
    for m in range(1, n + 1):
        scores[m, m] = 0.0
        for k in range(n):
            h = m - 1 - k if k < m else k + 1
            total = 0.0
            for j in range(rows.starts[arc], rows.starts[arc + 1]):
                total += weights[rows.indices[j]]
            scores[h, m] = total
            arc += 1


@kernel
def add_arc(rows, arc, value, out):
    """out += value * the arc's row."""
    for j in range(rows.starts[arc], rows.starts[arc + 1]):
        out[rows.indices[j]] += value


@kernel
def log_linear_block(rows, begin, end, projective, single, u, gradient):
    """Loss -Σ log P(y|x) of sentences begin..end-1; adds its gradient with respect to u.

    Returns
    -------
    The loss, and the first sentence whose loss is not finite or is negative (else -1).
    """
    loss = 0.0
    for s in range(begin, end):
        n = rows.lengths[s]
        scores = np.empty((n + 1, n + 1))
        marginals = np.empty((n + 1, n + 1))
        sentence_scores(rows, rows.first_arc[s], n, u, scores)
        log_partition = marginals_kernel(scores, projective, single, marginals)
        here = log_partition
        for m in range(1, n + 1):
            h = rows.gold[rows.first_word[s] + m]
            here -= scores[h, m]
            marginals[h, m] -= 1.0
        # Rounding may leave -1e-15 where the tree has probability 1; less means a tree of another family.
        if not np.isfinite(here) or here < -1e-6 * (1.0 + abs(log_partition)):
            return loss, s
        loss += max(here, 0.0)
        for m in range(1, n + 1):
            for h in range(n + 1):
                if h != m and abs(marginals[h, m]) > EPSILON:
                    add_arc(rows, rows.first_arc[s] + arc_number(h, m, n), marginals[h, m], gradient)
    return loss, -1


@kernel
def max_margin_block(rows, begin, end, projective, single, u):
    """Σ max_y (E(y) - margin(y)) over sentences begin..end-1, E(y) the number of wrong heads."""
    loss = 0.0
    for s in range(begin, end):
        n = rows.lengths[s]
        scores = np.empty((n + 1, n + 1))
        heads = np.empty(n + 1, np.int64)
        sentence_scores(rows, rows.first_arc[s], n, u, scores)
        right = 0.0
        for m in range(1, n + 1):
            g = rows.gold[rows.first_word[s] + m]
            right += scores[g, m]
            for h in range(n + 1):
                if h != g:
                    scores[h, m] += 1.0
        loss += max(best_tree_kernel(scores, projective, single, heads) - right, 0.0)
    return loss


@kernel
def decode_block(rows, begin, end, single, weights, eisner, mst, counted, out):
    """Count right heads of sentences begin..end-1.

    Parameters
    ----------
    eisner, mst
        Which decoders to use.
    counted
        bool, laid out like ``gold``: the words that are no punctuation.
    out
        int64 (2, 2), added to: [decoder, 0] right heads of all words, [decoder, 1] of counted ones.
    """
    for s in range(begin, end):
        n = rows.lengths[s]
        scores = np.empty((n + 1, n + 1))
        heads = np.empty(n + 1, np.int64)
        sentence_scores(rows, rows.first_arc[s], n, weights, scores)
        for decoder in range(2):
            if not (eisner if decoder == 0 else mst):
                continue
            best_tree_kernel(scores, decoder == 0, single, heads)
            for m in range(1, n + 1):
                if heads[m] == rows.gold[rows.first_word[s] + m]:
                    out[decoder, 0] += 1
                    if counted[rows.first_word[s] + m]:
                        out[decoder, 1] += 1


@kernel
def add_rows(parts, out):
    """out = the sum of the rows of ``parts`` (B, columns), in their order."""
    for c in range(out.shape[0]):
        out[c] = parts[0, c]
    for b in range(1, parts.shape[0]):
        for c in range(out.shape[0]):
            out[c] += parts[b, c]


@kernel
def perceptron_pass(rows, order, projective, single, multiplicity, u, total, step):
    """One pass of the averaged perceptron (Collins 2002) over the sentences in ``order``.

    ``step`` counts the sentences seen, from the first pass on. The mean of the weights after each of
    the steps 1..t is ``u - total / t``: an update at step s stands in t-s+1 of the t vectors.

    Returns
    -------
    The new step and the number of wrong heads.
    """
    wrong = 0
    for position in range(order.shape[0]):
        s = order[position]
        n = rows.lengths[s]
        scores = np.empty((n + 1, n + 1))
        heads = np.empty(n + 1, np.int64)
        sentence_scores(rows, rows.first_arc[s], n, u, scores)
        best_tree_kernel(scores, projective, single, heads)
        for m in range(1, n + 1):
            g = rows.gold[rows.first_word[s] + m]
            if heads[m] == g:
                continue
            wrong += 1
            for sign in (1.0, -1.0):
                arc = rows.first_arc[s] + arc_number(g if sign > 0.0 else heads[m], m, n)
                for j in range(rows.starts[arc], rows.starts[arc + 1]):
                    c = rows.indices[j]
                    u[c] += sign * multiplicity[c]
                    total[c] += sign * multiplicity[c] * step
        step += 1
    return step, wrong
