"""The one way in which mtparse compiles a kernel.

Kernels see arrays, never objects. They release the GIL, so that threads run them side by side, and are
cached on disk, so that only the first run after an installation compiles. ``error_model="numpy"`` lets
divisions vectorise; no kernel relies on ``ZeroDivisionError``. ``fastmath`` stays off: ``-inf`` carries
meaning here. `fused_kernel` and `summing_kernel` allow two rewrites that take no number for finite.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numba
from numba.core import event
from numba.core.caching import FunctionCache

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
    first = _First(lambda: say(f"compiling kernels, once after an installation for each trainer: {takes}"))
    with event.install_listener("numba:compile", first):
        yield


class _KernelCache(FunctionCache):
    """numba's cache of one kernel, whose faults do no harm: what cannot be read or kept is compiled.

    The disk may be full, or a file have been cut off when the power failed.
    """

    def load_overload(self, *arguments):
        with suppress(Exception):
            return super().load_overload(*arguments)
        return None

    def save_overload(self, *arguments):
        with suppress(Exception):
            super().save_overload(*arguments)


def _compile(function: Callable, fastmath: set[str] | bool) -> Callable:
    compiled = numba.njit(nogil=True, error_model="numpy", fastmath=fastmath)(function)
    if CACHE is None or numba.config.DISABLE_JIT:
        return compiled
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(CACHE)
    try:
        compiled._cache = _KernelCache(function)  # as ``cache=True`` does with numba's own class
    finally:
        numba.config.CACHE_DIR = before
    return compiled


def kernel(function: Callable) -> Callable:
    """Compile a function of arrays and tuples of arrays, when it is first called."""
    return _compile(function, False)


def fused_kernel(function: Callable) -> Callable:
    """`kernel` whose products and sums may be one instruction, rounded once: more exact, never less."""
    return _compile(function, {"contract"})


def summing_kernel(function: Callable) -> Callable:
    """`fused_kernel` whose sums may be taken in another order, as vector instructions need it.

    For sums of finite numbers in which no order is better than another. The order is the compiler's and
    depends on the processor's kind, as fusing does, but not on the run or on the number of threads.
    """
    return _compile(function, {"contract", "reassoc"})


def inlined(function: Callable) -> Callable:
    """A piece of a kernel, compiled as if it were written where it is called."""
    return numba.njit(inline="always", nogil=True, error_model="numpy")(function)
