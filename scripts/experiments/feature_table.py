"""The log of ``scripts/experiments/choose_features`` as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean


def tables(lines: list[dict]) -> str:
    """All changes alone, best first, and the decisions.

    Parameters
    ----------
    lines
        Those of the log, without the first, which holds the settings.
    """
    sets = [line for line in lines if "uas" in line]
    bases = [line["uas"] for line in sets if line["step"] == "base"]
    base = next(line for line in sets if line["step"] == "base")
    uas = {language: fmean(fmean(b[language]) for b in bases) for language in base["uas"]}
    rule = next(line for line in lines if line["step"] == "rule")
    languages = list(base["uas"])
    alone = []
    for line in sets:
        if line["step"] == "alone":
            gains = [0 if _same(line, base, x) else fmean(line["uas"][x]) - uas[x] for x in languages]
            alone.append((fmean(gains), line["change"], gains, _entries(line) / _entries(base) - 1))
    parts = [
        "## Each change alone",
        "UAS, one order of the sentences, less that of the set that the choice began with (mean of "
        f"{len(bases)} orders); `.` where the treebank has nothing of the group.",
        _table(
            ["change", *languages, "mean", "entries"],
            (
                [change, *(f"{g:+.2f}" if g else "." for g in gains), f"{mean:+.3f}", f"{added:+.1%}"]
                for mean, change, gains, added in sorted(alone, reverse=True)
            ),
        ),
        "## On top of one another",
        f"With {rule['orders']} further orders; noise {rule['noise']:.2f}. *needed*: what a group added must "
        "bring at least.",
        _table(
            ["change", "gain", "standard error", "needed", "entries", "taken"],
            (
                [line["change"], f"{line['gain']:+.3f}", f"{line['error']:.3f}", f"{line['needed']:.3f}",
                 f"{line['added']:+.1%}", "yes" if line["taken"] else "no"]
                for line in lines if line["step"].startswith("decided")
            ),
        ),
        "## Before and after",
        "Max-margin training, C = 0.01, on the same parts: UAS, the mean over both held-out parts.",
        _table(
            ["set", *languages, "mean", "entries an arc"],
            (
                [line["step"].split()[1], *(f"{fmean(line['uas'][x]):.2f}" for x in languages),
                 f"{line['mean']:.2f}", f"{_entries(line):.1f}"]
                for line in sets if line["step"].startswith("max-margin")
            ),
        ),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _same(line: dict, base: dict, language: str) -> bool:
    """Whether a set is the base's on this treebank."""
    return line["entries"][language] == base["entries"][language]


def _entries(line: dict) -> float:
    return fmean(fmean(values) for values in line["entries"].values())


def _table(heads: list[str], rows: Iterable[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
