"""Threads for kernels that release the GIL. What they compute never depends on how many there are."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def thread_count(asked: int) -> int:
    """How many threads to use: as asked, or, for 0, NUMBA_NUM_THREADS or else the cores allowed to us."""
    if asked > 0:
        return asked
    try:
        return max(1, int(os.environ["NUMBA_NUM_THREADS"]))
    except (KeyError, ValueError):
        pass
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:
        return os.cpu_count() or 1


class Workers:
    """A pool of ``threads`` threads; with one, everything runs in the caller's.

    Use as a context manager.
    """

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def map(
        self, function: Callable[[T], R], items: Iterable[T | None], *, ahead: int = 2
    ) -> Iterator[R | None]:
        """Results in the order of the items; at most ``ahead`` items a thread are in work or waiting.

        The items are drawn in the caller's thread. None is no item: it stands where the next must be waited
        for (see `mtparse.runtime.incoming`), and is yielded after all results of the items before it.
        """
        if self._pool is None:
            for item in items:
                yield None if item is None else function(item)
            return
        waiting: deque = deque()
        for item in items:
            if item is not None:
                waiting.append(self._pool.submit(function, item))
            while len(waiting) > (0 if item is None else ahead * self.threads):
                yield waiting.popleft().result()
            if item is None:
                yield None
        while waiting:
            yield waiting.popleft().result()
