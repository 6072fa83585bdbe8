"""Compiled loops that turn a sentence into the features of its arcs.

Arcs of a sentence of n words are numbered modifier by modifier: those into word m are
``(m-1)*n ... m*n-1``, its heads in the order m-1, ..., 1, 0, m+1, ..., n (outwards on either side, so
that what stands in between grows by one word a step). :func:`arc_number` says it in one place.

The key of a feature's base form is the sum (modulo 2^64) of its template's salt and the hashes of its
parts, with the low ``BIN_BITS`` bits cleared; a form's bin stands in these bits: 0 is the bare form,
1.. are direction and distance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtparse._jit import kernel
from mtparse.features.program import BETWEEN, DISTANCE_BINS, MULTI, PAIR, Program
from mtparse.features.words import Words, mix

BIN_BITS = 5
BINS = 1 + 2 * len(DISTANCE_BINS)
"""Forms of one base: bare, then leftward heads by distance, then rightward heads."""
NO_BARE = 16
"""Set in the low bits of an event whose template has no bare form."""
MAX_COUNT = 3
"""Counts of what stands in between go up to this."""

_DIRECTION_BINS = len(DISTANCE_BINS)
_CLEAR = np.uint64(2**64 - 2**BIN_BITS)
_SEED_COUNT = np.uint64(0x27D4EB2F165667C5)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_S32 = np.uint64(32)
_NO_BARE = np.uint64(NO_BARE)
_FIRST = np.uint64(2**32 - 1)


class Index(NamedTuple):
    """The known features: an open-addressing table from base keys to the numbers of their forms."""

    slots: np.ndarray
    """uint64 (capacity, 2): key (0 is free), then first feature number << 32 | mask of known bins."""
    shift: np.uint64
    """A key's slot is its top bits: key >> shift."""


@kernel
def arc_number(head, modifier, n):
    """Place of an arc in the sentence's rows."""
    return (modifier - 1) * n + (modifier - 1 - head if head < modifier else head - 1)


@kernel
def most_keys(program: Program, words: Words):
    """An upper bound on the number of base features of one arc of the sentence."""
    size = words.head_parts.shape[0]
    n_between = program.between_attribute.shape[0]
    distinct = np.zeros(n_between, np.int64)
    for b in range(n_between):
        for i in range(1, size):
            if words.representative[i, b] == i:
                distinct[b] += 1
    most_multi = 1
    for i in range(size):
        most_multi = max(most_multi, words.multi_start[i + 1] - words.multi_start[i])
    total = 0
    for t in range(program.kind.shape[0]):
        if program.kind[t] == BETWEEN:
            total += distinct[program.extra[t]]
        elif program.kind[t] == MULTI:
            total += most_multi * (most_multi if program.extra[t] == 3 else 1)
        else:
            total += 1
    return total


@kernel
def arc_keys(program: Program, words: Words, h, m, distinct, n_distinct, counts, keys, template):
    """Base keys of one arc and the templates they are of, in the templates' order; returns how many.

    ``distinct[b, :n_distinct[b]]`` are the representatives of what stands between, ``counts[b, i]`` how
    often representative i stands there.
    """
    found = 0
    head_parts, modifier_parts = words.head_parts[h], words.modifier_parts[m]
    for t in range(program.kind.shape[0]):
        kind = program.kind[t]
        head = head_parts[program.head_part[t]]
        modifier = modifier_parts[program.modifier_part[t]]
        if head == _ZERO or modifier == _ZERO:
            continue
        key = program.salt[t] + head + modifier
        if kind <= PAIR:
            keys[found] = key & _CLEAR
            template[found] = t
            found += 1
        elif kind == BETWEEN:
            b = program.extra[t]
            for k in range(n_distinct[b]):
                i = distinct[b, k]
                x = words.between[i, b]
                if x == _ZERO:
                    continue
                if program.counted[t]:
                    x = mix(x + _SEED_COUNT * np.uint64(min(counts[b, i], MAX_COUNT)))
                keys[found] = (key + x) & _CLEAR
                template[found] = t
                found += 1
        elif kind == MULTI:
            extra = program.extra[t]
            for i in range(
                words.multi_start[h], words.multi_start[h + 1] if extra & 1 else words.multi_start[h] + 1
            ):
                with_head = key + words.multi_head[i] if extra & 1 else key
                if not extra & 2:
                    keys[found] = with_head & _CLEAR
                    template[found] = t
                    found += 1
                    continue
                for j in range(words.multi_start[m], words.multi_start[m + 1]):
                    keys[found] = (with_head + words.multi_modifier[j]) & _CLEAR
                    template[found] = t
                    found += 1
    return found


