"""A file of all evaluations of an objective, so that an interrupted optimiser can be led to where it was.

scipy's optimisers cannot be stopped and started: their memory is inside. But they are deterministic. Begun
anew, and given for every point they ask about the value and the gradient of the first time, they take the
same steps again, to the last bit, in the time that their own vector operations take.
"""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress

import numpy as np

from mtparse.errors import MtparseError
from mtparse.runtime.files import named

_HEAD = struct.Struct("<IId")
"""Checksums of all that follows, and of the point; the value. The gradient comes after them."""


class Journal:
    """Evaluations of one objective in the order in which they were asked for.

    What a killed process left half written is cut off. Each evaluation takes 16 bytes and 8 a column.

    Parameters
    ----------
    path
        The file; made where there is none.
    columns
        Length of the vectors.

    Raises
    ------
    OSError
        If the file cannot be opened or, later, written.
    """

    def __init__(self, path: str, columns: int) -> None:
        self._path = path
        self._size = _HEAD.size + 8 * columns
        self._file = open(path, "r+b" if os.path.exists(path) else "w+b")  # noqa: SIM115 - see close
        self._known = os.path.getsize(path) // self._size
        self._at = 0

    def recall(self, point: np.ndarray) -> tuple[float, np.ndarray] | None:
        """Value and gradient at the next point, if it was evaluated before.

        Raises
        ------
        MtparseError
            If another point was evaluated next: the steps of then cannot be repeated.
        """
        if self._at >= self._known:
            return None
        self._file.seek(self._at * self._size)
        record = bytearray(self._size)
        self._file.readinto(record)
        of_rest, of_point, value = _HEAD.unpack_from(record)
        if zlib.crc32(memoryview(record)[4:]) != of_rest:
            self._known = self._at
            self._file.truncate(self._at * self._size)
            return None
        if of_point != zlib.crc32(point):
            raise MtparseError(
                f"{self._path}: on this machine the optimiser takes other steps than before the "
                "interruption (another kind of processor?); start the run again"
            )
        self._at += 1
        return value, np.frombuffer(record, np.float64, offset=_HEAD.size)

    def append(self, point: np.ndarray, value: float, gradient: np.ndarray) -> None:
        """Keep an evaluation, after all that were recalled or kept."""
        of_point = zlib.crc32(point)
        of_rest = zlib.crc32(gradient, zlib.crc32(struct.pack("<Id", of_point, value)))
        with named(self._path):
            self._file.seek(self._at * self._size)
            self._file.write(_HEAD.pack(of_rest, of_point, value))
            self._file.write(memoryview(gradient).cast("B") if gradient.size else b"")
            self._file.flush()
        self._at += 1
        self._known = self._at

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):  # on a full disk, what could not be written was said already
            self._file.close()
