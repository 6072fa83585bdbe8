"""The one way in which mtparse compiles a kernel.

Kernels see arrays, never objects. They release the GIL, so that threads run them side by side, and are
cached on disk, so that only the first run after an installation compiles. ``error_model="numpy"`` lets
divisions vectorise; no kernel relies on ``ZeroDivisionError``. ``fastmath`` stays off: ``-inf`` carries
meaning here.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from numba import njit

kernel = njit(cache=True, nogil=True, error_model="numpy")


def drop_stale_kernels(package: Path) -> bool:
    """Delete the cached kernels of a package when any of its sources changed since the last call.

    Returns whether they had changed, so that kernels have to be compiled.

    numba looks at the file of a kernel only, not at those of the kernels it calls: after a change of one
    file (``git pull`` into an editable installation) callers in other files would go on with the old code.
    """
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        state = source.stat()
        digest.update(f"{source.relative_to(package)} {state.st_mtime_ns} {state.st_size}\n".encode())
    stamp = package / "__pycache__" / "kernels.stamp"
    with suppress(OSError):
        if stamp.exists() and stamp.read_text() == digest.hexdigest():
            return False
        for cached in package.rglob("*.nbi"):
            cached.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(digest.hexdigest())
        return True
    return False


COMPILES = drop_stale_kernels(Path(__file__).parent)
"""Whether this is the first run after an installation or a change of the sources."""
