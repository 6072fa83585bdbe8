"""The contract of inference on very many random inputs, against exact arithmetic.

``MTPARSE_EXAMPLES`` says how many; `scripts/check/inference` runs thousands and prints the largest errors.
"""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict

import numpy as np
import pytest
from helpers.oracles import (
    best_projective_score,
    enumerate_family,
    exact_matrix_tree,
    is_projective,
    is_tree,
    mp_projective,
    naive_best_tree,
    tree_score,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtparse.errors import NoTreeError
from mtparse.inference.family import FAMILIES

EXAMPLES = int(os.environ.get("MTPARSE_EXAMPLES", 60))
LONG = "MTPARSE_EXAMPLES" in os.environ
MOST_WORDS = {1.0: 12, 10.0: 12, 100.0: 10, 1e3: 7, 1e4: 5}
"""By scale: whole numbers that hold weights from exp(-40,000) to exp(40,000) are long."""

every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=str)
many = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def report():
    """Counts and largest errors, printed at the end (``pytest -s``)."""
    counts, errors = Counter(), defaultdict(float)
    yield counts, errors
    if LONG:
        print()
        for name, count in sorted(counts.items()):
            print(f"{name}: {count}")
        for name, error in sorted(errors.items()):
            print(f"largest error, {name}: {error:.2g}")


