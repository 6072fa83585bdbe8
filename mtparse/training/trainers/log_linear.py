"""Log-linear models (conditional random fields over trees), the paper's section 4.1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize

from mtparse.inference.parts import Structure
from mtparse.runtime.threads import Workers
from mtparse.training.design import Columns, Design
from mtparse.training.loop import (
    STOPPED,
    Keep,
    Loop,
    OnPass,
    Pass,
    Resumed,
    TrainResult,
    keep_nothing,
    out_of_passes,
)
from mtparse.training.objectives import log_linear_loss
from mtparse.training.problem import TrainingProblem
from mtparse.training.replay import Journal
from mtparse.training.trainers.base import COSTS, Trainer, setting

ROUNDING = 1e-14
"""A gradient of at most this times C, an arc, is zero but for rounding."""
HISTORY = 10
"""Pairs of vectors that L-BFGS remembers."""


@dataclass(frozen=True)
class LogLinear(Trainer):
    """Settings of :func:`train_log_linear`."""

    optimizer: str = setting("lbfgs", choices=("lbfgs", "cg"))
    C: tuple[float, ...] = COSTS
    tolerance: float = setting(1e-4, low=0, high=1)
    warm_start: bool = setting(False)

    name: ClassVar[str] = "log-linear"
    replays: ClassVar[bool] = True
    relative_cost: ClassVar[float] = 2.3

    def train(self, problem: TrainingProblem, C: float | None, loop: Loop) -> TrainResult:
        assert C is not None
        return train_log_linear(
            problem.design, problem.columns, problem.structure,
            C=C, passes=self.passes_of(loop), optimizer=self.optimizer, tolerance=self.tolerance,
            on_pass=loop.on_pass, workers=loop.workers, start=loop.start, resumed=loop.resumed,
            keep=loop.keep, journal=loop.journal,
        )  # fmt: skip


class _Objective:
    """C * loss + 0.5 ||w||² as a function of v = u / sqrt(K), in which the penalty is 0.5 ||v||²."""

    def __init__(
        self,
        design: Design,
        columns: Columns,
        structure: Structure,
        C: float,
        workers: Workers,
        journal: Journal | None,
    ) -> None:
        self._design, self._structure, self._C, self._workers = design, structure, C, workers
        self._journal = journal
        self.root = np.sqrt(columns.multiplicity)
        self.number = 1
        """The pass, for errors."""
        self._last: tuple[np.ndarray, float, np.ndarray] | None = None

    def __call__(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        if self._last is None or not np.array_equal(self._last[0], v):
            found = self._journal.recall(v) if self._journal else None
            if found is None:
                found = self._evaluate(v)
                if self._journal:
                    self._journal.append(v, *found)
            self._last = (v.copy(), *found)
        return self._last[1:]

    def _evaluate(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        u = v * self.root
        loss, gradient = log_linear_loss(self._design, self._structure, u, self._workers, self.number)
        gradient *= self.root
        gradient *= self._C
        gradient += v
        return self._C * loss + 0.5 * float(v @ v), gradient

    def at(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient, at a point just evaluated for nothing; leaves no trace in the journal."""
        if self._last is not None and np.array_equal(self._last[0], v):
            return self._last[1:]
        return self._evaluate(v)


def relative_norm(v: np.ndarray, gradient: np.ndarray) -> float:
    """||gradient|| / ||w||, the certificate of convergence.

    At the optimum w is C times the negative gradient of the loss, so this is the relative residual,
    whatever the scale of C.
    """
    return float(np.linalg.norm(gradient) / np.linalg.norm(v))


def train_log_linear(
    design: Design,
    columns: Columns,
    structure: Structure,
    *,
    C: float,
    passes: int,
    on_pass: OnPass,
    workers: Workers,
    optimizer: str = "lbfgs",
    tolerance: float = 1e-4,
    start: Mapping[str, np.ndarray] | None = None,
    resumed: Resumed | None = None,
    keep: Keep = keep_nothing,
    journal: Journal | None = None,
) -> TrainResult:
    """Minimise -C Σ log P(y_i|x_i) + 0.5 ||w||² by scipy's L-BFGS or nonlinear CG.

    Begins with w = 0, or, with ``start``, the state of a result, with that result's weights.

    A pass is a step of the optimiser. One rule stops it early: a gradient norm of at most ``tolerance``
    times ||w||; the optimiser's own tolerances are 0.

    What scipy's optimisers remember cannot be kept. A run that is ``resumed`` begins anew and takes from the
    ``journal`` what was evaluated before: the same steps, without their cost.

    Cost: per evaluation (1 to 2 a step) the sparse product and its transpose, and the marginals.

    Raises
    ------
    NumericsError
        If a number is not finite or a loss negative, with the sentence and the pass.
    MtparseError
        If the journal is of other steps.
    """
    objective = _Objective(design, columns, structure, C, workers, journal)
    known = resumed.passes if resumed else 0
    v = start["u"] / objective.root if start else np.zeros(len(columns))
    done = 0
    outcome: TrainResult | None = None

    def result(converged: bool, reason: str) -> TrainResult:
        u = v * objective.root
        return TrainResult(u, done, converged, reason, {"u": u})

    value, gradient = objective(v)
    norm = float(np.linalg.norm(gradient))
    if norm <= ROUNDING * C * design.parts:
        on_pass(Pass(0, objective=value, gradient_norm=norm), v * objective.root)
        return result(True, "converged: the start is optimal")
    if passes == 0:
        return result(False, out_of_passes(0))

    def callback(intermediate_result) -> None:
        nonlocal v, done, outcome
        v = intermediate_result.x.copy()
        done += 1
        objective.number = done + 1
        if done <= known:
            return
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
        keep(done, dict)

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
        f"(wanted {tolerance:g}): {ended.message.rstrip(': ')}",
    )
