"""From sentences to the training matrix: rows of all arcs, identical columns found and merged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mtparse.features.compiled_templates import BINS, HEAD, MODIFIER
from mtparse.features.extraction import arc_rows, word_row, word_rows
from mtparse.features.feature_keys import distance_bin
from mtparse.features.index import FeatureIndex
from mtparse.features.lexicon import Lexicon
from mtparse.features.word_hashes import hash_words, mix
from mtparse.inference.parts import arc_number
from mtparse.runtime.jit import kernel
from mtparse.runtime.threads import Workers
from mtparse.training.design import Block, Columns, Design, WordBlock, all_arcs
from mtparse.training.entry_file import Entries

CHUNK = 64
"""Sentences extracted in one task."""

HOT = 1 << 14
"""Columns numbered by falling frequency, few enough to stay in the cache. The others are numbered as they are
met, so that what is used together stands together."""


def extract_training(
    index: FeatureIndex,
    sentences: Sequence[Sequence[Sequence[str]]],
    heads: Sequence[np.ndarray],
    *,
    merge: bool = True,
    workers: Workers | None = None,
    progress: Callable[[int], None] | None = None,
    folder: str | None = None,
) -> tuple[Design, Columns]:
    """Rows of a training set and its columns.

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
    folder
        Where the entries of the rows are kept in a file instead of memory.

    Notes
    -----
    Identity is decided by a 128-bit signature a column, the sum of a hash of its arcs' numbers.
    Cost: one pass over the rows to make them, one to rewrite them in place; memory: 4 bytes an entry
    before merging, about 100 an arc.
    """
    seen = Seen(
        np.zeros((len(index), 2), np.uint64),
        np.zeros(len(index), np.int64),
        np.zeros(len(index), np.int64),
        np.zeros(len(index), np.bool_),
    )
    arc = done = 0

    def see(chunk: Chunk) -> None:
        nonlocal arc, done
        lengths = np.array([len(rows) for rows in sentences[done : done + CHUNK]], np.int64)
        see_words(chunk.word_ids, chunk.word_variants, chunk.word_ends, lengths, arc, seen)
        see_arcs(chunk.ids, chunk.ends, arc, seen)
        arc += len(chunk.ends)
        done += len(lengths)
        if progress is not None:
            progress(done)

    with Entries(folder) as entries:
        design = _all_rows(index, sentences, heads, workers or Workers(), entries, see)
        columns, representative = _columns(seen, merge)
        keep = np.full(len(index), -1, np.int32)
        keep[representative] = columns.column_of[representative]
        arcs, words = design.arcs, design.words
        size = compact(arcs.indices, None, arcs.starts, keep)
        word_size = compact(words.indices, words.variants, words.starts, keep)
        arcs = arcs._replace(indices=entries.cut(size))
        words = words._replace(
            indices=words.indices[:word_size].copy(), variants=words.variants[:word_size].copy()
        )
        return design._replace(arcs=arcs, words=words), columns


def extract_validation(
    index: FeatureIndex,
    columns: Columns,
    sentences: Sequence[Sequence[Sequence[str]]],
    heads: Sequence[np.ndarray],
    *,
    workers: Workers | None = None,
) -> Design:
    """Rows of other sentences in terms of the training set's columns.

    Features of one column may fire one without the other here, so nothing is merged; scores are sums
    of ``u / multiplicity``.
    """
    design = _all_rows(index, sentences, heads, workers or Workers(), Entries(), lambda chunk: None)
    arcs, words = design.arcs, design.words
    return design._replace(
        arcs=arcs._replace(indices=columns.column_of[arcs.indices]),
        words=words._replace(indices=columns.column_of[words.indices]),
    )


def _all_rows(
    index: FeatureIndex, sentences, heads, workers: Workers, entries: Entries, see: Callable[[Chunk], None]
) -> Design:
    """Rows whose columns are the numbers of features; ``see`` is shown all chunks."""
    lengths = np.array([len(rows) for rows in sentences], np.int64)
    part_heads, first, first_arc = all_arcs(lengths)
    starts = np.zeros(first_arc[-1] + 1, np.int64)
    word_starts = np.zeros(int((2 * lengths + 1).sum()) + 1, np.int64)
    word_ids, word_variants = [], []
    arc = row = word_size = 0
    for chunk in _extract(index, sentences, workers):
        see(chunk)
        starts[arc + 1 : arc + 1 + len(chunk.ends)] = chunk.ends + entries.size
        word_starts[row + 1 : row + 1 + len(chunk.word_ends)] = chunk.word_ends + word_size
        arc += len(chunk.ends)
        row += len(chunk.word_ends)
        entries.append(chunk.ids, done=arc / max(1, first_arc[-1]))
        word_ids.append(chunk.word_ids)
        word_variants.append(chunk.word_variants)
        word_size += len(chunk.word_ids)
    words = WordBlock(
        np.concatenate(word_ids) if word_ids else np.empty(0, np.int32),
        np.concatenate(word_variants) if word_variants else np.empty(0, np.uint8),
        word_starts,
    )
    gold = np.concatenate([np.asarray(h, np.int64) for h in heads]) if len(heads) else np.empty(0, np.int64)
    first_word = np.concatenate([[0], np.cumsum(lengths + 1)])
    arcs = Block(entries.array(), starts)
    return Design(arcs, words, part_heads, first, first_arc, lengths, gold, first_word)


class Chunk(NamedTuple):
    """Features of some sentences: the numbers and where each row ends, of all arcs and of all word rows."""

    ids: np.ndarray
    ends: np.ndarray
    word_ids: np.ndarray
    word_variants: np.ndarray
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
        lexicon = Lexicon()
        for begin in range(0, len(sentences), CHUNK):
            yield lexicon.encode_all(sentences[begin : begin + CHUNK])

    def extract(item) -> Chunk:
        table, chunk = item
        lengths = [len(types) - 1 for types in chunk]
        ends = np.empty(sum(n * n for n in lengths), np.int64)
        word_ends = np.empty(sum(2 * n + 1 for n in lengths), np.int64)
        ids = np.empty(64 * len(ends) + 64, np.int32)
        word_ids = np.empty(128 * len(word_ends), np.int32)
        word_variants = np.empty(len(word_ids), np.uint8)
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
                room = word_ids[word_at:], word_variants[word_at:]
                length = word_rows(index.program, index.table, words, *room, view)
                if length >= 0:
                    break
                word_ids = np.concatenate([word_ids, np.empty_like(word_ids)])
                word_variants = np.concatenate([word_variants, np.empty_like(word_variants)])
            view += word_at
            word_at += length
            row += 2 * n + 1
        word_ids, word_variants = word_ids[:word_at].copy(), word_variants[:word_at].copy()
        return Chunk(ids[:at].copy(), ends, word_ids, word_variants, word_ends)

    return workers.map(extract, encoded())


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
def see_words(ids, variants, ends, lengths, first_arc, seen: Seen):
    """Note the features of word rows: they fire on all arcs of their word and variant."""
    row = begin = 0
    for s in range(lengths.shape[0]):
        n = lengths[s]
        hashes = np.zeros((2 * n + 1, BINS, 2), np.uint64)
        for m in range(1, n + 1):
            for h in range(n + 1):
                if h == m:
                    continue
                one, two = _arc_hashes(first_arc + arc_number(h, m, n))
                for variant in (0, distance_bin(h, m)):
                    for r in (word_row(HEAD, h, n), word_row(MODIFIER, m, n)):
                        hashes[r, variant, 0] += one
                        hashes[r, variant, 1] += two
        for r in range(2 * n + 1):
            for j in range(begin, ends[row]):
                _see(seen, ids[j], hashes[r, variants[j], 0], hashes[r, variants[j], 1], first_arc)
                seen.of_word[ids[j]] = True
            begin = ends[row]
            row += 1
        first_arc += n * n


@kernel
def compact(ids, variants, starts, keep):
    """Renumber the entries of rows by ``keep``, in place, without those for which it is -1; the new size.

    ``variants``, if there are any, go with the entries.
    """
    at = begin = 0
    for r in range(starts.shape[0] - 1):
        for j in range(begin, starts[r + 1]):
            k = keep[ids[j]]
            ids[at] = k  # without a branch: written over by the next one if it is not to stay
            if variants is not None:
                variants[at] = variants[j]
            at += np.int64(k >= 0)
        begin = starts[r + 1]
        starts[r + 1] = at
    return at
