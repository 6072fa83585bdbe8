"""Compiled loops over the training matrix: scores, expectations, decoding.

``rows`` is a :class:`mtparse.training.design.ArcRows` throughout. ``marginals_at`` and ``best_tree_at`` say
which trees there are, see `marginals_address` and `best_tree_address` of `mtparse.inference.dispatch`.
"""

from __future__ import annotations

import numpy as np

from mtparse.features.compiled_templates import BINS, HEAD, MODIFIER
from mtparse.features.extraction import word_row
from mtparse.features.feature_keys import arc_number, distance_bin
from mtparse.inference.dispatch import call_best_tree, call_marginals
from mtparse.runtime.jit import kernel, summing_kernel

EPSILON = 1e-12
"""Expectations of arcs below this are not added to the gradient; their sum is far below its rounding."""


@kernel
def first_word_row(rows, s):
    """Where the word rows of a sentence begin."""
    return 2 * rows.first_word[s] - s


@kernel
def _word_scores(rows, s, weights):
    """Sums of all word rows of a sentence by form, the bare ones added to the others: (2n+1, BINS)."""
    size = 2 * rows.lengths[s] + 1
    first = first_word_row(rows, s)
    sums = np.zeros((size, BINS))
    for i in range(size):
        for j in range(rows.word_starts[first + i], rows.word_starts[first + i + 1]):
            sums[i, rows.word_forms[j]] += weights[rows.word_indices[j]]
        for form in range(1, BINS):
            sums[i, form] += sums[i, 0]
    return sums


@summing_kernel
def sentence_scores(rows, s, weights, scores):
    """Fill ``scores`` (n+1, n+1) with X w for the arcs of one sentence; column 0 and diagonal are 0."""
    n = rows.lengths[s]
    by_word = _word_scores(rows, s, weights)
    scores[:, 0] = 0.0
    arc = rows.first_arc[s]
    begin = rows.starts[arc]
    for m in range(1, n + 1):
        scores[m, m] = 0.0
        for k in range(n):
            h = m - 1 - k if k < m else k + 1
            form = distance_bin(h, m)
            total = by_word[h, form] + by_word[n + m, form]
            arc += 1
            end = rows.starts[arc]
            for j in range(begin, end):
                total += weights[rows.indices[j]]
            begin = end
            scores[h, m] = total


@kernel
def by_words(coefficients):
    """Coefficients (n+1, n+1) of arcs, ``[head, modifier]``, summed by word row and form: (2n+1, BINS)."""
    n = coefficients.shape[0] - 1
    sums = np.zeros((2 * n + 1, BINS))
    for m in range(1, n + 1):
        for h in range(n + 1):
            if h != m:
                form = distance_bin(h, m)
                sums[h, form] += coefficients[h, m]
                sums[n + m, form] += coefficients[h, m]
    for i in range(2 * n + 1):
        for form in range(1, BINS):
            sums[i, 0] += sums[i, form]
    return sums


@kernel
def add_rows(rows, s, coefficients, out):
    """out += X' c for coefficients c (n+1, n+1) of the arcs of one sentence."""
    n = rows.lengths[s]
    arc = rows.first_arc[s]
    begin = rows.starts[arc]
    for m in range(1, n + 1):
        for k in range(n):
            value = coefficients[m - 1 - k if k < m else k + 1, m]
            arc += 1
            end = rows.starts[arc]
            if abs(value) > EPSILON:
                for j in range(begin, end):
                    out[rows.indices[j]] += value
            begin = end
    first = first_word_row(rows, s)
    sums = by_words(coefficients)
    for i in range(2 * n + 1):
        for j in range(rows.word_starts[first + i], rows.word_starts[first + i + 1]):
            out[rows.word_indices[j]] += sums[i, rows.word_forms[j]]


@kernel
def log_linear_block(rows, begin, end, marginals_at, single, u, gradient):
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
        sentence_scores(rows, s, u, scores)
        log_partition = call_marginals(marginals_at, scores, single, marginals)
        here = log_partition
        for m in range(1, n + 1):
            h = rows.gold[rows.first_word[s] + m]
            here -= scores[h, m]
            marginals[h, m] -= 1.0
        # Rounding may leave -1e-15 where the tree has probability 1; less means a tree of another family.
        if not np.isfinite(here) or here < -1e-6 * (1.0 + abs(log_partition)):
            return loss, s
        loss += max(here, 0.0)
        add_rows(rows, s, marginals, gradient)
    return loss, -1


