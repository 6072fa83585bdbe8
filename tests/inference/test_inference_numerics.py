"""Accuracy where float64 is in danger: peaked scores, long sentences, forced improbable arcs."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from helpers.oracles import enumerate_family, mp_matrix_tree, mp_projective, numpy_matrix_tree

from mtparse.inference.arithmetic import wide_range
from mtparse.inference.arithmetic.scaling import relative_root
from mtparse.inference.family import FAMILIES, TreeFamily
from mtparse.inference.nonprojective.matrix_tree import (
    FLOOR_MULTI,
    FLOOR_SINGLE,
    matrix_tree_log_partition,
    matrix_tree_marginals,
)
from mtparse.inference.nonprojective.matrix_tree_wide import (
    extended_matrix_tree_log_partition,
    extended_matrix_tree_marginals,
)
from mtparse.inference.projective.inside_outside import projective_log_partition, projective_marginals
from mtparse.inference.projective.inside_outside_wide import (
    extended_projective_log_partition,
    extended_projective_marginals,
)

SCALES = [1, 10, 100, 300, 1000, 10000]


def assert_accurate(family, scores, log_z, marginals):
    """The contract: 1e-12 for marginals, absolute, and for log Z, relative."""
    got, got_log_z = family.marginals_and_log_partition(scores)
    assert got_log_z == pytest.approx(log_z, rel=1e-12, abs=1e-12)
    assert family.log_partition(scores) == pytest.approx(log_z, rel=1e-12, abs=1e-12)
    known = ~np.isnan(marginals)
    np.testing.assert_allclose(got[known], marginals[known], atol=1e-12, rtol=0)
    np.testing.assert_allclose(got[:, 1:].sum(axis=0), 1.0, atol=1e-12)


@pytest.mark.nojit
@pytest.mark.parametrize("root", ["single", "multi"])
@pytest.mark.parametrize(
    ("n", "scale"),
    [(n, scale) for scale in (1, 10, 100, 300) for n in (2, 3, 7, 10)] + [(6, 1000)],
)
def test_nonprojective_against_many_digits(n, scale, root):
    """The paper's Laplacian with as many digits as it takes, at every scale."""
    family = TreeFamily("nonprojective", root)
    scores = np.random.default_rng(1000 * n + scale).normal(size=(n + 1, n + 1)) * scale
    assert_accurate(family, scores, *mp_matrix_tree(scores, family.single))


@pytest.mark.nojit
@pytest.mark.parametrize("family", FAMILIES.values(), ids=str)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("n", [2, 4, 5])
def test_every_scale_against_enumeration(n, scale, family):
    """All four families, with a few arcs forbidden."""
    rng = np.random.default_rng(1000 * n + scale)
    scores = rng.normal(size=(n + 1, n + 1)) * scale
    scores[rng.random(scores.shape) < 0.1] = -np.inf
    log_z, marginals, best, _ = enumerate_family(scores, family.projective, family.single)
    assert best > -np.inf
    assert_accurate(family, scores, log_z, marginals)


@pytest.mark.parametrize("root", ["single", "multi"])
@pytest.mark.parametrize("scale", [1, 10, 100, 300, 1000])
def test_nonprojective_sixteen_words(scale, root):
    """The same for sixteen words."""
    family = TreeFamily("nonprojective", root)
    scores = np.random.default_rng(scale).normal(size=(17, 17)) * scale
    assert_accurate(family, scores, *mp_matrix_tree(scores, family.single))


@pytest.mark.nojit
@pytest.mark.parametrize("root", ["single", "multi"])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("n", [2, 5, 8])
def test_projective_against_many_digits(n, scale, root):
    """The textbook chart with 60 digits, at every scale."""
    family = TreeFamily("projective", root)
    scores = np.random.default_rng(1000 * n + scale).normal(size=(n + 1, n + 1)) * scale
    assert_accurate(family, scores, *mp_projective(scores, family.single))


@pytest.mark.parametrize("root", ["single", "multi"])
@pytest.mark.parametrize("scale", SCALES)
def test_projective_sixteen_words(scale, root):
    """The same for sixteen words, with a sample of the arcs."""
    family = TreeFamily("projective", root)
    rng = np.random.default_rng(scale)
    scores = rng.normal(size=(17, 17)) * scale
    heads = family.best_tree(scores)
    arcs = [(int(heads[m]), m) for m in range(1, 17, 2)]
    arcs += [(0, int(m)) for m in rng.integers(1, 17, size=4)]
    assert_accurate(family, scores, *mp_projective(scores, family.single, arcs))


