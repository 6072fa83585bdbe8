"""What every tree family must satisfy, whatever computes it."""

import numpy as np
import pytest
from helpers.oracles import all_trees, enumerate_family, is_projective, is_tree, tree_score
from hypothesis import given, settings
from hypothesis import strategies as st

from mtparse.errors import NoTreeError
from mtparse.inference.dispatch import BEST_TREE, LOG_PARTITION, MARGINALS
from mtparse.inference.family import FAMILIES, TreeFamily

pytestmark = pytest.mark.nojit


@pytest.fixture(params=list(FAMILIES.values()), ids=str)
def family(request):
    """Each of the four families in turn."""
    return request.param


def random_scores(rng, n, scale=3.0):
    """Normal scores with junk in the cells that nobody may read."""
    scores = rng.normal(size=(n + 1, n + 1)) * scale
    scores[:, 0] = np.nan
    np.fill_diagonal(scores, rng.choice([np.inf, -np.inf, np.nan, 1e300], n + 1))
    return scores


def assert_legal(family, heads, n):
    """``heads`` is a tree of the family over n words."""
    assert heads.dtype == np.int64
    assert heads.shape == (n + 1,)
    assert heads[0] == -1
    assert ((heads[1:] >= 0) & (heads[1:] <= n)).all()
    assert is_tree(heads)
    assert not family.projective or is_projective(heads)
    assert (heads == 0).sum() == 1 or not family.single


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 9, 12])
def test_shape_of_the_answers(family, n):
    """Columns sum to 1, the single root too, nothing is outside [0, 1], and the best tree is legal."""
    scores = random_scores(np.random.default_rng(n), n)
    before = scores.copy()
    marginals, log_z = family.marginals_and_log_partition(scores)
    heads = family.best_tree(scores)

    np.testing.assert_array_equal(scores, before)
    assert marginals.dtype == np.float64
    np.testing.assert_allclose(marginals[:, 1:].sum(axis=0), 1.0, atol=1e-13)
    assert (marginals >= 0).all()
    assert (marginals <= 1).all()
    assert (marginals[:, 0] == 0).all()
    assert (marginals.diagonal() == 0).all()
    if family.single:
        assert marginals[0].sum() == pytest.approx(1.0, abs=1e-13)
    assert_legal(family, heads, n)
    assert tree_score(scores, heads) <= log_z + 1e-12
    assert family.log_partition(scores) == pytest.approx(log_z, abs=1e-12)
    np.testing.assert_array_equal(family.marginals(scores), marginals)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_enumeration(family, n):
    """Log-partition, marginals and best tree are those of the list of all trees."""
    rng = np.random.default_rng(10 + n)
    for scale in (0.5, 5.0, 40.0):
        scores = random_scores(rng, n, scale)
        log_z, marginals, best, _ = enumerate_family(scores, family.projective, family.single)
        got_marginals, got_log_z = family.marginals_and_log_partition(scores)
        assert got_log_z == pytest.approx(log_z, abs=1e-12, rel=1e-12)
        np.testing.assert_allclose(got_marginals, marginals, atol=1e-12)
        assert tree_score(scores, family.best_tree(scores)) == pytest.approx(best, abs=1e-12)


def test_enumeration_with_forbidden_arcs(family):
    """The same with random arcs forbidden, among them patterns that leave no tree."""
    rng = np.random.default_rng(3)
    outcomes = {True: 0, False: 0}
    for _ in range(80):
        n = int(rng.integers(1, 5))
        scores = random_scores(rng, n)
        scores[rng.random(scores.shape) < rng.choice([0.2, 0.4, 0.6])] = -np.inf
        log_z, marginals, best, best_trees = enumerate_family(scores, family.projective, family.single)
        outcomes[best > -np.inf] += 1
        assert family.log_partition(scores) == pytest.approx(log_z, abs=1e-12)
        if best == -np.inf:
            with pytest.raises(NoTreeError):
                family.marginals(scores)
            with pytest.raises(NoTreeError):
                family.best_tree(scores)
            continue
        got = family.marginals(scores)
        np.testing.assert_allclose(got, marginals, atol=1e-12)
        allowed = scores > -np.inf
        assert (got[~allowed] == 0).all()
        assert tuple(family.best_tree(scores)) in best_trees
    assert min(outcomes.values()) >= 5


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_zero_scores_count_trees(family, n):
    """exp(log Z) is the number of trees, and marginals are shares of them."""
    count = len(all_trees(n, family.projective, family.single))
    marginals, log_z = family.marginals_and_log_partition(np.zeros((n + 1, n + 1)))
    assert log_z == pytest.approx(np.log(count), abs=1e-13)
    np.testing.assert_allclose(marginals * count, np.round(marginals * count), atol=1e-11)


