"""Log-linear models (conditional random fields over trees), the paper's section 4.1."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.optimize import minimize

from mtparse.training.base import STOPPED, OnPass, Pass, TrainResult, out_of_passes
from mtparse.training.data import ArcRows, Columns
from mtparse.training.objectives import Family, log_linear_loss
from mtparse.workers import Workers

ROUNDING = 1e-14
"""A gradient of at most this times C, an arc, is zero but for rounding."""
HISTORY = 10
"""Pairs of vectors that L-BFGS remembers."""


class _Objective:
    """C * loss + 0.5 ||w||² as a function of v = u / sqrt(K), in which the penalty is 0.5 ||v||²."""

    def __init__(self, rows: ArcRows, columns: Columns, family: Family, C: float, workers: Workers) -> None:
        self._rows, self._family, self._C, self._workers = rows, family, C, workers
        self.root = np.sqrt(columns.multiplicity)
        self._last: tuple[np.ndarray, float, np.ndarray] | None = None

    def __call__(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient = log_linear_loss(self._rows, self._family, v * self.root, self._workers)
        gradient *= self.root
        gradient *= self._C
        gradient += v
        value = self._C * loss + 0.5 * float(v @ v)
        self._last = (v.copy(), value, gradient)
        return value, gradient

    def at(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient at a point just evaluated, without evaluating it again."""
        if self._last is None or not np.array_equal(self._last[0], v):
            self(v)
        assert self._last is not None
        return self._last[1], self._last[2]


def relative_norm(v: np.ndarray, gradient: np.ndarray) -> float:
    """||gradient|| / ||w||, the certificate of convergence.

    At the optimum w is C times the negative gradient of the loss, so this is the relative residual,
    whatever the scale of C.
    """
    return float(np.linalg.norm(gradient) / np.linalg.norm(v))


def train_log_linear(
    rows: ArcRows,
    columns: Columns,
    family: Family,
    *,
    C: float,
    passes: int,
    on_pass: OnPass,
    workers: Workers,
    optimizer: str = "lbfgs",
    tolerance: float = 1e-4,
    start: Mapping[str, np.ndarray] | None = None,
) -> TrainResult:
    """Minimise -C Σ log P(y_i|x_i) + 0.5 ||w||² by scipy's L-BFGS or nonlinear CG.

    Begins with w = 0, or, with ``start``, the state of a result, with that result's weights.

    A pass is a step of the optimiser. One rule stops it early: a gradient norm of at most ``tolerance``
    times ||w||; the optimiser's own tolerances are 0.

    Cost: per evaluation (1 to 2 a step) the sparse product and its transpose, and the marginals.
    """
    objective = _Objective(rows, columns, family, C, workers)
    v = start["u"] / objective.root if start else np.zeros(len(columns))
    done = 0
    outcome: TrainResult | None = None

    def result(converged: bool, reason: str) -> TrainResult:
        u = v * objective.root
        return TrainResult(u, done, converged, reason, {"u": u})

    value, gradient = objective.at(v)
    norm = float(np.linalg.norm(gradient))
    if norm <= ROUNDING * C * rows.arcs:
        on_pass(Pass(0, objective=value, gradient_norm=norm), v * objective.root)
        return result(True, "converged: the start is optimal")
    if passes == 0:
        return result(False, out_of_passes(0))

    def callback(intermediate_result) -> None:
        nonlocal v, done, outcome
        v = intermediate_result.x.copy()
        done += 1
        value, gradient = objective.at(v)
        norm = relative_norm(v, gradient)
        stop = on_pass(Pass(done, objective=value, gradient_norm=norm), v * objective.root)
        if norm <= tolerance:
            outcome = result(True, f"converged: relative gradient norm {norm:.2g}")
        elif stop:
            outcome = result(False, STOPPED)
        elif done >= passes:
            outcome = result(False, out_of_passes(passes))
        if outcome is not None:
            raise StopIteration

    settings = {
        "lbfgs": ("L-BFGS-B", {"ftol": 0.0, "gtol": 0.0, "maxcor": HISTORY, "maxfun": 20 * passes + 100}),
        "cg": ("CG", {"gtol": 0.0}),
    }
    method, options = settings[optimizer]
    ended = minimize(
        objective, v, jac=True, method=method, callback=callback, options={**options, "maxiter": passes}
    )
    if outcome is not None:
        return outcome
    # The line search found no lower point: with these tolerances that is rounding, near an optimum.
    norm = relative_norm(v, objective.at(v)[1]) if done else np.inf
    return result(
        False,
        f"the line search found no lower point after {done} steps, at relative gradient norm {norm:.2g} "
        f"(wanted {tolerance:g}): {ended.message}",
    )
