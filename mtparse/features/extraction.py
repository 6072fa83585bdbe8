"""Compiled loops that find the known features of a sentence's arcs, as numbers or as sums of weights.

Features that look at one word of an arc only are looked up once a word, not once an arc: all arcs of a word
as head (or as modifier) that have the same direction and distance share them. What is known of a word in a
role is a *word row*: features, each with its form. An arc's features are those of its own row, and those of
its head's and its modifier's word rows whose form is 0 (bare) or the arc's.
"""

from __future__ import annotations

import numpy as np

from mtparse.features.compiled_templates import BINS, HEAD, MODIFIER, PAIR, Program
from mtparse.features.feature_keys import (
    arc_keys,
    distance_bin,
    make_between,
    most_keys,
    step_between,
    word_keys,
)
from mtparse.features.hash_table import Table, count_bits, find_known, mask_at, weights_at
from mtparse.features.word_hashes import Words
from mtparse.inference.parts import head_at
from mtparse.runtime.jit import kernel

_ONE = np.uint64(1)


@kernel
def word_row(kind, i, n):
    """Number of a word row in its sentence: heads 0..n, then modifiers 1..n."""
    return i if kind == HEAD else n + i


@kernel
def occurring_forms(kind, i, n):
    """Mask of the forms that the arcs of word i in a role have, the bare one (bit 0) included."""
    mask = 0
    for j in range(1 if kind == HEAD else 0, n + 1):
        if j != i:
            mask |= 1 << (distance_bin(i, j) if kind == HEAD else distance_bin(j, i))
    return mask | 1 if mask else 0


@kernel
def word_rows(program: Program, table: Table, words: Words, ids, forms, ends):
    """Numbers of the known features of all word rows of a sentence.

    Parameters
    ----------
    ids, forms
        int32 and uint8, of one length: overwritten with the features' numbers and forms.
    ends
        int64 (2n+1,): overwritten; row r's features end there in ``ids``.

    Returns
    -------
    The total length, or -1 where ``ids`` is too small.
    """
    n = words.head_keys.shape[0] - 1
    keys = np.empty(program.first[PAIR], np.uint64)
    places = np.empty(program.first[PAIR], np.int64)
    at = 0
    for kind in range(HEAD, MODIFIER + 1):
        for i in range(kind, n + 1):  # the root is no modifier
            count = find_known(table, keys, word_keys(program, words, i, kind, keys), places)
            if at + count * BINS > ids.shape[0]:
                return -1
            occurring = np.uint64(occurring_forms(kind, i, n))
            for j in range(count):
                mask = mask_at(table, places[j])
                number = table.slots[places[j], 1]
                for form in range(BINS):
                    bit = _ONE << np.uint64(form)
                    if mask & occurring & bit:
                        ids[at] = number
                        forms[at] = form
                        at += 1
                    if mask & bit:
                        number += _ONE
            ends[word_row(kind, i, n)] = at
    return at


@kernel
def arc_rows(program: Program, table: Table, words: Words, ids, ends):
    """Numbers of the known features that look at both words, of all arcs of a sentence.

    Parameters and results as of :func:`word_rows`, without forms; ``ends`` is int64 (n*n,).
    """
    n = words.head_keys.shape[0] - 1
    most = most_keys(program, words)
    keys = np.empty(most, np.uint64)
    places = np.empty(most, np.int64)
    between = make_between(program, words)
    at = 0
    arc = 0
    for m in range(1, n + 1):
        for k in range(n):
            h = head_at(m, k)
            step_between(words, h, m, between)
            found = arc_keys(program, words, h, m, between, keys, None)
            if at + 2 * found > ids.shape[0]:
                return -1
            form = np.uint64(distance_bin(h, m))
            below = (_ONE << form) - _ONE
            for j in range(find_known(table, keys, found, places)):
                # Without branches: a number that is not to stay is written over by the next one.
                mask = mask_at(table, places[j])
                first = table.slots[places[j], 1]
                ids[at] = first
                at += np.int64(mask & _ONE)
                ids[at] = first + np.uint64(count_bits(mask & below))
                at += np.int64(mask >> form & _ONE)
            ends[arc] = at
            arc += 1
    return at


@kernel
def _add_word_scores(program: Program, table: Table, words: Words, kind, keys, places, by_form):
    """Fill ``by_form`` (n+1, BINS) with the summed weights of every word in a role, bare ones included."""
    for i in range(kind, by_form.shape[0]):
        count = find_known(table, keys, word_keys(program, words, i, kind, keys), places)
        by_form[i] = 0.0
        for j in range(count):
            mask = mask_at(table, places[j])
            at = weights_at(table, places[j], mask)
            for form in range(BINS):
                if mask >> np.uint64(form) & _ONE:
                    by_form[i, form] += table.weights[at]
                    at += 1
        for form in range(1, BINS):
            by_form[i, form] += by_form[i, 0]


@kernel
def sentence_scores(program: Program, table: Table, words: Words):
    """Scores (n+1, n+1) of all arcs of a sentence, without storing its rows: memory O(n²).

    ``table`` is as from :func:`mtparse.features.hash_table.weight_table`. Column 0 and the diagonal are 0.
    """
    n = words.head_keys.shape[0] - 1
    scores = np.zeros((n + 1, n + 1))
    most = most_keys(program, words)
    keys = np.empty(most, np.uint64)
    places = np.empty(most, np.int64)
    between = make_between(program, words)
    by_head = np.empty((n + 1, BINS))
    by_modifier = np.empty((n + 1, BINS))
    _add_word_scores(program, table, words, HEAD, keys, places, by_head)
    _add_word_scores(program, table, words, MODIFIER, keys, places, by_modifier)
    zero = table.weights.shape[0] - 1
    for m in range(1, n + 1):
        for k in range(n):
            h = head_at(m, k)
            step_between(words, h, m, between)
            found = arc_keys(program, words, h, m, between, keys, None)
            bin_ = distance_bin(h, m)
            form = np.uint64(bin_)
            below = (_ONE << form) - _ONE
            bare = by_head[h, bin_]
            binned = by_modifier[m, bin_]
            for j in range(find_known(table, keys, found, places)):
                # Without branches: the weight of a form that is not known is the 0 at the end.
                mask = mask_at(table, places[j])
                at = weights_at(table, places[j], mask)
                bare += table.weights[zero + (at - zero) * np.int64(mask & _ONE)]
                at += count_bits(mask & below)
                binned += table.weights[zero + (at - zero) * np.int64(mask >> form & _ONE)]
            scores[h, m] = bare + binned
    return scores
