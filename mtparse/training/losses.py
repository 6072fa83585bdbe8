"""One structured loss for all trainers, a function of the scores of parts alone, and its sums over sentences.

``at`` says which trees there are: for the log-linear loss the `marginals_address` of
`mtparse.inference.dispatch`, for the margin its `best_tree_address`. ``design`` is a
:class:`mtparse.training.design.Design`.
"""

from __future__ import annotations

import numpy as np

from mtparse.inference.dispatch import call_best_tree, call_marginals
from mtparse.inference.parts import from_heads, from_matrix, to_matrix
from mtparse.runtime.jit import kernel
from mtparse.training.design import parts_of
from mtparse.training.products import add, add_part, score

LOG_LINEAR, MARGIN = 0, 1
"""Kinds of losses, y the vectors of trees: log Σ_y exp θ·y - θ·gold, and max_y (θ + cost)·y - θ·gold."""


@kernel
def gold_parts(design, s, parts):
    """The gold tree of a sentence: the numbers (n,) of its parts."""
    gold = np.empty(parts.n, np.int64)
    first = design.first_word[s]
    for m in range(1, parts.n + 1):
        h = design.gold[first + m]
        for a in range(parts.first[m], parts.first[m + 1]):
            if parts.heads[a] == h:
                gold[m - 1] = a
                break
    return gold


@kernel
def hamming_cost(gold, cost):
    """What a tree pays for each of its parts (A,): 1 for a wrong head."""
    cost[:] = 1.0
    for a in gold:
        cost[a] = 0.0


@kernel
def marginals_of(at, single, parts, theta, mu):
    """Marginals (A,) of parts with scores theta (A,) into ``mu``; returns the log-partition."""
    scores = np.empty((parts.n + 1, parts.n + 1))
    marginals = np.empty((parts.n + 1, parts.n + 1))
    to_matrix(parts, theta, scores)
    log_partition = call_marginals(at, scores, single, marginals)
    from_matrix(parts, marginals, mu)
    return log_partition


@kernel
def all_finite(values):
    """Whether none of some numbers is infinite or NaN."""
    wrong = 0
    for a in range(values.shape[0]):
        wrong += np.int64(not np.isfinite(values[a]))
    return wrong == 0


@kernel
def structured_loss(kind, at, single, parts, theta, gold, cost, d_theta):
    """The loss of one sentence; fills its (sub)gradient with respect to theta.

    Parameters
    ----------
    theta, cost, d_theta
        Vectors (A,) over parts; ``cost`` may be None, and is not looked at by the log-linear loss.
    gold
        The numbers of the gold tree's parts.

    Returns
    -------
    The loss, and whether it can be trusted: not where it is not finite, or negative by more than rounding,
    as that of a gold tree of another family is.
    """
    if kind == LOG_LINEAR:
        top = marginals_of(at, single, parts, theta, d_theta)
    else:
        scores = np.empty((parts.n + 1, parts.n + 1))
        heads = np.empty(parts.n + 1, np.int64)
        if cost is None:
            d_theta[:] = theta
        else:
            for a in range(theta.shape[0]):
                d_theta[a] = theta[a] + cost[a]
        if not all_finite(d_theta):  # there is no best tree
            return np.nan, False
        to_matrix(parts, d_theta, scores)
        top = call_best_tree(at, scores, single, heads)
        from_heads(parts, heads, d_theta)
    loss = top
    for a in gold:
        loss -= theta[a]
        d_theta[a] -= 1.0
    # Rounding may leave -1e-15 where the gold tree has all the weight or is the best.
    return max(loss, 0.0), np.isfinite(loss) and loss >= -1e-6 * (1.0 + abs(top))


@kernel
def shard_loss(kind, at, single, design, begin, end, u, gradient):
    """The loss of sentences begin..end-1; its gradient with respect to u is added to ``gradient``.

    ``gradient`` may be None.

    Returns
    -------
    The loss, and the first sentence whose loss cannot be trusted, before which the sum ended (else -1).
    """
    loss = 0.0
    for s in range(begin, end):
        parts = parts_of(design, s)
        theta, cost, d_theta = np.empty(parts.heads.shape[0]), np.empty(0), np.empty(parts.heads.shape[0])
        score(design, s, u, theta)
        gold = gold_parts(design, s, parts)
        if kind == MARGIN:
            cost = np.empty(parts.heads.shape[0])
            hamming_cost(gold, cost)
        here, good = structured_loss(kind, at, single, parts, theta, gold, cost, d_theta)
        if not good:
            return loss, s
        loss += here
        if gradient is not None:
            add(design, s, d_theta, gradient)
    return loss, -1


@kernel
def perceptron_pass(design, order, best_tree_at, single, multiplicity, u, total, step):
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
        parts = parts_of(design, s)
        theta, d_theta = np.empty(parts.heads.shape[0]), np.empty(parts.heads.shape[0])
        score(design, s, u, theta)
        gold = gold_parts(design, s, parts)
        here, _ = structured_loss(MARGIN, best_tree_at, single, parts, theta, gold, None, d_theta)
        if not np.isfinite(here):
            return step, wrong, s
        for m in range(1, parts.n + 1):
            if d_theta[gold[m - 1]] == 0.0:
                continue
            wrong += 1
            for a in range(parts.first[m], parts.first[m + 1]):
                if d_theta[a] != 0.0:
                    add_part(design, s, m, a, -d_theta[a], multiplicity, u)
                    add_part(design, s, m, a, -step * d_theta[a], multiplicity, total)
        step += 1
    return step, wrong, -1


@kernel
def count_right(design, begin, end, single, weights, eisner, mst, scored_words, out):
    """Count right heads of sentences begin..end-1.

    Parameters
    ----------
    eisner, mst
        The decoders: `best_tree_address` of projective and of all trees, or 0 where one is not to be used.
    scored_words
        bool, laid out like ``gold``: the words that are no punctuation.
    out
        int64 (2, 2), added to: [decoder, 0] right heads of all words, [decoder, 1] of scored ones.
    """
    for s in range(begin, end):
        parts = parts_of(design, s)
        theta = np.empty(parts.heads.shape[0])
        scores = np.empty((parts.n + 1, parts.n + 1))
        heads = np.empty(parts.n + 1, np.int64)
        score(design, s, weights, theta)
        to_matrix(parts, theta, scores)
        first = design.first_word[s]
        for decoder in range(2):
            best_tree_at = eisner if decoder == 0 else mst
            if best_tree_at == 0:
                continue
            call_best_tree(best_tree_at, scores, single, heads)
            for m in range(1, parts.n + 1):
                if heads[m] == design.gold[first + m]:
                    out[decoder, 0] += 1
                    if scored_words[first + m]:
                        out[decoder, 1] += 1
