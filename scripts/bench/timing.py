"""What the benchmarks share."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

from mtparse import MtparseError


def medians(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each call, all of them in turns, after a round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            if number:
                times[name].append(time.perf_counter() - began)
    return {name: statistics.median(taken) for name, taken in times.items()}


def run_script(main: Callable[[], None]) -> None:
    """Call the main function of a script; faults of its arguments end in one line."""
    try:
        main()
    except (MtparseError, OSError) as error:
        sys.exit(f"{sys.argv[0]}: error: {error}")
