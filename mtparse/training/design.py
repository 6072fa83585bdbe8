"""The training matrix: the features of every part of every sentence, identical columns merged.

Two features that fire on exactly the same training arcs are one column for every trainer: equal columns
keep equal weights, and K equal columns under the L2 penalty act as one of value sqrt(K). A column here
stands for the K features of its class, and the trainers work with ``u``, the *sum* of their weights, so
that the score of an arc is a plain sum of ``u`` over its columns; ``u / K`` is the weight of each.

Columns that look at one word of an arc only stand in rows of that word, not in those of all its arcs (see
:mod:`mtparse.features.extraction`): a third of all entries would be theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from mtparse.inference.parts import Parts, fill_all_arcs
from mtparse.runtime.jit import kernel

SHARDS = 8
"""Into how many pieces sums over sentences are cut: fixed, so that no sum depends on the threads."""


class Block(NamedTuple):
    """Rows of ones (CSR without values): ``indices[starts[r]:starts[r+1]]`` are the columns of row r.

    Attributes
    ----------
    indices : int32 (entries,)
    starts : int64 (rows+1,)
    """

    indices: np.ndarray
    starts: np.ndarray


class WordBlock(NamedTuple):
    """A `Block` whose entries hold for one variant of arcs each (direction and distance), or, 0, for all.

    Attributes
    ----------
    indices : int32 (entries,)
    variants : uint8 (entries,)
    starts : int64 (rows+1,)
    """

    indices: np.ndarray
    variants: np.ndarray
    starts: np.ndarray


class Design(NamedTuple):
    """Rows of all words and arcs of a treebank, with the gold trees: tuples of arrays, as kernels take them.

    An arc's columns are those of its own row, and those of the word rows of its head and modifier whose
    variant is 0 or the arc's.

    Attributes
    ----------
    arcs : Block
        A row for each arc, sentence after sentence, in the order of :mod:`mtparse.inference.parts`.
    words : WordBlock
        2n+1 rows a sentence, numbered by ``extraction.word_row``.
    heads : uint16 (arcs,)
        Head of each arc.
    first : int32 (sum of lengths + 2S,)
        ``Parts.first`` of each sentence, one after the other.
    first_arc : int64 (S+1,)
        Arcs of sentence s are ``first_arc[s]:first_arc[s+1]``.
    lengths : int64 (S,)
        Words of each sentence.
    gold : int64 (sum of lengths + S,)
        Head arrays of all sentences, one after the other (each of length n+1, with -1 first).
    first_word : int64 (S+1,)
        Sentence s's head array is ``gold[first_word[s]:first_word[s+1]]``, and its word rows begin with
        ``2 * first_word[s] - s``.
    """

    arcs: Block
    words: WordBlock
    heads: np.ndarray
    first: np.ndarray
    first_arc: np.ndarray
    lengths: np.ndarray
    gold: np.ndarray
    first_word: np.ndarray

    @property
    def sentences(self) -> int:
        """Number of sentences, S."""
        return len(self.lengths)

    @property
    def parts(self) -> int:
        """Number of parts: of arcs."""
        return len(self.heads)

    def shards(self) -> list[tuple[int, int]]:
        """At most SHARDS ranges of sentences with about the same number of arcs each."""
        bounds = np.searchsorted(self.first_arc, np.arange(SHARDS + 1) * self.first_arc[-1] / SHARDS)
        bounds[-1] = self.sentences
        return [(int(a), int(b)) for a, b in pairwise(bounds) if a < b]

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by the names in `ARRAYS`."""
        return {name: attrgetter(name)(self) for name in ARRAYS}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Design:
        """The design of what `arrays` gave."""
        made: dict[str, Any] = {name: array for name, array in arrays.items() if "." not in name}
        for name, block in _BLOCKS.items():
            made[name] = block(**{field: arrays[f"{name}.{field}"] for field in block._fields})
        return cls(**made)


_BLOCKS: dict[str, Any] = {"arcs": Block, "words": WordBlock}

ARRAYS = tuple(
    f"{name}.{field}" if name in _BLOCKS else name
    for name in Design._fields
    for field in (_BLOCKS[name]._fields if name in _BLOCKS else ("",))
)
"""The names of a design's arrays."""


@dataclass(frozen=True)
class Columns:
    """How features map to columns.

    Training sees one weight a column, ``u``: the sum of the weights ``w`` of its features, which fire alike
    and so have equal weights, ``w = u / K``; ``||w||² = Σ u²/K``.

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


def all_arcs(lengths: Iterable[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``heads``, ``first`` and ``first_arc`` of a design in which every arc is a part."""
    lengths = np.asarray(lengths, np.int64)
    first_arc = np.concatenate([[0], np.cumsum(lengths * lengths)])
    heads = np.empty(first_arc[-1], np.uint16)
    first = np.empty(int((lengths + 2).sum()), np.int32)
    at = 0
    for s, n in enumerate(lengths.tolist()):
        fill_all_arcs(n, heads[first_arc[s] : first_arc[s + 1]], first[at : at + n + 2])
        at += n + 2
    return heads, first, first_arc


@kernel
def parts_of(design, s):
    """The parts of a sentence."""
    n = design.lengths[s]
    at = design.first_word[s] + s
    heads = design.heads[design.first_arc[s] : design.first_arc[s + 1]]
    return Parts(n, heads, design.first[at : at + n + 2])


@kernel
def first_word_row(design, s):
    """Where the word rows of a sentence begin."""
    return 2 * design.first_word[s] - s
