"""The entries of the training matrix while it grows and after: one int32 array, in memory or in a file."""

from __future__ import annotations

import mmap
import os
import platform

import numpy as np

NAME = "indices.i32"
"""Name of the file."""

_NO_RESERVE = (
    0x4000
    if (platform.system(), platform.machine())
    in (
        ("Linux", "x86_64"),
        ("Linux", "aarch64"),
    )
    else 0
)
"""MAP_NORESERVE: without it Linux counts every page of a private mapping as memory that may be needed."""


class Entries:
    """An array that is appended to, then rewritten in place, then cut to its last size.

    Use as a context manager, which closes the file.

    Parameters
    ----------
    folder
        Where to keep it in a file; in memory if None.
    """

    def __init__(self, folder: str | None = None) -> None:
        self.size = 0
        self._path = None if folder is None else os.path.join(folder, NAME)
        self._file = None if self._path is None else open(self._path, "wb")  # noqa: SIM115 - closed by __exit__
        self._memory = np.empty(0, np.int32)

    def __enter__(self) -> Entries:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, part: np.ndarray, done: float) -> None:
        """Append int32 numbers, after which the array is this share of what it will be, about."""
        if self._file is not None:
            self._file.write(part.data)
        else:
            needed = self.size + len(part)
            if needed > len(self._memory):
                try:
                    # Twice what is expected, as memory that is never touched costs nothing
                    grown = np.empty(int(2 * needed / done) + 1, np.int32)
                except MemoryError:  # unless the system does not promise what it may not have.
                    grown = np.empty(needed + needed // 4, np.int32)
                grown[: self.size] = self._memory[: self.size]
                self._memory = grown
            self._memory[self.size : needed] = part
        self.size += len(part)

    def array(self) -> np.ndarray:
        """The whole array, to be changed in place; nothing is appended after."""
        if self._file is None:
            return self._memory[: self.size]
        self._file.close()
        return open_entries(self._path, shared=True)

    def cut(self, size: int) -> np.ndarray:
        """The first ``size`` numbers, to be read only."""
        if self._file is None:
            self._memory.resize(size, refcheck=False)  # in place; no one reads the old array any more
            return self._memory
        os.truncate(self._path, 4 * size)
        return open_entries(self._path)


def open_entries(path: str, *, shared: bool = False) -> np.ndarray:
    """Map a file of int32 numbers into memory; it may be larger than that.

    What is written goes to the file only if ``shared``. Nobody writes otherwise, but an array that cannot be
    written would be another type to compiled code.
    """
    if os.path.getsize(path) == 0:
        return np.empty(0, np.int32)
    with open(path, "r+b" if shared else "rb") as file:
        if hasattr(mmap, "MAP_PRIVATE"):
            flags = mmap.MAP_SHARED if shared else mmap.MAP_PRIVATE | _NO_RESERVE
            mapped = mmap.mmap(file.fileno(), 0, flags, mmap.PROT_READ | mmap.PROT_WRITE)
        else:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
    return np.frombuffer(mapped, np.int32)
