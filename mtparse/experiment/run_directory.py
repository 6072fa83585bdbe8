"""The directory that one training run fills: what is kept of a run, whole or in parts."""

from __future__ import annotations

import json
import os
import platform
import threading
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from typing import NoReturn

from mtparse.config.run import Config, comparable, config_to_dict, dump_config, load_config
from mtparse.errors import MtparseError
from mtparse.runtime.files import (
    atomic_writer,
    clear_temporaries,
    is_temporary,
    lock_directory,
    named,
    new_folder,
    remove_folder,
)
from mtparse.runtime.source_digest import DIGEST
from mtparse.training.checkpoints import Checkpoint

CONFIG_NAME, LOG_NAME, SCORES_NAME = "config.yaml", "log.jsonl", "scores.json"
PARSED_NAME, SENTENCES_NAME = "parsed.conll", "sentences.csv"
CHECKPOINTS = "checkpoint"
_INPUTS_NAME = "inputs.json"

_COUNTED = ("all_tokens", "without_punctuation")
_NUMBER = (int, float)
_SUMMARY = {
    **dict.fromkeys(("name", "model", "trainer", "trees", "root", "decoder"), str),
    **dict.fromkeys(("passes", "features", "seed"), int),
    **dict.fromkeys(("valid", "words", "treebank", "sha256", "versions"), dict),
    "C": (*_NUMBER, type(None)), "refit": bool, "ended": list, "seconds": _NUMBER,
}  # fmt: skip
"""What ``scores.json`` must have, and of which types."""


def versions() -> dict[str, str]:
    """Versions of all that a result may depend on."""
    packages = ("mtparse", "numpy", "scipy", "numba")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def require_unused(path: str) -> None:
    """Refuse a directory in which another process works.

    Raises
    ------
    MtparseError
        With what can be done.
    """
    if os.path.isdir(path):
        lock_directory(path)()


def require_free(path: str) -> None:
    """Refuse a run directory that holds anything but what a killed process left half written.

    Raises
    ------
    MtparseError
        If the path is a file or a directory that is not empty. It never says to remove one: another process
        may work there, perhaps on another machine.
    """
    if not path:
        raise MtparseError("--out: must name a directory")
    if not os.path.lexists(path):
        return
    there = set(os.listdir(path)) if os.path.isdir(path) else {path}
    if {CONFIG_NAME, CHECKPOINTS} <= there:
        raise MtparseError(
            f"{path}: holds a run that was interrupted; resume it with --resume {path}, or name another "
            "directory with --out"
        )
    if not all(map(is_temporary, there)):
        raise MtparseError(f"{path}: exists and is not empty; name another directory with --out")


def read_summary(folder: str) -> dict:
    """What ``scores.json`` of a run directory holds.

    Raises
    ------
    ValueError
        If it is damaged.
    OSError
        If it cannot be read.
    """
    with open(os.path.join(folder, SCORES_NAME), encoding="utf-8") as file:
        try:
            summary = json.load(file, parse_constant=_refuse)
        except RecursionError as error:
            raise ValueError("nested too deep") from error
    if not isinstance(summary, dict):
        raise ValueError("no mapping")
    for key, kinds in _SUMMARY.items():
        if not isinstance(summary.get(key), kinds):
            raise ValueError(key)
    for scores in (summary["valid"], summary.get("test", {})):
        if scores and not all(isinstance(scores.get(key), float | int | None) for key in _COUNTED):
            raise ValueError("valid or test")
    return summary


def input_name(key: str) -> str:
    """What messages call an input, a key of ``inputs.json``: a package, a part of the data or the sources."""
    names = {"train": "the training file", "valid": "the validation file", "sources": "the code"}
    return names.get(key, key if "/" in key else f"the version of {key}")


def _refuse(constant: str) -> NoReturn:
    """JSON has no NaN and no infinity, and no score is either; Python's reader would take them."""
    raise ValueError(constant)


def stored_config(path: str) -> str:
    """The config file of a run directory.

    Raises
    ------
    MtparseError
        If there is none.
    """
    config = os.path.join(path, CONFIG_NAME)
    if not os.path.isdir(path):
        raise MtparseError(f"{path or repr(path)}: no such directory; name that of an interrupted run")
    if not os.path.isfile(config):
        raise MtparseError(f"{path}: no run to resume, {CONFIG_NAME} is missing; start a run with --out")
    return config


def finished(path: str, config: Config) -> dict | None:
    """What ``scores.json`` holds, of a run that was finished; None of one that was not.

    Raises
    ------
    MtparseError
        If there is no run, or one that cannot be resumed, or a finished one of other settings.
    """
    stored_path = stored_config(path)
    if os.path.isdir(os.path.join(path, CHECKPOINTS)):
        return None
    stored = load_config(stored_path)
    _require_same(path, config_to_dict(stored), config)
    with open(stored_path, encoding="utf-8") as file:
        ours = file.read() == dump_config(stored)
    others = {name for name in os.listdir(path) if not is_temporary(name)} - {CONFIG_NAME}
    if LOG_NAME in others and not os.path.getsize(os.path.join(path, LOG_NAME)):
        others.remove(LOG_NAME)
    if ours and not others and stored.checkpoint != 0:
        return None  # it ended before it had begun
    scores = os.path.join(path, SCORES_NAME)
    try:
        summary = read_summary(path)
    except (OSError, ValueError) as error:
        raise MtparseError(
            f"{path}: neither a finished run (no valid {SCORES_NAME}) nor one with checkpoints to resume "
            "from (checkpoint: 0 keeps none); start again with another --out"
        ) from error
    if "test" not in summary and stored.data.test is not None:
        raise MtparseError(
            f"{scores}: the test file was not scored, and no checkpoints are left to resume from"
        )
    return summary


