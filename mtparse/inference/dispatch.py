"""A kernel for each problem and kind of trees, and how other kernels call them.

They trust their arguments: C-contiguous float64 scores ``[head, modifier]`` of shape (n + 1, n + 1), n >= 1,
without NaN or +inf off the diagonal and column 0 (whose values do not matter), forbidden arcs -inf, finite
scores below 1e12 in size. They never change ``scores``. `TreeFamily` is the checked way in.

Each kind of trees is a kernel of its own, so that nobody waits for the compilation of one that is not used.
Other kernels take its address (`marginals_address`, `best_tree_address`) and call it by `call_marginals` and
`call_best_tree`. The arithmetic of unlimited range, which few sentences need, is called through Python, and
compiled when the first of them comes: beside its own time the way through Python does not count.
"""

from __future__ import annotations

from typing import Any

from numba import boolean, float64, int64, objmode

from mtparse.inference.nonprojective.chu_liu_edmonds import best_nonprojective_tree
from mtparse.inference.nonprojective.matrix_tree import matrix_tree_log_partition, matrix_tree_marginals
from mtparse.inference.nonprojective.matrix_tree_wide import (
    extended_matrix_tree_log_partition,
    extended_matrix_tree_marginals,
)
from mtparse.inference.projective.eisner import best_projective_tree
from mtparse.inference.projective.inside_outside import projective_log_partition, projective_marginals
from mtparse.inference.projective.inside_outside_wide import (
    extended_projective_log_partition,
    extended_projective_marginals,
)
from mtparse.runtime.jit import address, calling, kernel, python_kernel

_MARGINALS = float64(float64[:, ::1], boolean, float64[:, ::1])
_BEST_TREE = float64(float64[:, ::1], boolean, int64[::1])

call_marginals = calling(_MARGINALS)
"""``call_marginals(address, scores, single, mu)``, in kernels: what `MARGINALS` has for the trees there."""

call_best_tree = calling(_BEST_TREE)
"""``call_best_tree(address, scores, single, heads)``, in kernels: what `BEST_TREE` has for them."""


@kernel
def _projective_marginals(scores, single, mu):
    log_z, good = projective_marginals(scores, single, mu)
    return log_z if good else _extended_marginals(scores, True, single, mu)


@kernel
def _nonprojective_marginals(scores, single, mu):
    log_z, good = matrix_tree_marginals(scores, single, mu)
    return log_z if good else _extended_marginals(scores, False, single, mu)


@kernel
def _projective_log_partition(scores, single):
    log_z, good = projective_log_partition(scores, single)
    return log_z if good else _extended_log_partition(scores, True, single)


@kernel
def _nonprojective_log_partition(scores, single):
    log_z, good = matrix_tree_log_partition(scores, single)
    return log_z if good else _extended_log_partition(scores, False, single)


@python_kernel
def _extended_marginals(scores, projective, single, mu):
    with objmode(log_z="float64"):
        log_z = extended_marginals(scores, projective, single, mu)
    return log_z  # noqa: RET504 - numba wants a variable


@python_kernel
def _extended_log_partition(scores, projective, single):
    with objmode(log_z="float64"):
        log_z = extended_log_partition(scores, projective, single)
    return log_z  # noqa: RET504


def extended_marginals(scores, projective, single, mu):
    """What `MARGINALS` has, for any range of scores."""
    extended = extended_projective_marginals if projective else extended_matrix_tree_marginals
    return extended(scores, single, mu)


def extended_log_partition(scores, projective, single):
    """What `LOG_PARTITION` has, for any range of scores."""
    extended = extended_projective_log_partition if projective else extended_matrix_tree_log_partition
    return extended(scores, single)


MARGINALS = {True: _projective_marginals, False: _nonprojective_marginals}
"""By whether trees are projective: ``kernel(scores, single, mu)``, arc marginals and log-partition.

``single`` says whether trees have exactly one root arc or at least one. ``mu``, a float64 array of shape
(n + 1, n + 1), is overwritten with the marginals, with zeros if there is no tree. Returns the log-partition,
a float; -inf if there is no tree. O(n³).
"""

LOG_PARTITION = {True: _projective_log_partition, False: _nonprojective_log_partition}
"""By whether trees are projective: ``kernel(scores, single)``, the log-partition alone.

The conventions of `MARGINALS`, at a third to a half of the cost."""

BEST_TREE = {True: best_projective_tree, False: best_nonprojective_tree}
"""By whether trees are projective: ``kernel(scores, single, heads)``, the best tree.

``heads``, an int64 array of shape (n + 1,), is overwritten, ``heads[0] = -1``; undefined if there is no tree.
Returns the sum of the scores of the tree's arcs; -inf if there is no tree. O(n³) projective, O(n²) otherwise.
"""


def marginals_address(projective: bool) -> Any:
    """What `call_marginals` takes for projective trees or all trees."""
    return address(MARGINALS[projective], _MARGINALS)


def best_tree_address(projective: bool) -> Any:
    """What `call_best_tree` takes for projective trees or all trees."""
    return address(BEST_TREE[projective], _BEST_TREE)
