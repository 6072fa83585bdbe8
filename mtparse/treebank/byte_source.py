"""Reading bytes as they come: from files, pipes and streams, plain or compressed."""

from __future__ import annotations

import bz2
import codecs
import io
import lzma
import os
import select
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import BinaryIO, TextIO

from mtparse.errors import ConfigError

Source = str | os.PathLike | BinaryIO | TextIO

_CHUNK = 1 << 18
"""Bytes that are read, and unpacked, at a time."""


class InputError(ValueError):
    """Bytes that are no text: damaged, or packed in a way that is not unpacked here."""


def source_name(source: Source) -> str:
    """Return the name of a source for messages: the path as given, ``<stdin>`` or ``<stream>``."""
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        return "<stdin>" if name == "-" else name
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


def read_lines(source: Source) -> Iterator[bytes | None]:
    """Read a source as pieces of whole lines, the last of which may lack its LF.

    What is compressed by gzip, xz or bzip2 is unpacked; whether it is, the first bytes say, never the name.

    Parameters
    ----------
    source : str, path or stream
        ``-`` is standard input. A stream that was passed in is left open; text becomes UTF-8.

    Yields
    ------
    bytes or None
        One or many lines; None before a read that may have to wait for whoever writes into a pipe.

    Raises
    ------
    InputError
        At compressed data that are damaged or cut off, and at formats that are not read.
    OSError
        If the source cannot be opened or read.
    """
    begun: list[bytes] = []
    for chunk in _plain(_chunks(source)):
        if chunk is None:
            yield None
            continue
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join([*begun, chunk[:end]])
            begun = []
        if end < len(chunk):
            begun.append(chunk[end:])
    if begun:
        yield b"".join(begun)


def _chunks(source: Source) -> Iterator[bytes | None]:
    """The bytes of a source as they come; None before each read that may have to wait."""
    own = None
    if not isinstance(source, (str, os.PathLike)):
        stream = source
    elif os.fspath(source) == "-":
        if sys.stdin is None:
            raise OSError("standard input is closed")
        stream = sys.stdin.buffer
    else:
        stream = own = open(source, "rb", buffering=0)  # noqa: SIM115 - closed below
    try:
        waits = _waiting(stream)
        if isinstance(stream, io.TextIOBase):
            hint = _CHUNK if waits is None else 1  # of a pipe no more than a line is waited for

            def read(size: int) -> bytes:
                return "".join(stream.readlines(hint)).encode("utf-8", "surrogatepass")
        else:
            # read1 hands out what has come, without waiting for more
            read = getattr(stream, "read1", stream.read)
        while True:
            if waits is not None and waits():
                yield None
            chunk = read(_CHUNK)
            if not chunk:
                return
            yield chunk
    finally:
        if own is not None:
            own.close()


def _waiting(stream: BinaryIO | TextIO) -> Callable[[], bool] | None:
    """A function that tells whether reading a stream may have to wait; None where it never does."""
    try:
        number = stream.fileno()
        if stat.S_ISREG(os.fstat(number).st_mode):
            return None
    except (AttributeError, OSError, ValueError):
        return None  # in memory
    if not hasattr(select, "poll"):
        return lambda: True
    poll = select.poll()
    poll.register(number, select.POLLIN)
    return lambda: not poll.poll(0)


_UNPACKED: dict[str, tuple[bytes, Callable]] = {
    "gzip": (b"\x1f\x8b", lambda: _Inflate()),
    "xz": (b"\xfd7zXZ\0", lzma.LZMADecompressor),
    "bzip2": (b"BZh", bz2.BZ2Decompressor),
}
"""Formats that are unpacked: how they begin, and what unpacks one stream."""

def is_packed(start: bytes) -> bool:
    """Whether data that begin so are compressed in one of the formats that are unpacked here."""
    return start.startswith(tuple(beginning for beginning, _ in _UNPACKED.values()))


