"""The training matrix: the features of every arc of every sentence, identical columns merged.

Two features that fire on exactly the same training arcs are one column for every trainer: equal columns
keep equal weights, and K equal columns under the L2 penalty act as one of value sqrt(K). A column here
stands for the K features of its class, and the trainers work with ``u``, the *sum* of their weights, so
that the score of an arc is a plain sum of ``u`` over its columns; ``u / K`` is the weight of each.

Columns that look at one word of an arc only stand in rows of that word, not in those of all its arcs (see
:mod:`mtparse.features.extraction`): a third of all entries would be theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

BLOCKS = 8
"""Parts into which sums over sentences are cut: fixed, so that no sum depends on the threads."""


class ArcRows(NamedTuple):
    """Rows of all words and arcs of a treebank (CSR without values: every entry is 1), with the gold trees.

    A tuple of arrays, so that kernels take it as it is. An arc's columns are those of its own row, and those
    of the word rows of its head and modifier whose form is 0 or the arc's.

    Attributes
    ----------
    indices : int32 (nnz,)
        Column numbers, arc after arc; arcs of a sentence as by ``keys.arc_number``.
    starts : int64 (arcs+1,)
        Arc a's columns are ``indices[starts[a]:starts[a+1]]``.
    word_indices, word_forms, word_starts : int32, uint8, int64
        The same for the word rows, with the form of each entry; 2n+1 rows a sentence, numbered by
        ``extraction.word_row``.
    first_arc : int64 (S+1,)
        Arcs of sentence s are ``first_arc[s]:first_arc[s+1]``, n*n of them.
    lengths : int64 (S,)
        Words of each sentence.
    gold : int64 (sum of lengths + S,)
        Head arrays of all sentences, one after the other (each of length n+1, with -1 first).
    first_word : int64 (S+1,)
        Sentence s's head array is ``gold[first_word[s]:first_word[s+1]]``, and its word rows begin with
        ``2 * first_word[s] - s``.
    """

    indices: np.ndarray
    starts: np.ndarray
    word_indices: np.ndarray
    word_forms: np.ndarray
    word_starts: np.ndarray
    first_arc: np.ndarray
    lengths: np.ndarray
    gold: np.ndarray
    first_word: np.ndarray

    @property
    def sentences(self) -> int:
        """Number of sentences, S."""
        return len(self.lengths)

    @property
    def arcs(self) -> int:
        """Number of arcs."""
        return len(self.starts) - 1

    def blocks(self) -> list[tuple[int, int]]:
        """At most BLOCKS ranges of sentences with about the same number of arcs each."""
        bounds = np.searchsorted(self.first_arc, np.arange(BLOCKS + 1) * self.first_arc[-1] / BLOCKS)
        bounds[-1] = self.sentences
        return [(int(a), int(b)) for a, b in pairwise(bounds) if a < b]


@dataclass(frozen=True)
class Columns:
    """How features map to columns.

    Attributes
    ----------
    column_of : int32 (F,)
        Column of each feature.
    multiplicity : float64 (columns,)
        Number K of features of each column.
    """

    column_of: np.ndarray
    multiplicity: np.ndarray

    def __len__(self) -> int:
        return len(self.multiplicity)

    def feature_weights(self, u: np.ndarray) -> np.ndarray:
        """Weight of every feature (F,) from the columns' sums ``u``."""
        return (u / self.multiplicity)[self.column_of]
