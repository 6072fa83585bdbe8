"""The one way in which mtparse compiles a kernel.

Kernels see arrays, never objects. They release the GIL, so that threads run them side by side, and are
cached on disk, so that only the first run after an installation compiles. ``error_model="numpy"`` lets
divisions vectorise; no kernel relies on ``ZeroDivisionError``. Of ``fastmath`` nothing is used that assumes
numbers to be finite: ``-inf`` carries meaning here.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import numba
from numba.core import event

PACKAGE = Path(__file__).parent


def sources_digest(package: Path, only: Collection[str] = ()) -> str:
    """A hash of all sources of a package, or only of those files and folders.

    numba asks only whether the file of a kernel changed, not those of the kernels it calls: after a change
    of one file, callers in other files would go on with the old code. So the cache's name has this in it.
    """
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        name = source.relative_to(package)
        if only and name.parts[0] not in only:
            continue
        digest.update(f"{name}\0".encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def cache_directory(package: Path, digest: str) -> Path | None:
    """Where compiled kernels are kept: NUMBA_CACHE_DIR, the package, or the user's cache folder.

    The first of them that can be written; None where none can. Older caches in the package are removed.
    """
    asked = os.environ.get("NUMBA_CACHE_DIR")
    user = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    bases = [Path(asked)] if asked else [package / "__pycache__", Path(user, "mtparse")]
    for base in bases:
        folder = base / f"kernels-{digest}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if not os.access(folder, os.W_OK):
            continue
        if not asked and base.parent == package:
            for old in base.glob("kernels-*"):
                if old != folder:
                    shutil.rmtree(old, ignore_errors=True)
        return folder
    return None


CACHE = cache_directory(PACKAGE, sources_digest(PACKAGE))


class _First(event.Listener):
    """Calls a function when the first kernel is compiled."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call: Callable[[], None] | None = call

    def on_start(self, event: event.Event) -> None:
        call, self._call = self._call, None
        if call is not None:
            call()

    def on_end(self, event: event.Event) -> None:
        pass


@contextmanager
def compiling_said(say: Callable[[str], None], takes: str) -> Iterator[None]:
    """Say so, once, when within this context a kernel is compiled because it was not in the cache.

    Asking numba rather than looking for a cache: one that a parse left lacks what training needs.

    Parameters
    ----------
    say
        Is given the line, in the thread that compiles.
    takes
        How long it takes, in words.
    """
    first = _First(lambda: say(f"compiling kernels, once after an installation: {takes}"))
    with event.install_listener("numba:compile", first):
        yield


def _compiled(function: Callable, **options) -> Callable:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = "" if CACHE is None else str(CACHE)
    try:
        return numba.njit(cache=CACHE is not None, nogil=True, error_model="numpy", **options)(function)
    finally:
        numba.config.CACHE_DIR = before


def kernel(function: Callable) -> Callable:
    """Compile a function of arrays and tuples of arrays, when it is first called."""
    return _compiled(function)


def summing_kernel(function: Callable) -> Callable:
    """The same for a function whose sums may be taken in another order, which lets them vectorise.

    The order depends on the processor and on nothing else.
    """
    return _compiled(function, fastmath={"reassoc"})