@pytest.mark.nojit
@pytest.mark.parametrize("root", ["single", "multi"])
def test_lu_route_at_mild_scales(root):
    """The paper's own computation in float64 agrees where it can."""
    family = TreeFamily("nonprojective", root)
    rng = np.random.default_rng(4)
    for n in (1, 2, 5, 11, 23):
        scores = rng.normal(size=(n + 1, n + 1))
        log_z, marginals = numpy_matrix_tree(scores, family.single)
        got, got_log_z = family.marginals_and_log_partition(scores)
        assert got_log_z == pytest.approx(log_z, abs=1e-10)
        np.testing.assert_allclose(got[:, 1:], marginals[:, 1:], atol=1e-10)


@pytest.mark.nojit
@pytest.mark.parametrize("family", FAMILIES.values(), ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 13])
def test_extended_arithmetic_called_directly(family, n):
    """The fallback gives what the fast path gives where both can."""
    scores = np.random.default_rng(n).normal(size=(n + 1, n + 1)) * 5
    fast, slow = np.empty_like(scores), np.full_like(scores, 7.0)
    if family.projective:
        log_z, good = projective_marginals(scores, family.single, fast)
        extended_log_z = extended_projective_marginals(scores, family.single, slow)
        alone = extended_projective_log_partition(scores, family.single)
    else:
        log_z, good = matrix_tree_marginals(scores, family.single, fast)
        extended_log_z = extended_matrix_tree_marginals(scores, family.single, slow)
        alone = extended_matrix_tree_log_partition(scores, family.single)
    assert good
    assert extended_log_z == pytest.approx(log_z, abs=1e-12)
    assert alone == pytest.approx(log_z, abs=1e-12)
    np.testing.assert_allclose(slow, fast, atol=1e-14)


@pytest.mark.nojit
@pytest.mark.parametrize("depth", [0.9 * FLOOR_MULTI, FLOOR_MULTI + 1, 5000.0])
def test_matrix_tree_hands_over_multi_root(depth):
    """A cycle that only improbable arcs can leave: beyond the floor the fast path must not answer."""
    scores = -depth - np.arange(36.0).reshape(6, 6) / 7
    for m in range(1, 6):
        scores[m % 5 + 1, m] = 0.0
    _, good = matrix_tree_marginals(scores, False, np.empty_like(scores))
    assert good == (depth < FLOOR_MULTI)
    assert matrix_tree_log_partition(scores, False)[1] == good
    family = TreeFamily("nonprojective", "multi")
    assert_accurate(family, scores, *mp_matrix_tree(scores, False))


@pytest.mark.nojit
@pytest.mark.parametrize("depth", [0.9 * FLOOR_SINGLE, FLOOR_SINGLE + 1, 5000.0])
def test_matrix_tree_hands_over_single_root(depth):
    """Two pairs of words that prefer each other, and one bridge: all trees cross it."""
    scores = np.full((5, 5), -depth - 5.0)
    for one, two in ((1, 2), (3, 4)):
        scores[one, two] = scores[two, one] = 0.0
    scores[2, 3] = -depth
    scores[0] = [0.0, -1.0, -2.0, -1.5, 0.0]
    _, good = matrix_tree_marginals(scores, True, np.empty_like(scores))
    assert good == (depth < FLOOR_SINGLE)
    family = TreeFamily("nonprojective", "single")
    log_z, marginals, _, _ = enumerate_family(scores, False, True)
    assert_accurate(family, scores, log_z, marginals)
    assert_accurate(family, scores, *mp_matrix_tree(scores, True))


# Wherever the fast path hands over, the promise must hold on both sides: depths by no constant of it.
DEPTHS = [*np.arange(3.0, 800.0, 4.9), 1e3, 3e3, 1e4]


@pytest.mark.nojit
@pytest.mark.parametrize("root", ["single", "multi"])
def test_nonprojective_at_any_depth(root):
    """Two pairs of words that prefer each other: every tree needs an arc into one of them from elsewhere."""
    family = TreeFamily("nonprojective", root)
    for depth in DEPTHS:
        scores = -depth - np.arange(25.0).reshape(5, 5) / 7
        for one, two in ((1, 2), (3, 4)):
            scores[one, two] = scores[two, one] = 0.0
        if root == "single":
            scores[0] = [0.0, -1.0, -2.0, -1.5, -0.7]  # so that two root arcs, if they counted, were better
        log_z, marginals, _, _ = enumerate_family(scores, False, family.single)
        assert_accurate(family, scores, log_z, marginals)