def tidy(path: str) -> None:
    """Remove what a process left that was killed when all was done."""
    with suppress(MtparseError, OSError):
        release = lock_directory(path)
        clear_temporaries(path)
        release()


def _require_same(path: str, before: Mapping, config: Config) -> None:
    """Refuse another config than that with which the run in ``path`` began."""
    if key := first_difference(comparable(before), comparable(config_to_dict(config))):
        raise MtparseError(
            f"{path}: {key} differs from what the run began with; --resume needs the same settings, start "
            "another run with --out"
        )


def first_difference(a: Mapping, b: Mapping, prefix: str = "") -> str | None:
    """The dotted key of a value in which two configs' mappings differ; of several not the name's."""
    for key in sorted({**a, **b}, key=lambda key: key == "name"):  # another file's name tells least
        one, other = a.get(key), b.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            if found := first_difference(one, other, f"{prefix}{key}."):
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
        self._resumed, self._made, self._logged = resume, not os.path.isdir(path), False
        os.makedirs(path, exist_ok=True)
        self._release = lock_directory(path)
        self._every = None if config.checkpoint == "auto" else config.checkpoint
        self._folder, self._trainer = None, config.trainer.name
        try:
            # Before the lock, another process may have been here.
            if not resume:
                require_free(path)
            elif finished(path, config) is not None:
                raise MtparseError(f"{path}: another process has finished this run meanwhile")
        except BaseException:
            self._release()
            raise
        try:
            clear_temporaries(path)
            begun = os.path.isdir(self.file(CHECKPOINTS))
            if hashes is not None and (begun or self._every != 0):
                self._folder = self.file(CHECKPOINTS)
                began = {**hashes, **versions(), "sources": DIGEST}
                if begun:
                    self._agree(config, began)
            self.write(CONFIG_NAME, dump_config(config))
            if self._folder is not None and not begun:
                self._begin({"config": config_to_dict(config), **began})
            self._lock = threading.Lock()
            self._log = open(self.file(LOG_NAME), "w", encoding="utf-8")  # noqa: SIM115 - closed by close()
        except BaseException:
            self.discard_if_unused()
            self._release()
            raise

    def _begin(self, inputs: dict) -> None:
        """Make the folder of the checkpoints, with what they depend on."""
        assert self._folder is not None
        with (
            new_folder(self._folder) as folder,
            atomic_writer(os.path.join(folder, _INPUTS_NAME), "w") as file,
        ):
            file.write(json.dumps(inputs, indent=2) + "\n")

    def _agree(self, config: Config, inputs: dict[str, str]) -> None:
        """See that the checkpoints that are there may be used."""
        assert self._folder is not None
        clear_temporaries(self._folder)
        path = os.path.join(self._folder, _INPUTS_NAME)
        try:
            with open(path, encoding="utf-8") as file:
                before = json.load(file)
            _require_same(self.path, before["config"], config)
            changed = [key for key, value in inputs.items() if before[key] != value]
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise MtparseError(
                f"{path}: missing or damaged: what the run began with cannot be read; start again with "
                "another --out"
            ) from error
        if changed:
            raise MtparseError(
                f"{self.path}: {input_name(changed[0])} has changed since the run began, so that it cannot "
                "be resumed; start again with another --out"
            )

    def file(self, name: str) -> str:
        """Path of a file in the directory."""
        return os.path.join(self.path, name)

    def checkpoint(self, C: float | None, *, refit: bool = False) -> Checkpoint | None:
        """Where training with one C is kept while the run lasts; None where nothing is."""
        if self._folder is None:
            return None
        name = ("refit" if refit else "run") + ("" if C is None else f" C={C!r}")
        return Checkpoint(os.path.join(self._folder, name), self._trainer, self._every)

    def log(self, record: dict) -> None:
        """Append a line to the log."""
        with self._lock, named(self.file(LOG_NAME)):
            self._log.write(json.dumps(record) + "\n")
            self._log.flush()
            self._logged = True

    def write(self, name: str, text: str) -> None:
        """Write a text file whole."""
        with atomic_writer(self.file(name), "w") as file:
            file.write(text)

    def settle(self) -> None:
        """See that the log is on disk, as the other files are once they are written."""
        os.fsync(self._log.fileno())

    def complete(self) -> None:
        """All that the run makes is there: checkpoints have done their duty."""
        if self.resumable:
            remove_folder(self.file(CHECKPOINTS))

    @property
    def resumable(self) -> bool:
        """Whether there are checkpoints to go on from."""
        return self._folder is not None and os.path.isdir(self._folder)

    def discard_if_unused(self) -> bool:
        """Remove what was begun here if no pass was logged yet; whether that is so."""
        if self._resumed or self._logged:
            return False
        with suppress(OSError):
            self.complete()
        for name in (LOG_NAME, CONFIG_NAME):
            with suppress(OSError):
                os.unlink(self.file(name))
        if self._made:
            with suppress(OSError):
                os.rmdir(self.path)
        return True

    def close(self) -> None:
        """Close the log and let other processes in."""
        with suppress(OSError):  # on a full disk, what could not be written was said already
            self._log.close()
        self._release()