@pytest.mark.parametrize(
    ("trees", "root", "n", "root_row"),
    [
        ("nonprojective", "multi", 2, [2 / 3, 2 / 3]),
        ("nonprojective", "single", 3, [1 / 3, 1 / 3, 1 / 3]),
        ("projective", "single", 3, [3 / 7, 1 / 7, 3 / 7]),
        ("projective", "multi", 3, [7 / 12, 1 / 3, 7 / 12]),
    ],
)
def test_zero_scores_by_hand(trees, root, n, root_row):
    """Root marginals of short sentences, counted on paper."""
    marginals = TreeFamily(trees, root).marginals(np.zeros((n + 1, n + 1)))
    np.testing.assert_allclose(marginals[0, 1:], root_row, atol=1e-14)


def test_nonprojective_zero_scores_are_symmetric():
    """All nine arcs of three words have probability 1/3 when the root is single."""
    marginals = TreeFamily("nonprojective", "single").marginals(np.zeros((4, 4)))
    off_diagonal = ~np.eye(4, dtype=bool)[:, 1:]
    np.testing.assert_allclose(marginals[:, 1:][off_diagonal], 1 / 3, atol=1e-14)


def test_marginals_are_the_gradient_of_log_partition(family):
    """Central differences in every cell, the ignored ones included."""
    n, step = 5, 1e-5
    scores = np.random.default_rng(7).normal(size=(n + 1, n + 1))
    marginals = family.marginals(scores)
    for cell in np.ndindex(scores.shape):
        up, down = scores.copy(), scores.copy()
        up[cell] += step
        down[cell] -= step
        slope = (family.log_partition(up) - family.log_partition(down)) / (2 * step)
        assert slope == pytest.approx(marginals[cell], abs=1e-8)


def test_shift_invariance(family):
    """A constant on a column moves log Z and nothing else; on a single root's row too."""
    rng = np.random.default_rng(8)
    n = 6
    scores = rng.normal(size=(n + 1, n + 1)) * 4
    shifts = rng.normal(size=n + 1) * 1000
    shifts[0] = 0.0
    moved = scores + shifts
    if family.single:
        moved[0] += 5000.0
    marginals, log_z = family.marginals_and_log_partition(scores)
    moved_marginals, moved_log_z = family.marginals_and_log_partition(moved)
    assert moved_log_z == pytest.approx(log_z + shifts.sum() + 5000.0 * family.single, rel=1e-12)
    np.testing.assert_allclose(moved_marginals, marginals, atol=1e-11)
    np.testing.assert_array_equal(family.best_tree(moved), family.best_tree(scores))


def test_one_word(family):
    """One word hangs from the root, whatever its score."""
    for score in (0.0, -1e9, 3.5, 1e11):
        scores = np.array([[np.nan, score], [np.inf, np.nan]])
        marginals, log_z = family.marginals_and_log_partition(scores)
        assert log_z == pytest.approx(score, rel=1e-15)
        np.testing.assert_array_equal(marginals, [[0, 1], [0, 0]])
        np.testing.assert_array_equal(family.best_tree(scores), [-1, 0])
        assert family.log_partition(scores) == pytest.approx(score, rel=1e-15)
    forbidden = np.array([[0.0, -np.inf], [0.0, 0.0]])
    assert family.log_partition(forbidden) == -np.inf
    with pytest.raises(NoTreeError):
        family.marginals(forbidden)
    with pytest.raises(NoTreeError):
        family.best_tree(forbidden)


def test_no_words(family):
    """The empty sentence has one tree, the empty one."""
    marginals, log_z = family.marginals_and_log_partition([[5.0]])
    assert log_z == 0.0
    assert family.log_partition([[5.0]]) == 0.0
    np.testing.assert_array_equal(marginals, [[0.0]])
    np.testing.assert_array_equal(family.best_tree([[np.nan]]), [-1])


def test_other_arrays_are_converted(family):
    """Lists, integers, float32, Fortran order and read-only arrays give the same as float64."""
    numbers = np.random.default_rng(2).integers(-3, 4, size=(5, 5))
    expected = family.marginals(numbers.astype(np.float64))
    read_only = numbers.astype(np.float64)
    read_only.flags.writeable = False
    for scores in (
        numbers,
        numbers.tolist(),
        numbers.astype(np.float32),
        np.asfortranarray(numbers),
        read_only,
    ):
        np.testing.assert_array_equal(family.marginals(scores), expected)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e13, -1e30])
def test_wrong_scores_are_named(family, value):
    """NaN, +inf and absurd sizes are refused with the cell."""
    scores = np.zeros((4, 4))
    scores[2, 3] = value
    for method in (family.log_partition, family.marginals, family.best_tree):
        with pytest.raises(ValueError, match=r"scores\[2, 3\] is .*-inf \(arc forbidden\)"):
            method(scores)


@pytest.mark.parametrize("shape", [(3,), (3, 4), (0, 0), (2, 2, 2, 2)])
def test_wrong_shapes_are_named(family, shape):
    """Anything but a square matrix is refused."""
    with pytest.raises(ValueError, match=r"scores must have shape .*; got \("):
        family.log_partition(np.zeros(shape))


