"""The training matrix: the features of every arc of every sentence, identical columns merged.

Two features that fire on exactly the same training arcs are one column for every trainer: equal columns
keep equal weights, and K equal columns under the L2 penalty act as one of value sqrt(K). A column here
stands for the K features of its class, and the trainers work with ``u``, the *sum* of their weights, so
that the score of an arc is a plain sum of ``u`` over its columns; ``u / K`` is the weight of each.

Columns that look at one word of an arc only stand in rows of that word, not in those of all its arcs (see
:mod:`mtparse.features.extraction`): a third of all entries would be theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mtparse._jit import kernel
from mtparse.features.extraction import arc_rows, word_row, word_rows
from mtparse.features.index import FeatureIndex
from mtparse.features.keys import arc_number, distance_bin
from mtparse.features.program import BINS, HEAD, MODIFIER
from mtparse.features.words import hash_words, mix
from mtparse.workers import Workers

CHUNK = 64
"""Sentences extracted in one task."""

BLOCKS = 8
"""Parts into which sums over sentences are cut: fixed, so that no sum depends on the threads."""

HOT = 1 << 14
"""Columns numbered by falling frequency, few enough to stay in the cache. The others are numbered as they are
met, so that what is used together stands together."""


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
    seen = Seen(
        np.zeros((len(index), 2), np.uint64),
        np.zeros(len(index), np.int64),
        np.zeros(len(index), np.int64),
        np.zeros(len(index), np.bool_),
    )
    chunks = []
    arc = done = 0
    for chunk in _extract(index, sentences, workers):
        lengths = np.array([len(rows) for rows in sentences[done : done + CHUNK]], np.int64)
        see_words(chunk.word_ids, chunk.word_forms, chunk.word_ends, lengths, arc, seen)
        see_arcs(chunk.ids, chunk.ends, arc, seen)
        chunks.append(chunk)
        arc += len(chunk.ends)
        done += len(lengths)
        if progress is not None:
            progress(done)
    columns, representative = _columns(seen, merge)
    keep = np.full(len(index), -1, np.int32)
    keep[representative] = columns.column_of[representative]
    kept, of_word = seen.entries[representative], seen.of_word[representative]
    del seen
    indices = np.empty(int(kept[~of_word].sum()), np.int32)
    word_indices = np.empty(int(kept[of_word].sum()), np.int32)
    word_forms = np.empty(len(word_indices), np.uint8)
    starts = np.zeros(arc + 1, np.int64)
    word_starts = np.zeros(sum(len(chunk.word_ends) for chunk in chunks) + 1, np.int64)
    arc = row = 0
    chunks.reverse()
    while chunks:
        chunk = chunks.pop()
        compact_words(
            chunk.word_ids,
            chunk.word_forms,
            chunk.word_ends,
            keep,
            word_indices,
            word_forms,
            word_starts,
            row,
        )
        compact(chunk.ids, chunk.ends, keep, indices, starts, arc)
        arc += len(chunk.ends)
        row += len(chunk.word_ends)
    return _assemble(indices, starts, word_indices, word_forms, word_starts, sentences, heads), columns


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
    chunks = list(_extract(index, sentences, workers or Workers()))
    joined = [np.concatenate(arrays) for arrays in zip(*chunks, strict=True)]
    return _assemble(
        columns.column_of[joined[0]],
        _starts([chunk.ends for chunk in chunks]),
        columns.column_of[joined[2]],
        joined[3],
        _starts([chunk.word_ends for chunk in chunks]),
        sentences,
        heads,
    )


def _starts(ends: list[np.ndarray]) -> np.ndarray:
    """Where rows begin, and the last one ends, from where those of each chunk end in the chunk."""
    lengths = [np.diff(chunk, prepend=0) for chunk in ends]
    return np.concatenate([[0], np.cumsum(np.concatenate(lengths))])


class Chunk(NamedTuple):
    """Features of some sentences: the numbers and where each row ends, of all arcs and of all word rows."""

    ids: np.ndarray
    ends: np.ndarray
    word_ids: np.ndarray
    word_forms: np.ndarray
    word_ends: np.ndarray


class Seen(NamedTuple):
    """What is known of each feature when all rows have been made."""

    signatures: np.ndarray
    """uint64 (F, 2): the sum of the hashes of its arcs."""
    entries: np.ndarray
    """int64 (F,): in how many rows it stands."""
    first: np.ndarray
    """int64 (F,): an arc at or near which it is met first."""
    of_word: np.ndarray
    """bool (F,): whether it stands in word rows."""


def _extract(index: FeatureIndex, sentences, workers: Workers) -> Iterator[Chunk]:
    def encoded():
        for begin in range(0, len(sentences), CHUNK):
            yield index.encode(sentences[begin : begin + CHUNK])

    def extract(item) -> Chunk:
        table, chunk = item
        lengths = [len(types) - 1 for types in chunk]
        ends = np.empty(sum(n * n for n in lengths), np.int64)
        word_ends = np.empty(sum(2 * n + 1 for n in lengths), np.int64)
        ids = np.empty(64 * len(ends) + 64, np.int32)
        word_ids = np.empty(128 * len(word_ends), np.int32)
        word_forms = np.empty(len(word_ids), np.uint8)
        arc = at = row = word_at = 0
        for types, n in zip(chunk, lengths, strict=True):
            words = hash_words(index.program, table, types)
            view = ends[arc : arc + n * n]
            while (length := arc_rows(index.program, index.table, words, ids[at:], view)) < 0:
                ids = np.concatenate([ids, np.empty_like(ids)])
            view += at
            at += length
            arc += n * n
            view = word_ends[row : row + 2 * n + 1]
            while True:
                room = word_ids[word_at:], word_forms[word_at:]
                length = word_rows(index.program, index.table, words, *room, view)
                if length >= 0:
                    break
                word_ids = np.concatenate([word_ids, np.empty_like(word_ids)])
                word_forms = np.concatenate([word_forms, np.empty_like(word_forms)])
            view += word_at
            word_at += length
            row += 2 * n + 1
        return Chunk(ids[:at].copy(), ends, word_ids[:word_at].copy(), word_forms[:word_at].copy(), word_ends)

    return workers.map(extract, encoded())


def _assemble(indices, starts, word_indices, word_forms, word_starts, sentences, heads) -> ArcRows:
    lengths = np.array([len(rows) for rows in sentences], np.int64)
    return ArcRows(
        indices,
        starts,
        word_indices,
        word_forms,
        word_starts,
        np.concatenate([[0], np.cumsum(lengths * lengths)]),
        lengths,
        np.concatenate([np.asarray(h, np.int64) for h in heads]) if len(heads) else np.empty(0, np.int64),
        np.concatenate([[0], np.cumsum(lengths + 1)]),
    )


def _columns(seen: Seen, merge: bool) -> tuple[Columns, np.ndarray]:
    """The columns, and the feature that represents each: one that stands in word rows if there is any."""
    size = len(seen.entries)
    if merge:
        order = np.lexsort([~seen.of_word, seen.signatures[:, 1], seen.signatures[:, 0]])
        ordered = seen.signatures[order]
        new = np.ones(size, bool)
        new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        group = np.empty(size, np.int64)
        group[order] = np.cumsum(new) - 1
        representative = order[new]  # lexsort is stable: the first of each group
    else:
        group, representative = np.arange(size), np.arange(size)
    rank = np.lexsort([representative, -seen.entries[representative]])
    rest = representative[rank[HOT:]]
    rank[HOT:] = rank[HOT:][np.lexsort([rest, seen.first[rest]])]
    number = np.empty(len(rank), np.int32)
    number[rank] = np.arange(len(rank), dtype=np.int32)
    column_of = number[group]
    multiplicity = np.bincount(column_of, minlength=len(rank)).astype(np.float64)
    return Columns(column_of, multiplicity), representative[rank]


@kernel
def _arc_hashes(number):
    """Two hashes of an arc."""
    number = np.uint64(number)
    return mix(number + np.uint64(0x9E3779B97F4A7C15)), mix(number ^ np.uint64(0xD6E8FEB86659FD93))


@kernel
def _see(seen: Seen, feature, one, two, arc):
    seen.signatures[feature, 0] += one
    seen.signatures[feature, 1] += two
    if seen.entries[feature] == 0:
        seen.first[feature] = arc
    seen.entries[feature] += 1


@kernel
def see_arcs(ids, ends, first_arc, seen: Seen):
    """Note the features of arc rows."""
    begin = 0
    for a in range(ends.shape[0]):
        one, two = _arc_hashes(first_arc + a)
        for j in range(begin, ends[a]):
            _see(seen, ids[j], one, two, first_arc + a)
        begin = ends[a]


@kernel
def see_words(ids, forms, ends, lengths, first_arc, seen: Seen):
    """Note the features of word rows: they fire on all arcs of their word and form."""
    row = begin = 0
    for s in range(lengths.shape[0]):
        n = lengths[s]
        hashes = np.zeros((2 * n + 1, BINS, 2), np.uint64)
        for m in range(1, n + 1):
            for h in range(n + 1):
                if h == m:
                    continue
                one, two = _arc_hashes(first_arc + arc_number(h, m, n))
                for form in (0, distance_bin(h, m)):
                    for r in (word_row(HEAD, h, n), word_row(MODIFIER, m, n)):
                        hashes[r, form, 0] += one
                        hashes[r, form, 1] += two
        for r in range(2 * n + 1):
            for j in range(begin, ends[row]):
                _see(seen, ids[j], hashes[r, forms[j], 0], hashes[r, forms[j], 1], first_arc)
                seen.of_word[ids[j]] = True
            begin = ends[row]
            row += 1
        first_arc += n * n


@kernel
def compact(ids, ends, keep, indices, starts, row):
    """Copy rows to where row ``row`` begins, renumbered by ``keep``, without those for which it is -1."""
    at = starts[row]
    begin = 0
    for r in range(ends.shape[0]):
        for j in range(begin, ends[r]):
            k = keep[ids[j]]
            if k >= 0:
                indices[at] = k
                at += 1
        begin = ends[r]
        starts[row + r + 1] = at


@kernel
def compact_words(ids, forms, ends, keep, indices, kept_forms, starts, row):
    """The same for word rows: the forms go with the columns."""
    at = starts[row]
    begin = 0
    for r in range(ends.shape[0]):
        for j in range(begin, ends[r]):
            k = keep[ids[j]]
            if k >= 0:
                indices[at] = k
                kept_forms[at] = forms[j]
                at += 1
        begin = ends[r]
        starts[row + r + 1] = at
