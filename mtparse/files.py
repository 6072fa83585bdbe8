"""Opening inputs and writing outputs: gzip by content, standard input, all-or-nothing files."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, BinaryIO

from mtparse.errors import ConfigError, MtparseError

try:
    import fcntl
except ImportError:  # not on Windows; two processes in one directory are not kept apart there
    fcntl = None  # type: ignore[assignment]

Source = str | os.PathLike | BinaryIO

_GZIP_MAGIC = b"\x1f\x8b"
_BUFFER = 1 << 18


class _Rewound(io.RawIOBase):
    """A stream whose first bytes were read already and are handed out again."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        self._start = start
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        if self._start:
            size = min(len(buffer), len(self._start))
            buffer[:size], self._start = self._start[:size], self._start[size:]
            return size
        # read1 hands out what a pipe holds already: a slow writer's sentences are not held back
        data = getattr(self._rest, "read1", self._rest.read)(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def source_name(source: Source) -> str:
    """Return the name of a source for messages: the path as given, ``<stdin>`` or ``<stream>``."""
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        return "<stdin>" if name == "-" else name
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


@contextmanager
def open_input(source: Source) -> Iterator[io.BufferedReader]:
    """Open a source for reading bytes, unpacking gzip data.

    Whether the data are compressed is decided by their first two bytes, never by the name.

    Parameters
    ----------
    source : str, path or binary stream
        ``-`` is standard input. A stream that was passed in is left open.

    Yields
    ------
    io.BufferedReader
        The plain bytes, quick to iterate by lines that end in LF.

    Raises
    ------
    OSError
        If the file cannot be opened; ``gzip.BadGzipFile`` (an ``OSError``), ``EOFError`` or
        ``zlib.error`` on reading damaged gzip data.
    TypeError
        If a text stream is passed.
    """
    if isinstance(source, io.TextIOBase):
        raise TypeError("a binary stream is needed, this one gives text; open the file with mode 'rb'")
    own = None
    if not isinstance(source, (str, os.PathLike)):
        stream = source
    elif os.fspath(source) == "-":
        if sys.stdin is None:
            raise OSError("standard input is closed")
        stream = sys.stdin.buffer
    else:
        stream = own = open(source, "rb", buffering=_BUFFER)  # noqa: SIM115 - closed below
    try:
        start = stream.read(2)
        plain = io.BufferedReader(_Rewound(start, stream), _BUFFER)
        if start == _GZIP_MAGIC:
            plain = io.BufferedReader(gzip.GzipFile(fileobj=plain, mode="rb"), _BUFFER)
        yield plain
    finally:
        if own is not None:
            own.close()


def without_mark(stream: io.BufferedReader) -> Iterator[bytes]:
    """Return the lines of a stream, less a byte order mark of UTF-8."""
    first = stream.readline().removeprefix(codecs.BOM_UTF8)
    return chain((first,) if first else (), stream)


def check_encoding(encoding: str) -> None:
    """Refuse encodings that are unknown or in which lines cannot be split as bytes.

    Raises
    ------
    ConfigError
        With the names of common encodings.
    """
    ascii_part = "\n\r\t #-._0123456789"
    try:
        same = ascii_part.encode(encoding) == ascii_part.encode("ascii")
    except (LookupError, UnicodeError, ValueError) as error:
        raise ConfigError(f"encoding: {encoding!r} is unknown; utf-8 and latin-1 are common") from error
    if not same:
        raise ConfigError(f"encoding: {encoding!r} is no extension of ASCII; convert the file to utf-8")


@contextmanager
def atomic_writer(path: str | os.PathLike, mode: str = "wb") -> Iterator[IO]:
    """Write a file so that it appears whole or not at all.

    The data go to a temporary file in the same directory, which takes the name of ``path`` when the
    block ends without an exception; an exception removes it and leaves an older file as it was. So a
    command may also write to the file that it reads. Permissions of an older file are kept, a new
    one follows the umask; symbolic links are followed. Something that is no regular file
    (``/dev/stdout``, a pipe) is written to directly.

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
    target = os.path.realpath(path)
    try:
        old = os.stat(target)
    except FileNotFoundError:
        old = None
    if old is not None and stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(21, "Is a directory", os.fspath(path))
    if old is not None and not stat.S_ISREG(old.st_mode):
        with open(target, mode, **text) as file:
            yield file
        return
    temporary = temporary_beside(target)
    with named(os.fspath(path), instead_of=temporary):
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
        raise MtparseError(f"{os.fspath(path)}: another process works in this directory") from None
    except OSError:
        pass
    return lambda: os.close(held)
