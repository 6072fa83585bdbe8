"""Open-addressing tables from base keys to the numbers, or the weights, of their known forms.

A slot is 16 bytes, so that a look-up touches one cache line: 48 bits of the key and the mask of known
forms, then the number of the first form (in a training index) or the weights of one or two forms (in a
model; the weights of a base with more forms stand behind the slots, and bit 15 of its mask says so). The 5
low bits of a key are 0, and its 11 high bits are told by the place of the slot as long as no run of occupied
slots is longer than a 2048th of the table, which is made sure of: a look-up is exact.

Nearly half of all look-ups are of keys that the table does not hold. A filter of a few bits a base, small
enough for the cache, answers most of these before a slot is read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtparse.errors import MtparseError
from mtparse.features.compiled_templates import form_counts
from mtparse.runtime.jit import kernel

_INLINE = 2
"""Weights that fit into a slot."""
_FIFTEEN = np.uint64(15)
_BEHIND = np.uint64(1 << 15)
_LEAST_BITS = 16
_SIZES_TRIED = 3
"""Hashes fit in the first or the second size; a file of other keys must not take memory without bound."""
_FILTER_BITS = 2
"""The filter has 2^2 bits a slot, that is, 8 to 16 a base."""
_TAG_SHIFT = np.uint64(11)
_MASK_BITS = np.uint64(16)
_MASK = np.uint64(0xFFFF)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_SIX = np.uint64(6)
_LOW_SIX = np.uint64(63)


class Table(NamedTuple):
    """Arrays of a table, as kernels take them; capacity 2^b."""

    slots: np.ndarray
    """uint64 (2^b, 2): key << 11 | mask (0 is free), then the value."""
    shift: np.uint64
    """A key's slot is its top bits, key >> shift, or the next free one."""
    filter: np.ndarray
    """uint64: bit key >> filter_shift is set for all keys in the table."""
    filter_shift: np.uint64
    weights: np.ndarray
    """float32: of a model, the memory of ``slots``, the weights that do not fit there, and a 0 at the end."""


def number_table(keys: np.ndarray, masks: np.ndarray, numbers: np.ndarray) -> Table:
    """A table whose values are numbers.

    Parameters
    ----------
    keys
        uint64 (B,), distinct, the low 5 bits 0.
    masks
        uint16 (B,), none 0.
    numbers
        int64 (B,).
    """
    table, places = _place(keys, masks, 0)
    table.slots[places, 1] = numbers.astype(np.uint64)
    return table


def weight_table(keys: np.ndarray, masks: np.ndarray, weights: np.ndarray) -> Table:
    """A table whose values are the weights of the known forms, rounded to float32.

    Parameters
    ----------
    keys, masks
        As for :func:`number_table`.
    weights
        float64 (number of forms,): base after base.

    Raises
    ------
    MtparseError
        If a weight is beyond the range of float32.
    """
    if len(weights) and not np.abs(weights).max() <= np.finfo(np.float32).max:
        raise MtparseError("a weight is beyond the range of 32-bit numbers")
    sizes = form_counts(masks)
    table, places = _place(keys, masks, int(sizes[sizes > _INLINE].sum()))
    _put_weights(table, places, sizes, weights)
    return table


def _place(keys: np.ndarray, masks: np.ndarray, behind: int) -> tuple[Table, np.ndarray]:
    """A table of keys and masks with room for values; and the slot of each key."""
    least = max(_LEAST_BITS, int(2 * len(keys)).bit_length())
    for bits in range(least, least + _SIZES_TRIED):
        capacity, filter_bits = 1 << bits, bits + _FILTER_BITS
        memory = np.zeros(2 * capacity + behind // 2 + 1, np.uint64)
        table = Table(
            memory[: 2 * capacity].reshape(capacity, 2),
            np.uint64(64 - bits),
            np.zeros(1 << (filter_bits - 6), np.uint64),
            np.uint64(64 - filter_bits),
            memory.view(np.float32),
        )
        places = np.empty(len(keys), np.int64)
        if _insert(table, keys, masks, places) and _longest_run(table.slots) < capacity >> 11:
            return table, places
    raise MtparseError(f"the {len(keys)} keys of the features are no hashes: too many of them are alike")


@kernel
def _insert(table: Table, keys, masks, places):
    """Put all keys in; False where a run becomes too long, before alike keys take quadratic time."""
    slots = table.slots
    last = np.uint64(slots.shape[0] - 1)
    limit = slots.shape[0] >> 11
    for k in range(keys.shape[0]):
        key = keys[k]
        i = key >> table.shift
        passed = 0
        while slots[i, 0] != _ZERO:
            i = (i + _ONE) & last
            passed += 1
            if passed >= limit:
                return False
        slots[i, 0] = key << _TAG_SHIFT | np.uint64(masks[k])
        places[k] = i
        bit = key >> table.filter_shift
        table.filter[bit >> _SIX] |= _ONE << (bit & _LOW_SIX)
    return True


@kernel
def _put_weights(table: Table, places, sizes, weights):
    at = 0
    behind = 2 * table.slots.size
    for b in range(places.shape[0]):
        target = 4 * places[b] + 2
        if sizes[b] > _INLINE:
            table.slots[places[b], 0] |= _BEHIND
            table.slots[places[b], 1] = behind
            target = behind
            behind += sizes[b]
        for k in range(sizes[b]):
            table.weights[target + k] = weights[at + k]
        at += sizes[b]


@kernel
def _longest_run(slots):
    """Length of the longest run of occupied slots, the table being a ring."""
    longest = 0
    run = 0
    size = slots.shape[0]
    for i in range(2 * size):
        if slots[i & (size - 1), 0] == _ZERO:
            run = 0
            if i >= size:
                break
        else:
            run += 1
            longest = max(longest, run)
    return longest


@kernel
def find_known(table: Table, keys, count, places):
    """The slots of those of the first ``count`` keys that the table holds, in their order; how many.

    ``keys`` is overwritten. The filter is applied to all keys first, without a branch, so that the reads of
    the slots that remain overlap.
    """
    passed = 0
    for j in range(count):
        key = keys[j]
        keys[passed] = key
        bit = key >> table.filter_shift
        passed += np.int64(table.filter[bit >> _SIX] >> (bit & _LOW_SIX) & _ONE)
    slots = table.slots
    last = np.uint64(slots.shape[0] - 1)
    known = 0
    for j in range(passed):
        wanted = keys[j] << _TAG_SHIFT
        i = keys[j] >> table.shift
        while True:
            stored = slots[i, 0]
            if stored == _ZERO:
                break
            if (stored ^ wanted) >> _MASK_BITS == _ZERO:
                places[known] = i
                known += 1
                break
            i = (i + _ONE) & last
    return known


@kernel
def count_bits(x):
    """Number of ones in 64 bits (a form that compilers know)."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def mask_at(table: Table, place):
    """Mask of the known forms of a slot."""
    return table.slots[place, 0] & _MASK


@kernel
def weights_at(table: Table, place, mask):
    """Where the weights of a slot begin in ``table.weights``."""
    inline = 4 * place + 2
    return inline + (np.int64(table.slots[place, 1]) - inline) * np.int64(mask >> _FIFTEEN)
