"""Best trees: Chu-Liu-Edmonds and Eisner against enumeration and plain re-implementations."""

import numpy as np
import pytest
from helpers.oracles import (
    best_projective_score,
    enumerate_family,
    is_projective,
    is_tree,
    naive_best_tree,
    tree_score,
)

from mtparse.inference.dispatch import BEST_TREE
from mtparse.inference.family import FAMILIES, TreeFamily

FOUR = pytest.mark.parametrize("family", FAMILIES.values(), ids=str)
ROOT = pytest.mark.parametrize("root", ["single", "multi"])


def best(family, scores):
    """Score and heads from the kernel; the score is that of the heads."""
    heads = np.empty(len(scores), np.int64)
    score = BEST_TREE[family.projective](scores, family.single, heads)
    if score > -np.inf:
        assert heads[0] == -1
        assert score == pytest.approx(tree_score(scores, heads), rel=1e-14, abs=1e-12)
        assert is_tree(heads)
        assert not family.projective or is_projective(heads)
        assert not family.single or (heads == 0).sum() == 1
    return score, heads


# All legal scores are negative, and cycles must be contracted three times. Column 0 and the diagonal hold
# what a careless implementation would love.
NESTED = np.array(
    [
        [50, -31, -7, -5, -37, -37],
        [50, 50, -9, -3, -9, -33],
        [50, -38, 50, -33, -23, -1],
        [50, -19, -32, 50, -14, -35],
        [50, -20, -11, -4, 50, -37],
        [50, -38, -2, -19, -16, 50],
    ],
    dtype=float,
)


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("trees", "root", "expected", "score"),
    [
        ("nonprojective", "multi", [-1, 3, 0, 0, 1, 2], -41),
        ("nonprojective", "single", [-1, 3, 1, 0, 1, 2], -43),
        ("projective", "single", [-1, 0, 1, 4, 5, 2], -61),
        ("projective", "multi", [-1, 0, 0, 4, 5, 2], -59),
    ],
)
def test_nested_cycles_of_negative_scores(trees, root, expected, score):
    """Four families, four different optima; junk in ignored cells is junk."""
    family = TreeFamily(trees, root)
    assert best(family, NESTED)[0] == score
    np.testing.assert_array_equal(family.best_tree(NESTED), expected)
    clean = NESTED.copy()
    clean[:, 0] = np.nan
    np.fill_diagonal(clean, -np.inf)
    np.testing.assert_array_equal(family.best_tree(clean), expected)


@pytest.mark.nojit
@FOUR
def test_enumeration_with_ties_and_forbidden_arcs(family):
    """Small integers: many equal trees, many forbidden patterns, always an optimal one or none."""
    rng = np.random.default_rng(21)
    trees = 0
    for _ in range(150):
        n = int(rng.integers(1, 6))
        scores = rng.integers(-2, 3, size=(n + 1, n + 1)).astype(float)
        scores[rng.random(scores.shape) < rng.choice([0.0, 0.2, 0.5])] = -np.inf
        _, _, expected, best_trees = enumerate_family(scores, family.projective, family.single)
        score, heads = best(family, scores)
        assert score == expected
        if expected > -np.inf:
            trees += 1
            assert tuple(heads) in best_trees
    assert 60 < trees < 150


@pytest.mark.nojit
@FOUR
def test_enumeration_with_real_scores(family):
    """Unique optima at mixed scales."""
    rng = np.random.default_rng(22)
    for scale in (1e-3, 1.0, 1e3, 1e6):
        for n in (2, 3, 4, 5):
            scores = rng.normal(size=(n + 1, n + 1)) * scale
            _, _, _, best_trees = enumerate_family(scores / scale, family.projective, family.single)
            assert {tuple(best(family, scores)[1])} == best_trees


@pytest.mark.nojit
@ROOT
def test_chu_liu_edmonds_against_recursion(root):
    """Up to forty words, integers or real numbers, some arcs forbidden."""
    family = TreeFamily("nonprojective", root)
    rng = np.random.default_rng(23)
    for n in (7, 9, 12, 15):
        for forbidden in (0.0, 0.5, 0.8):
            scores = rng.normal(size=(n + 1, n + 1)) * 10
            if forbidden == 0.5:
                scores = np.round(scores)
            scores[rng.random(scores.shape) < forbidden] = -np.inf
            expected, _ = naive_best_tree(scores, family.single)
            assert best(family, scores)[0] == pytest.approx(expected, abs=1e-11)


def test_chu_liu_edmonds_forty_words():
    """Where contraction nests deeply: words prefer their neighbours, the root is far below."""
    rng = np.random.default_rng(24)
    family = TreeFamily("nonprojective", "multi")
    for n in (25, 40):
        distance = np.abs(np.subtract.outer(np.arange(n + 1), np.arange(n + 1)))
        scores = rng.normal(size=(n + 1, n + 1)) - 3.0 * distance
        scores[0] -= 500.0
        expected, _ = naive_best_tree(scores, False)
        assert best(family, scores)[0] == pytest.approx(expected, abs=1e-9)
        # The root is so far below that one root arc is best in any case.
        single = best(TreeFamily("nonprojective", "single"), scores)[0]
        assert single == pytest.approx(expected, abs=1e-9)


