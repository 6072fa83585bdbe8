"""The directory that one training run fills: what is kept of a run, whole or in parts."""

from __future__ import annotations

import json
import os
import platform
import threading
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version

from mtparse._jit import PACKAGE, sources_digest
from mtparse.config import Config, comparable, config_to_dict, dump_config, load_config
from mtparse.errors import MtparseError
from mtparse.files import atomic_writer, clear_temporaries, lock_directory, named, remove_folder
from mtparse.training.runs import Checkpoint

CONFIG_NAME, LOG_NAME, SCORES_NAME = "config.yaml", "log.jsonl", "scores.json"
PARSED_NAME, SENTENCES_NAME = "parsed.conll", "sentences.csv"
CHECKPOINTS = "checkpoint"
_INPUTS_NAME = "inputs.json"

MAKES_MODELS = (
    "features",
    "inference",
    "training",
    "conll.py",
    "experiment.py",
    "heads.py",
    "preparation.py",
    "reader.py",
    "treebank.py",
    "trees.py",
)
"""The sources that decide which model comes of a treebank and a config."""


def versions() -> dict[str, str]:
    """Versions of all that a result may depend on."""
    packages = ("mtparse", "numpy", "scipy", "numba")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def sources() -> str:
    """A hash of the code that trains."""
    return sources_digest(PACKAGE, MAKES_MODELS)


def require_free(path: str) -> None:
    """Refuse a run directory that holds anything.

    Raises
    ------
    MtparseError
        If the path is a file or a directory that is not empty.
    """
    if os.path.isdir(os.path.join(path, CHECKPOINTS)):
        raise MtparseError(
            f"{path}: holds a run that was interrupted; go on with --resume {path}, name another directory "
            "with --out, or remove it"
        )
    if os.path.exists(path) and (not os.path.isdir(path) or os.listdir(path)):
        raise MtparseError(f"{path}: exists and is not empty; name another directory with --out or remove it")


def stored_config(path: str) -> str:
    """The config file of a run directory.

    Raises
    ------
    MtparseError
        If there is none.
    """
    config = os.path.join(path, CONFIG_NAME)
    if not os.path.isfile(config):
        raise MtparseError(f"{path}: no run to resume, {CONFIG_NAME} is missing; begin a run with --out")
    return config


def finished(path: str, config: Config) -> dict | None:
    """What ``scores.json`` holds, of a run that was finished; None of one that was not.

    Raises
    ------
    MtparseError
        If there is no run, or one that cannot be resumed, or one of other settings.
    """
    stored_path = stored_config(path)
    stored = load_config(stored_path)
    before, now = comparable(config_to_dict(stored)), comparable(config_to_dict(config))
    if key := _first_difference(before, now):
        raise MtparseError(
            f"{stored_path}: {key} is not what the run began with; --resume goes on with the same settings, "
            "begin another run with --out"
        )
    if not os.path.isdir(os.path.join(path, CHECKPOINTS)):
        try:
            with open(os.path.join(path, SCORES_NAME), encoding="utf-8") as file:
                summary = json.load(file)
            if "test" in summary or stored.data.test is None:
                return summary
        except (OSError, ValueError):
            pass
        if stored.checkpoint == 0:
            raise MtparseError(
                f"{path}: this run kept no checkpoints (checkpoint: 0); begin anew with another --out"
            )
    return None


def _first_difference(a: Mapping, b: Mapping, prefix: str = "") -> str | None:
    for key in {**a, **b}:
        one, other = a.get(key), b.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            if found := _first_difference(one, other, f"{prefix}{key}."):
                return found
        elif one != other:
            return prefix + key
    return None


class RunDirectory:
    """A directory that one process fills; begins with the config.

    Parameters
    ----------
    path
        Made here, or empty, or, with ``resume``, what :func:`finished` found to be unfinished.
    hashes
        SHA-256 of the files that are trained on: kept, with the versions and the code, beside checkpoints,
        and on resuming compared. None where no checkpoints are wanted.

    Raises
    ------
    MtparseError
        If the directory holds something else or another process works in it, or if the run began with other
        files or another version.
    """

    def __init__(
        self, path: str, config: Config, hashes: Mapping[str, str] | None = None, *, resume: bool = False
    ) -> None:
        self.path = path
        if not resume:
            require_free(path)
        self._resumed, self._made = resume, not os.path.isdir(path)
        os.makedirs(path, exist_ok=True)
        self._release = lock_directory(path)
        try:
            self._every = None if config.checkpoint == "auto" else config.checkpoint
            self._folder = None
            clear_temporaries(path)
            self.write(CONFIG_NAME, dump_config(config))
            if hashes is not None and self._every != 0:
                self._folder = self.file(CHECKPOINTS)
                self._begin({**hashes, **versions(), "sources": sources()})
            self._lock = threading.Lock()
            self._log = open(self.file(LOG_NAME), "w", encoding="utf-8")  # noqa: SIM115 - closed by close()
        except BaseException:
            self._release()
            raise

    def _begin(self, inputs: dict[str, str]) -> None:
        """Make the folder of the checkpoints, or see that those in it may be used."""
        assert self._folder is not None
        os.makedirs(self._folder, exist_ok=True)
        clear_temporaries(self._folder)
        path = os.path.join(self._folder, _INPUTS_NAME)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                before = json.load(file)
            for key, value in inputs.items():
                if before.get(key) != value:
                    what = "the file has" if key in ("train", "valid") else "this has"
                    raise MtparseError(
                        f"{path}: {key}: {what} changed since the run began, what is kept of it would not go "
                        "together with the rest; begin anew with another --out"
                    )
        else:
            with atomic_writer(path, "w") as file:
                file.write(json.dumps(inputs, indent=2) + "\n")

    def file(self, name: str) -> str:
        """Path of a file in the directory."""
        return os.path.join(self.path, name)

    def checkpoint(self, C: float | None, *, refit: bool = False) -> Checkpoint | None:
        """Where training with one C is kept while the run lasts; None where nothing is."""
        if self._folder is None:
            return None
        name = ("refit" if refit else "run") + ("" if C is None else f" C={C!r}")
        return Checkpoint(os.path.join(self._folder, name), self._every)

    def log(self, record: dict) -> None:
        """Append a line to the log."""
        with self._lock, named(self.file(LOG_NAME)):
            self._log.write(json.dumps(record) + "\n")
            self._log.flush()

    def write(self, name: str, text: str) -> None:
        """Write a text file whole."""
        with atomic_writer(self.file(name), "w") as file:
            file.write(text)

    def settle(self) -> None:
        """See that the log is on disk, as the other files are once they are written."""
        os.fsync(self._log.fileno())

    def complete(self) -> None:
        """All that the run makes is there: checkpoints have done their duty."""
        if self._folder is not None:
            remove_folder(self._folder)

    def discard_if_unused(self) -> bool:
        """Remove what was begun here if no pass was logged yet; whether there is something to keep."""
        if self._resumed or self._log.tell():
            return True
        self._log.close()
        for name in (CONFIG_NAME, LOG_NAME):
            os.unlink(self.file(name))
        self.complete()
        if self._made:
            os.rmdir(self.path)
        return False

    def close(self) -> None:
        """Close the log and let other processes in."""
        with suppress(OSError):  # on a full disk, what could not be written was said already
            self._log.close()
        self._release()
