"""Labels on arcs (Koo et al. 2007, section 3.4): what is asked of labelled trees, asked of unlabelled ones.

The labels of a tree's arcs are independent of one another, so the sum over labels, or the best of them,
stands for an arc in any algorithm over trees: ``A[h, m] = Σ_l exp scores[h, m, l]``. Given an arc its label
is drawn from a softmax.
"""

from __future__ import annotations

import numpy as np

from mtparse.runtime.jit import kernel


@kernel
def sum_labels(scores, sums):
    """``sums[h, m] = log Σ_l exp scores[h, m, l]``, (n+1, n+1); -inf where all labels are forbidden.

    Column 0 and the diagonal, which nobody reads, become -inf.
    """
    sums[:] = -np.inf
    for h in range(scores.shape[0]):
        for m in range(1, scores.shape[0]):
            if h == m:
                continue
            top = scores[h, m].max()
            if top == -np.inf:
                continue
            total = 0.0
            for label in range(scores.shape[2]):
                total += np.exp(scores[h, m, label] - top)
            sums[h, m] = top + np.log(total)


@kernel
def share_marginals(scores, marginals, out):
    """``out[h, m, l]``: the marginals (n+1, n+1) of arcs, shared among their labels by the chain rule."""
    out[:] = 0.0
    for h in range(scores.shape[0]):
        for m in range(1, scores.shape[0]):
            if h == m or marginals[h, m] == 0.0:
                continue
            # The shares are made anew, not from the rounded sum: they add up to 1 at any scale.
            top, total = scores[h, m].max(), 0.0
            for label in range(scores.shape[2]):
                out[h, m, label] = np.exp(scores[h, m, label] - top)
                total += out[h, m, label]
            for label in range(scores.shape[2]):
                out[h, m, label] *= marginals[h, m] / total


@kernel
def best_labels(scores, best, labels):
    """The best label of each arc, the first of equals, and its score: both (n+1, n+1).

    Column 0 and the diagonal become -inf.
    """
    best[:] = -np.inf
    labels[:] = 0
    for h in range(scores.shape[0]):
        for m in range(1, scores.shape[0]):
            if h != m:
                for label in range(scores.shape[2]):
                    if scores[h, m, label] > best[h, m]:
                        best[h, m], labels[h, m] = scores[h, m, label], label
