"""The pieces of the linear-domain algorithms, each against a slow and plain counterpart."""

import mpmath
import numpy as np
import pytest

from mtparse.inference.arithmetic.exponential import exponentiate
from mtparse.inference.nonprojective.block_elimination import (
    BLOCK,
    carry_back_block,
    eliminate_block,
    padded,
    solve_block,
)
from mtparse.inference.nonprojective.schedule import JOIN, LEAF, SPLIT, depth, schedule

pytestmark = pytest.mark.nojit


def test_exponentials_against_many_digits():
    """Within one unit in the last place where the result is normal, over the whole range."""
    rng = np.random.default_rng(40)
    x = np.concatenate(
        [
            rng.uniform(-1, 1, size=300),
            rng.uniform(-700, 0, size=300),
            rng.uniform(-708, 709.7, size=300),
            # Halfway between multiples of ln 2, where the polynomial is at its worst.
            (np.arange(-1000, 1000, 11) + 0.5) * np.log(2.0),
            [0.0, -0.0, 1e-300, -1e-17, 1e-8, -640.0, -280.0, -708.3, 709.7],
        ]
    )
    got = x.copy()
    exponentiate(got, len(got))
    with mpmath.workdps(40):
        for value, result in zip(x, got, strict=True):
            exact = mpmath.exp(mpmath.mpf(float(value)))
            assert abs(mpmath.mpf(float(result)) - exact) < mpmath.mpf(float(np.spacing(float(exact))))


def test_exponentials_that_vanish():
    """Gradual underflow, then zero; no more than the asked number of cells is touched."""
    x = np.array([-708.5, -720.0, -740.0, -744.4, -745.2, -746.0, -1e4, -1e300, -np.inf, 1.0])
    got = x.copy()
    exponentiate(got, len(got) - 1)
    np.testing.assert_allclose(got[:-1], np.exp(x[:-1]), rtol=0, atol=1.01 * 5e-324)
    assert (got[4:-1] == 0.0).all()
    assert got[-1] == 1.0


def random_chain(rng, words, scale):
    """Rates to other words, with junk for words to themselves, and to the root."""
    rates = np.exp(rng.normal(size=(words, words)) * scale)
    np.fill_diagonal(rates, np.nan)
    return rates, np.exp(rng.normal(size=words) * scale)


def watched(rates, roots, gone, keep):
    """The chain watched on the words ``keep`` only, by many-digit linear algebra, and the determinant."""
    with mpmath.workdps(400):
        g = len(gone)
        outward = mpmath.matrix(g, len(keep) + 1)
        laplacian = mpmath.matrix(g, g)
        for a, k in enumerate(gone):
            laplacian[a, a] = mpmath.mpf(roots[k])
            for j in range(len(rates)):
                if j != k:
                    laplacian[a, a] += mpmath.mpf(rates[k, j])
            for b, j in enumerate(gone):
                if a != b:
                    laplacian[a, b] = -mpmath.mpf(rates[k, j])
            for b, j in enumerate(keep):
                outward[a, b] = mpmath.mpf(rates[k, j])
            outward[a, len(keep)] = mpmath.mpf(roots[k])
        first = laplacian**-1 * outward
        hops = np.array([[float(first[a, b]) for b in range(len(keep) + 1)] for a in range(g)])
        return hops, float(mpmath.log(mpmath.det(laplacian)))