@pytest.mark.nojit
@pytest.mark.parametrize("root", ["single", "multi"])
def test_projective_at_any_depth(root):
    """Crossing arcs that are better than all others, by any amount."""
    family = TreeFamily("projective", root)
    start = np.random.default_rng(31).normal(size=(6, 6))
    for depth in DEPTHS:
        scores = start.copy()
        for head, modifier in ((3, 1), (4, 2), (5, 3), (0, 4), (2, 5)):
            scores[head, modifier] += depth
        log_z, marginals, _, _ = enumerate_family(scores, True, family.single)
        assert_accurate(family, scores, log_z, marginals)


@pytest.mark.nojit
def test_matrix_tree_hands_over_rather_than_be_slightly_wrong():
    """A forbidden arc that, raised to the floor, would take a small share from a barely better tree."""
    scores = np.full((5, 5), -np.inf)
    for one, two in ((1, 2), (3, 4)):
        scores[one, two] = scores[two, one] = 0.0
    scores[2, 3] = scores[3, 2] = 15.0 - FLOOR_SINGLE
    scores[0] = 0.0
    _, good = matrix_tree_marginals(scores, True, np.empty_like(scores))
    assert not good
    log_z, marginals, _, _ = enumerate_family(scores, False, True)
    assert_accurate(TreeFamily("nonprojective", "single"), scores, log_z, marginals)


@pytest.mark.nojit
def test_relative_root_scores_are_rounded_once():
    """Two differences of large numbers, and no more error than the result's own rounding."""
    rng = np.random.default_rng(30)
    for _ in range(50):
        score, peak = rng.normal(size=2) * 1e4
        root_peak = score - peak + rng.normal() * 10
        exact = Fraction(score) - Fraction(peak) - Fraction(root_peak)
        assert abs(Fraction(relative_root(score, peak, root_peak)) - exact) <= abs(exact) * Fraction(1, 2**51)
    assert relative_root(-np.inf, 3.0, 2.0) == -np.inf


@pytest.mark.nojit
def test_matrix_tree_keeps_harmless_raised_arcs():
    """Arcs that no probable tree needs do not send the sentence to the slow path."""
    rng = np.random.default_rng(9)
    scores = rng.normal(size=(7, 7)) * 3
    scores[1, 2] = scores[4, 3] = -np.inf
    scores[2, 5] = -5000.0
    for single in (False, True):
        mu = np.empty_like(scores)
        _, good = matrix_tree_marginals(scores, single, mu)
        assert good
        assert mu[1, 2] == mu[4, 3] == mu[2, 5] == 0.0
        family = TreeFamily("nonprojective", "single" if single else "multi")
        log_z, marginals, _, _ = enumerate_family(scores, False, single)
        assert_accurate(family, scores, log_z, marginals)


@pytest.mark.nojit
def test_raised_arc_keeps_its_true_marginal():
    """A raised arc reports the tiny probability it has, not that of the floor."""
    scores = np.zeros((4, 4))
    scores[2, 1] = -FLOOR_SINGLE - 50
    share = enumerate_family(np.zeros((4, 4)), False, True)[1][2, 1]
    expected = share / (1 - share) * math.exp(-FLOOR_SINGLE - 50)
    marginals = TreeFamily("nonprojective", "single").marginals(scores)
    assert marginals[2, 1] == pytest.approx(expected, rel=1e-10, abs=0)


@pytest.mark.nojit
@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("depth", [50.0, 2000.0])
def test_projective_hands_over(depth, single):
    """Crossing arcs that are far better than all others: no projective tree is near the columns' peaks."""
    scores = np.random.default_rng(6).normal(size=(6, 6))
    for head, modifier in ((3, 1), (4, 2), (5, 3), (0, 4), (2, 5)):
        scores[head, modifier] += depth
    _, good = projective_marginals(scores, single, np.empty_like(scores))
    assert good == (depth < 600)
    assert projective_log_partition(scores, single)[1] == good
    family = TreeFamily("projective", "single" if single else "multi")
    log_z, marginals, _, _ = enumerate_family(scores, True, single)
    assert_accurate(family, scores, log_z, marginals)


