"""A whole experiment: every cell of a plan, features shared, finished runs kept, tables at the end.

Runs of one language and tree family share one extraction. They are drawn by threads, one C at a time, and
stored as they end, so that an experiment goes on where it was stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import time
import zipfile
import zlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict

import numpy as np

from mtparse import __version__
from mtparse.config import Config
from mtparse.errors import MtparseError
from mtparse.experiment import (
    PARSED_NAME,
    SCORES_NAME,
    SENTENCES_NAME,
    RunDirectory,
    finish,
    prepare,
    read_parts,
    refit,
    require_free,
    say_if_compiling,
    versions,
)
from mtparse.figures import draw
from mtparse.files import atomic_writer
from mtparse.model import MODEL_NAME
from mtparse.paper import COUNTS
from mtparse.plan import Cell, Plan
from mtparse.progress import Progress
from mtparse.tables import write_tables
from mtparse.training.base import TrainResult
from mtparse.training.tuning import Choice, Prepared, Run, chains, choose, costs, run_trainer
from mtparse.workers import Workers, thread_count

PLAN_NAME, INPUTS_NAME, COST_NAME = "plan.yaml", "inputs.json", "cost.json"
_LONGEST_FIRST = ("max-margin", "log-linear", "perceptron")


class _Store:
    """The directory of an experiment: its plan, its runs, and parts of unfinished runs."""

    def __init__(self, path: str, plan: Plan, resume: bool) -> None:
        self.path = path
        self._began = time.monotonic()
        self._spent = 0.0
        try:
            with open(os.path.join(path, COST_NAME), encoding="utf-8") as file:
                self._spent = float(json.load(file)["seconds"])
        except (OSError, ValueError, TypeError, KeyError):
            pass  # a new experiment
        begun = {PLAN_NAME: plan.dump(), INPUTS_NAME: json.dumps(_inputs(plan), indent=2) + "\n"}
        if resume and all(os.path.exists(os.path.join(path, name)) for name in begun):
            for name, text in begun.items():
                with open(os.path.join(path, name), "rb") as file:
                    if file.read() != text.encode():
                        raise MtparseError(_difference(os.path.join(path, name), name))
            return
        require_free(path)
        os.makedirs(path, exist_ok=True)
        for name, text in begun.items():
            with atomic_writer(os.path.join(path, name), "w") as file:
                file.write(text)

    def keep_cost(self, threads: int) -> None:
        """Keep how long the experiment has taken so far, in this session and the ones before."""
        seconds = round(self._spent + time.monotonic() - self._began, 1)
        cost = {"seconds": seconds, "threads": threads, "versions": versions()}
        with atomic_writer(os.path.join(self.path, COST_NAME), "w") as file:
            file.write(json.dumps(cost, indent=2) + "\n")

    def run(self, cell: Cell) -> str:
        """The run directory of a cell."""
        return os.path.join(self.path, "runs", str(cell))

    def finished(self, cell: Cell) -> dict | None:
        """What the scores of a cell's run are, if it is finished."""
        try:
            with open(os.path.join(self.run(cell), SCORES_NAME), encoding="utf-8") as file:
                scores = json.load(file)
        except (OSError, ValueError):
            return None
        rest = [os.path.join(self.run(cell), name) for name in (MODEL_NAME, PARSED_NAME, SENTENCES_NAME)]
        whole = isinstance(scores, dict) and "test" in scores and all(map(os.path.exists, rest))
        return scores if whole else None

    def _part(self, cell: Cell, C: float | None) -> str:
        return os.path.join(self.path, "parts", str(cell), "run" if C is None else f"C={C!r}")

    def save_part(self, cell: Cell, run: Run, records: list[dict], state: bool) -> None:
        """Keep what training with one C gave, with the state if a warm start needs it; it appears whole."""
        path = self._part(cell, run.C)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        result = {k: v for k, v in asdict(run.result).items() if k not in ("u", "state")}
        best = {
            name: {k: v for k, v in asdict(choice).items() if k != "u"} for name, choice in run.best.items()
        }
        text = json.dumps({"C": run.C, "result": result, "best": best, "log": records})
        arrays = {f"u_{name}": choice.u for name, choice in run.best.items()}
        if state:
            arrays |= {f"state_{name}": array for name, array in run.result.state.items()}
        with atomic_writer(f"{path}.npz") as file:
            np.savez(file, text=np.frombuffer(text.encode(), np.uint8), **arrays)

    def load_part(self, cell: Cell, C: float | None) -> tuple[Run, list[dict]] | None:
        """What :meth:`save_part` kept, if it did and it can be read; otherwise the run is done again."""
        try:
            with np.load(f"{self._part(cell, C)}.npz", allow_pickle=False) as stored:
                kept = json.loads(stored["text"].tobytes())
                best = {name: Choice(**c, u=stored[f"u_{name}"]) for name, c in kept["best"].items()}
                state = {k.removeprefix("state_"): stored[k] for k in stored if k.startswith("state_")}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
            return None
        result = TrainResult(np.empty(0), **kept["result"], state=state)
        return Run(kept["C"], result, best), kept["log"]

    def clear_parts(self, cell: Cell) -> None:
        """The cell's run is finished."""
        shutil.rmtree(os.path.join(self.path, "parts", str(cell)), ignore_errors=True)


def _inputs(plan: Plan) -> dict[str, str]:
    """What results depend on besides the plan: the SHA-256 of every file, and the version."""
    found = {"mtparse": __version__}
    for config in plan.cells.values():
        for path in (config.data.train_path, config.data.valid_path, config.data.test_path):
            if path is not None and path not in found:
                with open(path, "rb") as file:
                    found[path] = hashlib.sha256(file.read()).hexdigest()
    return found


