"""Training with every C of a list, and keeping the pass that does best on validation data."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from mtparse.config import Config
from mtparse.errors import MtparseError
from mtparse.training.base import Pass, TrainResult
from mtparse.training.data import ArcRows, Columns
from mtparse.training.log_linear import train_log_linear
from mtparse.training.max_margin import train_max_margin
from mtparse.training.objectives import Family, attachment, squared_norm
from mtparse.training.perceptron import train_perceptron
from mtparse.workers import Workers

TRAINERS = {
    "perceptron": (train_perceptron, ("passes", "shuffle")),
    "log-linear": (train_log_linear, ("passes", "optimizer", "tolerance")),
    "max-margin": (train_max_margin, ("passes", "step", "beta", "tolerance", "shuffle")),
}
"""Each trainer's function and the settings it takes from the config."""


@dataclass(frozen=True)
class Prepared:
    """A training set, and the validation set in terms of its columns.

    ``counted`` is bool, laid out like ``valid.gold``: the words that are no punctuation.
    """

    rows: ArcRows
    columns: Columns
    family: Family
    valid: ArcRows | None = None
    counted: np.ndarray | None = None


@dataclass(frozen=True)
class Choice:
    """A point of training and how it did: the candidates among which validation chooses.

    ``right`` are the right heads of the words that the choice counts, ``scores`` the validation UAS of
    all words and of those that are no punctuation.
    """

    C: float | None
    passes: int
    decoder: str
    right: int
    scores: dict[str, float | None]
    u: np.ndarray = field(repr=False)


@dataclass(frozen=True)
class Run:
    """What training with one C gave: the best point of each decoder and how it ended."""

    C: float | None
    result: TrainResult
    best: dict[str, Choice]


Log = Callable[[dict], None]


def decoders(config: Config) -> tuple[str, ...]:
    """The decoders that validation compares, the family's own one first."""
    if config.decoder != "auto":
        return (config.decoder,)
    return ("eisner",) if config.trees == "projective" else ("mst", "eisner")


def costs(config: Config) -> list[float | None]:
    """The values of C from small to large; of a trainer that has none, None."""
    return [None] if config.trainer.C is None else sorted(config.trainer.C)


def chains(config: Config) -> list[list[float | None]]:
    """The values of C in lists that are independent of one another: with warm starts one list of all."""
    return [costs(config)] if config.trainer.warm_start else [[C] for C in costs(config)]


def run_trainer(
    config: Config,
    data: Prepared,
    C: float | None,
    workers: Workers,
    log: Log,
    *,
    passes: int | None = None,
    start: TrainResult | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Run:
    """Train once.

    Parameters
    ----------
    C
        None for the perceptron.
    log
        Called with a record of every pass.
    passes
        Instead of the config's.
    start
        What a warm start goes on from: the result with the C before.
    cancelled
        Asked after every pass; True ends the run with KeyboardInterrupt.
    """
    settings = config.trainer
    train, names = TRAINERS[settings.name]
    options = {name: getattr(settings, name) for name in names}
    if passes is not None:
        options["passes"] = passes
    if settings.name != "log-linear":
        options["seed"] = config.seed
    if C is not None:
        options |= {"C": C, "start": start.state if start else None}
    began = time.monotonic()
    best: dict[str, Choice] = {}
    latest_best = 0

    def on_pass(record: Pass, u: np.ndarray) -> bool:
        nonlocal latest_best
        if cancelled():
            raise KeyboardInterrupt
        norm = float(np.sqrt(squared_norm(data.columns, u)))
        if not np.isfinite(norm) or (record.objective is not None and not np.isfinite(record.objective)):
            raise MtparseError(f"training: the weights are not finite after pass {record.number} (C = {C})")
        line = {"C": C, **{k: v for k, v in asdict(record).items() if v is not None}, "norm": norm}
        line["pass"] = line.pop("number")
        if data.valid is not None:
            assert data.counted is not None
            weights = u / data.columns.multiplicity
            scores = attachment(
                data.valid, data.counted, data.family.single, weights, decoders(config), workers
            )
            for decoder, score in scores.items():
                right = score.right if config.punctuation else score.right_counted
                shown = {"all_tokens": score.uas, "without_punctuation": score.uas_counted}
                line[f"valid_{decoder}"] = shown
                if decoder not in best or right > best[decoder].right:
                    best[decoder] = Choice(C, record.number, decoder, right, shown, u.copy())
                    latest_best = record.number
        line["seconds"] = round(time.monotonic() - began, 3)
        log(line)
        return data.valid is not None and 0 < settings.patience <= record.number - latest_best

    result = train(data.rows, data.columns, data.family, on_pass=on_pass, workers=workers, **options)
    log({"C": C, "passes": result.passes, "converged": result.converged, "reason": result.reason})
    if not settings.warm_start:
        result = replace(result, state={})  # as large as the training arcs
    return Run(C, result, best)


def choose(config: Config, runs: list[Run]) -> Choice:
    """The best point on validation data; without any, the end of the (only) run.

    Among equals: the earlier decoder of :func:`decoders`, the smaller C, the earlier pass.
    """
    candidates = [run.best[d] for d in decoders(config) for run in runs if d in run.best]
    if candidates:
        return max(candidates, key=lambda choice: choice.right)
    (run,) = runs
    return Choice(run.C, run.result.passes, decoders(config)[0], 0, {}, run.result.u)
