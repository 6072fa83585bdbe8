"""Compiled kernels on disk: where they are looked for, which are trusted, where new ones are stored.

numba's own cache reads only from folders that it can write, unpickles whatever it finds there, and keeps an
index in which processes that write at the same time lose each other's entries. Here every compiled kernel is
a file of its own, named by a hash of all that it depends on, which may lie in any of several folders.

The files hold pickles and machine code: whoever can write one runs what he likes. So only those are loaded
that root, this user or the owner of the package wrote and nobody else can write. Each begins with its
checksum, because a power failure can leave a file of the right length without its content.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import shutil
import stat
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile

import numba
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

TAKES = "up to half a minute"
"""How long it takes to compile what a command, or a function of the library, needs at first."""

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_SUM_SIZE = hashlib.sha256().digest_size


class KernelStore:
    """The kernels of one version of the package, and what is said when some must be compiled.

    Parameters
    ----------
    package
        The folder of the package. Its owner is trusted: the package's code runs anyway.
    digest
        A hash of its sources. numba asks only whether the file of a kernel changed, not those of the kernels
        that it calls; so the names of the folders have this in them.
    """

    def __init__(self, package: Path, digest: str) -> None:
        self._package, self._digest = package, digest
        self._folder: Path | None = None
        self._say: Callable[[str], None] = logging.getLogger("mtparse").warning
        self._said = False
        self.compiled = 0
        """Kernels compiled by this process."""
        self.not_stored: str | None = None
        """Why a kernel could not be stored, the last time that happened."""

    def folders(self) -> list[Path]:
        """Where kernels are looked for: NUMBA_CACHE_DIR, the package, the user's cache folder, in this order.
        """
        bases = [self._package / "__pycache__"]
        if asked := os.environ.get("NUMBA_CACHE_DIR"):
            bases.insert(0, Path(asked).absolute())
        if (user := _user_cache()) is not None:
            bases.append(user)
        return [base / f"kernels-{self._digest}" for base in bases]

    def folder(self) -> Path | None:
        """Where new kernels are stored: the first that can be written, made if need be; None without any."""
        if self._folder is None or not self._folder.is_dir():
            self._folder = next((folder for folder in self.folders() if self._refusal(folder) is None), None)
        return self._folder

    def where(self) -> str:
        """What is said of the place of new kernels; where there is none, what to do."""
        if (folder := self.folder()) is not None:
            return f"they are stored in {folder}"
        refused = [f"{folder.parent} ({self._refusal(folder)})" for folder in self.folders()]
        return (
            f"they cannot be stored in {' or '.join(refused)}; run `mtparse warmup` as the user who "
            "installed mtparse, or set NUMBA_CACHE_DIR to a folder that can be written"
        )

    def load(self, name: str) -> tuple | None:
        """What was stored under a name, from the first folder that has it; None where none is trusted."""
        for folder in self.folders():
            with suppress(Exception):  # not there, no permission, damaged: it is compiled
                if not self._trusts(folder.stat()):
                    continue
                with open(folder / name, "rb") as file:
                    if not self._trusts(os.fstat(file.fileno())):
                        continue
                    data = file.read()
                if hashlib.sha256(data[_SUM_SIZE:]).digest() == data[:_SUM_SIZE]:
                    return pickle.loads(data[_SUM_SIZE:])
        return None

    def store(self, name: str, content: tuple) -> None:
        """Keep something under a name if a folder can be written; the file appears whole or not at all."""
        if (folder := self.folder()) is None:
            self.not_stored = "no folder can be written"
            return
        data = dumps(content)
        temporary = folder / f"{uuid.uuid4().hex}.tmp"
        try:
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
                file.write(hashlib.sha256(data).digest())
                file.write(data)
            os.replace(temporary, folder / name)
        except OSError as error:
            if self.not_stored is None:
                self._say(f"compiled kernels cannot be stored in {folder}: {error.strerror}")
            self.not_stored = error.strerror or type(error).__name__
            with suppress(OSError):
                temporary.unlink()

    def missing(self) -> None:
        """Take note that a kernel is in no folder and is compiled now; say so if it is the first."""
        self.compiled += 1
        if self._said:
            return
        self._said = True
        often = " in every run" if self.folder() is None else "; later runs will not wait"
        self._say(f"compiling kernels, {TAKES}{often}: {self.where()}")

    @contextmanager
    def said_by(self, say: Callable[[str], None]) -> Iterator[None]:
        """Within this context the line about compiling goes to ``say``, once, instead of the log."""
        before, self._say = (self._say, self._said), say
        self._said = False
        try:
            yield
        finally:
            self._say, self._said = before[0], self._said or before[1]

    def _trusts(self, status: os.stat_result) -> bool:
        """Whether a file or folder is root's, ours or the package's owner's, and no other can write it."""
        if not hasattr(os, "geteuid"):
            return True
        owners = (0, os.geteuid(), self._package.stat().st_uid)
        return status.st_uid in owners and not status.st_mode & _OTHERS_WRITE

    def _refusal(self, folder: Path) -> str | None:
        """Why kernels cannot be stored in a folder; None where they can, and it is made."""
        try:
            if folder.parent == _user_cache() and not _is_ours(folder):
                return "it is another user's"  # what sudo would leave there, its owner could not write
            new = not folder.exists()
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o755, exist_ok=True)
            TemporaryFile(dir=folder).close()  # permissions do not say all
            if not self._trusts(folder.stat()):
                return "other users can write there"
        except FileExistsError:
            return "not a folder"
        except OSError as error:
            return error.strerror or type(error).__name__
        if new and folder.parent.parent == self._package:
            for old in folder.parent.glob("kernels-*"):
                if old != folder:
                    shutil.rmtree(old, ignore_errors=True)
        return None