@pytest.mark.nojit
@ROOT
def test_eisner_against_the_textbook_chart(root):
    """Up to twenty words, with ties and forbidden arcs."""
    family = TreeFamily("projective", root)
    rng = np.random.default_rng(25)
    trees = 0
    for n in (6, 8, 11, 20):
        for forbidden in (0.0, 0.3, 0.5):
            scores = np.round(rng.normal(size=(n + 1, n + 1)) * 4)
            scores[rng.random(scores.shape) < forbidden] = -np.inf
            expected = best_projective_score(scores, family.single)
            trees += expected > -np.inf
            assert best(family, scores)[0] == expected
    assert trees >= 8


@pytest.mark.nojit
def test_one_root_is_exact_not_penalised():
    """A penalty on root arcs of any fixed size would be too small here, or cost the other digits."""
    scores = np.full((4, 4), -1e11)
    scores[0, 1:] = [1e11, 2e11, 3e11]
    scores[1, 2] = -1e11 + 1
    scores[3, 1] = -1e11 + 0.25
    scores[2, 1] = -1e11 + 0.125
    np.testing.assert_array_equal(TreeFamily("nonprojective", "multi").best_tree(scores), [-1, 0, 0, 0])
    np.testing.assert_array_equal(TreeFamily("nonprojective", "single").best_tree(scores), [-1, 3, 1, 0])


@pytest.mark.nojit
def test_ties_go_to_the_lowest_head():
    """At equal scores: what the documented rules come to."""
    zeros = np.zeros((5, 5))
    np.testing.assert_array_equal(TreeFamily("nonprojective", "multi").best_tree(zeros), [-1, 0, 0, 0, 0])
    np.testing.assert_array_equal(TreeFamily("nonprojective", "single").best_tree(zeros), [-1, 0, 1, 1, 1])
    np.testing.assert_array_equal(TreeFamily("projective", "single").best_tree(zeros), [-1, 0, 1, 1, 1])
    np.testing.assert_array_equal(TreeFamily("projective", "multi").best_tree(zeros), [-1, 0, 0, 0, 0])


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("root", "good", "expected"),
    [
        # Words 1 and 2 prefer each other; into that cycle the root and word 3 are equally good.
        ("multi", {(0, 3): 5, (0, 1): 1, (3, 1): 1}, [-1, 0, 1, 0]),
        ("multi", {(0, 3): 5, (0, 2): 1, (3, 1): 1}, [-1, 2, 0, 0]),
        ("multi", {(0, 3): 5, (0, 1): 0.5, (3, 1): 1}, [-1, 3, 1, 0]),
        # Words 3 and 4 are equally good; the root comes last where it must be one word's head.
        ("multi", {(0, 4): 5, (4, 3): 2, (4, 1): 1, (3, 1): 1}, [-1, 3, 1, 4, 0]),
        ("single", {(0, 3): 5, (3, 4): 5, (0, 1): 1, (4, 1): 1, (3, 2): 1}, [-1, 2, 3, 0, 3]),
        ("single", {(0, 4): 5, (4, 3): 5, (0, 2): 1, (4, 2): 1, (3, 2): 1}, [-1, 2, 3, 4, 0]),
        # That cycle and word 4 make another, which the root and word 3 enter equally well.
        ("multi", {(0, 3): 5, (2, 4): 2, (4, 1): 2, (0, 4): 0, (3, 4): 0}, [-1, 4, 1, 0, 0]),
    ],
)
def test_ties_into_a_cycle_go_to_the_lowest_head(root, good, expected):
    n = len(expected) - 1
    scores = np.full((n + 1, n + 1), -9.0)
    for arc, score in {(1, 2): 3, (2, 1): 3, **good}.items():
        scores[arc] = score
    np.testing.assert_array_equal(TreeFamily("nonprojective", root).best_tree(scores), expected)


@FOUR
def test_many_identical_words(family):
    """1200 words that nothing tells apart: one long chain of ties, and neither recursion nor a stall."""
    n = 1200
    score, heads = best(family, np.full((n + 1, n + 1), -0.5))
    assert score == -0.5 * n
    assert len(heads) == n + 1


@FOUR
def test_long_chains(family):
    """A right-branching chain of 1200 words, whose links are found from the far end."""
    n = 1200
    scores = np.random.default_rng(26).normal(size=(n + 1, n + 1))
    scores[np.arange(n), np.arange(1, n + 1)] += 100.0
    np.testing.assert_array_equal(best(family, scores)[1], np.arange(n + 1) - 1)


@ROOT
def test_nested_cycles_at_length(root):
    """Each contracted cycle's best neighbour closes another cycle, 400 times over."""
    n = 400
    scores = np.full((n + 1, n + 1), -1e4)
    for m in range(2, n + 1):
        scores[m - 1, m] = 0.0
        scores[m, 1] = -float(m)
    scores[0, 1] = -1e6
    score, heads = best(TreeFamily("nonprojective", root), scores)
    # The chain 1 -> 2 -> ... is cut before word 2, whose arc back to word 1 is the cheapest.
    expected = np.arange(n + 1) - 1
    expected[1:3] = [2, 0]
    np.testing.assert_array_equal(heads, expected)
    assert score == -1e4 - 2
