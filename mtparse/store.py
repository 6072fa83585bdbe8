"""The directory of an experiment: what it began with, its runs, and parts of unfinished runs."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from mtparse.config import comparable
from mtparse.config_yaml import dump_yaml, read_yaml
from mtparse.errors import ConfigError, MtparseError
from mtparse.evaluation import Scores, read_sentence_counts
from mtparse.files import atomic_writer, clear_temporaries, lock_directory, remove_folder
from mtparse.model import MODEL_NAME
from mtparse.plan import Cell, Plan
from mtparse.run_directory import (
    LOG_NAME,
    PARSED_NAME,
    SCORES_NAME,
    SENTENCES_NAME,
    read_summary,
    require_free,
    sources,
    versions,
)
from mtparse.training.runs import Run, load_run, save_run

PLAN_NAME, INPUTS_NAME, COST_NAME = "plan.yaml", "inputs.json", "cost.json"


class Store:
    """An experiment's directory, made here or, with ``resume``, one that holds runs of the same configs.

    Raises
    ------
    MtparseError
        If the directory is of another experiment: a run's config, a treebank, the code that trains or a
        library differs from what unfinished runs began with. What is finished can be printed regardless.
    """

    def __init__(self, path: str, plan: Plan, resume: bool) -> None:
        self.path = path
        self._began, self._cost_lock = time.monotonic(), threading.Lock()
        there = os.path.isdir(path) and bool(os.listdir(path))
        if resume and not there:
            raise MtparseError(f"{path}: no experiment to resume; begin it without --resume")
        if not resume:
            require_free(path)
            plan.require_files()
            os.makedirs(path, exist_ok=True)
        self._lock()
        try:
            self._open(plan, resume)
        except BaseException:
            self.close()
            raise

    def _open(self, plan: Plan, resume: bool) -> None:
        if resume and not self._kept(PLAN_NAME):
            raise MtparseError(
                f"{os.path.join(self.path, PLAN_NAME)}: missing or damaged, so that nobody knows what "
                "was begun here; begin anew with another --out"
            )
        seconds = self._kept(COST_NAME).get("seconds")
        self._spent = seconds if isinstance(seconds, float) and 0.0 <= seconds < 1e12 else 0.0
        cells = {str(cell): config for cell, config in plan.as_dict().items()}
        self._agree(PLAN_NAME, cells, cells, "run", "--set is part of it")
        self.finished = {cell: scores for cell in plan.cells if (scores := self._finished(cell))}
        for cell in self.finished:
            self.clear_parts(cell)  # should the end of a run have been its last moment
        if len(self.finished) < len(plan.cells):
            plan.require_files()
            used = self._used_inputs(plan)
            if used and not self._kept(INPUTS_NAME):
                raise MtparseError(
                    f"{os.path.join(self.path, INPUTS_NAME)}: missing or damaged, so that nobody knows "
                    "whether more runs go together with those that are there; begin anew with another --out"
                )
            self._agree(INPUTS_NAME, _inputs(plan), used, "input", "its runs would not go together")

    def _lock(self) -> None:
        """Keep other processes out while this one lives, and clear away what killed ones left half written.

        Raises
        ------
        MtparseError
            If another process works in the directory.
        """
        self._release = lock_directory(self.path)
        for folder in (self.path, *(os.path.join(self.path, name) for name in ("runs", "tables"))):
            if os.path.isdir(folder):
                clear_temporaries(folder)

    def close(self) -> None:
        """Let other processes in."""
        self._release()

    def _kept(self, name: str) -> dict:
        """A mapping that the directory keeps; empty where it is missing or unreadable."""
        path = os.path.join(self.path, name)
        try:
            if name == PLAN_NAME:
                found = read_yaml(path)
            else:
                with open(path, encoding="utf-8") as file:
                    found = json.load(file)
        except (OSError, ValueError, ConfigError, RecursionError):
            return {}
        return dict(found) if isinstance(found, Mapping) else {}

    def changed_files(self, plan: Plan) -> list[str]:
        """The treebanks, like ``dutch/test``, that are no longer those that the experiment was made from."""
        before = self._kept(INPUTS_NAME)
        here = {name: path for name, path in _files(plan).items() if os.path.isfile(path)}
        return [name for name, path in here.items() if name in before and before[name] != _sha256(path)]

    def _used_inputs(self, plan: Plan) -> set[str]:
        """The inputs that finished runs and parts of unfinished ones depend on."""
        used: set[str] = set()
        for cell in plan.cells:
            begun = os.path.isdir(os.path.join(self.path, "parts", str(cell)))
            if begun or os.path.exists(os.path.join(self.run(cell), SCORES_NAME)):
                used |= {*versions(), "sources", *(f"{cell.language}/{part}" for part in ("train", "valid"))}
            if cell in self.finished:
                used.add(f"{cell.language}/test")
        return used

    def _agree(self, name: str, now: dict, used: Collection[str], what: str, hint: str) -> None:
        """Refuse another value of anything that is kept and used already; keep what is new."""
        before = self._kept(name)
        for key, value in now.items():
            if key in used and key in before and comparable(before[key]) != comparable(value):
                raise MtparseError(
                    f"{os.path.join(self.path, name)}: {what} {key} is not what the experiment began with "
                    f"({hint}); begin anew with another --out"
                )
        whole = {**before, **now}
        if whole != before:
            text = dump_yaml(whole) if name == PLAN_NAME else json.dumps(whole, indent=2) + "\n"
            with atomic_writer(os.path.join(self.path, name), "w") as file:
                file.write(text)

    def keep_cost(self, threads: int) -> None:
        """Keep how long the experiment has taken so far, in this session and the ones before."""
        with self._cost_lock:
            seconds = round(self._spent + time.monotonic() - self._began, 1)
            cost = {"seconds": seconds, "threads": threads, "versions": versions()}
            with atomic_writer(os.path.join(self.path, COST_NAME), "w") as file:
                file.write(json.dumps(cost, indent=2) + "\n")

    def run(self, cell: Cell) -> str:
        """The run directory of a cell."""
        return os.path.join(self.path, "runs", str(cell))

    def _finished(self, cell: Cell) -> dict | None:
        """What the scores of a cell's run are, if it is finished."""
        folder = self.run(cell)
        try:
            scores = read_summary(folder)
            for key in ("all_tokens", "without_punctuation"):
                rows = read_sentence_counts(os.path.join(folder, SENTENCES_NAME), key)
                total = sum(rows, Scores())
                expected = [scores["test"][name] for name in ("sentences", "words", key)]
                if [total.sentences, total.words, total.as_dict()["UAS"]] != expected:
                    return None
            rest = (MODEL_NAME, PARSED_NAME, LOG_NAME)
            whole = scores["treebank"]["words"] and all(
                os.path.getsize(os.path.join(folder, n)) for n in rest
            )
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return None
        return scores if whole else None

    def _part(self, cell: Cell, C: float | None) -> str:
        return os.path.join(self.path, "parts", str(cell), "run.part" if C is None else f"C={C!r}.part")

    def save_part(self, cell: Cell, run: Run, records: list[dict]) -> None:
        """Keep what training with one C gave."""
        path = self._part(cell, run.C)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        save_run(path, run, records)

    def load_part(self, cell: Cell, C: float | None) -> tuple[Run, list[dict]] | None:
        """What :meth:`save_part` kept; None where it did not."""
        return load_run(self._part(cell, C))

    def clear_run(self, cell: Cell) -> None:
        """Remove the run directory of a cell, which was interrupted.

        Raises
        ------
        MtparseError
            If another process works in it.
        """
        if os.path.isdir(self.run(cell)):
            release = lock_directory(self.run(cell))
            remove_folder(self.run(cell))
            release()

    def clear_parts(self, cell: Cell) -> None:
        """The cell's run is finished."""
        shutil.rmtree(os.path.join(self.path, "parts", str(cell)), ignore_errors=True)


def _inputs(plan: Plan) -> dict[str, str]:
    """What results depend on besides the configs: the code, the libraries, the SHA-256 of every file."""
    hashes = {name: _sha256(path) for name, path in _files(plan).items()}
    return {**versions(), "sources": sources(), **hashes}


def _files(plan: Plan) -> dict[str, str]:
    """Where the treebanks are, by names like ``dutch/test``."""
    return {
        f"{cell.language}/{part}": path
        for cell, config in plan.cells.items()
        for part, path in config.data.paths.items()
    }


def _sha256(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
