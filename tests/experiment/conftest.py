"""No figures where figures are not the subject: each takes as long as the experiments themselves."""

from __future__ import annotations

import pytest

from mtparse.experiment import grid


@pytest.fixture(scope="module", autouse=True)
def figures(request):
    """Drawn in modules that say so by ``DRAWS = True``, in others not."""
    with pytest.MonkeyPatch.context() as patch:
        if not getattr(request.module, "DRAWS", False):
            patch.setattr(grid, "draw_unless_drawn", lambda plan, runs, path: None)
        yield
