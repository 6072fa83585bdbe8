"""Exact inference over dependency trees: four tree families, three problems.

Conventions. Position 0 is the root symbol, words are 1..n. ``scores[head, modifier]`` has shape
(n + 1, n + 1); column 0 and the diagonal are never read, whatever is in them; ``-inf`` forbids an arc. The
weight of a tree is exp of the sum of its arcs' scores. Heads are int64 of length n + 1, ``heads[0]`` is -1.

A family is named by ``trees`` and ``root``:

============== ================================================================================
nonprojective  all trees; the Matrix-Tree theorem (Koo, Globerson, Carreras, Collins 2007,
               section 3) and Chu-Liu-Edmonds
projective     trees without crossing arcs; Eisner's algorithms (ibid., section 2.2)
single         exactly one word depends on the root symbol
multi          at least one does
============== ================================================================================

No words (n = 0) have one tree, the empty one: log-partition 0, no marginals, heads [-1]. This holds for
single-root families too, so that an empty sentence is no special case to callers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mtparse.errors import NoTreeError
from mtparse.inference.dispatch import BEST_TREE, LOG_PARTITION, MARGINALS
from mtparse.inference.labels import best_labels, share_marginals, sum_labels
from mtparse.runtime.jit import kernel

__all__ = ["FAMILIES", "LARGEST_SCORE", "ROOTS", "TREES", "TreeFamily"]

TREES = ("nonprojective", "projective")
ROOTS = ("single", "multi")
LARGEST_SCORE = 1e12
"""Scores beyond this size are refused: their rounding alone would be 1e-4 of a nat and more."""


@dataclass(frozen=True)
class TreeFamily:
    """A set of dependency trees over n words, and exact inference over it.

    Parameters
    ----------
    trees : {"nonprojective", "projective"}
        Which trees there are.
    root : {"single", "multi"}
        Whether exactly one word or at least one depends on the root symbol.

    Raises
    ------
    ValueError
        For other names; the message lists the right ones.

    Notes
    -----
    All methods take ``scores``, array-like of shape (n + 1, n + 1), ``scores[head, modifier]``, converted to
    float64 and never changed. With a third axis, ``scores[head, modifier, label]``, trees are labelled: each
    arc has one label, and `best_labelled_tree` takes the place of `best_tree` (Koo et al. 2007, section 3.4).
    They raise ``ValueError`` for another shape, and for NaN, ``+inf`` or a finite score beyond
    `LARGEST_SCORE` in any cell but those of column 0 and the diagonal; the message names the cell. Forbid
    an arc by ``-inf``; where no tree is left, all methods but `log_partition` raise `mtparse.NoTreeError`.
    Masked arrays, lists that hold one, and what is no real number (complex numbers, texts, dates, records)
    are a ``TypeError``.
    """

    trees: str = "nonprojective"
    root: str = "single"

    def __post_init__(self) -> None:
        for field, value, names in (("trees", self.trees, TREES), ("root", self.root, ROOTS)):
            if value not in names:
                raise ValueError(f"{field} must be one of {', '.join(names)}; got {value!r}")

    @property
    def projective(self) -> bool:
        """Whether the trees are projective, by which kernels are chosen."""
        return self.trees == "projective"

    @property
    def single(self) -> bool:
        """Whether the trees have exactly one root arc; an argument of the kernels."""
        return self.root == "single"

    def __str__(self) -> str:
        return f"{self.trees} {self.root}-root"

    def log_partition(self, scores: ArrayLike) -> float:
        """Logarithm of the sum of the weights of all trees.

        Returns
        -------
        float
            ``-inf`` if there is no tree. O(n³), with labels O(n²L) more. Koo et al. (2007), sections 2.2,
            3.1, 3.3 and 3.4.
        """
        scores = _checked(scores, labels=True)
        if scores.shape[0] == 1:
            return 0.0
        return float(LOG_PARTITION[self.projective](_summed(scores), self.single))

    def marginals(self, scores: ArrayLike) -> NDArray[np.float64]:
        """Probability of each arc in a tree drawn in proportion to its weight.

        Returns
        -------
        float64 array of the shape of ``scores``
            ``marginals[head, modifier]``; columns 1..n sum to 1, column 0 and the diagonal are 0. O(n³).
            Koo et al. (2007), sections 3.2, 3.3 and 3.4.
        """
        return self.marginals_and_log_partition(scores)[0]

    def marginals_and_log_partition(self, scores: ArrayLike) -> tuple[NDArray[np.float64], float]:
        """`marginals` and `log_partition` together, at the price of the former.

        Returns
        -------
        marginals : float64 array of the shape of ``scores``
        log_partition : float
        """
        scores = _checked(scores, labels=True)
        arcs = _summed(scores)
        mu = np.zeros_like(arcs)
        if scores.shape[0] == 1:
            return np.zeros_like(scores), 0.0
        log_z = float(MARGINALS[self.projective](arcs, self.single, mu))
        if log_z == -np.inf:
            raise self._no_tree(arcs)
        if scores.ndim == 2:
            return mu, log_z
        shared = np.empty_like(scores)
        share_marginals(scores, mu, shared)
        return shared, log_z

    def best_tree(self, scores: ArrayLike) -> NDArray[np.int64]:
        """The tree with the highest sum of scores.

        Ties are broken the same way every time. Non-projective: of equally good arcs into a word, or into
        a contracted cycle, the one with the lowest head. Projective: span by span towards low heads, see
        `eisner.best_projective_tree`.

        Returns
        -------
        int64 array, shape (n + 1,)
            Heads; ``heads[0] = -1``. O(n²) time for non-projective, O(n³) for projective trees.
        """
        scores = _checked(scores)
        heads = np.full(scores.shape[0], -1, np.int64)
        if scores.shape[0] > 1 and BEST_TREE[self.projective](scores, self.single, heads) == -np.inf:
            raise self._no_tree(scores)
        return heads

    def best_labelled_tree(self, scores: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The labelled tree with the highest sum of ``scores[head, modifier, label]``.

        Of equally good labels of an arc the first is taken, of equally good trees that of `best_tree`.

        Returns
        -------
        heads : int64 array, shape (n + 1,)
            ``heads[0] = -1``.
        labels : int64 array, shape (n + 1,)
            The label of the arc into each word; ``labels[0] = -1``.
        """
        scores = _checked(scores, labels=True)
        if scores.ndim != 3:
            raise ValueError(f"labelled scores must have shape (n + 1, n + 1, labels); got {scores.shape}")
        best, of_arcs = np.empty(scores.shape[:2]), np.empty(scores.shape[:2], np.int64)
        best_labels(scores, best, of_arcs)
        heads = self.best_tree(best)
        labels = of_arcs[heads, np.arange(len(heads))]
        labels[0] = -1
        return heads, labels

    def _no_tree(self, scores: NDArray[np.float64]) -> NoTreeError:
        """The error for scores without a tree, with the reason where one is easy to see."""
        words = scores.shape[0] - 1
        allowed = scores > -np.inf
        np.fill_diagonal(allowed, False)
        headless = np.flatnonzero(~allowed[:, 1:].any(axis=0)) + 1
        if headless.size:
            reason = f"all arcs into word {headless[0]} are forbidden"
        elif not allowed[0, 1:].any():
            reason = "all arcs from the root are forbidden"
        else:
            reason = "the arcs that are not forbidden do not make one"
        return NoTreeError(f"no {self} tree over {words} words: {reason}")


