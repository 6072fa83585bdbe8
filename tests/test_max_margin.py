"""The steps of exponentiated gradient."""

from __future__ import annotations

import numpy as np
import pytest
from test_training import FAMILIES, collect, prepared

from mtparse.inference.kernels import marginals_address
from mtparse.training.max_margin import expected_errors, initialize, train_max_margin
from mtparse.training.objectives import squared_norm

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("family", FAMILIES)
def test_the_papers_step_is_halved_after_each_pass_in_which_the_dual_fell(family):
    """And after no other; it begins at 1/C (figure 2)."""
    rows, columns, *_ = prepared(7, projective=family.projective)
    fell = []
    for C in (5.0, 500.0):
        theta, mu, u = np.zeros(rows.arcs), np.zeros(rows.arcs), np.zeros(len(columns))
        marginals_at = marginals_address(family.projective)
        initialize(rows, marginals_at, family.single, 9.0, C, columns.multiplicity, u, theta, mu)
        start = C * expected_errors(rows, mu) - 0.5 * squared_norm(columns, u)
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
