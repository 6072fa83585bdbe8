"""Every fault of a sentence's heads, and heads that are read without a check."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtparse.treebank.conll import read_conll
from mtparse.treebank.head_column import head_value
from mtparse.treebank.trees import cycles, head_array, head_faults, is_tree

pytestmark = pytest.mark.nojit


def sentence(*heads, **options):
    rows = "".join(f"{i}\tw\t_\tN\tN\t_\t{head}\tx\t_\t_\n" for i, head in enumerate(heads, 1))
    (one,) = read_conll(io.BytesIO(f"# c\n{rows}".encode()), **{"heads": "unchecked", **options})
    return one


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0), ("7", 7), ("007", 7), ("-3", -3), ("-0", -1), ("_", -1), ("x", -1), ("1.0", -1), ("²", -1),
        ("٣", -1), ("+1", -1), ("", -1), ("-", -1), (" 1", -1), ("1\n", -1),
        ("9" * 18, 10**18 - 1), ("9" * 5000, 10**18), ("-" + "9" * 5000, -(10**18)), ("0" * 5000 + "8", 8),
    ],
)  # fmt: skip
def test_value_of_a_head(text, value):
    assert head_value(text) == value


def test_unchecked_heads_are_kept_as_they_stand():
    """Integers as they are, whatever their range; -1 for all else. They fit in the arrays of trees."""
    read = sentence("_", 2, "x", 99, -7, "9" * 30)
    assert read.heads == [-1, 2, -1, 99, -7, 10**18]
    assert head_array(read.heads).dtype == np.int64
    assert sentence(2, 0, 9).heads == [2, 0, 9]


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        ((0,), []),
        ((2, 0, 0), []),
        ((2, 0, "_"), [(4, "HEAD missing (_) for word 3; gold heads are needed here")]),
        (
            (1, 9, -1, "x"),
            [
                (2, "word 1 is its own HEAD"),
                (3, "HEAD 9 of word 2 is out of range; the sentence has 4 words"),
                (4, "HEAD '-1' of word 3 is negative; 0 is the root, _ is no head"),
                (5, "HEAD 'x' of word 4 is not an integer; 0 is the root, _ is no head"),
            ],
        ),
        (
            (2, 1, 4, 3, 0, 4),
            [
                (2, "the heads form a cycle, 1 -> 2 -> 1 (lines 2-3)"),
                (4, "the heads form a cycle, 3 -> 4 -> 3 (lines 4-5)"),
            ],
        ),
        (
            (2, 1, 4, 3),
            [
                (2, "the heads form a cycle, 1 -> 2 -> 1 (lines 2-3), and no root: no HEAD is 0"),
                (4, "the heads form a cycle, 3 -> 4 -> 3 (lines 4-5)"),
            ],
        ),
        (
            (2, 1, 8),  # 8 may have been meant as 0
            [
                (4, "HEAD 8 of word 3 is out of range; the sentence has 3 words"),
                (2, "the heads form a cycle, 1 -> 2 -> 1 (lines 2-3)"),
            ],
        ),
        (
            ("0", "01", "03"),
            [
                (3, "HEAD '01' of word 2 begins with a zero; write 1"),
                (4, "HEAD '03' of word 3 begins with a zero; write 3"),
            ],
        ),
    ],
)
def test_all_faults_of_a_sentence(heads, expected):
    assert list(head_faults(sentence(*heads))) == expected


def test_what_is_a_fault_can_be_said():
    assert list(head_faults(sentence("_", 0, "_"), required=False)) == []
    (fault,) = head_faults(sentence(0, 0), root="single")
    assert fault == (3, "2 words have HEAD 0 (1, 2), only one may; set root: multi")


@given(
    st.lists(st.sampled_from(["0", "1", "2", "3", "4", "02", "_", "-1", "-0", "x"]), min_size=1, max_size=4)
)
def test_no_fault_just_when_a_tree(heads):
    read = sentence(*heads)
    plain = "02" not in heads  # the value is right, but the reader refuses how it is written
    assert (is_tree([-1, *read.heads]) and plain) == (not list(head_faults(read)))


@given(st.lists(st.integers(-2, 9), max_size=8))
def test_every_cycle_is_found_once(words):
    """Cyclic words are those that come back to themselves."""
    heads = [-1, *words]
    cyclic = set()
    for start in range(1, len(heads)):
        word = start
        for _ in heads:
            word = heads[word] if 0 < word < len(heads) else 0
            if word == start:
                cyclic.add(start)
    found = list(cycles(heads))
    assert sorted(word for cycle in found for word in cycle) == sorted(cyclic)
    for cycle in found:
        assert cycle[0] == min(cycle)
        assert [heads[word] for word in cycle] == [*cycle[1:], cycle[0]]
