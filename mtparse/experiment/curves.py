"""How training went, pass by pass: the log of a run as a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence

from mtparse.errors import MtparseError
from mtparse.experiment.tuning import PASS_COLUMNS, VALID_COLUMNS

CURVES_NAME = "curves.csv"

COLUMNS = tuple(name for name in PASS_COLUMNS if name not in ("event", "refit"))


def read_passes(log: str) -> list[dict]:
    """The records of all passes with every C, the smallest C first; passes of a refit are left out.

    Raises
    ------
    MtparseError
        If the log is of a version before 0.2, which had other columns, or damaged.
    OSError
        If it cannot be read.
    """
    passes = []
    with open(log, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                record = json.loads(line)
                wanted = record["event"] == "pass" and not record["refit"]
                complete = not wanted or set(COLUMNS) <= set(record)
            except (ValueError, TypeError, KeyError, RecursionError):
                complete = False
            if not complete:
                raise MtparseError(f"{log}:{number}: not a record of this version, or damaged")
            if wanted:
                passes.append(record)
    return sorted(passes, key=lambda record: record["C"] or 0.0)  # threads log several values in turns


def valid_uas(record: dict, counted: str) -> dict[str, float]:
    """The validation UAS after a pass by decoder, of those that were tried.

    ``counted`` is ``all_tokens`` or ``without_punctuation``.
    """
    found = {decoder: record[column] for decoder, column in VALID_COLUMNS[counted].items()}
    return {decoder: score for decoder, score in found.items() if score is not None}


def best_uas(record: dict, counted: str) -> float | None:
    """The validation UAS of the better decoder after a pass; None where nothing was validated."""
    return max(valid_uas(record, counted).values(), default=None)


def format_curves(passes: Iterable[dict], first: Sequence[str] = ()) -> str:
    """Passes as CSV: the columns named by ``first``, then those of the log; unrounded, None is empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [*first, *COLUMNS], extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(passes)
    return out.getvalue()
