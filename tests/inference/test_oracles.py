"""The oracles themselves: against closed counts, and against one another."""

from math import comb

import numpy as np
import pytest
from helpers.oracles import (
    all_trees,
    best_projective_score,
    enumerate_family,
    exact_matrix_tree,
    is_projective,
    mp_matrix_tree,
    mp_projective,
    naive_best_tree,
    numpy_matrix_tree,
    tree_score,
)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_counts_of_all_trees(n):
    """Cayley's formula, with its single-root twin, and the ternary-tree numbers of projective trees."""
    assert len(all_trees(n, False, False)) == (n + 1) ** (n - 1)
    assert len(all_trees(n, False, True)) == n ** (n - 1)
    assert len(all_trees(n, True, False)) == comb(3 * n, n) // (2 * n + 1)
    assert len(all_trees(n, True, False)) == [1, 3, 12, 55, 273, 1428][n - 1]
    assert len(all_trees(n, True, True)) == [1, 2, 7, 30, 143, 728][n - 1]


def test_projectivity_by_hand():
    """Crossing arcs among words, a root arc under an arc, and a chain."""
    assert not is_projective([-1, 3, 4, 0, 3])
    assert not is_projective([-1, 3, 0, 2])
    assert is_projective([-1, 2, 0, 2])


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_matrix_tree_oracles_agree_with_enumeration(n, single):
    """Both Laplacian routes give the enumerated numbers."""
    scores = np.random.default_rng(n).normal(size=(n + 1, n + 1)) * 2
    log_z, marginals, _, _ = enumerate_family(scores, False, single)
    for route in (numpy_matrix_tree, mp_matrix_tree, exact_matrix_tree):
        route_log_z, route_marginals = route(scores, single)
        assert route_log_z == pytest.approx(log_z, abs=1e-11)
        np.testing.assert_allclose(route_marginals[:, 1:], marginals[:, 1:], atol=1e-11)


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_projective_oracles_agree_with_enumeration(n, single):
    """The textbook chart gives the enumerated numbers in both semirings."""
    scores = np.random.default_rng(n).normal(size=(n + 1, n + 1)) * 3
    log_z, marginals, best, _ = enumerate_family(scores, True, single)
    chart_log_z, chart_marginals = mp_projective(scores, single)
    assert chart_log_z == pytest.approx(log_z, abs=1e-12)
    np.testing.assert_allclose(chart_marginals, marginals, atol=1e-12)
    assert best_projective_score(scores, single) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("single", [True, False])
def test_recursive_chu_liu_edmonds_agrees_with_enumeration(single):
    """On integers with ties and forbidden arcs, where contraction happens in most cases."""
    rng = np.random.default_rng(5)
    without_tree = 0
    for _ in range(60):
        n = int(rng.integers(1, 6))
        scores = rng.integers(-3, 4, size=(n + 1, n + 1)).astype(float)
        scores[rng.random(scores.shape) < 0.3] = -np.inf
        _, _, best, best_trees = enumerate_family(scores, False, single)
        score, heads = naive_best_tree(scores, single)
        assert score == best
        if heads is None:
            without_tree += 1
        else:
            assert tuple(heads) in best_trees
            assert tree_score(scores, heads) == best
    assert 5 < without_tree < 55


@pytest.mark.parametrize("single", [True, False])
def test_exact_oracles_know_when_there_is_no_tree(single):
    """Patterns of forbidden arcs with and without trees, those with the enumerated numbers."""
    rng = np.random.default_rng(6)
    outcomes = {True: 0, False: 0}
    for _ in range(60):
        n = int(rng.integers(1, 5))
        scores = rng.normal(size=(n + 1, n + 1)) * 1000
        scores[rng.random(scores.shape) < 0.5] = -np.inf
        for projective, route in ((False, exact_matrix_tree), (True, mp_projective)):
            log_z, marginals, best, _ = enumerate_family(scores, projective, single)
            outcomes[best > -np.inf] += 1
            route_log_z, route_marginals = route(scores, single)
            assert route_log_z == pytest.approx(log_z, rel=1e-14, abs=1e-12)
            if best == -np.inf:
                assert route_marginals is None
            else:
                np.testing.assert_allclose(route_marginals, marginals, atol=1e-12)
    assert min(outcomes.values()) > 20
