"""Training with every C of a list, and keeping the pass that does best on validation data."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace

import numpy as np

from mtparse.config.run import Config
from mtparse.errors import MtparseError, NumericsError
from mtparse.evaluation.attachment import percent
from mtparse.runtime.threads import Workers
from mtparse.training.checkpoints import Candidate, Checkpoint, Trial, Unfinished
from mtparse.training.loop import Loop, Pass, TrainResult
from mtparse.training.objectives import attachment, squared_norm
from mtparse.training.problem import TrainingProblem

Log = Callable[[dict], None]

VALID_COLUMNS = {
    "all_tokens": {"mst": "valid_uas_mst", "eisner": "valid_uas_eisner"},
    "without_punctuation": {
        "mst": "valid_uas_mst_without_punctuation",
        "eisner": "valid_uas_eisner_without_punctuation",
    },
}
"""The columns of validation scores, by which words count and by decoder."""

PASS_COLUMNS = (
    "event", "refit", "C", "pass", *(f.name for f in fields(Pass) if f.name != "number"), "norm",
    *(column for columns in VALID_COLUMNS.values() for column in columns.values()), "seconds",
)  # fmt: skip
"""What the log says of every pass, whatever the trainer and the decoders: what one does not have is None."""


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
    data: TrainingProblem,
    C: float | None,
    workers: Workers,
    log: Log = lambda record: None,
    *,
    passes: int | None = None,
    start: TrainResult | None = None,
    cancelled: Callable[[], bool] = lambda: False,
    checkpoint: Checkpoint | None = None,
    on_resume: Callable[[int], None] = lambda passes: None,
) -> tuple[Trial, list[dict]]:
    """Train once, or go on with it, or find it done.

    Parameters
    ----------
    C
        None for the perceptron.
    log
        Called with a record of every pass, those of before an interruption too.
    passes
        Those of a refit, instead of the config's.
    start
        What a warm start goes on from: the result with the C before.
    cancelled
        Asked after every pass; True ends the run with KeyboardInterrupt.
    checkpoint
        Where an interrupted training is kept.
    on_resume
        Called with the number of passes that were done before, where there were any.

    Returns
    -------
    The trial and its records.

    Raises
    ------
    NumericsError
        If a number is not finite or a loss below 0, with the sentence and the pass.
    """
    settings, refit = config.trainer, passes is not None
    so_far = Unfinished()
    if checkpoint is not None:
        if (found := checkpoint.finished()) is not None:
            for record in found[1]:
                log(record)
            return found
        so_far = checkpoint.unfinished()
        for record in so_far.records:
            log(record)
        if so_far.resumed is not None:
            on_resume(so_far.resumed.passes)
    spent = so_far.records[-1]["seconds"] if so_far.records else 0.0
    began = time.monotonic() - spent

    def note(record: dict) -> None:
        so_far.records.append(record)
        log(record)

    def on_pass(record: Pass, u: np.ndarray) -> bool:
        if cancelled():
            raise KeyboardInterrupt
        norm = float(np.sqrt(squared_norm(data.columns, u)))
        if not np.isfinite(norm) or (record.objective is not None and not np.isfinite(record.objective)):
            raise MtparseError(f"training: the weights are not finite after pass {record.number} (C = {C})")
        figures = {"pass": record.number, **asdict(record), "norm": norm}
        line = {name: figures.get(name) for name in PASS_COLUMNS}
        line |= {"event": "pass", "refit": refit, "C": C}
        points = []
        if data.valid is not None:
            assert data.scored_words is not None
            weights = u / data.columns.multiplicity
            scores = attachment(
                data.valid, data.scored_words, data.structure.single, weights, decoders(config), workers
            )
            for decoder, score in scores.items():
                right = score.right if config.punctuation else score.right_counted
                counts = {
                    "all_tokens": (score.right, score.words),
                    "without_punctuation": (score.right_counted, score.counted),
                }
                shown = {name: percent(*pair) if pair[1] else None for name, pair in counts.items()}
                line |= {columns[decoder]: shown[counted] for counted, columns in VALID_COLUMNS.items()}
                points.append(Candidate(C, record.number, decoder, right, shown, u))
        enough = validated(so_far, points, settings.patience)
        line["seconds"] = round(time.monotonic() - began, 3)
        note(line)
        return enough

    def keep(number: int, arrays: Callable[[], dict[str, np.ndarray]]) -> None:
        if checkpoint is not None:
            checkpoint.keep(number, so_far, arrays)

    journal = None
    if checkpoint is not None and settings.replays:
        journal = checkpoint.journal(len(data.columns))
    start_state = start.state if start else None
    loop = Loop(on_pass, workers, passes, config.seed, start_state, so_far.resumed, keep, journal)
    try:
        result = settings.train(data, C, loop)
    except NumericsError as error:
        raise MtparseError(f"{data.origins[error.sentence]}: {error} (C = {C})") from error
    finally:
        if journal is not None:
            journal.close()
    ended = {"passes": result.passes, "converged": result.converged, "reason": result.reason}
    note({"event": "end", "refit": refit, "C": C, **ended})
    if not settings.warm_start:
        result = replace(result, state={})  # as large as the training arcs
    trial = Trial(C, result, so_far.best)
    if checkpoint is not None:
        checkpoint.finish(trial, so_far.records)
    return trial, so_far.records


def validated(so_far: Unfinished, points: Iterable[Candidate], patience: int) -> bool:
    """Keep what a pass gave with each decoder where it is the best so far, of equals the earlier.

    The weights of a point are copied if it is kept.

    Returns
    -------
    bool
        Whether no decoder has been better for ``patience`` passes. Never if that is 0 or there are no points.
    """
    enough = False
    for point in points:
        best = so_far.best.get(point.decoder)
        if best is None or point.right > best.right:
            so_far.best[point.decoder] = replace(point, u=point.u.copy())
            so_far.latest_best = point.passes
        enough = 0 < patience <= point.passes - so_far.latest_best
    return enough


def choose(config: Config, trials: list[Trial]) -> Candidate:
    """The best point on validation data; without any, the end of the (only) trial."""
    if best := choose_point(config, [trial.best for trial in trials]):
        return best
    (trial,) = trials
    return Candidate(trial.C, trial.result.passes, decoders(config)[0], 0, {}, trial.result.u)


def choose_point(config: Config, best: Sequence[Mapping[str, Candidate]]) -> Candidate | None:
    """The best of the points that :func:`validated` kept for each C, from small to large; None of none.

    Among equals: the earlier decoder of :func:`decoders`, the smaller C, the earlier pass.
    """
    candidates = [points[d] for d in decoders(config) for points in best if d in points]
    return max(candidates, key=lambda choice: choice.right, default=None)


Trained = tuple[Trial, list[dict]]
"""What training with one C gave, and the lines of its log."""


def train_chain(
    chain: Iterable[float | None], train: Callable[[float | None, TrainResult | None], Trained]
) -> list[Trained]:
    """Train with each C of a chain, from small to large, each from where the one before ended.

    What a warm start needed is freed as soon as the next has begun: it is as large as the training arcs.

    Parameters
    ----------
    train
        Trains with a C from a result, None for the first.
    """
    done: list[Trained] = []
    for C in chain:
        trained = train(C, done[-1][0].result if done else None)
        if done:
            done[-1][0].result.state.clear()
        done.append(trained)
    if done:
        done[-1][0].result.state.clear()
    return done
