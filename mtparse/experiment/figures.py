"""How validation scores grow with passes, time and C: a figure from the logs of an experiment's runs.

Needs matplotlib, the extra ``plots``.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mtparse.experiment.curves import best_uas, read_passes
from mtparse.experiment.plan import Cell, Plan
from mtparse.experiment.run_directory import LOG_NAME, SCORES_NAME
from mtparse.runtime.files import atomic_writer

COLORS = {"perceptron": "#777777", "log-linear": "#1f77b4", "max-margin": "#d62728"}
DASHES = {"nonprojective": "-", "projective": "--"}
FORMATS = ("svg", "png")


@dataclass
class Curve:
    """The passes of one run: their numbers, seconds since its start, and the best decoder's score in %."""

    passes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)


def read_curves(log: str, key: str) -> dict[float | None, Curve]:
    """The curve of every C in a log, in order; passes of a refit are none.

    Parameters
    ----------
    key
        ``all_tokens`` or ``without_punctuation``.

    Raises
    ------
    MtparseError, OSError
        As :func:`mtparse.experiment.curves.read_passes`.
    """
    curves: dict[float | None, Curve] = {}
    for record in read_passes(log):
        score = best_uas(record, key)
        if score is None:
            continue
        curve = curves.setdefault(record["C"], Curve())
        curve.passes.append(record["pass"])
        curve.seconds.append(record["seconds"])
        curve.scores.append(score)
    return curves


def draw_unless_drawn(plan: Plan, runs: Mapping[Cell, str], path: str) -> None:
    """Draw the figure where it is missing or shows other runs; parameters and errors are those of `draw`."""
    digest = hashlib.sha256()
    for cell, run in runs.items():
        digest.update(f"{cell}\0".encode())
        digest.update(Path(run, SCORES_NAME).read_bytes())
    identifier = f"mtparse:{digest.hexdigest()[:32]}"
    files = [Path(f"{path}.{ending}") for ending in FORMATS]
    if all(file.exists() for file in files) and identifier in files[0].read_text("utf-8", "replace"):
        return
    for file in files:
        file.unlink(missing_ok=True)  # better none than one of other runs
    draw(plan, runs, path, identifier)


def draw(plan: Plan, runs: Mapping[Cell, str], path: str, identifier: str = "") -> None:
    """Draw the figure: a row of panels for each language, a line for each trainer and tree family.

    The first two panels show the run of the C that validation chose. Of several seeds or folds the first is
    drawn.

    Parameters
    ----------
    runs
        The run directory of each cell.
    path
        Without its ending; gets ``.svg`` and ``.png``.
    identifier
        Kept in the SVG file.

    Raises
    ------
    ImportError
        Where matplotlib is not installed.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    height = len(plan.languages)
    figure = Figure(figsize=(11, 2.4 * height + 0.6), layout="constrained")
    panels = figure.subplots(height, 3, squeeze=False)
    for row, language in zip(panels, plan.languages, strict=True):
        drawn: list[float] = []
        firsts: dict[tuple[str, str], Cell] = {}
        for cell in plan.cells:
            if cell.language == language:
                firsts.setdefault((cell.trainer, cell.trees), cell)
        for cell in firsts.values():
            curves = read_curves(os.path.join(runs[cell], LOG_NAME), plan.counted)
            if not curves:
                continue
            style = {
                "color": COLORS.get(cell.trainer, "black"),
                "linestyle": DASHES[cell.trees],
                "linewidth": 1.1,
                "label": f"{cell.trainer}, {cell.trees}",
            }
            best = {C: max(curve.scores) for C, curve in curves.items()}
            with open(os.path.join(runs[cell], SCORES_NAME), encoding="utf-8") as file:
                chosen = curves[json.load(file)["C"]]
            row[0].plot(chosen.passes, chosen.scores, **style)
            row[1].plot(chosen.seconds, chosen.scores, **style)
            costs = [C for C in sorted(best) if C is not None] if None not in best else []
            if costs:
                row[2].plot(costs, [best[C] for C in costs], marker="o", markersize=3, **style)
            drawn += chosen.scores[2:] or chosen.scores
        for panel, what in zip(row, ("passes", "seconds", "C"), strict=True):
            panel.set_xlabel(what)
            panel.grid(alpha=0.3)
        if drawn:
            margin = 0.05 * (max(drawn) - min(drawn)) + 0.05
            for panel in row[:2]:
                panel.set_ylim(max(min(drawn), max(drawn) - 5) - margin, max(drawn) + margin)
        row[1].set_xscale("log")
        if row[2].lines:
            row[2].set_xscale("log")
        row[0].set_ylabel(language.replace("$", r"\$") + "\nvalidation UAS (%)")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize="small")
    with rc_context({"svg.hashsalt": "mtparse"}):  # the same file for the same runs
        for ending in FORMATS:
            svg = {"metadata": {"Date": None, "Identifier": identifier}}
            options = svg if ending == "svg" else {"dpi": 110}
            with atomic_writer(f"{path}.{ending}") as file:
                figure.savefig(file, format=ending, **options)
