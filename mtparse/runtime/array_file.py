"""Files of a JSON header and arrays: no pickle, checked by a SHA-256 before anything in them is used.

Layout: 8 bytes of magic, the format version (uint32) and the header's length (uint64), both
little-endian; the header, JSON in UTF-8 with the arrays' names, types, shapes and offsets; the arrays,
little-endian, each at a multiple of 64 bytes; the SHA-256 of all that.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mtparse.errors import ModelError
from mtparse.runtime.files import atomic_writer

PREFIX = struct.Struct("<8sIQ")
_ALIGN = 64
_TYPES = {"|u1", "<u2", "<u4", "<u8", "<i8", "<f4", "<f8"}


def write_packed(
    path: str | os.PathLike,
    magic: bytes,
    version: int,
    header: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
) -> None:
    """Write a file of the bytes that `packed` makes; it appears whole or not at all."""
    with atomic_writer(path) as file:
        for piece in packed(magic, version, header, arrays):
            file.write(piece)


def packed(
    magic: bytes, version: int, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> Iterator[bytes | memoryview]:
    """The bytes of a file, in pieces. The same content gives the same bytes.

    Parameters
    ----------
    magic
        8 bytes that tell the kind of file.
    header
        What JSON can hold; its key ``arrays`` is taken.
    arrays
        One-dimensional, of numbers.
    """
    described, at = [], 0
    for name, array in arrays.items():
        kind = array.dtype.newbyteorder("<").str
        described.append({"name": name, "type": kind, "shape": list(array.shape), "offset": at})
        at += -(-array.nbytes // _ALIGN) * _ALIGN
    text = json.dumps({**header, "arrays": described}, ensure_ascii=False, sort_keys=True).encode()
    text += b" " * (-(PREFIX.size + len(text)) % _ALIGN)
    digest = hashlib.sha256()

    def counted(data):
        digest.update(data)
        return data

    yield counted(PREFIX.pack(magic, version, len(text)))
    yield counted(text)
    for array in arrays.values():
        data = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        yield counted(memoryview(data).cast("B") if data.size else b"")
        yield counted(b"\0" * (-data.nbytes % _ALIGN))
    yield digest.digest()


def read_packed(
    path: str | os.PathLike | bytes, magic: bytes, version: int, what: str
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a file; the arrays can be written to.

    Parameters
    ----------
    path
        Of the file; or its bytes.
    what
        What to call such files in errors.

    Raises
    ------
    ModelError
        If the file is of another kind or format version, or is damaged or cut off.
    OSError
        If it cannot be read.
    """
    if isinstance(path, bytes):
        path, data = f"<{what}>", memoryview(bytearray(path))
    else:
        path = os.fspath(path)
        data = _read(path)
    if len(data) < PREFIX.size or data[: len(magic)] != magic:
        raise ModelError(f"{path}: not a {what} of mtparse")
    _, found, length = PREFIX.unpack_from(data)
    if found != version:
        raise ModelError(
            f"{path}: format version {found}, this mtparse reads version {version}; "
            "train it again or use the mtparse that wrote it"
        )
    body = data[:-32]
    if hashlib.sha256(body).digest() != data[-32:]:
        raise ModelError(f"{path}: the {what} is damaged or cut off (its checksum does not match)")
    start = PREFIX.size
    try:
        header = json.loads(bytes(body[start : start + length]))
        arrays = {d["name"]: _array(body, start + length, d) for d in header.pop("arrays")}
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError, RecursionError) as error:
        # The checksum holds, so this was written so: by another program, not by an accident.
        raise ModelError(f"{path}: the {what}'s contents are invalid ({error})") from error
    return header, arrays


def _read(path: str) -> memoryview:
    """All bytes of a file, where arrays on them can be written.

    To numba, arrays that cannot are of other types: kernels compiled in training would not do for parsing.
    numpy's memory comes in large pages, which makes this twice as fast as ``bytes`` or ``bytearray``.
    """
    with open(path, "rb") as file:
        data = np.empty(os.fstat(file.fileno()).st_size, np.uint8)
        data = data[: file.readinto(data)]
        rest = file.read()  # of a pipe, whose size is not known
    return memoryview(np.concatenate([data, np.frombuffer(rest, np.uint8)]) if rest else data)


def _array(body: memoryview, start: int, described: Mapping[str, Any]) -> np.ndarray:
    kind, (count,), offset = described["type"], described["shape"], described["offset"]
    if kind not in _TYPES or count < 0 or offset < 0:
        raise ValueError(f"{described['name']} of type {kind}, {count} at {offset}")
    return np.frombuffer(body, kind, count, start + offset)