@kernel
def distance_bin(program: Program, h, m):
    """Bin of the arc's direction and distance: 1 .. BINS-1."""
    last = program.bins.shape[0] - 1
    if h < m:
        return 1 + program.bins[min(m - h, last)]
    return 1 + _DIRECTION_BINS + program.bins[min(h - m, last)]


@kernel
def step_between(words: Words, h, m, distinct, n_distinct, counts):
    """What stands between h and m, when the heads of m come in arc order."""
    if abs(h - m) == 1:
        for b in range(n_distinct.shape[0]):
            for k in range(n_distinct[b]):
                counts[b, distinct[b, k]] = 0
            n_distinct[b] = 0
        return
    i = h + 1 if h < m else h - 1
    for b in range(n_distinct.shape[0]):
        r = words.representative[i, b]
        if counts[b, r] == 0:
            distinct[b, n_distinct[b]] = r
            n_distinct[b] += 1
        counts[b, r] += 1


@kernel
def event_keys(program: Program, words: Words, heads, out):
    """Keys with their bins of all features of the arcs, for counting.

    Parameters
    ----------
    heads
        int64 (n+1,): count the arcs of this tree only; all arcs where heads[0] is not -1.
    out
        uint64: overwritten.

    Returns
    -------
    The number of events, or -1 where ``out`` is too small.
    """
    n = words.head_parts.shape[0] - 1
    n_between = program.between_attribute.shape[0]
    distinct = np.empty((n_between, n + 1), np.int64)
    n_distinct = np.zeros(n_between, np.int64)
    counts = np.zeros((n_between, n + 1), np.int64)
    most = most_keys(program, words)
    keys = np.empty(most, np.uint64)
    template = np.empty(most, np.int64)
    total = 0
    for m in range(1, n + 1):
        for k in range(n):
            h = m - 1 - k if k < m else k + 1
            step_between(words, h, m, distinct, n_distinct, counts)
            if heads[0] == -1 and heads[m] != h:
                continue
            found = arc_keys(program, words, h, m, distinct, n_distinct, counts, keys, template)
            if total + found > out.shape[0]:
                return -1
            form = np.uint64(distance_bin(program, h, m))
            for j in range(found):
                no_bare = _ZERO if program.bare[template[j]] else _NO_BARE
                out[total + j] = keys[j] | form | no_bare
            total += found
    return total


@kernel
def find(index: Index, key):
    """What the table holds for a key; 0 where it is unknown."""
    slots = index.slots
    mask = np.uint64(slots.shape[0] - 1)
    i = key >> index.shift
    while True:
        stored = slots[i, 0]
        if stored == key:
            return slots[i, 1]
        if stored == _ZERO:
            return _ZERO
        i = (i + _ONE) & mask


@kernel
def fill(slots, shift, keys, values):
    """Insert distinct keys into a free table."""
    mask = np.uint64(slots.shape[0] - 1)
    for k in range(keys.shape[0]):
        i = keys[k] >> shift
        while slots[i, 0] != _ZERO:
            i = (i + _ONE) & mask
        slots[i, 0] = keys[k]
        slots[i, 1] = values[k]


