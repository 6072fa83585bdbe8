"""Head arrays against plain definitions, on every head array of a few words."""

import io
from itertools import combinations, product

import numpy as np
import pytest

from mtparse.errors import ConllError
from mtparse.treebank.conll import read_conll
from mtparse.treebank.projectivize import projectivize
from mtparse.treebank.trees import (
    are_trees,
    check_tree,
    crossing_arcs,
    find_cycle,
    head_array,
    head_arrays,
    is_projective,
    is_single_root,
    is_tree,
    nonprojective_arcs,
    roots,
    word_heads,
)

pytestmark = pytest.mark.nojit


def all_head_arrays(size):
    return [(-1, *heads) for heads in product(range(size + 1), repeat=size)]


def ancestors(heads, word):
    """All positions above a word, by walking; None if the walk does not end at the root symbol."""
    path = []
    while word != 0:
        word = heads[word]
        if word in path:
            return None
        path.append(word)
    return path


def trees(size):
    arrays = all_head_arrays(size)
    return [h for h in arrays if all(ancestors(h, word) is not None for word in range(1, size + 1))]


def nonprojective_by_definition(heads):
    """Arcs over a word that does not descend from the head."""
    words = range(1, len(heads))
    return [
        word
        for word in words
        if any(
            heads[word] not in ancestors(heads, between)
            for between in range(min(word, heads[word]) + 1, max(word, heads[word]))
        )
    ]


def crossing_by_definition(heads):
    spans = {word: sorted((word, heads[word])) for word in range(1, len(heads))}
    crossing = set()
    for one, other in combinations(spans, 2):
        (a, b), (c, d) = sorted((spans[one], spans[other]))
        if a < c < b < d:
            crossing |= {one, other}
    return sorted(crossing)


COUNTS = [(1, 1, 1, 1), (2, 3, 2, 3), (3, 16, 9, 12), (4, 125, 64, 55), (5, 1296, 625, 273)]


@pytest.mark.parametrize(("size", "count", "single", "projective"), COUNTS)
def test_every_head_array(size, count, single, projective):
    """Closed counts, and for each array the definitions: (n+1)^(n-1) trees, n^(n-1) with one root."""
    found = []
    for heads in all_head_arrays(size):
        cycle = find_cycle(heads)
        tree = all(ancestors(heads, word) is not None for word in range(1, size + 1))
        assert is_tree(heads) == (not cycle) == tree
        assert all(heads[word] == after for word, after in zip(cycle, cycle[1:] + cycle[:1], strict=True))
        assert crossing_arcs(heads) == crossing_by_definition(heads)
        if tree:
            found.append(heads)
            assert nonprojective_arcs(heads) == nonprojective_by_definition(heads)
            assert is_projective(heads) == (nonprojective_arcs(heads) == [])
        else:
            assert not is_projective(heads)
    assert len(found) == count == (size + 1) ** (size - 1)
    assert sum(map(is_single_root, found)) == single == size ** (size - 1)
    assert sum(map(is_projective, found)) == projective


def test_long_random_trees():
    """The ranges of long sentences, where definitions by walking are still affordable."""
    rng = np.random.default_rng(7)
    for size in (2, 17, 40, 63, 64, 65):
        order = rng.permutation(size) + 1
        heads = [-1] + [0] * size
        for place, word in enumerate(order):
            heads[word] = int(rng.choice([0, *order[:place]]))
        assert nonprojective_arcs(heads) == nonprojective_by_definition(heads)
        assert crossing_arcs(np.array(heads)) == crossing_by_definition(heads)


def test_roots_and_arrays():
    heads = head_array([2, 0, 0])
    assert heads.tolist() == [-1, 2, 0, 0]
    assert roots(heads) == [2, 3]
    assert is_tree(heads)
    assert not is_single_root(heads)
    assert is_tree([-1])
    assert not is_tree([-1, 2])
    assert not is_tree([-1, -1])
    assert find_cycle([-1, 0, 4, 2, 3, 2]) == [2, 4, 3]
    assert crossing_arcs([-1]) == nonprojective_arcs([-1]) == []


