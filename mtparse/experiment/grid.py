"""A whole experiment: every cell of a plan, features shared, finished runs kept, tables at the end.

The training files of a language are read once, before anything is trained. Its runs of one tree family and
fold share one extraction. They are drawn by threads, one C at a time, and stored as they end, so that an
experiment goes on where it was stopped.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, fields, replace

import numpy as np

from mtparse.config.run import Config
from mtparse.errors import MtparseError
from mtparse.experiment.curves import CURVES_NAME, format_curves, read_passes
from mtparse.experiment.figures import draw_unless_drawn
from mtparse.experiment.grid_directory import Store
from mtparse.experiment.paper import COUNTS
from mtparse.experiment.plan import Cell, Plan
from mtparse.experiment.prepare import prepare
from mtparse.experiment.run import finish, refit
from mtparse.experiment.run_directory import LOG_NAME, RunDirectory
from mtparse.experiment.split import Files, read_files, read_test, shared_data, split_files
from mtparse.experiment.stored_plan import TABLES
from mtparse.experiment.tables import write_tables
from mtparse.experiment.tuning import Trained, chains, choose, costs, run_trainer, train_chain
from mtparse.runtime.files import atomic_writer
from mtparse.runtime.progress import Progress
from mtparse.runtime.threads import Cancelled, Threads, Workers, thread_count
from mtparse.training.design_cache import require_cache
from mtparse.training.loop import TrainResult
from mtparse.training.problem import TrainingProblem

_NOTHING = np.empty(0)


class _Overall:
    """Progress of the whole: runs done, and how long the rest may take."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._task = progress.task("runs", total, remaining=False)  # we know better
        self._total, self._done, self._loaded, self._began = total, 0, 0, time.monotonic()
        self._lock = threading.Lock()

    def step(self, loaded: bool) -> None:
        """One more run is done, or was found done."""
        with self._lock:
            self._done += 1
            self._loaded += loaded
            fresh = self._done - self._loaded
            each = (time.monotonic() - self._began) / fresh if fresh else 0.0
            note = f"about {each * (self._total - self._done) / 60:.0f} min left" if fresh else ""
            self._task.update(self._done, note)

    def close(self) -> None:
        """No more runs."""
        self._task.close()


def reproduce(
    plan: Plan,
    out: str,
    *,
    jobs: int = 0,
    resume: bool = False,
    progress: Progress | None = None,
    cache: str | None = None,
) -> str:
    """Run what is not finished of an experiment and write its tables and, with matplotlib, its figure.

    Parameters
    ----------
    out
        The experiment's directory: made here, or empty, or, with ``resume``, one of the same plan.
    jobs
        Threads; 0: all cores. No result depends on it.
    resume
        Go on where an interruption left the experiment.
    cache
        A directory that keeps the extracted features in files, for other processes and later runs.

    Returns
    -------
    str
        The tables as Markdown.

    Raises
    ------
    MtparseError
        Whatever is wrong with the data or the directory.
    KeyboardInterrupt
        With the way to go on.
    """
    progress = progress or Progress(quiet=True)
    threads = thread_count(jobs or next(iter(plan.cells.values())).threads)
    if cache is not None:
        require_cache(cache, out)
    store = Store(out, plan, resume)
    try:
        return _finish_all(plan, store, threads, progress, cache)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("what is finished is kept; --resume continues") from None
    finally:
        store.close()


def _finish_all(plan: Plan, store: Store, threads: int, progress: Progress, cache: str | None) -> str:
    """Run what is missing, then make tables and figure."""
    missing = {cell: config for cell, config in plan.cells.items() if cell not in store.finished}
    if missing:
        read = _read_all(plan, missing, store.agree_on_files, progress)
        overall = _Overall(progress, sum(len(costs(config)) for config in missing.values()))
        try:
            for language in list(read):
                files = read.pop(language)
                for group in _groups(missing, language):
                    _run_group(group, files, store, threads, progress, overall, cache)
        finally:
            overall.close()
        store.keep_cost(threads)
    elif changed := store.changed_files(plan):
        progress.warn(
            f"{', '.join(changed)}: the file has changed since; these are results of the old one. "
            "Start again with another --out for results of the new one"
        )
    if mixed := store.mixed_versions():
        progress.warn(mixed)
    runs = {cell: store.run(cell) for cell in plan.cells}
    tables = os.path.join(store.path, TABLES)
    text = write_tables(plan, runs, tables)
    try:
        _write_curves(runs, os.path.join(tables, CURVES_NAME))
    except MtparseError as error:
        progress.warn(f"no curves: {error}")
    try:
        draw_unless_drawn(plan, runs, os.path.join(tables, "figure"))
    except ImportError:
        progress.say("no figure, as matplotlib is missing: pip install '.[plots]' brings it")
    except Exception as error:  # tables must not be lost for want of a figure
        progress.warn(f"no figure: {type(error).__name__}: {str(error).splitlines()[0]}")
    progress.say(f"tables: {tables}")
    return text


