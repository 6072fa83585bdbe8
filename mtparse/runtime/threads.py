"""Threads for kernels that release the GIL. What they compute never depends on how many there are."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Protocol, TypeVar

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


Cancelled = Callable[[], bool]
"""Asked by a task from time to time; True: end it, its result is not wanted any more."""


class Executor(Protocol):
    """Where independent tasks run: threads here, and what may stand in their place one day."""

    def run_all(self, tasks: Sequence[Callable[[Cancelled], T]]) -> list[T]:
        """Results in the order of the tasks, which are begun in it. The first fault cancels the others."""


class Threads:
    """An `Executor` of so many threads; with one, or one task, everything runs in the caller's."""

    def __init__(self, threads: int) -> None:
        self._threads = threads

    def run_all(self, tasks: Sequence[Callable[[Cancelled], T]]) -> list[T]:
        cancel = threading.Event()
        if min(self._threads, len(tasks)) <= 1:
            return [task(cancel.is_set) for task in tasks]
        with ThreadPoolExecutor(min(self._threads, len(tasks))) as pool:
            try:
                jobs = [pool.submit(task, cancel.is_set) for task in tasks]
                for job in as_completed(jobs):
                    job.result()
            except BaseException:
                cancel.set()
                pool.shutdown(cancel_futures=True)
                raise
        return [job.result() for job in jobs]


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