@kernel
def max_margin_block(rows, begin, end, best_tree_at, single, u):
    """Σ max_y (E(y) - margin(y)) over sentences begin..end-1, E(y) the number of wrong heads.

    Returns
    -------
    The sum, and the first sentence with a score that is not finite or a negative maximum (else -1).
    """
    loss = 0.0
    for s in range(begin, end):
        n = rows.lengths[s]
        scores = np.empty((n + 1, n + 1))
        heads = np.empty(n + 1, np.int64)
        sentence_scores(rows, s, u, scores)
        if not np.isfinite(np.sum(scores)):
            return loss, s
        right = 0.0
        for m in range(1, n + 1):
            g = rows.gold[rows.first_word[s] + m]
            right += scores[g, m]
            for h in range(n + 1):
                if h != g:
                    scores[h, m] += 1.0
        here = call_best_tree(best_tree_at, scores, single, heads) - right
        # Rounding may leave less than 0 where the gold tree is best; much less: it is of another family.
        if here < -1e-6 * (1.0 + abs(right)):
            return loss, s
        loss += max(here, 0.0)
    return loss, -1


@kernel
def decode_block(rows, begin, end, single, weights, eisner, mst, counted, out):
    """Count right heads of sentences begin..end-1.

    Parameters
    ----------
    eisner, mst
        The decoders: `best_tree_address` of projective and of all trees, or 0 where one is not to be used.
    counted
        bool, laid out like ``gold``: the words that are no punctuation.
    out
        int64 (2, 2), added to: [decoder, 0] right heads of all words, [decoder, 1] of counted ones.
    """
    for s in range(begin, end):
        n = rows.lengths[s]
        scores = np.empty((n + 1, n + 1))
        heads = np.empty(n + 1, np.int64)
        sentence_scores(rows, s, weights, scores)
        for decoder in range(2):
            best_tree_at = eisner if decoder == 0 else mst
            if best_tree_at == 0:
                continue
            call_best_tree(best_tree_at, scores, single, heads)
            for m in range(1, n + 1):
                if heads[m] == rows.gold[rows.first_word[s] + m]:
                    out[decoder, 0] += 1
                    if counted[rows.first_word[s] + m]:
                        out[decoder, 1] += 1


@kernel
def add_parts(parts, out):
    """out = the sum of the rows of ``parts`` (B, columns), in their order."""
    for c in range(out.shape[0]):
        out[c] = parts[0, c]
    for b in range(1, parts.shape[0]):
        for c in range(out.shape[0]):
            out[c] += parts[b, c]


@kernel
def _update(rows, s, h, m, sign, multiplicity, step, u, total):
    """Add an arc's features (sign 1) or subtract them (-1)."""
    n = rows.lengths[s]
    arc = rows.first_arc[s] + arc_number(h, m, n)
    for j in range(rows.starts[arc], rows.starts[arc + 1]):
        c = rows.indices[j]
        u[c] += sign * multiplicity[c]
        total[c] += sign * multiplicity[c] * step
    form = distance_bin(h, m)
    for row in (word_row(HEAD, h, n), word_row(MODIFIER, m, n)):
        row += first_word_row(rows, s)
        for j in range(rows.word_starts[row], rows.word_starts[row + 1]):
            if rows.word_forms[j] == 0 or rows.word_forms[j] == form:
                c = rows.word_indices[j]
                u[c] += sign * multiplicity[c]
                total[c] += sign * multiplicity[c] * step


@kernel
def perceptron_pass(rows, order, best_tree_at, single, multiplicity, u, total, step):
    """One pass of the averaged perceptron (Collins 2002) over the sentences in ``order``.

    ``step`` counts the sentences seen, from the first pass on. The mean of the weights after each of
    the steps 1..t is ``u - total / t``: an update at step s stands in t-s+1 of the t vectors.

    Returns
    -------
    The new step, the number of wrong heads, and the sentence whose scores are not finite, at which the pass
    ended, or -1.
    """
    wrong = 0
    for position in range(order.shape[0]):
        s = order[position]
        n = rows.lengths[s]
        scores = np.empty((n + 1, n + 1))
        heads = np.empty(n + 1, np.int64)
        sentence_scores(rows, s, u, scores)
        if not np.isfinite(np.sum(scores)):
            return step, wrong, s
        call_best_tree(best_tree_at, scores, single, heads)
        for m in range(1, n + 1):
            g = rows.gold[rows.first_word[s] + m]
            if heads[m] == g:
                continue
            wrong += 1
            _update(rows, s, g, m, 1.0, multiplicity, step, u, total)
            _update(rows, s, heads[m], m, -1.0, multiplicity, step, u, total)
        step += 1
    return step, wrong, -1