@kernel
def count_bits(x):
    """Number of ones in the low 16 bits."""
    x = x - ((x >> 1) & 0x5555)
    x = (x & 0x3333) + ((x >> 2) & 0x3333)
    x = (x + (x >> 4)) & 0x0F0F
    return (x + (x >> 8)) & 0x1F


@kernel
def modifier_rows(program: Program, index: Index, words: Words, m, scratch, ids, ends):
    """Numbers of the known features of all arcs into word m, in arc order.

    Parameters
    ----------
    scratch
        As from :func:`make_scratch`.
    ids
        int32, of at least n times twice :func:`most_keys`: overwritten.
    ends
        int64 (n,): overwritten; the arc's features end there (and begin where the last one's ended).
    """
    keys, template, known, distinct, n_distinct, counts = scratch
    n = words.head_parts.shape[0] - 1
    at = 0
    for k in range(n):
        h = m - 1 - k if k < m else k + 1
        step_between(words, h, m, distinct, n_distinct, counts)
        found = arc_keys(program, words, h, m, distinct, n_distinct, counts, keys, template)
        form = distance_bin(program, h, m)
        below = (1 << form) - 1
        known[:] = False
        for j in range(found):
            t = template[j]
            parent = program.parent[t]
            if parent >= 0 and not known[parent]:
                continue
            value = find(index, keys[j])
            if value == _ZERO:
                continue
            known[t] = True
            first = np.int64(value >> _S32)
            mask = np.int64(value & _FIRST)
            if mask & 1:
                ids[at] = first
                at += 1
            if mask >> form & 1:
                ids[at] = first + count_bits(mask & below)
                at += 1
        ends[k] = at
    return at


@kernel
def make_scratch(program: Program, words: Words):
    """Room for :func:`modifier_rows`, to be used for all words of one sentence."""
    n = words.head_parts.shape[0] - 1
    n_between = program.between_attribute.shape[0]
    most = most_keys(program, words)
    return (
        np.empty(most, np.uint64),
        np.empty(most, np.int64),
        np.zeros(program.kind.shape[0], np.bool_),
        np.empty((n_between, n + 1), np.int64),
        np.zeros(n_between, np.int64),
        np.zeros((n_between, n + 1), np.int64),
    )


@kernel
def sentence_rows(program: Program, index: Index, words: Words, ids, ends):
    """Rows of all arcs of a sentence; returns their total length, -1 where ``ids`` is too small.

    ``ids`` is int32, ``ends`` int64 (n*n,); both are overwritten.
    """
    n = words.head_parts.shape[0] - 1
    scratch = make_scratch(program, words)
    row_ids = np.empty(2 * n * scratch[0].shape[0], np.int32)
    row_ends = np.empty(n, np.int64)
    total = 0
    for m in range(1, n + 1):
        length = modifier_rows(program, index, words, m, scratch, row_ids, row_ends)
        if total + length > ids.shape[0]:
            return -1
        ids[total : total + length] = row_ids[:length]
        for k in range(n):
            ends[(m - 1) * n + k] = total + row_ends[k]
        total += length
    return total


@kernel
def sentence_scores(program: Program, index: Index, words: Words, weights):
    """Scores (n+1, n+1) of all arcs of a sentence, without storing its rows: memory O(n²)."""
    n = words.head_parts.shape[0] - 1
    scores = np.zeros((n + 1, n + 1))
    scratch = make_scratch(program, words)
    ids = np.empty(2 * n * scratch[0].shape[0], np.int32)
    ends = np.empty(n, np.int64)
    for m in range(1, n + 1):
        modifier_rows(program, index, words, m, scratch, ids, ends)
        begin = 0
        for k in range(n):
            h = m - 1 - k if k < m else k + 1
            total = 0.0
            for j in range(begin, ends[k]):
                total += weights[ids[j]]
            begin = ends[k]
            scores[h, m] = total
    return scores
