"""Files and folders that appear whole or not at all, and locks on folders."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from mtparse.errors import MtparseError

try:
    import fcntl
except ImportError:  # not on Windows; two processes in one directory are not kept apart there
    fcntl = None  # type: ignore[assignment]

@contextmanager
def atomic_writer(path: str | os.PathLike, mode: str = "wb") -> Iterator[IO]:
    """Write a file so that it appears whole or not at all.

    The data go to a temporary file in the same directory, which takes the name of ``path`` when the
    block ends without an exception; an exception removes it and leaves an older file as it was. So a
    command may also write to the file that it reads. Permissions of an older file are kept, a new
    one follows the umask; symbolic links are followed. What is not a regular file (a pipe, a
    device) is written to directly, and so is an open descriptor (``/dev/stdout``, ``/dev/fd/3``), whatever
    it leads to: from where it stands, as a shell's redirections do.

    Parameters
    ----------
    path : str or path
        The file to write.
    mode : {"wb", "w"}
        Bytes, or text in UTF-8 with LF line ends.

    Yields
    ------
    file
        The open file.

    Raises
    ------
    OSError
        If the file cannot be written; it names ``path``.
    """
    if mode not in ("wb", "w"):
        raise ValueError(f"mode is {mode!r}; it can be 'wb' or 'w'")
    text = {} if mode == "wb" else {"encoding": "utf-8", "newline": "\n"}
    name = os.fspath(path)
    if not name:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    if (descriptor := _descriptor(path)) is not None:
        with named(name), open(os.dup(descriptor), mode, **text) as file:
            yield file
        return
    try:
        old = os.stat(path)
    except FileNotFoundError:
        old = None
    if old is not None and stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if old is not None and not stat.S_ISREG(old.st_mode):
        with named(name), open(path, mode, **text) as file:
            yield file
        return
    target = os.path.realpath(path)
    if old is not None and not os.access(target, os.W_OK):  # renaming would not ask
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
    temporary = temporary_beside(target)
    with named(name, instead_of=temporary):
        try:
            with open(temporary, mode.replace("w", "x"), **text) as file:
                yield file
                file.flush()
                if old is not None:
                    os.chmod(temporary, stat.S_IMODE(old.st_mode))
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise


def _descriptor(path: str | os.PathLike) -> int | None:
    """The number of the open descriptor that a path names, through links too; None if it names none.

    Raises
    ------
    OSError
        If it is one of another process: writing there would begin at the start, over what that process wrote.
    """
    path = os.path.abspath(path)
    folders = {os.path.realpath("/proc/self/fd"), os.path.realpath("/dev/fd")}
    for _ in range(40):  # links in a row that a system follows
        folder, name = os.path.split(path)
        folder = os.path.realpath(folder)
        if folder in folders:
            return int(name) if name.isdecimal() else None
        if re.fullmatch(r"/proc/\d+(/task/\d+)?/fd", folder):
            raise PermissionError(errno.EACCES, "an open file of another process; write to - instead", path)
        path = os.path.join(folder, name)
        if not os.path.islink(path):
            return None
        path = os.path.join(folder, os.readlink(path))
    return None


def is_temporary(name: str) -> bool:
    """Whether a file's name is that of one which is being written, or was when its process was killed."""
    return name.startswith(".mtparse-") and name.endswith(".tmp")


def clear_temporaries(folder: str | os.PathLike) -> None:
    """Remove what killed processes left half written in a folder in which no other process works."""
    for left in Path(folder).iterdir():
        if not is_temporary(left.name):
            continue
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


@contextmanager
def new_folder(path: str | os.PathLike) -> Iterator[str]:
    """Make a folder that appears, with what is put into the one that is yielded, whole or not at all.

    Raises
    ------
    OSError
        If it cannot be made, or if there is one that holds something.
    """
    temporary = temporary_beside(path)
    try:
        os.mkdir(temporary)
        yield temporary
        os.rename(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove_folder(folder: str | os.PathLike) -> None:
    """Remove a folder with all it holds: a process that is killed leaves it whole under its name, or not."""
    doomed = temporary_beside(folder)
    os.rename(folder, doomed)
    shutil.rmtree(doomed, ignore_errors=True)


@contextmanager
def named(path: str, *, instead_of: str | None = None) -> Iterator[None]:
    """Give the name of a file to errors of writing to it, which Python leaves out once a file is open.

    Also to those that name another one, ``instead_of``.
    """
    try:
        yield
    except OSError as error:
        if error.filename not in (None, instead_of) or error.errno is None:
            raise
        raise type(error)(error.errno, error.strerror, path) from error


def temporary_beside(path: str | os.PathLike) -> str:
    """A new name beside a file or folder that is to be written, one for which `is_temporary` holds."""
    return os.path.join(os.path.dirname(path), f".mtparse-{secrets.token_hex(6)}.tmp")


def lock_directory(path: str | os.PathLike) -> Callable[[], None]:
    """Keep other processes out of a directory while this one lives, or until the result is called.

    Does nothing where the system or the file system has no locks.

    Raises
    ------
    MtparseError
        If another process works in the directory.
    """
    if fcntl is None:
        return lambda: None
    held = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        raise MtparseError(
            f"{os.fspath(path)}: another process works in this directory; wait until it has ended, or name "
            "another directory with --out"
        ) from None
    except OSError:
        pass
    return lambda: os.close(held)
