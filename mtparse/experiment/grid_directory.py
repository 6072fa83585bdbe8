"""The directory of an experiment: what it began with, its runs, and parts of unfinished runs."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Mapping

from mtparse.config.run import Config, comparable
from mtparse.config.strict_yaml import read_yaml
from mtparse.errors import ConfigError, MtparseError
from mtparse.experiment.plan import Cell, Plan
from mtparse.experiment.results import read_result
from mtparse.experiment.run_directory import (
    CONFIG_NAME,
    LOG_NAME,
    PARSED_NAME,
    SCORES_NAME,
    first_difference,
    input_name,
    require_free,
    require_unused,
    versions,
)
from mtparse.experiment.stored_plan import PLAN_NAME, TABLES, merged_record, read_record, run_folder
from mtparse.model.model_file import MODEL_NAME
from mtparse.runtime.files import atomic_writer, clear_temporaries, lock_directory, remove_folder
from mtparse.runtime.source_digest import DIGEST
from mtparse.training.checkpoints import Checkpoint
from mtparse.treebank.gold import files_sha256

INPUTS_NAME, COST_NAME = "inputs.json", "cost.json"


class Store:
    """An experiment's directory, made here or, with ``resume``, one that holds runs of the same configs.

    Runs that were copied there from another machine's directory count if their configs are the plan's.

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
            raise MtparseError(f"{path}: no experiment to resume; start it without --resume")
        if not resume:
            require_unused(path)
            if os.path.exists(os.path.join(path, PLAN_NAME)):
                raise MtparseError(
                    f"{path}: exists and is not empty: it holds an experiment; resume it with --resume, or "
                    "name another directory with --out"
                )
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
        before = read_record(self.path) if resume else {}
        seconds = self._kept(COST_NAME).get("seconds")
        self._spent = seconds if isinstance(seconds, float) and 0.0 <= seconds < 1e12 else 0.0
        record = merged_record(before, plan)
        known = {**before.get("earlier", {}), **before.get("cells", {})}
        now = {str(cell): config for cell, config in plan.as_dict().items()}
        for name, config in now.items():
            key = first_difference(comparable(known.get(name, config)), comparable(config))
            if key is not None:
                raise MtparseError(
                    f"{self.path}: {key} of run {name} differs from what the experiment began with; resume "
                    "it with the same CONFIG and the same --set, or start another with another --out"
                )
        self.finished = {cell: scores for cell in plan.cells if (scores := self._finished(cell))}
        for cell in self.finished:
            self._require_of_plan(cell, now[str(cell)])
        if json.dumps(record) != json.dumps(before):  # the order of the runs counts, too
            self._write(PLAN_NAME, record)
        for cell in self.finished:
            self.clear_parts(cell)  # should the end of a run have been its last moment
        if len(self.finished) < len(plan.cells):
            plan.require_files()
            self._used = self._used_inputs(plan)
            if self._used and not self._kept(INPUTS_NAME):
                raise MtparseError(
                    f"{os.path.join(self.path, INPUTS_NAME)}: missing or damaged: which files and versions "
                    "the finished runs were made with cannot be read; start again with another --out"
                )
            todo = {cell.language for cell in plan.cells if cell not in self.finished}
            done = {cell: config for cell, config in plan.cells.items() if cell.language not in todo}
            hashes = {name: files_sha256(paths) for name, paths in _files(done).items()}
            # files of the other languages are hashed as they are read, see agree_on_files
            self._agree_on_inputs({**versions(), "sources": DIGEST, **hashes})

    def _lock(self) -> None:
        """Keep other processes out while this one lives, and clear away what killed ones left half written.

        Raises
        ------
        MtparseError
            If another process works in the directory.
        """
        self._release = lock_directory(self.path)
        for folder in (self.path, *(os.path.join(self.path, name) for name in ("runs", TABLES))):
            if os.path.isdir(folder):
                clear_temporaries(folder)

    def close(self) -> None:
        """Let other processes in."""
        self._release()

    def _kept(self, name: str) -> dict:
        """A mapping that the directory keeps; empty where it is missing or unreadable."""
        try:
            with open(os.path.join(self.path, name), encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write(self, name: str, values: Mapping) -> None:
        with atomic_writer(os.path.join(self.path, name), "w") as file:
            file.write(json.dumps(values, indent=2, ensure_ascii=False) + "\n")

    def _require_of_plan(self, cell: Cell, config: Mapping) -> None:
        """Refuse a run, copied from another machine's directory, that is not what the plan would make."""
        path = os.path.join(self.run(cell), CONFIG_NAME)
        try:
            stored = read_yaml(path)
        except ConfigError as error:
            raise MtparseError(str(error)) from error
        before = comparable(stored) if isinstance(stored, Mapping) else {}
        if key := first_difference(before, comparable(config)):
            raise MtparseError(
                f"{path}: {key} differs from the plan; runs from several machines must be of the same plan"
            )

    def _made_from(self) -> dict[str, str]:
        """The SHA-256 of the files that finished runs were made from, by names like ``dutch/test``.

        Raises
        ------
        MtparseError
            If two of them were made from different files, as on machines with different copies.
        """
        made: dict[str, str] = {}
        for cell, scores in self.finished.items():
            for part, sha256 in scores["sha256"].items():
                if made.setdefault(f"{cell.language}/{part}", sha256) != sha256:
                    raise MtparseError(
                        f"{self.run(cell)}: made from another file {cell.language}/{part} than other runs "
                        "here"
                    )
        return made

    def mixed_versions(self) -> str | None:
        """What to warn of where finished runs are of different versions, as from different machines."""
        found = [{**scores["versions"]} for scores in self.finished.values()]
        names = sorted({name for one in found for name in one})
        mixed = {name: sorted({str(one.get(name)) for one in found}) for name in names}
        shown = [f"{name} {' and '.join(several)}" for name, several in mixed.items() if len(several) > 1]
        return f"{self.path}: runs of different versions: {', '.join(shown)}" if shown else None

    def changed_files(self, plan: Plan) -> list[str]:
        """The treebanks, like ``dutch/test``, that are no longer those that the experiment was made from."""
        before = self._made_from()
        here = {name: paths for name, paths in _files(plan.cells).items() if all(map(os.path.isfile, paths))}
        known = {name: paths for name, paths in here.items() if name in before}
        return [name for name, paths in known.items() if before[name] != files_sha256(paths)]

    def _used_inputs(self, plan: Plan) -> set[str]:
        """The inputs that finished runs and parts of unfinished ones depend on."""
        used: set[str] = set()
        for cell in plan.cells:
            begun = os.path.isdir(self._parts(cell))
            if begun or os.path.exists(os.path.join(self.run(cell), SCORES_NAME)):
                used |= {*versions(), "sources", *(f"{cell.language}/{part}" for part in ("train", "valid"))}
            if cell in self.finished:
                used.add(f"{cell.language}/test")
        return used

    def agree_on_files(self, language: str, hashes: Mapping[str, str]) -> None:
        """Refuse other files of a language than those that something here was made from; keep what is new.

        Parameters
        ----------
        hashes
            The SHA-256 of each part, such as ``train``, from the reading that its runs are trained on.
        """
        self._agree_on_inputs({f"{language}/{part}": sha256 for part, sha256 in hashes.items()})

    def _agree_on_inputs(self, now: dict[str, str]) -> None:
        """Refuse another input than that which something here was made from; keep what is new."""
        kept = self._kept(INPUTS_NAME)
        before = {**kept, **self._made_from()}
        for key, value in now.items():
            if key in self._used and before.get(key, value) != value:
                raise MtparseError(
                    f"{self.path}: {input_name(key)} has changed since the experiment began, so that its "
                    "runs could not be compared; start again with another --out"
                )
        if {**kept, **now} != kept:
            self._write(INPUTS_NAME, {**kept, **now})

    def keep_cost(self, threads: int) -> None:
        """Keep how long the experiment has taken so far, in this session and the ones before."""
        with self._cost_lock:
            seconds = round(self._spent + time.monotonic() - self._began, 1)
            self._write(COST_NAME, {"seconds": seconds, "threads": threads, "versions": versions()})

    def run(self, cell: Cell) -> str:
        """The run directory of a cell."""
        return run_folder(self.path, cell)

    def _finished(self, cell: Cell) -> dict | None:
        """What the scores of a cell's run are, if it is finished."""
        folder = self.run(cell)
        try:
            scores, _ = read_result(folder)
            rest = (MODEL_NAME, PARSED_NAME, LOG_NAME)
            whole = all(os.path.getsize(os.path.join(folder, name)) for name in rest)
        except (OSError, MtparseError):
            return None
        return scores if whole else None

    def checkpoint(self, cell: Cell, C: float | None, config: Config) -> Checkpoint:
        """Where training with one C is stored while it lasts, and what it gave, until the run is finished."""
        folder = self._parts(cell)
        os.makedirs(folder, exist_ok=True)
        name = "run" if C is None else f"C={C!r}"
        every = None if config.checkpoint == "auto" else int(config.checkpoint)
        return Checkpoint(os.path.join(folder, name), config.trainer.name, every)

    def _parts(self, cell: Cell) -> str:
        return os.path.join(self.path, "parts", str(cell))

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
        shutil.rmtree(self._parts(cell), ignore_errors=True)


def _files(cells: Mapping[Cell, Config]) -> dict[str, tuple[str, ...]]:
    """Where the treebanks are, by names like ``dutch/test``."""
    return {
        f"{cell.language}/{part}": paths
        for cell, config in cells.items()
        for part, paths in config.data.paths.items()
    }
