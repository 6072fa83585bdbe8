"""Keeping Python's garbage collector away from data that hold no cycles.

It looks again and again at everything that was made, and thereby takes half the time of reading a treebank
(a list a word) and a fifth of that of starting numba (half a million objects).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """No garbage collection meanwhile, in any thread; at the end all there is counts as old. May be nested.

    Old means that it is left alone until much more has been made: the next small collection would otherwise
    go through everything that was made meanwhile.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not gc.get_freeze_count():  # else the caller's frozen objects would thaw
                gc.freeze()
                gc.unfreeze()
            gc.enable()


@contextmanager
def start_up() -> Iterator[None]:
    """As `paused`; besides, all there is at the end is never looked at again, not even at the exit.

    For a command that loads what lives as long as its process. A library must not use it: garbage in its
    caller's cycles would stay for good.
    """
    with paused():
        yield
        gc.freeze()