@pytest.mark.parametrize("scale", [1.0, 20.0, 60.0])
@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("words", [4, 8, 12])
def test_block_elimination_against_linear_algebra(words, half, scale):
    """Small relative errors in every entry, in place and to other rows, at either end of the words."""
    rng = np.random.default_rng(int(41 * words + scale))
    rates, roots = random_chain(rng, words, scale)
    block = 0 if half else words - BLOCK
    start, stop = (BLOCK, words) if half else (0, words - BLOCK)
    keep = np.arange(start, stop)
    expected, log_determinant = watched(rates, roots, np.arange(block, block + BLOCK), keep)
    for target in (0, words):
        work = np.concatenate([rates, np.full_like(rates, 7.0)])
        out = np.concatenate([roots, np.full_like(roots, 7.0)])
        hops, exits, totals = np.empty((words, words)), np.empty(words), np.empty(words)
        eliminate_block(work, out, 0, target, start, stop, block, hops, exits, totals)
        rows = slice(block, block + BLOCK)
        np.testing.assert_allclose(hops[rows, start:stop], expected[:, :-1], rtol=1e-13)
        np.testing.assert_allclose(exits[rows], expected[:, -1], rtol=1e-13)
        assert np.log(totals[rows]).sum() == pytest.approx(log_determinant, abs=1e-12)
        off = ~np.eye(words, dtype=bool)[start:stop, start:stop]
        reduced = rates[start:stop, start:stop] + rates[start:stop, rows] @ expected[:, :-1]
        np.testing.assert_allclose(
            work[target + start : target + stop, start:stop][off], reduced[off], rtol=1e-13
        )
        np.testing.assert_allclose(
            out[target + start : target + stop],
            roots[start:stop] + rates[start:stop, rows] @ expected[:, -1],
            rtol=1e-13,
        )


def test_carrying_back_is_a_product():
    """``exits + hops @ reach``, in the asked columns only."""
    rng = np.random.default_rng(42)
    hops, exits, reach = rng.random((12, 12)), rng.random(12), rng.random((12, 12))
    expected = reach.copy()
    expected[8:, 4:8] = exits[8:, None] + hops[8:, 0:8] @ reach[0:8, 4:8]
    carry_back_block(hops, exits, 0, 8, 8, reach, 4, 4)
    np.testing.assert_allclose(reach, expected, rtol=1e-14)


@pytest.mark.parametrize("scale", [1.0, 20.0, 60.0])
def test_four_words_against_linear_algebra(scale):
    """K of the last base case, at an offset and from a later row."""
    rng = np.random.default_rng(int(43 + scale))
    for _ in range(5):
        rates, roots = random_chain(rng, BLOCK, scale)
        work = np.full((12, 8), np.nan)
        work[8:, 4:] = rates
        out = np.full(12, np.nan)
        out[8:] = roots
        reach = np.full((8, 8), 7.0)
        solve_block(work, out, 4, 4, reach)
        for target in range(BLOCK):
            others = np.delete(np.arange(BLOCK), target)
            expected = watched(rates, roots, others, [target])[0][:, 1]
            np.testing.assert_allclose(reach[4 + others, 4 + target], expected, rtol=1e-13)
            assert reach[4 + target, 4 + target] == 0.0
        assert (reach[:4] == 7.0).all()
        assert (reach[:, :4] == 7.0).all()


@pytest.mark.parametrize("leaf", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 16, 21])
def test_schedule_reaches_all_pairs_once(n, leaf):
    """Each pair of units meets in one leaf or in one join, and no level is deeper than said."""
    pairs = np.zeros((n, n), int)
    opened = []
    steps = schedule(n, leaf)
    for operation, level, start, size, half in steps:
        inside = np.arange(start, start + size)
        if operation == LEAF:
            assert size <= leaf
            pairs[np.ix_(inside, inside)] += 1
        elif operation == SPLIT:
            opened.append((level, start, size, half))
        else:
            assert operation == JOIN
            assert opened.pop() == (level, start, size, half)
            kept = inside[: size // 2] if half == 0 else inside[size // 2 :]
            pairs[np.ix_(np.setdiff1d(inside, kept), kept)] += 1
    assert not opened
    assert (pairs == 1).all()
    assert steps[:, 1].max() + 1 <= depth(n, leaf)


def test_padding():
    """Whole blocks, and no more of them than it takes."""
    assert [padded(n) for n in (1, 3, 4, 5, 8, 9)] == [4, 4, 4, 8, 8, 12]