def _write_curves(runs: Mapping[Cell, str], path: str) -> None:
    """Write the passes of all runs as one table, with the cell of each."""
    with suppress(FileNotFoundError):
        os.remove(path)  # better none than one of other runs
    passes = (
        {**asdict(cell), **record}
        for cell, run in runs.items()
        for record in read_passes(os.path.join(run, LOG_NAME))
    )
    text = format_curves(passes, [field.name for field in fields(Cell)])
    with atomic_writer(path, "w") as file:
        file.write(text)


def _read_all(
    plan: Plan, missing: Iterable[Cell], agree: Callable[[str, Mapping[str, str]], None], progress: Progress
) -> dict[str, Files]:
    """Read the data of all languages, so that a fault is found now and not hours later.

    Parameters
    ----------
    agree
        Called with each language and the SHA-256 of its files; raises if they are not those to go on with.

    Returns
    -------
    The training and validation files of each language: 2 KB a word or less, 240 MB for six treebanks.
    """
    first: dict[str, Cell] = {}
    for cell in missing:
        first.setdefault(cell.language, cell)  # of folds the first, which leaves least to train on
    read = {}
    for language, cell in first.items():
        config = plan.cells[cell]
        files = read_files(config)
        parts = split_files(config, files)
        test = read_test(config, parts)
        agree(language, parts.hashes | ({"test": test.sha256} if test and test.sha256 else {}))
        for text in (*parts.notes, *shared_data(config, parts, test)):
            progress.warn(text)
        read[language] = files
        if plan.shared_task is None:
            continue
        words = parts.training.words + (parts.valid.words if parts.valid else 0)
        known = COUNTS[language].training_words
        if words != known:
            progress.warn(
                f"{language}: {words} training words, but {known} in the shared task's file: "
                "the paper's figures will not be comparable"
            )
    return read


def _groups(missing: Mapping[Cell, Config], language: str) -> list[dict[Cell, Config]]:
    """A language's missing runs, those of one fold and tree family together: they share their features."""
    groups: dict[tuple, dict[Cell, Config]] = {}
    for cell, config in missing.items():
        if cell.language == language:
            groups.setdefault((cell.fold, cell.trees), {})[cell] = config
    return list(groups.values())


def _run_group(
    group: dict[Cell, Config],
    files: Files,
    store: Store,
    threads: int,
    progress: Progress,
    overall: _Overall,
    cache: str | None,
) -> None:
    """All runs of one language, fold and tree family."""
    began = time.monotonic()
    first = next(iter(group.values()))
    parts = split_files(first, files)
    with Workers(threads) as workers:
        index, data = prepare(first, parts.training, parts.valid, parts.single, workers, progress, cache)
        preparing = time.monotonic() - began
        runs = _run_all(group, data, store, threads, overall)
        choices = {cell: choose(config, [trial for trial, _ in runs[cell]]) for cell, config in group.items()}
        refitted = None
        if first.refit:
            del index, data
            both = parts.training + parts.valid
            index, refitted = prepare(first, both, None, parts.single, workers, progress, cache)
            columns = refitted.columns
        else:
            columns = data.columns
        for cell, config in group.items():
            store.clear_run(cell)
            directory = RunDirectory(store.run(cell), config)
            try:
                trials = [trial for trial, _ in runs[cell]]
                tuning = sum(max(r.get("seconds", 0.0) for r in records) for _, records in runs[cell])
                began = time.monotonic() - preparing - tuning  # the cell's own share of the group
                for _, records in runs[cell]:
                    for record in records:
                        directory.log(record)
                u = choices[cell].u
                if refitted is not None:
                    u = refit(config, refitted, trials, choices[cell], workers, directory, progress)
                finish(
                    config, directory, parts, trials, choices[cell], index, columns.feature_weights(u),
                    threads, began,
                )  # fmt: skip
            finally:
                directory.close()
            store.clear_parts(cell)


def _run_all(
    group: dict[Cell, Config], data: TrainingProblem, store: Store, threads: int, overall: _Overall
) -> dict[Cell, list[Trained]]:
    """The runs of all cells and values of C over the threads; what is stored of each is taken up."""

    def task(cell: Cell, chain: list[float | None]) -> Callable[[Cancelled], list[Trained]]:
        def run(cancelled: Cancelled) -> list[Trained]:
            def train(C: float | None, start: TrainResult | None) -> Trained:
                checkpoint = store.checkpoint(cell, C, group[cell])
                loaded = checkpoint.finished() is not None
                with Workers(1) as workers:
                    trained = run_trainer(
                        group[cell], data, C, workers, start=start, cancelled=cancelled, checkpoint=checkpoint
                    )
                if not loaded:
                    store.keep_cost(threads)
                overall.step(loaded)
                return trained

            # the last weights are not needed beside the best ones, and as large
            return [
                (replace(trial, result=replace(trial.result, u=_NOTHING)) if trial.best else trial, records)
                for trial, records in train_chain(chain, train)
            ]

        return run

    # The longest runs first, so that no thread is left with one of them at the end.
    longest_first = sorted(group, key=lambda cell: -group[cell].trainer.relative_cost)
    work = [(cell, chain) for cell in longest_first for chain in chains(group[cell])]
    found = Threads(threads).run_all([task(cell, chain) for cell, chain in work])
    trained: dict[Cell, list[Trained]] = {cell: [] for cell in group}
    for (cell, _), runs in zip(work, found, strict=True):
        trained[cell] += runs
    return trained
