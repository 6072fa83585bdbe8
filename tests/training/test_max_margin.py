"""The steps of exponentiated gradient."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helpers.made_up import arcs, columns_of_rows, row
from helpers.training import FAMILIES, collect, prepared

from mtparse.features.index import FeatureIndex
from mtparse.inference.dispatch import marginals_address
from mtparse.training.build_design import extract_training
from mtparse.training.objectives import squared_norm
from mtparse.training.trainers.max_margin import expected_cost, initialize, train_max_margin

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("family", FAMILIES)
def test_the_papers_step_is_halved_after_each_pass_in_which_the_dual_fell(family):
    """And after no other; it begins at 1/C (figure 2)."""
    rows, columns, *_ = prepared(7, projective=family.projective)
    fell = []
    for C in (5.0, 500.0):
        theta, mu, u = np.zeros(rows.parts), np.zeros(rows.parts), np.zeros(len(columns))
        marginals_at = marginals_address(family.projective)
        initialize(rows, marginals_at, family.single, 9.0, C, columns.multiplicity, u, theta, mu)
        start = C * expected_cost(rows, mu) - 0.5 * squared_norm(columns, u)
        passes, _, _ = collect(
            train_max_margin, rows, columns, family, C=C, passes=12, step="paper", tolerance=0.0
        )
        expected = 1.0 / C
        for before, record in zip([start, *(p.dual for p in passes)], passes, strict=False):
            assert record.step == expected
            fell.append(record.dual < before)
            expected *= 0.5 if fell[-1] else 1.0
    assert True in fell
    assert False in fell


@pytest.mark.parametrize("family", FAMILIES)
def test_adaptive_steps_never_lower_the_dual_and_those_not_taken_leave_no_trace(family):
    """Where C is so large that steps are halved again and again."""
    rows, columns, _, heads = prepared(7, projective=family.projective)
    halved = []
    for C in (5.0, 500.0):
        passes, _, result = collect(train_max_margin, rows, columns, family, C=C, passes=12, tolerance=0.0)
        duals = [p.dual for p in passes]
        assert all(b >= a - 1e-9 * C for a, b in itertools.pairwise(duals))
        halved += [p.step < 1.0 / C for p in passes]
        assert all(p.gap == (p.objective - p.dual) / p.objective for p in passes)
        u = np.zeros(len(columns))
        for s, gold in enumerate(heads):
            mu = result.state["mu"][rows.first_arc[s] : rows.first_arc[s + 1]]
            for (h, m), found, share in zip(arcs(len(gold) - 1), columns_of_rows(rows, s), mu, strict=True):
                u[found] += C * ((gold[m] == h) - share)
        np.testing.assert_allclose(result.u, u * columns.multiplicity, atol=1e-9 * C)
    assert any(halved)


def test_adaptive_steps_grow_by_five_percent_up_to_a_ceiling():
    """As long as the dual does not fall: on a sentence of one word it never moves."""
    sentences, heads, C = [[row(1, "a")]], [np.array([-1, 0])], 0.5
    rows, columns = extract_training(FeatureIndex.build(sentences, heads, ["Mw"]), sentences, heads)
    options = {"C": C, "passes": 300, "tolerance": -1.0}
    passes, _, _ = collect(train_max_margin, rows, columns, FAMILIES[0], **options)
    expected = [min(1.05**k, 1e6) / C for k in range(1, 301)]
    assert expected[-1] == 1e6 / C > expected[200]
    np.testing.assert_allclose([p.step for p in passes], expected, rtol=1e-12)
