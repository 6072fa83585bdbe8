"""Tables of names and figures in aligned columns, for a terminal."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import accumulate

NAME_WIDTH = 30
"""Columns of a name that are printed: lines of two names, or of one and seven figures, stay within 100."""


def format_table(
    title: str,
    header: list[str],
    rows: Sequence[Sequence[str | float | None]],
    *,
    texts: int = 1,
    rules: Iterable[int] = (),
) -> str:
    """Return a title and the table below it, in the form of the CoNLL-X script, without a last line end.

    Parameters
    ----------
    title, header
        The header has a name for each column.
    rows
        The first ``texts`` columns are names, cut to ``NAME_WIDTH``; the others are figures, floats with two
        decimals. None is shown as ``n/a``.
    rules
        Before which rows, counted from 0, there is a rule; there is always one below the header.
    """
    cells = [[shorten(cell) if isinstance(cell, str) else _figure(cell) for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(header, *cells, strict=True)]

    def line(row: list[str]) -> str:
        blanks = [" " * (wide - width(cell)) for cell, wide in zip(row, widths, strict=True)]
        padded = [
            cell + blank if place < texts else blank + cell
            for place, (cell, blank) in enumerate(zip(row, blanks, strict=True))
        ]
        return f"  {' | '.join(padded)}"

    rule = f"  {'-+-'.join('-' * wide for wide in widths)}"
    lines = [f"  {title}", "", line(header), rule]
    for number, row in enumerate(cells):
        if number in rules:
            lines.append(rule)
        lines.append(line(row))
    return "\n".join(lines)


def _figure(value: float | None) -> str:
    if value is None:
        return "n/a"
    if isinstance(value, int):
        return str(value)
    return "NaN" if math.isnan(value) else f"{value:.2f}"


def shorten(name: str) -> str:
    """The name in at most NAME_WIDTH columns; question marks for characters that a terminal does not show."""
    name = "".join(character if character.isprintable() else "?" for character in name)
    if width(name) <= NAME_WIDTH:
        return name
    kept = sum(columns <= NAME_WIDTH - 3 for columns in accumulate(map(_columns, name)))
    return f"{name[:kept]}..."


def width(text: str) -> int:
    """The columns that a terminal needs: two for a wide character, none for a mark on the one before it."""
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
