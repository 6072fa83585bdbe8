"""Compiled loops that turn a sentence into the keys of the features of its arcs.

Arcs come in the order of :mod:`mtparse.inference.parts`, in which what stands in between grows by one word a
step.

The key of a feature's base form is the sum (modulo 2^64) of its template's salt and the hashes of its
parts, with the low ``BIN_BITS`` bits cleared; a form's bin stands in these bits: 0 is the bare form,
1.. are direction and distance.
"""

from __future__ import annotations

import numpy as np

from mtparse.features.compiled_templates import (
    BETWEEN,
    BIN_BITS,
    DISTANCE_BINS,
    MODIFIER,
    MULTI,
    PAIR,
    Program,
)
from mtparse.features.word_hashes import Words, mix
from mtparse.inference.parts import head_at
from mtparse.runtime.jit import kernel

NO_BARE = 16
"""Set in the low bits of an event whose template has no bare form."""
MAX_COUNT = 3
"""Counts of what stands in between go up to this."""

_DIRECTION_BINS = len(DISTANCE_BINS)
_BIN_OF = np.searchsorted(DISTANCE_BINS, np.arange(DISTANCE_BINS[-1] + 1), side="right")
_CLEAR = np.uint64(2**64 - 2**BIN_BITS)
_SEED_COUNT = np.uint64(0x27D4EB2F165667C5)
_ZERO = np.uint64(0)
_NO_BARE = np.uint64(NO_BARE)


@kernel
def distance_bin(head, modifier):
    """Bin of the arc's direction and distance: 1 .. BINS-1."""
    if head < modifier:
        return _BIN_OF[min(modifier - head, _BIN_OF.shape[0] - 1)]
    return _DIRECTION_BINS + _BIN_OF[min(head - modifier, _BIN_OF.shape[0] - 1)]


@kernel
def most_keys(program: Program, words: Words):
    """An upper bound on the number of base features of one arc of the sentence."""
    size = words.head_keys.shape[0]
    n_between = program.between_attribute.shape[0]
    distinct = np.zeros(n_between, np.int64)
    for b in range(n_between):
        for i in range(1, size):
            if words.representative[i, b] == i:
                distinct[b] += 1
    most_multi = 1
    for i in range(size):
        most_multi = max(most_multi, words.multi_start[i + 1] - words.multi_start[i])
    total = program.first[BETWEEN]
    for t in range(program.first[BETWEEN], program.first[MULTI]):
        total += distinct[program.extra[t]]
    for t in range(program.first[MULTI], program.first[MULTI + 1]):
        total += most_multi * (most_multi if program.extra[t] == 3 else 1)
    return total


@kernel
def word_keys(program: Program, words: Words, i, kind, keys):
    """Base keys of the templates of kind HEAD or MODIFIER for word i; returns how many."""
    first = program.first[kind]
    count = program.first[kind + 1] - first
    for k in range(count):
        keys[k] = (words.head_keys[i, first + k] + words.modifier_keys[i, first + k]) & _CLEAR
    return count


@kernel
def arc_keys(program: Program, words: Words, h, m, between, keys, template):
    """Base keys of the features that look at both words of an arc, and, if wanted, their templates.

    ``between`` is as from :func:`make_between`, ``template`` may be None. Where an attribute is absent the
    key is one that is never counted. Returns the number of keys.
    """
    distinct, n_distinct, counts = between
    head, modifier = words.head_keys, words.modifier_keys
    first = program.first[PAIR]
    found = program.first[BETWEEN] - first
    for k in range(found):
        keys[k] = (head[h, first + k] + modifier[m, first + k]) & _CLEAR
    if template is not None:
        for k in range(found):
            template[k] = first + k
    for t in range(program.first[BETWEEN], program.first[MULTI]):
        key = head[h, t] + modifier[m, t]
        b = program.extra[t]
        for k in range(n_distinct[b]):
            i = distinct[b, k]
            x = words.between[i, b]
            if x == _ZERO:
                continue
            if program.counted[t]:
                x = mix(x + _SEED_COUNT * np.uint64(min(counts[b, i], MAX_COUNT)))
            keys[found] = (key + x) & _CLEAR
            if template is not None:
                template[found] = t
            found += 1
    for t in range(program.first[MULTI], program.first[MULTI + 1]):
        key = head[h, t] + modifier[m, t]
        extra = program.extra[t]
        for i in range(
            words.multi_start[h], words.multi_start[h + 1] if extra & 1 else words.multi_start[h] + 1
        ):
            with_head = key + words.multi_head[i] if extra & 1 else key
            if not extra & 2:
                keys[found] = with_head & _CLEAR
                if template is not None:
                    template[found] = t
                found += 1
                continue
            for j in range(words.multi_start[m], words.multi_start[m + 1]):
                keys[found] = (with_head + words.multi_modifier[j]) & _CLEAR
                if template is not None:
                    template[found] = t
                found += 1
    return found


@kernel
def make_between(program: Program, words: Words):
    """What stands between two words, nothing at first: ``(distinct, n_distinct, counts)``.

    ``distinct[b, :n_distinct[b]]`` are the representatives of the values of between attribute b there,
    ``counts[b, i]`` how often representative i stands there.
    """
    size = words.head_keys.shape[0]
    n_between = program.between_attribute.shape[0]
    return (
        np.empty((n_between, size), np.int64),
        np.zeros(n_between, np.int64),
        np.zeros((n_between, size), np.int64),
    )


@kernel
def step_between(words: Words, h, m, between):
    """Update what stands between h and m, when the heads of m come in arc order."""
    distinct, n_distinct, counts = between
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
    n = words.head_keys.shape[0] - 1
    between = make_between(program, words)
    most = most_keys(program, words)
    keys = np.empty(most, np.uint64)
    template = np.empty(most, np.int64)
    n_word = program.first[MODIFIER + 1]
    total = 0
    for m in range(1, n + 1):
        for k in range(n):
            h = head_at(m, k)
            step_between(words, h, m, between)
            if heads[0] == -1 and heads[m] != h:
                continue
            if total + most > out.shape[0]:
                return -1
            form = np.uint64(distance_bin(h, m))
            for t in range(n_word):
                keys[t] = (words.head_keys[h, t] + words.modifier_keys[m, t]) & _CLEAR
                template[t] = t
            found = n_word + arc_keys(program, words, h, m, between, keys[n_word:], template[n_word:])
            for j in range(found):
                t = template[j]
                if words.head_keys[h, t] == _ZERO or words.modifier_keys[m, t] == _ZERO:
                    continue
                out[total] = keys[j] | form | (_ZERO if program.bare[t] else _NO_BARE)
                total += 1
    return total
