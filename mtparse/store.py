"""The directory of an experiment: what it began with, its runs, and parts of unfinished runs."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import time
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from mtparse._jit import PACKAGE, sources_digest
from mtparse.config_yaml import dump_yaml, read_yaml
from mtparse.errors import ConfigError, MtparseError
from mtparse.experiment import LOG_NAME, PARSED_NAME, SCORES_NAME, SENTENCES_NAME, require_free, versions
from mtparse.files import atomic_writer
from mtparse.model import MODEL_NAME
from mtparse.plan import Cell, Plan
from mtparse.training.base import TrainResult
from mtparse.training.tuning import Choice, Run

PLAN_NAME, INPUTS_NAME, COST_NAME = "plan.yaml", "inputs.json", "cost.json"
MAKES_MODELS = ("features", "inference", "training", "conll.py", "experiment.py", "treebank.py", "trees.py")
"""The sources that decide which model comes of a treebank and a config."""

_NOTHING = np.empty(0)


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
        self._began, self._lock = time.monotonic(), threading.Lock()
        if not resume or not self._kept(PLAN_NAME):
            require_free(path)
            plan.require_files()
            os.makedirs(path, exist_ok=True)
        self._spent = float(self._kept(COST_NAME).get("seconds", 0.0))
        cells = {str(cell): config for cell, config in plan.as_dict().items()}
        self._agree(PLAN_NAME, cells, "run", "--set is part of it")
        self.finished = {cell: scores for cell in plan.cells if (scores := self._finished(cell))}
        for cell in self.finished:
            self.clear_parts(cell)  # should the end of a run have been its last moment
        if len(self.finished) < len(plan.cells):
            plan.require_files()
            self._agree(INPUTS_NAME, _inputs(plan), "input", "its runs would not go together")

    def _kept(self, name: str) -> dict:
        """A mapping that the directory keeps; empty where it is missing or unreadable."""
        path = os.path.join(self.path, name)
        try:
            if name == PLAN_NAME:
                found = read_yaml(path)
            else:
                with open(path, encoding="utf-8") as file:
                    found = json.load(file)
        except (OSError, ValueError, ConfigError):
            return {}
        return dict(found) if isinstance(found, Mapping) else {}

    def _agree(self, name: str, now: dict, what: str, hint: str) -> None:
        """Refuse another value of anything that is kept already; keep what is new."""
        before = self._kept(name)
        for key, value in now.items():
            if key in before and _comparable(before[key]) != _comparable(value):
                raise MtparseError(
                    f"{os.path.join(self.path, name)}: {what} {key} is not what the experiment began with "
                    f"({hint}); begin anew with another --out"
                )
        if now.keys() - before.keys():
            whole = {**before, **now}
            text = dump_yaml(whole) if name == PLAN_NAME else json.dumps(whole, indent=2) + "\n"
            with atomic_writer(os.path.join(self.path, name), "w") as file:
                file.write(text)

    def keep_cost(self, threads: int) -> None:
        """Keep how long the experiment has taken so far, in this session and the ones before."""
        with self._lock:
            seconds = round(self._spent + time.monotonic() - self._began, 1)
            cost = {"seconds": seconds, "threads": threads, "versions": versions()}
            with atomic_writer(os.path.join(self.path, COST_NAME), "w") as file:
                file.write(json.dumps(cost, indent=2) + "\n")

    def run(self, cell: Cell) -> str:
        """The run directory of a cell."""
        return os.path.join(self.path, "runs", str(cell))

    def _finished(self, cell: Cell) -> dict | None:
        """What the scores of a cell's run are, if it is finished."""
        try:
            with open(os.path.join(self.run(cell), SCORES_NAME), encoding="utf-8") as file:
                scores = json.load(file)
        except (OSError, ValueError):
            return None
        rest = (MODEL_NAME, PARSED_NAME, SENTENCES_NAME, LOG_NAME)
        there = all(os.path.exists(os.path.join(self.run(cell), name)) for name in rest)
        return scores if there and isinstance(scores, dict) and "test" in scores else None

    def _part(self, cell: Cell, C: float | None) -> str:
        return os.path.join(self.path, "parts", str(cell), "run.npz" if C is None else f"C={C!r}.npz")

    def save_part(self, cell: Cell, run: Run, records: list[dict]) -> None:
        """Keep what training with one C gave, the state of a warm start with it; it appears whole."""
        path = self._part(cell, run.C)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        result = asdict(replace(run.result, u=_NOTHING, state={}))
        best = {name: asdict(replace(choice, u=_NOTHING)) for name, choice in run.best.items()}
        for kept in (result, *best.values()):
            del kept["u"]
        text = json.dumps({"C": run.C, "result": result, "best": best, "log": records})
        arrays = {f"u_{name}": choice.u for name, choice in run.best.items()}
        arrays |= {f"state_{name}": array for name, array in run.result.state.items()}
        with atomic_writer(path) as file:
            np.savez(file, text=np.frombuffer(text.encode(), np.uint8), **arrays)

    def load_part(self, cell: Cell, C: float | None) -> tuple[Run, list[dict]] | None:
        """What :meth:`save_part` kept, if it did and it can be read; otherwise the run is done again."""
        try:
            with np.load(self._part(cell, C), allow_pickle=False) as stored:
                kept = json.loads(stored["text"].tobytes())
                best = {name: Choice(**c, u=stored[f"u_{name}"]) for name, c in kept["best"].items()}
                state = {k.removeprefix("state_"): stored[k] for k in stored if k.startswith("state_")}
            result = TrainResult(_NOTHING, **{**kept["result"], "state": state})
            return Run(kept["C"], result, best), kept["log"]
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error):
            return None

    def clear_parts(self, cell: Cell) -> None:
        """The cell's run is finished."""
        shutil.rmtree(os.path.join(self.path, "parts", str(cell)), ignore_errors=True)


def _inputs(plan: Plan) -> dict[str, str]:
    """What results depend on besides the configs: the code, the libraries, the SHA-256 of every file."""
    found = {**versions(), "sources": sources_digest(PACKAGE, MAKES_MODELS)}
    for config in plan.cells.values():
        for path in (config.data.train_path, config.data.valid_path, config.data.test_path):
            if path is not None and path not in found:
                found[path] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return found


def _comparable(value):
    """A run's config without what no result depends on."""
    return {k: v for k, v in value.items() if k != "threads"} if isinstance(value, Mapping) else value
