"""Labelled trees: log-partition, marginals and best tree, against the list of all labelled trees."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from helpers.oracles import all_trees
from hypothesis import given, settings
from hypothesis import strategies as st

from mtparse.errors import NoTreeError
from mtparse.inference.family import FAMILIES, TreeFamily

pytestmark = pytest.mark.nojit


@pytest.fixture(params=list(FAMILIES.values()), ids=str)
def family(request):
    """Each of the four families in turn."""
    return request.param


def random_scores(rng, n, labels, scale=3.0):
    """Normal scores with junk in the cells that nobody may read."""
    scores = rng.normal(size=(n + 1, n + 1, labels)) * scale
    scores[:, 0] = np.nan
    scores[np.arange(n + 1), np.arange(n + 1)] = np.inf
    return scores


def enumerate_labelled(family, scores):
    """``(log_z, marginals, best_score, best)``, in 60 digits; ``best`` holds the best trees."""
    n, labels = len(scores) - 1, scores.shape[2]
    with mpmath.workdps(60):
        weights: dict = {}
        totals: dict = {}
        for heads in all_trees(n, family.projective, family.single).tolist():
            for chosen in itertools.product(range(labels), repeat=n):
                cells = [(heads[m], m, chosen[m - 1]) for m in range(1, n + 1)]
                if all(scores[cell] > -np.inf for cell in cells):
                    key = (tuple(heads), chosen)
                    totals[key] = mpmath.fsum(mpmath.mpf(float(scores[cell])) for cell in cells)
                    weights[key] = (mpmath.exp(totals[key]), cells)
        if not totals:
            return -np.inf, None, -np.inf, set()
        z = mpmath.fsum(weight for weight, _ in weights.values())
        marginals = np.zeros(scores.shape, dtype=object)
        for weight, cells in weights.values():
            for cell in cells:
                marginals[cell] += weight / z
        best = max(totals.values())
        winners = {key for key, total in totals.items() if total == best}
        return float(mpmath.log(z)), marginals.astype(np.float64), float(best), winners


def best_of(family, scores):
    heads, labels = family.best_labelled_tree(scores)
    assert heads.dtype == labels.dtype == np.int64
    assert heads[0] == labels[0] == -1
    return tuple(heads.tolist()), tuple(labels[1:].tolist())


@pytest.mark.parametrize(("n", "labels"), [(1, 1), (1, 4), (2, 3), (3, 2), (3, 3), (4, 2)])
def test_enumeration(family, n, labels):
    rng = np.random.default_rng(100 * n + labels)
    for scale in (0.0, 0.5, 5.0, 40.0, 300.0, 10_000.0):
        scores = random_scores(rng, n, labels, scale)
        before = scores.copy()
        log_z, marginals, _, winners = enumerate_labelled(family, scores)
        got, got_log_z = family.marginals_and_log_partition(scores)
        np.testing.assert_array_equal(scores, before)
        assert got_log_z == pytest.approx(log_z, abs=1e-12, rel=1e-12)
        assert family.log_partition(scores) == got_log_z
        np.testing.assert_array_equal(family.marginals(scores), got)
        # scores of 1e4 are themselves rounded to 1e-12
        np.testing.assert_allclose(got, marginals, atol=1e-12 if scale < 1000 else 1e-11)
        assert best_of(family, scores) in winners


def test_forbidden_labels_and_arcs(family):
    """Some labels forbidden, all of some arcs, and all trees."""
    rng = np.random.default_rng(5)
    outcomes = {True: 0, False: 0}
    for _ in range(60):
        n = int(rng.integers(1, 4))
        scores = random_scores(rng, n, 2)
        scores[rng.random(scores.shape) < rng.choice([0.3, 0.6, 0.8])] = -np.inf
        log_z, marginals, best, winners = enumerate_labelled(family, scores)
        outcomes[best > -np.inf] += 1
        assert family.log_partition(scores) == pytest.approx(log_z, abs=1e-12)
        if best == -np.inf:
            with pytest.raises(NoTreeError):
                family.marginals(scores)
            with pytest.raises(NoTreeError):
                family.best_labelled_tree(scores)
            continue
        got = family.marginals(scores)
        np.testing.assert_allclose(got, marginals, atol=1e-12)
        assert (got[scores == -np.inf] == 0).all()
        assert best_of(family, scores) in winners
    assert min(outcomes.values()) >= 5


SCALES = st.sampled_from([0.1, 3.0, 100.0, 3e4])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(1, 5), SCALES)
def test_sums_over_labels_are_those_of_arcs(seed, n, labels, scale):
    """Marginals of labels add up to those of arcs whose scores are their sums."""
    scores = random_scores(np.random.default_rng(seed), n, labels, scale)
    for family in FAMILIES.values():
        marginals = family.marginals(scores)
        np.testing.assert_allclose(marginals[:, 1:].sum(axis=(0, 2)), 1.0, atol=1e-12)
        arcs = np.logaddexp.reduce(np.where(np.isfinite(scores), scores, -np.inf), axis=2)
        np.testing.assert_allclose(marginals.sum(axis=2), family.marginals(arcs), atol=1e-9)


def test_one_label_is_no_label(family):
    scores = random_scores(np.random.default_rng(1), 6, 1)
    plain = scores[:, :, 0]
    np.testing.assert_array_equal(family.marginals(scores)[:, :, 0], family.marginals(plain))
    assert family.log_partition(scores) == family.log_partition(plain)
    heads, labels = family.best_labelled_tree(scores)
    np.testing.assert_array_equal(heads, family.best_tree(plain))
    assert (labels[1:] == 0).all()


def test_ties_take_the_first_label():
    heads, labels = TreeFamily().best_labelled_tree(np.zeros((4, 4, 3)))
    np.testing.assert_array_equal(heads, TreeFamily().best_tree(np.zeros((4, 4))))
    np.testing.assert_array_equal(labels, [-1, 0, 0, 0])


def test_no_words(family):
    scores = np.zeros((1, 1, 2))
    assert family.log_partition(scores) == 0.0
    assert family.marginals(scores).shape == (1, 1, 2)
    heads, labels = family.best_labelled_tree(scores)
    assert heads.tolist() == labels.tolist() == [-1]


def test_marginals_are_the_gradient(family):
    """Central differences in every cell, the ignored ones included."""
    step = 1e-5
    scores = np.random.default_rng(7).normal(size=(4, 4, 3))
    marginals = family.marginals(scores)
    for cell in np.ndindex(scores.shape):
        up, down = scores.copy(), scores.copy()
        up[cell] += step
        down[cell] -= step
        slope = (family.log_partition(up) - family.log_partition(down)) / (2 * step)
        assert slope == pytest.approx(marginals[cell], abs=1e-8)


def test_wrong_shapes_and_cells():
    family = TreeFamily()
    with pytest.raises(ValueError, match=r"labelled scores, of three axes, have a best_labelled_tree"):
        family.best_tree(np.zeros((3, 3, 2)))
    with pytest.raises(ValueError, match=r"labelled scores must have shape .*; got \(3, 3\)"):
        family.best_labelled_tree(np.zeros((3, 3)))
    for shape in ((3, 3, 0), (3, 2, 3), (2, 2, 2, 2), (3,)):
        with pytest.raises(ValueError, match=r"scores must have shape"):
            family.marginals(np.zeros(shape))
    scores = np.zeros((3, 3, 2))
    scores[1, 2, 1] = np.nan
    with pytest.raises(ValueError, match=r"scores\[1, 2, 1\] is nan"):
        family.marginals(scores)