def _difference(path: str, name: str) -> str:
    what = "the plan" if name == PLAN_NAME else "a treebank, or mtparse itself,"
    return f"{path}: {what} is not what the experiment began with; begin anew with another --out"


class _Overall:
    """Progress of the whole: runs done, and how long the rest may take."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._task = progress.task("runs", total)
        self._total, self._done, self._began = total, 0, time.monotonic()
        self._lock = threading.Lock()

    def step(self) -> None:
        """One more run is done."""
        with self._lock:
            self._done += 1
            left = (time.monotonic() - self._began) / self._done * (self._total - self._done)
            self._task.update(self._done, f"about {left / 60:.0f} min left")

    def close(self) -> None:
        """No more runs."""
        self._task.close()


def reproduce(
    plan: Plan, out: str, *, jobs: int = 0, resume: bool = False, progress: Progress | None = None
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

    Returns
    -------
    str
        The tables as Markdown.

    Raises
    ------
    MtparseError
        Whatever is wrong with the data or the directory.
    """
    progress = progress or Progress(quiet=True)
    threads = thread_count(jobs)
    plan.require_files()
    store = _Store(out, plan, resume)
    missing = {cell: config for cell, config in plan.cells.items() if store.finished(cell) is None}
    if missing:
        _read_all(plan, missing, progress)
        say_if_compiling(progress)
        overall = _Overall(progress, sum(len(costs(config)) for config in missing.values()))
        try:
            for language in plan.languages:
                for trees in plan.trees:
                    group = {k: v for k, v in missing.items() if (k.language, k.trees) == (language, trees)}
                    if group:
                        _run_group(group, store, threads, progress, overall)
        finally:
            overall.close()
        store.keep_cost(threads)
    runs = {cell: store.run(cell) for cell in plan.cells}
    text = write_tables(plan, runs, os.path.join(out, "tables"))
    try:
        draw(plan, runs, os.path.join(out, "tables", "figure"))
    except ImportError:
        progress.say("no figure: matplotlib is not installed (the extra mtparse[plots])")
    return text


def _read_all(plan: Plan, missing: Iterable[Cell], progress: Progress) -> None:
    """Read all training and validation data once, so that a fault is found now and not hours later."""
    for language, cell in {cell.language: cell for cell in missing}.items():
        parts = read_parts(plan.cells[cell])
        if plan.shared_task is None:
            continue
        words = parts.training.words + (parts.valid.words if parts.valid else 0)
        known = COUNTS[language].training_words
        if words != known:
            progress.say(
                f"warning: {language}: {words} training words, but {known} in the shared task's file: "
                "the paper's figures will not be comparable"
            )


def _run_group(
    group: dict[Cell, Config], store: _Store, threads: int, progress: Progress, overall: _Overall
) -> None:
    """All runs of one language and tree family."""
    began = time.monotonic()
    first = next(iter(group.values()))
    parts = read_parts(first)
    with Workers(threads) as workers:
        index, data = prepare(first, parts.training, parts.valid, parts.single, workers, progress)
        runs = _run_all(group, data, store, threads, overall)
        choices = {cell: choose(config, [run for run, _ in runs[cell]]) for cell, config in group.items()}
        refitted = None
        if first.refit:
            del index, data
            both = parts.training + parts.valid
            index, refitted = prepare(first, both, None, parts.single, workers, progress)
            columns = refitted.columns
        else:
            columns = data.columns
        for cell, config in group.items():
            shutil.rmtree(store.run(cell), ignore_errors=True)  # of a run that was interrupted here
            directory = RunDirectory(store.run(cell), config)
            try:
                ran = [run for run, _ in runs[cell]]
                for _, records in runs[cell]:
                    for record in records:
                        directory.log(record)
                u = choices[cell].u
                if refitted is not None:
                    u = refit(config, refitted, ran, choices[cell], workers, directory.log, progress)
                finish(
                    config, directory, parts, ran, choices[cell], index, columns.feature_weights(u),
                    threads, began,
                )  # fmt: skip
            finally:
                directory.close()
            store.clear_parts(cell)


def _run_all(
    group: dict[Cell, Config], data: Prepared, store: _Store, threads: int, overall: _Overall
) -> dict[Cell, list[tuple[Run, list[dict]]]]:
    """The runs of all cells and values of C over the threads, those stored already not again."""
    cancel = threading.Event()

    def one(cell: Cell, config: Config, chain: list[float | None]) -> list[tuple[Run, list[dict]]]:
        done: list[tuple[Run, list[dict]]] = []
        for C in chain:
            found = store.load_part(cell, C)
            if found is None:
                records: list[dict] = []
                start = done[-1][0].result if done else None
                with Workers(1) as workers:
                    run = run_trainer(
                        config, data, C, workers, records.append, start=start, cancelled=cancel.is_set
                    )
                store.save_part(cell, run, records, state=len(chain) > 1)
                store.keep_cost(threads)
                found = run, records
            done.append(found)
            overall.step()
        return done

    # The longest runs first, so that no thread is left with one of them at the end.
    longest_first = sorted(group, key=lambda cell: _LONGEST_FIRST.index(cell.trainer))
    with ThreadPoolExecutor(threads) as pool:
        try:
            jobs = {
                cell: [pool.submit(one, cell, group[cell], chain) for chain in chains(group[cell])]
                for cell in longest_first
            }
            for job in as_completed(job for some in jobs.values() for job in some):
                job.result()  # the first fault ends the others
        except BaseException:
            cancel.set()
            pool.shutdown(cancel_futures=True)
            raise
    return {cell: [found for job in jobs[cell] for found in job.result()] for cell in group}
