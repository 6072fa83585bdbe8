"""A table as Markdown for people and as CSV and JSON for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Table:
    """A table: a title, what it says, a header, rows of text and numbers.

    ``bold`` are the cells, by row and column, that stand out in Markdown; ``deviations`` has the standard
    deviations that follow cells there.
    """

    title: str
    note: str
    header: list[str]
    rows: list[list]
    bold: frozenset[tuple[int, int]] = frozenset()
    deviations: Mapping[tuple[int, int], float] = field(default_factory=dict)

    def markdown(self) -> str:
        """For people; numbers with two decimals."""

        def show(value, place) -> str:
            text = "n/a" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)
            text = text.replace("|", "\\|")
            if place in self.deviations:
                text += f" ± {self.deviations[place]:.2f}"
            return f"**{text}**" if place in self.bold else text

        lines = [
            f"## {self.title}",
            "",
            self.note,
            "",
            "| " + " | ".join(show(name, None) for name in self.header) + " |",
        ]
        lines.append("| --- " * len(self.header) + "|")
        for r, row in enumerate(self.rows):
            lines.append("| " + " | ".join(show(v, (r, c)) for c, v in enumerate(row)) + " |")
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """For programs; numbers unrounded, undefined ones empty."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerows([self.header, *self.rows])
        return out.getvalue()

    def records(self) -> list[dict]:
        """A mapping for each row."""
        return [dict(zip(self.header, row, strict=True)) for row in self.rows]
