"""A hash of the package's own sources: what was made by other code is not taken for this code's."""

from __future__ import annotations

import hashlib
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def source_digest(package: Path) -> str:
    """A hash of all sources of a package, of their names and contents."""
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        content = source.read_bytes()
        digest.update(f"{source.relative_to(package).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


DIGEST = source_digest(PACKAGE)
"""That of this process's code: compiled kernels, cached features and interrupted runs belong to one digest.

It covers the whole package, because a list of the files that matter would be wrong some day.
"""