@st.composite
def inputs(draw, most_words=MOST_WORDS):
    """Scores of a scale, some with ties, some with arcs forbidden one by one, by word or all but a few."""
    scale = draw(st.sampled_from(sorted(most_words)))
    n = draw(st.integers(1, most_words[scale]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.normal(size=(n + 1, n + 1)) * scale
    if draw(st.booleans()):
        scores = np.round(scores / scale) * scale
    pattern = draw(st.sampled_from(["none", "few", "half", "most", "words"]))
    if pattern == "words":
        scores[rng.random(n + 1) < 0.3] = -np.inf
        scores[0, rng.integers(1, n + 1)] = 0.0
    else:
        share = {"none": 0.0, "few": 0.1, "half": 0.5, "most": 0.75}[pattern]
        scores[rng.random(scores.shape) < share] = -np.inf
    return scale, scores


def size_of(scores) -> float:
    """What a sum of scores may be as large as on the way, though they cancel in the end; at least 1."""
    sizes = np.where(np.isfinite(scores), np.abs(scores), 0.0)[:, 1:]
    return max(1.0, float(sizes.max(axis=0).sum()))


def check(family, scale, scores, log_z, marginals, report):
    """Log-partition and marginals are those of the oracle (NaN where it did not look)."""
    counts, errors = report
    name = f"{family}, scale {scale:g}"
    counts[f"{name}, {'no tree' if marginals is None else 'trees'}"] += 1
    if marginals is None:
        assert family.log_partition(scores) == -np.inf
        for method in (family.marginals, family.best_tree):
            with pytest.raises(NoTreeError):
                method(scores)
        return
    got, got_log_z = family.marginals_and_log_partition(scores)
    for value in (got_log_z, family.log_partition(scores)):
        error = abs(value - log_z) / size_of(scores)
        errors[f"{name}, log Z"] = max(errors[f"{name}, log Z"], error)
        assert error <= 1e-12
    known = ~np.isnan(marginals)
    error = np.abs(got[known] - marginals[known]).max()
    errors[f"{name}, marginals"] = max(errors[f"{name}, marginals"], error)
    assert error <= 1e-12
    assert ((got >= 0) & (got <= 1)).all()
    assert (got[scores == -np.inf] == 0).all()
    np.testing.assert_allclose(got[:, 1:].sum(axis=0), 1.0, rtol=0, atol=1e-12)
    if family.single:
        assert got[0].sum() == pytest.approx(1.0, abs=1e-12)


def some_arcs(scores, seed):
    """All arcs of a short sentence; of a longer one six that are allowed."""
    arcs = [(h, m) for h, m in np.argwhere(scores > -np.inf).tolist() if m > 0 and h != m]
    if len(scores) <= 6 or len(arcs) <= 6:
        return arcs
    return [arcs[k] for k in np.random.default_rng(seed).choice(len(arcs), 6, replace=False)]


@every_family
def test_exact_arithmetic(family, report):
    """The Matrix-Tree theorem in whole numbers, or the textbook chart in 60 digits."""

    @many
    @given(inputs())
    def holds(drawn):
        scale, scores = drawn
        if family.projective:
            exact = mp_projective(scores, family.single, some_arcs(scores, len(scores)))
        else:
            exact = exact_matrix_tree(scores, family.single)
        check(family, scale, scores, *exact, report)

    holds()


@every_family
def test_every_tree_listed(family, report):
    """Enumeration, at all scales; the best tree is one of the best."""

    @many
    @given(inputs(dict.fromkeys(MOST_WORDS, 5)))
    def holds(drawn):
        scale, scores = drawn
        log_z, marginals, best, best_trees = enumerate_family(scores, family.projective, family.single)
        check(family, scale, scores, log_z, marginals, report)
        if best > -np.inf:
            assert tuple(family.best_tree(scores).tolist()) in best_trees

    holds()


@every_family
def test_best_trees(family, report):
    """Legal, and as good as the textbook's."""

    @many
    @given(inputs(dict.fromkeys(MOST_WORDS, 12)))
    def holds(drawn):
        _, scores = drawn
        if family.projective:
            best = best_projective_score(scores, family.single)
        else:
            best = naive_best_tree(scores, family.single)[0]
        report[0][f"{family}, best trees"] += 1
        if best == -np.inf:
            with pytest.raises(NoTreeError):
                family.best_tree(scores)
            return
        heads = family.best_tree(scores)
        assert is_tree(heads)
        assert is_projective(heads) or not family.projective
        assert (heads == 0).sum() == 1 or not family.single
        assert abs(tree_score(scores, heads) - best) <= 1e-14 * size_of(scores)

    holds()


@every_family
def test_marginals_are_slopes(family, report):
    """Central differences of log Z in one allowed cell."""

    @many
    @given(inputs(dict.fromkeys(MOST_WORDS, 12)), st.integers(0, 2**32 - 1))
    def holds(drawn, seed):
        scale, scores = drawn
        if family.log_partition(scores) == -np.inf:
            return
        arcs = some_arcs(scores, seed)
        cell = arcs[seed % len(arcs)]
        step = 1e-4
        up, down = scores.copy(), scores.copy()
        up[cell] += step
        down[cell] -= step
        width = up[cell] - down[cell]
        slope = (family.log_partition(up) - family.log_partition(down)) / width
        error = abs(slope - family.marginals(scores)[cell])
        report[0][f"{family}, scale {scale:g}, slopes"] += 1
        assert error <= 1e-8 + 8 * math.ulp(size_of(scores)) / width

    holds()


@every_family
@pytest.mark.parametrize(
    ("n", "scale"),
    [(500, 1.0)] + [(500, 30.0), (500, 1e3), (500, 1e4), (1500, 1.0), (1500, 30.0), (1500, 1e3)] * LONG,
)
def test_long_sentences(n, scale, family, report):
    """Everything is finite, columns sum to 1, and no tree is better than all together."""
    rng = np.random.default_rng(n)
    scores = rng.normal(size=(n + 1, n + 1)) * scale
    scores[rng.random(scores.shape) < 0.1] = -np.inf
    marginals, log_z = family.marginals_and_log_partition(scores)
    error = np.abs(marginals[:, 1:].sum(axis=0) - 1.0).max()
    report[1][f"{family}, {n} words, scale {scale:g}, sums"] = error
    assert math.isfinite(log_z)
    assert np.isfinite(marginals).all()
    assert error <= 1e-10
    assert family.log_partition(scores) == pytest.approx(log_z, rel=1e-12)
    assert tree_score(scores, family.best_tree(scores)) <= log_z + 1e-12 * abs(log_z)