class KernelCache(_Cache):
    """What numba asks for a compiled kernel, and gives one to keep: a store. Its faults do no harm."""

    def __init__(self, function: Callable, store: KernelStore) -> None:
        code = function.__code__
        self._store = store
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._kernel = f"{self._name}:{code.co_firstlineno} {hashlib.sha256(code.co_code).hexdigest()}"

    @property
    def cache_path(self) -> str:
        return str(self._store.folder())

    def load_overload(self, sig, target_context):
        target_context.refresh()  # as numba's own does: it may not be initialised yet
        key = self._key(sig, target_context.codegen())
        with suppress(Exception):
            found, content = self._store.load(self._file(key))
            if found == key:
                return CompileResult._rebuild(target_context, *content)
        self._store.missing()
        return None

    def save_overload(self, sig, data):
        if any(not lifted.can_cache for lifted in data.lifted) or data.library.has_dynamic_globals:
            return  # as numba's own
        with suppress(Exception):
            key = self._key(sig, data.codegen)
            self._store.store(self._file(key), (key, data._reduce()))

    def enable(self) -> None:
        pass

    disable = flush = enable

    def _key(self, sig, codegen) -> str:
        """All that the compiled code depends on, but the sources and numba's settings."""
        types = getattr(sig, "args", sig)
        parts = (numba.__version__, sys.implementation.cache_tag, codegen.magic_tuple(), self._kernel)
        return "\n".join([*map(str, parts), *map(str, types)])

    def _file(self, key: str) -> str:
        name = self._name.replace("<", "").replace(">", "")
        return f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def _user_cache() -> Path | None:
    """The user's cache folder; None for a user without a home."""
    user = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(user):
        user = os.path.join(os.path.expanduser("~"), ".cache")
    return Path(user, "mtparse") if os.path.isabs(user) else None


def _is_ours(path: Path) -> bool:
    """Whether what there is of a path belongs to us."""
    there = next(parent for parent in path.parents if parent.exists())
    return not hasattr(os, "geteuid") or there.stat().st_uid == os.geteuid()
