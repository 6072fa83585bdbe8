"""The tables of features against dictionaries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtparse.errors import MtparseError
from mtparse.features.compiled_templates import BINS, form_counts
from mtparse.features.hash_table import (
    count_bits,
    find_known,
    mask_at,
    number_table,
    weight_table,
    weights_at,
)

pytestmark = pytest.mark.nojit

_keys = st.integers(0, 2**59 - 1).map(lambda x: x << 5)


def known(table, keys):
    """Key to slot, for those that are found one by one; and the slots of all of them at once."""
    found = {}
    for key in keys:
        places = np.empty(1, np.int64)
        if find_known(table, np.array([key], np.uint64), 1, places):
            found[key] = int(places[0])
    places = np.empty(len(keys), np.int64)
    count = find_known(table, np.array(keys, np.uint64), len(keys), places)
    return found, places[:count].tolist()


@given(st.dictionaries(_keys, st.integers(1, 2**BINS - 1), max_size=40), st.lists(_keys, max_size=20))
@settings(max_examples=60, deadline=None)
def test_what_was_put_in_is_found_and_nothing_else(masks, others):
    keys = np.array(list(masks), np.uint64)
    numbers = np.arange(len(keys)) * 10
    table = number_table(keys, np.array(list(masks.values()), np.uint16), numbers)

    found, places = known(table, [*masks, *others])

    assert set(found) == set(masks)
    assert places == [found[key] for key in [*masks, *others] if key in masks]
    for key, number in zip(masks, numbers, strict=True):
        assert mask_at(table, found[key]) == masks[key]
        assert table.slots[found[key], 1] == number


@given(st.sampled_from(range(5, 64)), st.integers(0, 2**40))
@settings(max_examples=100, deadline=None)
def test_keys_that_differ_in_one_bit_are_told_apart(bit, seed):
    random = np.random.default_rng(seed)
    keys = np.unique(random.integers(0, 2**59, 30, dtype=np.uint64) << np.uint64(5))
    table = number_table(keys, np.full(len(keys), 1, np.uint16), np.arange(len(keys)))
    near = [int(key) ^ 1 << bit for key in keys]
    found, _ = known(table, near)
    assert set(found) == set(near) & set(keys.tolist())


def test_many_keys_in_a_full_table():
    random = np.random.default_rng(1)
    keys = np.unique(random.integers(0, 2**59, 5000, dtype=np.uint64) << np.uint64(5))
    table = number_table(keys, np.full(len(keys), 1, np.uint16), np.arange(len(keys)))
    found, places = known(table, keys.tolist())
    assert [int(table.slots[found[key], 1]) for key in keys.tolist()] == list(range(len(keys)))
    assert len(set(places)) == len(keys)


def test_keys_that_crowd_get_a_larger_table_or_are_refused():
    crowd = np.arange(1, 100, dtype=np.uint64) << np.uint64(5)
    masks = np.ones(len(crowd), np.uint16)
    table = number_table(crowd, masks, np.arange(len(crowd)))
    assert set(known(table, crowd.tolist())[0]) == set(crowd.tolist())
    assert not known(table, (crowd + np.uint64(2**54)).tolist())[0]
    crowd = np.arange(1, 6000, dtype=np.uint64) << np.uint64(5)
    with pytest.raises(MtparseError, match="the 5999 keys of the features are no hashes"):
        number_table(crowd, np.ones(len(crowd), np.uint16), np.arange(len(crowd)))


def test_the_table_is_a_ring():
    """Keys whose slot is the last one, and taken, stand at the beginning."""
    keys = np.array([2**64 - 32, 2**64 - 64, 2**64 - 96, 32], np.uint64)
    table = number_table(keys, np.ones(4, np.uint16), np.arange(4))
    size = len(table.slots)
    assert size == len(number_table(keys[3:], np.ones(1, np.uint16), np.arange(1)).slots)
    assert known(table, keys.tolist())[1] == [size - 1, 0, 1, 2]


def test_alike_keys_are_refused_before_they_take_quadratic_time():
    """Forty billion steps otherwise, in each size of the table."""
    crowd = np.arange(1, 300_000, dtype=np.uint64) << np.uint64(5)
    with pytest.raises(MtparseError, match="are no hashes"):
        number_table(crowd, np.ones(len(crowd), np.uint16), np.arange(len(crowd)))


def test_weights_follow_the_masks():
    random = np.random.default_rng(2)
    keys = np.unique(random.integers(0, 2**59, 300, dtype=np.uint64) << np.uint64(5))
    masks = (random.integers(1, 2**BINS, len(keys)) & random.integers(1, 2**BINS, len(keys))).astype(
        np.uint16
    )
    masks[masks == 0] = 1 << (BINS - 1)
    weights = random.normal(size=form_counts(masks).sum())
    table = weight_table(keys, masks, weights)
    at = 0
    found, _ = known(table, keys.tolist())
    for key, mask in zip(keys.tolist(), masks.tolist(), strict=True):
        count = mask.bit_count()
        begin = weights_at(table, found[key], mask_at(table, found[key]))
        expected = weights[at : at + count].astype(np.float32)
        np.testing.assert_array_equal(table.weights[begin : begin + count], expected)
        at += count
    assert table.weights[-1] == 0


def test_weights_beyond_float32_are_refused():
    with pytest.raises(MtparseError, match="beyond the range"):
        weight_table(np.array([32], np.uint64), np.array([1], np.uint16), np.array([1e39]))


def test_count_bits():
    for x in [0, 1, 2, 0x7FFF, 0x5A5A & 0x7FFF, 1 << 14, 2**64 - 1, 2**63]:
        assert count_bits(np.uint64(x)) == x.bit_count()
