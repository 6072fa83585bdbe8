"""The standard streams of the command: what becomes of it must not depend on who reads its standard error."""

from __future__ import annotations

import io
import os
import sys


class _Forgiving(io.FileIO):
    """A file in which what cannot be written is lost, without an error."""

    def write(self, data) -> int:
        rest = memoryview(data).cast("B")
        try:
            while rest:
                rest = rest[super().write(rest) or len(rest) :]
        except OSError:
            pass
        return len(data)


def make_safe() -> None:
    """See to standard streams that are closed, and to a standard error that cannot be written.

    Messages and progress that nobody can read (a full disk, a reader that went away) are lost, the work and
    its exit status are not. Python itself would end with status 120. The place of a stream that is closed
    is taken, so that no other file gets its number, into which messages would then be written.
    """
    while (taken := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(taken)
    encoding = "utf-8" if sys.stderr is None else sys.stderr.encoding
    file = _Forgiving(2, "w", closefd=False)
    sys.stderr = io.TextIOWrapper(file, encoding=encoding, errors="backslashreplace", line_buffering=True)