@pytest.mark.parametrize("function", [roots, find_cycle, is_tree, crossing_arcs, is_projective, projectivize])
def test_missing_root_entry(function):
    """The heads of the words alone are refused, not shifted by one."""
    for heads in ([2, 0], []):
        with pytest.raises(ValueError, match="begins with -1"):
            function(heads)


MASKED = np.ma.array([2, 0], mask=[False, True])


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ([1.9, 0.7], TypeError, "head 1.9: a head is an integer"),
        (np.array([2.0, 0.0]), TypeError, r"head .*2.0.*: a head is an integer"),
        ([2, 1j], TypeError, "head 1j: a head is an integer"),
        ([2, None], TypeError, "head None: a head is an integer"),
        (MASKED, TypeError, "head masked: a head is an integer"),
        ([[2, 0]], TypeError, r"head \[2, 0\]: a head is an integer"),
        (["x" * 99], TypeError, "head 'x{39}...: a head is an integer"),
        (2, TypeError, "heads must be a sequence of integers, not 2"),
        ("20", TypeError, "heads must be a sequence of integers, not '20'"),
        (np.array(2), ValueError, r"heads have shape \(\); one dimension is needed"),
        (np.array([[2, 0]]), ValueError, r"heads have shape \(1, 2\); one dimension is needed"),
    ],
)
def test_heads_are_integers(words, error, message):
    """Nothing is rounded, cut off or taken from under a mask, whatever takes heads."""
    with pytest.raises(error, match=message):
        head_array(words)
    if isinstance(words, list):
        words = [-1, *words]
    elif isinstance(words, np.ndarray) and words.ndim:
        words = np.ma.concatenate([words[:1] * 0 - 1, words]) if words is MASKED else words
    for function in (word_heads, projectivize, is_tree, roots, crossing_arcs):
        with pytest.raises(error, match="head"):
            function(words)


def test_integers_of_any_type():
    for dtype in ("int8", "uint16", "int64", "uint64", object):
        found = head_array(np.array([2, 0], dtype))
        assert (found.tolist(), found.dtype) == ([-1, 2, 0], np.int64)
    assert head_array(np.ma.array([2, 0])).tolist() == head_array(iter([2, 0])).tolist() == [-1, 2, 0]
    assert word_heads(np.array([-1, 2, 0], np.int8)) == [2, 0]
    assert projectivize(np.array([-1, 2, 0], np.int32)).tolist() == [-1, 2, 0]
    assert head_array([]).tolist() == [-1]


@pytest.mark.parametrize("head", [2**63, -(2**63) - 1, 10**400, np.uint64(2**64 - 1)])
def test_heads_fit_in_64_bits(head):
    with pytest.raises(ValueError, match="it does not fit in 64 bits; a head is a word's number"):
        head_array([0, head])


def test_a_head_array_is_not_made_of_one():
    """Of a sentence it is clear that they are the heads of its words: the first may have none."""
    with pytest.raises(ValueError, match="begin with -1, the root symbol's entry: they are a head array al"):
        head_array([-1, 2, 0])
    (sentence,) = read_conll(io.StringIO("".join(f"{i}\tw" + "\t_" * 8 + "\n" for i in (1, 2))))
    assert head_array(sentence.heads).tolist() == [-1, -1, -1]


@pytest.mark.parametrize("heads", [[-1, 3, 0], [-1, 0, -1], [-1, 10**20]])
def test_arcs_from_nowhere(heads):
    with pytest.raises(ValueError, match=r"head .*: the words are 1 to \d, the root symbol is 0"):
        crossing_arcs(heads)
    assert not is_tree(heads)


def test_cycles_have_no_descendants():
    for function in (nonprojective_arcs, projectivize):
        with pytest.raises(ValueError, match="not form a tree"):
            function([-1, 2, 1])


