"""The training matrix: the features of every arc of every sentence, identical columns merged.

Two features that fire on exactly the same training arcs are one column for every trainer: equal columns
keep equal weights, and K equal columns under the L2 penalty act as one of value sqrt(K). A column here
stands for the K features of its class, and the trainers work with ``u``, the *sum* of their weights, so
that the score of an arc is a plain sum of ``u`` over its row; ``u / K`` is the weight of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mtparse._jit import kernel
from mtparse.features.index import FeatureIndex
from mtparse.features.kernels import sentence_rows
from mtparse.features.words import hash_words, mix
from mtparse.workers import Workers

CHUNK = 64
"""Sentences extracted in one task."""

BLOCKS = 8
"""Parts into which sums over sentences are cut: fixed, so that no sum depends on the threads."""


class ArcRows(NamedTuple):
    """Rows of all arcs of a treebank (CSR without values: every entry is 1), with the gold trees.

    A tuple of arrays, so that kernels take it as it is.

    Attributes
    ----------
    indices : int32 (nnz,)
        Column numbers, arc after arc; arcs of a sentence as by ``kernels.arc_number``.
    starts : int64 (arcs+1,)
        Arc a's columns are ``indices[starts[a]:starts[a+1]]``.
    first_arc : int64 (S+1,)
        Arcs of sentence s are ``first_arc[s]:first_arc[s+1]``, n*n of them.
    lengths : int64 (S,)
        Words of each sentence.
    gold : int64 (sum of lengths + S,)
        Head arrays of all sentences, one after the other (each of length n+1, with -1 first).
    first_word : int64 (S+1,)
        Sentence s's head array is ``gold[first_word[s]:first_word[s+1]]``.
    """

    indices: np.ndarray
    starts: np.ndarray
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


def extract_training(
    index: FeatureIndex,
    sentences: Sequence[Sequence[Sequence[str]]],
    heads: Sequence[np.ndarray],
    *,
    merge: bool = True,
    workers: Workers | None = None,
    progress=None,
) -> tuple[ArcRows, Columns]:
    """Rows of a training set and its columns, numbered by falling frequency.

    Parameters
    ----------
    index
        The known features.
    sentences, heads
        CoNLL rows and gold heads, int64 (n+1,), of each sentence.
    merge
        Whether identical columns become one. Lossless; off, every feature is a column of its own.
    workers
        Threads to use.
    progress
        Called with the number of sentences after each chunk.

    Notes
    -----
    Identity is decided by a 128-bit signature a column, the sum of a hash of its arcs' numbers.
    Cost: one pass over the rows to make them, one to rewrite them; memory: the unmerged rows.
    """
    workers = workers or Workers()
    signatures = np.zeros((len(index), 2), np.uint64)
    counts = np.zeros(len(index), np.int64)
    chunks = []
    arc = 0
    for ids, ends in _extract(index, sentences, workers):
        add_signatures(ids, ends, arc, signatures, counts)
        chunks.append((ids, ends))
        arc += len(ends)
        if progress is not None:
            progress(min(len(sentences), len(chunks) * CHUNK))
    columns, representative = _columns(signatures if merge else None, counts)
    del signatures
    total = int(counts[representative].sum())
    keep = np.full(len(index), -1, np.int32)
    keep[representative] = columns.column_of[representative]
    indices = np.empty(total, np.int32)
    starts = np.zeros(arc + 1, np.int64)
    at, arc = 0, 0
    chunks.reverse()
    while chunks:
        ids, ends = chunks.pop()
        at = compact(ids, ends, keep, indices, at, starts, arc)
        arc += len(ends)
    return _assemble(indices, starts, sentences, heads), columns


def extract_validation(
    index: FeatureIndex,
    columns: Columns,
    sentences: Sequence[Sequence[Sequence[str]]],
    heads: Sequence[np.ndarray],
    *,
    workers: Workers | None = None,
) -> ArcRows:
    """Rows of other sentences in terms of the training set's columns.

    Features of one column may fire one without the other here, so nothing is merged; scores are sums
    of ``u / multiplicity``.
    """
    parts = list(_extract(index, sentences, workers or Workers()))
    indices = columns.column_of[np.concatenate([ids for ids, _ in parts])]
    starts = np.zeros(sum(len(ends) for _, ends in parts) + 1, np.int64)
    arc = at = 0
    for ids, ends in parts:
        starts[arc + 1 : arc + 1 + len(ends)] = ends + at
        arc += len(ends)
        at += len(ids)
    return _assemble(indices, starts, sentences, heads)


def _extract(index: FeatureIndex, sentences, workers: Workers) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    def encoded():
        for begin in range(0, len(sentences), CHUNK):
            yield index.encode(sentences[begin : begin + CHUNK])

    def extract(item):
        table, chunk = item
        sizes = [(len(types) - 1) ** 2 for types in chunk]
        ends = np.empty(sum(sizes), np.int64)
        ids = np.empty(200 * len(ends) + 64, np.int32)
        arc = at = 0
        for types, size in zip(chunk, sizes, strict=True):
            words = hash_words(index.program, table, types)
            view = ends[arc : arc + size]
            while True:
                length = sentence_rows(index.program, index.table, words, ids[at:], view)
                if length >= 0:
                    break
                ids = np.concatenate([ids, np.empty_like(ids)])
            view += at
            at += length
            arc += size
        return ids[:at].copy(), ends

    return workers.map(extract, encoded())


def _assemble(indices, starts, sentences, heads) -> ArcRows:
    lengths = np.array([len(rows) for rows in sentences], np.int64)
    return ArcRows(
        indices,
        starts,
        np.concatenate([[0], np.cumsum(lengths * lengths)]),
        lengths,
        np.concatenate([np.asarray(h, np.int64) for h in heads]) if len(heads) else np.empty(0, np.int64),
        np.concatenate([[0], np.cumsum(lengths + 1)]),
    )


def _columns(signatures: np.ndarray | None, counts: np.ndarray) -> tuple[Columns, np.ndarray]:
    """Columns by falling frequency, and the feature that represents each (its first)."""
    size = len(counts)
    if signatures is None:
        group, representative = np.arange(size), np.arange(size)
    else:
        order = np.lexsort([signatures[:, 1], signatures[:, 0]])
        ordered = signatures[order]
        new = np.ones(size, bool)
        new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        group = np.empty(size, np.int64)
        group[order] = np.cumsum(new) - 1
        representative = order[new]  # lexsort is stable: the first of each group
    rank = np.lexsort([representative, -counts[representative]])
    number = np.empty(len(rank), np.int32)
    number[rank] = np.arange(len(rank), dtype=np.int32)
    column_of = number[group]
    multiplicity = np.bincount(column_of, minlength=len(rank)).astype(np.float64)
    return Columns(column_of, multiplicity), representative[rank]


@kernel
def add_signatures(ids, ends, first_arc, signatures, counts):
    """Add each arc's hash to the signatures of its columns; count the columns' arcs."""
    begin = 0
    for a in range(ends.shape[0]):
        number = np.uint64(first_arc + a)
        one = mix(number + np.uint64(0x9E3779B97F4A7C15))
        two = mix(number ^ np.uint64(0xD6E8FEB86659FD93))
        for j in range(begin, ends[a]):
            signatures[ids[j], 0] += one
            signatures[ids[j], 1] += two
            counts[ids[j]] += 1
        begin = ends[a]


@kernel
def compact(ids, ends, keep, indices, at, starts, first_arc):
    """Copy rows, renumbered by ``keep``, without the columns for which it is -1; returns the new end."""
    begin = 0
    for a in range(ends.shape[0]):
        for j in range(begin, ends[a]):
            k = keep[ids[j]]
            if k >= 0:
                indices[at] = k
                at += 1
        begin = ends[a]
        starts[first_arc + a + 1] = at
    return at