_REFUSED = {
    "a zstd archive: unpack it first (zstd -d)": (b"\x28\xb5\x2f\xfd",),
    "a zip archive: unpack it first (unzip)": (b"PK\x03\x04", b"PK\x05\x06"),
    "an lzma archive: unpack it first (xz -d)": (b"\x5d\0\0",),
    "UTF-16 or UTF-32 text: convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8)": (
        codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE, b"1\0", b"\0001", b"#\0", b"\0#",
    ),
}  # fmt: skip
"""What is recognised by how it begins, and what to do with it."""

_LONGEST = 6
"""Bytes that tell all these apart."""


class _Inflate:
    """A decompressor of one gzip member with the methods of `bz2.BZ2Decompressor`."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self._kept = b""
        self.needs_input = True

    def decompress(self, data: bytes, size: int) -> bytes:
        result = self._inner.decompress(self._kept + data, size)
        self._kept = self._inner.unconsumed_tail
        # a full result may have more behind it that needs no further input
        self.needs_input = not self._kept and len(result) < size
        return result

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data


def _require_text(start: bytes) -> None:
    """Refuse what is recognised as something else than text by its first bytes."""
    for text, beginnings in _REFUSED.items():
        if start.startswith(beginnings):
            raise InputError(f"this is {text}")
    if 8 * start[:512].count(0) > len(start[:512]):
        raise InputError("this is binary data, or text in UTF-16 or UTF-32 (iconv -t UTF-8 converts it)")


def _plain(chunks: Iterator[bytes | None]) -> Iterator[bytes | None]:
    """The chunks, unpacked if they are compressed."""
    start = b""
    for chunk in chunks:
        start += chunk or b""
        if len(start) >= _LONGEST:
            break
        if chunk is None:
            yield None
    for name, (beginning, new) in _UNPACKED.items():
        if start.startswith(beginning):
            yield from _unpacked(name, new, chain((start,), chunks))
            return
    _require_text(start)
    yield start
    yield from chunks


def _unpacked(name: str, new: Callable, chunks: Iterable[bytes | None]) -> Iterator[bytes | None]:
    """The contents of the compressed streams in a file, one after the other; zeros may follow each."""
    inner, first = new(), True
    for chunk in chunks:
        if chunk is None:
            yield None
            continue
        while True:
            if inner.eof:
                chunk = chunk.lstrip(b"\0")
                if not chunk:
                    break
                inner = new()
            try:
                data = inner.decompress(chunk, _CHUNK)
            except (zlib.error, lzma.LZMAError, OSError) as error:
                raise InputError(f"the {name} data are damaged or cut off ({error})") from error
            if data and first:
                if is_packed(data):
                    raise InputError("this is packed twice: unpack it first")
                _require_text(data)
                first = False
            if data:
                yield data
            if inner.needs_input and not inner.eof:
                break
            chunk = inner.unused_data if inner.eof else b""
    if not inner.eof:
        raise InputError(f"the {name} data are damaged or cut off (they end too early)")


def check_encoding(encoding: str) -> str:
    """Refuse encodings that are unknown or in which lines cannot be split as bytes.

    Returns
    -------
    str
        The encoding; ``utf-8`` for ``utf-8-sig``, as a byte order mark is skipped when a file is read.

    Raises
    ------
    ConfigError
        With the names of common encodings.
    """
    ascii_part = "\n\r\t #-._0123456789"
    try:
        if codecs.lookup(encoding).name == "utf-8-sig":
            return "utf-8"
        same = ascii_part.encode(encoding) == ascii_part.encode("ascii")
    except (LookupError, UnicodeError, ValueError) as error:
        raise ConfigError(f"encoding: {encoding!r} is unknown; utf-8 and latin-1 are common") from error
    if not same:
        raise ConfigError(f"encoding: {encoding!r} cannot be read; convert the file to utf-8 (iconv does)")
    return encoding
