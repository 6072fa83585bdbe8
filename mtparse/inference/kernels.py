"""One kernel a problem, for all four tree families; callable from other kernels.

They trust their arguments: C-contiguous float64 scores ``[head, modifier]`` of shape (n + 1, n + 1), n >= 1,
without NaN or +inf off the diagonal and column 0 (whose values do not matter), forbidden arcs -inf, finite
scores below 1e12 in size. They never change ``scores``. `TreeFamily` is the checked way in.
"""

from __future__ import annotations

from mtparse._jit import kernel
from mtparse.inference.chu_liu_edmonds import best_nonprojective_tree
from mtparse.inference.eisner import best_projective_tree
from mtparse.inference.extended_inside_outside import (
    extended_projective_log_partition,
    extended_projective_marginals,
)
from mtparse.inference.extended_matrix_tree import (
    extended_matrix_tree_log_partition,
    extended_matrix_tree_marginals,
)
from mtparse.inference.inside_outside import projective_log_partition, projective_marginals
from mtparse.inference.matrix_tree import matrix_tree_log_partition, matrix_tree_marginals


@kernel
def marginals_kernel(scores, projective, single, mu):
    """Arc marginals and log-partition.

    Parameters
    ----------
    scores : float64 array, shape (n + 1, n + 1)
    projective, single : bool
        The family: projective or not, exactly one root arc or at least one.
    mu : float64 array, shape (n + 1, n + 1)
        Overwritten with the marginals; all zero if there is no tree.

    Returns
    -------
    float
        The log-partition; -inf if there is no tree. O(n³).
    """
    if projective:
        log_z, good = projective_marginals(scores, single, mu)
        if good:
            return log_z
        return extended_projective_marginals(scores, single, mu)
    log_z, good = matrix_tree_marginals(scores, single, mu)
    if good:
        return log_z
    return extended_matrix_tree_marginals(scores, single, mu)


@kernel
def log_partition_kernel(scores, projective, single):
    """Log-partition alone, at a third to a half of the cost of `marginals_kernel`; same conventions."""
    if projective:
        log_z, good = projective_log_partition(scores, single)
        if good:
            return log_z
        return extended_projective_log_partition(scores, single)
    log_z, good = matrix_tree_log_partition(scores, single)
    if good:
        return log_z
    return extended_matrix_tree_log_partition(scores, single)


@kernel
def best_tree_kernel(scores, projective, single, heads):
    """Best tree.

    Parameters
    ----------
    scores, projective, single
        As in `marginals_kernel`.
    heads : int64 array, shape (n + 1,)
        Overwritten with the heads, ``heads[0] = -1``; undefined if there is no tree.

    Returns
    -------
    float
        Sum of the scores of the tree's arcs; -inf if there is no tree. O(n³) projective, O(n²) otherwise.
    """
    if projective:
        return best_projective_tree(scores, single, heads)
    return best_nonprojective_tree(scores, single, heads)