def test_deep_and_wide():
    """A chain and a star of many words need neither recursion nor quadratic time."""
    size = 50_000
    assert is_projective([-1, *range(size)])
    assert is_projective([-1, *range(2, size + 1), 0])
    assert nonprojective_arcs([-1] + [size] * (size - 1) + [0]) == []
    assert find_cycle([-1, *range(2, size + 1), 1]) == list(range(1, size + 1))


class TestProjectivize:
    @pytest.mark.parametrize("root", ["multi", "single"])
    @pytest.mark.parametrize("size", [1, 2, 3, 4])
    def test_nearest_of_all(self, root, size):
        """No projective tree of the family shares more arcs."""
        every = trees(size)
        family = [h for h in every if is_projective(h) and (root == "multi" or is_single_root(h))]
        for heads in every:
            result = projectivize(heads, root)
            assert tuple(result) in family
            shared = [sum(map(int.__eq__, heads[1:], other[1:])) for other in family]
            assert sum(result[1:] == heads[1:]) == max(shared)
            if heads in family:
                assert tuple(result) == heads

    def test_one_arc_is_lost(self):
        heads = [-1, 2, 0, 5, 2, 2]
        result = projectivize(np.array(heads), "single")
        assert is_projective(result)
        assert sum(result[1:] == np.array(heads[1:])) == 4


def test_projective_input_comes_back_as_a_copy():
    heads = head_array([2, 0, 2])
    result = projectivize(heads, "single")
    assert result.tolist() == heads.tolist()
    assert result is not heads
    with pytest.raises(ValueError, match="root is 'both'"):
        projectivize(heads, "both")


class TestCheckTree:
    @staticmethod
    def fault(*heads, **options):
        lines = [f"{i}\tw\t_\tN\tN\t_\t{head}\tx\t_\t_\n" for i, head in enumerate(heads, 1)]
        (sentence,) = read_conll(io.BytesIO(("# c\n" + "".join(lines)).encode()))
        try:
            check_tree(sentence, "a.conll", **options)
        except ConllError as error:
            return str(error)
        return None

    def test_messages(self):
        assert self.fault(2, 0, 0) is None
        assert self.fault(0, 1, root="single") is None
        assert self.fault(2, 3, 1, 2) == (
            "a.conll:2: sentence 1: the heads form a cycle, 1 -> 2 -> 3 -> 1 (lines 2-4), "
            "and no root: no HEAD is 0"
        )
        assert self.fault(0, 3, 2) == (
            "a.conll:3: sentence 1: the heads form a cycle, 2 -> 3 -> 2 (lines 3-4)"
        )
        assert self.fault(0, "_") == (
            "a.conll:3: sentence 1: HEAD missing (_) for word 2; gold heads are needed here"
        )
        assert self.fault(0, 0, root="single") == (
            "a.conll:3: sentence 1: 2 words have HEAD 0 (1, 2), only one may; set root: multi"
        )
        assert "1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> ... -> 1" in self.fault(*range(2, 21), 1)


def test_many_trees_are_checked_as_one_by_one():
    arrays = [np.array(heads) for size in range(5) for heads in all_head_arrays(size)]
    good, bad = ([h for h in arrays if is_tree(h) is wanted] for wanted in (True, False))
    assert are_trees([])
    assert are_trees(good)
    for heads in bad:
        assert not are_trees([good[-1], heads, good[0]])
    outside = [np.array(heads) for heads in ((-1, 2), (-1, -1), (-1, 0, 7), (-1, 0, -2))]
    assert not any(are_trees([good[-1], heads, good[-1]]) for heads in outside)


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 500])
def test_the_longest_path_and_the_longest_cycle(size):
    path = np.arange(-1, size)
    assert are_trees([path, path])
    path[1] = size
    assert not are_trees([np.arange(-1, size), path])


def test_head_arrays_are_those_of_each_sentence():
    sentences = [[0, 1], [], [2, 0, 2], [0]]
    made = head_arrays(sentences)
    assert [h.tolist() for h in made] == [head_array(s).tolist() for s in sentences]
    assert {h.dtype for h in made} == {np.dtype(np.int64)}
    assert head_arrays([]) == []