FAMILIES = {(trees, root): TreeFamily(trees, root) for trees in TREES for root in ROOTS}
"""Every family by its two names."""


_NO_NUMBERS = (str, bytes, complex, np.datetime64, np.timedelta64)
"""What float() or numpy would make a number of, cell by cell."""


def _masked(scores: Any) -> bool:
    """Whether there is a masked array in a list or a list of lists: numpy would take what is under masks."""
    if isinstance(scores, (list, tuple)):
        return any(map(_masked, scores))
    return isinstance(scores, np.ma.MaskedArray)


def _summed(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores of arcs: their labels summed up, where they have any."""
    if scores.ndim == 2:
        return scores
    sums = np.empty(scores.shape[:2])
    sum_labels(scores, sums)
    return sums


def _checked(scores: ArrayLike, *, labels: bool = False) -> NDArray[np.float64]:
    """``scores`` as a C-contiguous float64 array fit for the kernels; the input itself where possible.

    ``labels`` is whether there may be a third axis.
    """
    if type(scores) is np.ndarray and scores.dtype == np.float64 and scores.flags.carray:
        found: NDArray[np.float64] = scores
    else:
        found = _converted(scores)
    if found.ndim not in (2, 3) or found.shape[0] != found.shape[1] or 0 in found.shape:
        raise ValueError(
            f"scores must have shape (n + 1, n + 1), or (n + 1, n + 1, labels); got {found.shape}"
        )
    if found.ndim == 3 and not labels:
        raise ValueError("labelled scores, of three axes, have a best_labelled_tree")
    if (place := first_wrong(found.reshape(len(found), len(found), -1))) >= 0:
        cell = tuple(int(index) for index in np.unravel_index(place, found.shape))
        raise ValueError(
            f"scores[{', '.join(map(str, cell))}] is {found[cell]}; "
            f"a score is -inf (arc forbidden) or within ±{LARGEST_SCORE:g}"
        )
    return found


@kernel
def first_wrong(scores):  # type: ignore[no-untyped-def]
    """The first cell (h, m, l), by rows, that holds no score; -1 if all but column 0 and the diagonal do."""
    size, labels = scores.shape[1:]
    for head in range(size):
        for modifier in range(1, size):
            for label in range(labels):
                score = scores[head, modifier, label]
                if head != modifier and not (-LARGEST_SCORE <= score <= LARGEST_SCORE or score == -np.inf):
                    return (head * size + modifier) * labels + label
    return -1


def _converted(scores: ArrayLike) -> NDArray[np.float64]:
    """What is no C-contiguous float64 array that can be written to, as one."""
    if _masked(scores):
        raise TypeError("scores has a masked array; forbid arcs by -inf: scores.filled(-np.inf)")
    given = np.asarray(scores)
    if given.dtype.kind == "c":
        raise TypeError("scores are complex; they must be real numbers")
    if given.dtype.kind not in "biufO":
        raise TypeError(f"scores are of type {given.dtype}; they must be real numbers")
    if given.dtype.kind == "O" and any(_masked(cell) or isinstance(cell, _NO_NUMBERS) for cell in given.flat):
        raise TypeError("scores hold what is no number; they must be real numbers")
    try:
        found: NDArray[np.float64] = np.ascontiguousarray(given, dtype=np.float64)
    except OverflowError:
        raise ValueError(
            f"a score is too large for float64; one is -inf (arc forbidden) or within ±{LARGEST_SCORE:g}"
        ) from None
    except TypeError as error:
        raise TypeError(f"scores hold what is no real number: {error}") from None
    # Read-only arrays are a type of their own to numba: another compilation of every kernel.
    return found if found.flags.writeable else found.copy()