def test_wrong_names_list_the_right_ones():
    """Each name is checked, and the message helps."""
    with pytest.raises(ValueError, match="trees must be one of nonprojective, projective; got 'crossing'"):
        TreeFamily("crossing", "single")
    with pytest.raises(ValueError, match="root must be one of single, multi; got 'many'"):
        TreeFamily("projective", "many")


def test_reasons_for_no_tree(family):
    """The message says what is forbidden where that is easy to see."""
    scores = np.zeros((4, 4))
    scores[:, 2] = -np.inf
    with pytest.raises(NoTreeError, match=f"no {family} tree over 3 words: all arcs into word 2"):
        family.best_tree(scores)
    scores = np.zeros((4, 4))
    scores[0] = -np.inf
    with pytest.raises(NoTreeError, match="all arcs from the root are forbidden"):
        family.marginals(scores)
    scores = np.full((4, 4), -np.inf)
    scores[0, 3] = scores[1, 2] = scores[2, 1] = 0.0
    with pytest.raises(NoTreeError, match="the arcs that are not forbidden do not make one"):
        family.marginals(scores)


def test_two_forced_roots(family):
    """Two words that only the root can head: no single-root tree, one choice less for the others."""
    scores = np.zeros((4, 4))
    scores[1:, 1] = scores[1:, 3] = -np.inf
    if family.single:
        assert family.log_partition(scores) == -np.inf
        for method in (family.marginals, family.best_tree):
            with pytest.raises(NoTreeError):
                method(scores)
    else:
        marginals, log_z = family.marginals_and_log_partition(scores)
        assert log_z == pytest.approx(np.log(3), abs=1e-14)
        np.testing.assert_allclose(marginals[:, 2], [1 / 3, 1 / 3, 0, 1 / 3], atol=1e-14)


def test_kernels_without_a_tree(family):
    """-inf from each kernel, and zero marginals over whatever was in the array."""
    scores = np.zeros((4, 4))
    scores[:, 1] = -np.inf
    mu = np.full((4, 4), 7.0)
    heads = np.full(4, 7)
    assert MARGINALS[family.projective](scores, family.single, mu) == -np.inf
    assert (mu == 0).all()
    assert LOG_PARTITION[family.projective](scores, family.single) == -np.inf
    assert BEST_TREE[family.projective](scores, family.single, heads) == -np.inf


cells = st.one_of(
    st.floats(-5, 5),
    st.floats(-400, 400),
    st.integers(-2, 2).map(float),
    st.just(-np.inf),
    st.floats(-1e4, 1e4),
)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), n=st.integers(1, 4))
def test_any_scores_agree_with_enumeration(data, n):
    """Scores of mixed sizes with forbidden arcs, for all families at once."""
    values = data.draw(st.lists(cells, min_size=(n + 1) ** 2, max_size=(n + 1) ** 2))
    scores = np.array(values).reshape(n + 1, n + 1)
    for family in FAMILIES.values():
        log_z, marginals, best, _ = enumerate_family(scores, family.projective, family.single)
        assert family.log_partition(scores) == pytest.approx(log_z, rel=1e-12, abs=1e-11)
        if best == -np.inf:
            continue
        got, got_log_z = family.marginals_and_log_partition(scores)
        assert got_log_z == pytest.approx(log_z, rel=1e-12, abs=1e-11)
        np.testing.assert_allclose(got, marginals, atol=2e-12)
        assert tree_score(scores, family.best_tree(scores)) == pytest.approx(best, rel=1e-12, abs=1e-11)


@pytest.mark.parametrize("method", ["log_partition", "marginals", "best_tree"])
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.ma.masked_less(np.zeros((3, 3)), -1), "masked array; forbid arcs by -inf"),
        (np.zeros((3, 3), complex), "scores are complex"),
        ([[0, 1j], [0, 0]], "scores are complex"),
        ([np.ma.array([0.0, 1], mask=[0, 1]), [0, 0]], "masked array; forbid arcs by -inf"),
        ([[0, np.ma.array(1.0, mask=True)], [0, 0]], "masked array; forbid arcs by -inf"),
        (np.zeros((2, 2), "M8[s]"), r"of type datetime64\[s\]; they must be real numbers"),
        (np.zeros((2, 2), "m8[s]"), r"of type timedelta64\[s\]; they must be real numbers"),
        (np.zeros((2, 2), "f8,f8"), "they must be real numbers"),
        ([["0", "1"], ["0", "0"]], "scores are of type <U1; they must be real numbers"),
        (np.array([[0, "1"], [0, 0]], object), "scores hold what is no number"),
        ([[0, object()], [0, 0]], "scores hold what is no real number: float"),
    ],
)
def test_what_would_lose_a_part_is_refused(method, scores, message):
    """A mask and an imaginary part, which a conversion to floats drops in silence."""
    with pytest.raises(TypeError, match=message):
        getattr(TreeFamily(), method)(scores)


@pytest.mark.parametrize("number", [10**400, -(10**400)])
def test_numbers_beyond_float64(number):
    with pytest.raises(ValueError, match=r"a score is too large for float64; one is -inf .* within ±1e\+12"):
        TreeFamily().log_partition([[0, number], [0, 0]])