@pytest.mark.nojit
@pytest.mark.parametrize("family", FAMILIES.values(), ids=str)
def test_one_forced_root(family):
    """A word that only the root can head, next to words with everything allowed."""
    rng = np.random.default_rng(12)
    scores = rng.normal(size=(6, 6)) * 50
    scores[1:, 3] = -np.inf
    log_z, marginals, _, _ = enumerate_family(scores, family.projective, family.single)
    assert_accurate(family, scores, log_z, marginals)


@pytest.mark.parametrize(
    ("trees", "root", "expected"),
    [
        ("nonprojective", "multi", 499 * math.log(501)),
        ("nonprojective", "single", 499 * math.log(500)),
        ("projective", "multi", 944.038793),
        ("projective", "single", 943.229529),
    ],
)
def test_five_hundred_words_at_zero_scores(trees, root, expected):
    """Far more trees than float64 can count; the projective numbers are log C(3n, n) / (2n + 1) and kin."""
    family = TreeFamily(trees, root)
    marginals, log_z = family.marginals_and_log_partition(np.zeros((501, 501)))
    assert log_z == pytest.approx(expected, rel=1e-9)
    assert family.log_partition(np.zeros((501, 501))) == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(marginals[:, 1:].sum(axis=0), 1.0, atol=1e-11)


def test_long_sentences_stay_accurate():
    """1500 words at zero scores, in closed form: every root arc has probability 2 / (n + 1)."""
    n = 1500
    marginals, log_z = TreeFamily("nonprojective", "multi").marginals_and_log_partition(
        np.zeros((n + 1, n + 1))
    )
    assert log_z == pytest.approx((n - 1) * math.log(n + 1), rel=1e-12)
    np.testing.assert_allclose(marginals[0, 1:], 2 / (n + 1), rtol=1e-11)


@pytest.mark.nojit
@pytest.mark.parametrize("x", [0.0, 1.0, -1.0, 177.4, -177.5, 354.9, 1e4 + 0.3, -1e4, 654321.123, -1e6, 1e6])
def test_exponential_and_logarithm(x):
    """Accurate to a few units in the last place over the whole range."""
    number = wide_range.exponential(x)
    with mpmath.workdps(40):
        power = int(512 * number.imag)
        exact = mpmath.exp(mpmath.mpf(x)) * mpmath.mpf(2) ** -power
        assert abs(number.real / exact - 1) < 1e-15
    assert wide_range.logarithm(number) == pytest.approx(x, rel=3e-16, abs=3e-16)
    assert 2.0**-256 <= number.real < 2.0**256


def as_fraction(number):
    """The exact value of an extended number with a moderate exponent."""
    return Fraction(float(number.real)) * Fraction(2) ** int(512 * number.imag)


@pytest.mark.nojit
def test_extended_operations_against_fractions():
    """Sums, products and quotients of numbers hundreds of digits apart, zero among them."""
    exponents = (-1000.0, -355.0, -177.5, -177.0, 0.0, 1.0, 177.0, 178.0, 355.0, 1000.0)
    numbers = [wide_range.ZERO, wide_range.ONE, complex(1.5 * 2.0**255, 0.0), complex(2.0**-256, 1.0)]
    numbers += [wide_range.exponential(x) for x in exponents]
    for a in numbers:
        for b in numbers:
            pairs = [
                (wide_range.add(a, b), as_fraction(a) + as_fraction(b)),
                (wide_range.multiply(a, b), as_fraction(a) * as_fraction(b)),
            ]
            if b != wide_range.ZERO:
                pairs.append((wide_range.divide(a, b), as_fraction(a) / as_fraction(b)))
            for got, exact in pairs:
                assert abs(as_fraction(got) - exact) <= exact * Fraction(1, 2**52)
                assert got == wide_range.ZERO or 2.0**-256 <= got.real < 2.0**256


@pytest.mark.nojit
def test_extended_to_float():
    """Down to the smallest floats, then zero."""
    for x in (-50.0, -300.0, -500.0):
        assert wide_range.to_float(wide_range.exponential(x)) == pytest.approx(math.exp(x), rel=1e-14, abs=0)
    assert wide_range.to_float(wide_range.exponential(-2000.0)) == 0.0
    assert wide_range.to_float(wide_range.ZERO) == 0.0
    assert wide_range.logarithm(wide_range.ZERO) == -math.inf
    assert wide_range.exponential(-math.inf) == wide_range.ZERO
