"""The paper's tables from stored runs: Markdown for people, CSV and JSON for programs."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations

from mtparse.evaluation import Scores, read_sentence_counts
from mtparse.files import atomic_writer
from mtparse.paper import COUNTS, UAS
from mtparse.plan import Cell, Plan
from mtparse.run_directory import SCORES_NAME, SENTENCES_NAME
from mtparse.significance import compare


@dataclass(frozen=True)
class Table:
    """A table: a title, what it says, a header, rows of text and numbers, and which cells stand out."""

    title: str
    note: str
    header: list[str]
    rows: list[list]
    bold: frozenset[tuple[int, int]] = frozenset()

    def markdown(self) -> str:
        """For people; numbers with two decimals."""

        def show(value, place) -> str:
            text = "n/a" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)
            text = text.replace("|", "\\|")
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


def write_tables(plan: Plan, runs: Mapping[Cell, str], folder: str) -> str:
    """Make the tables of a finished experiment and write them to a folder.

    Parameters
    ----------
    runs
        The run directory of each cell.
    folder
        Gets ``tables.md``, and for each table a ``.csv`` and a ``.json`` file.

    Returns
    -------
    str
        The Markdown text.
    """
    scores = {}
    for cell, run in runs.items():
        with open(os.path.join(run, SCORES_NAME), encoding="utf-8") as file:
            scores[cell] = json.load(file)
    tables = {
        "table1": data_table(plan, scores),
        "table2": settings_table(plan, scores),
        "table3": trainers_table(plan, scores),
        "choices": choices_table(plan, scores),
        "significance": significance_table(plan, scores, runs),
    }
    if plan.shared_task is not None:
        tables |= {"paper": paper_table(plan, scores), "counts": counts_table(plan, scores)}
    os.makedirs(folder, exist_ok=True)
    text = f"# {plan.name}\n\n" + "\n".join(table.markdown() for table in tables.values())
    with atomic_writer(os.path.join(folder, "tables.md"), "w") as file:
        file.write(text)
    for name in ("paper", "counts"):
        for ending in ("csv", "json"):
            if name not in tables:
                with suppress(FileNotFoundError):
                    os.remove(os.path.join(folder, f"{name}.{ending}"))
    for name, table in tables.items():
        with atomic_writer(os.path.join(folder, f"{name}.csv"), "w") as file:
            file.write(table.csv())
        with atomic_writer(os.path.join(folder, f"{name}.json"), "w") as file:
            file.write(json.dumps(table.records(), indent=2, ensure_ascii=False) + "\n")
    return text


def data_table(plan: Plan, scores: Mapping[Cell, dict]) -> Table:
    """Table 1: how far the training data are from projective, and the sizes of the parts."""
    rows = []
    for language in plan.languages:
        found = next(s for cell, s in scores.items() if cell.language == language)
        whole = found["treebank"]
        rows.append(
            [
                language,
                100 * whole["crossing"] / whole["words"],
                100 * whole["nonprojective"] / whole["words"],
                found["words"]["training"],
                found["words"]["validation"],
                found["test"]["words"],
                found["root"],
            ]
        )
    return Table(
        "Table 1: data",
        "Percent of crossing and of non-projective dependencies in the training and validation data; words.",
        ["language", "crossing %", "non-projective %", "training", "validation", "test", "root"],
        rows,
    )


def settings_table(plan: Plan, scores: Mapping[Cell, dict]) -> Table:
    """Table 2: test UAS of every trainer and tree family, the best of each language in bold."""
    settings = [(trainer, trees) for trainer in plan.trainers for trees in plan.trees]
    rows, bold = [], set()
    for r, language in enumerate(plan.languages):
        values = [_uas(plan, scores, Cell(language, *setting)) for setting in settings]
        rows.append([language, *values])
        best = max((v for v in values if v is not None), default=None)
        bold |= {(r, c + 1) for c, value in enumerate(values) if value is not None and value == best}
    return Table(
        "Table 2: UAS on test data",
        f"{_counted(plan)} Non-projective models are decoded by the decoder that validation chose.",
        ["language", *(f"{trainer}, {trees}" for trainer, trees in settings)],
        rows,
        frozenset(bold),
    )


def trainers_table(plan: Plan, scores: Mapping[Cell, dict]) -> Table:
    """Table 3: per trainer the tree family that validation chose, all languages and the average."""
    rows = []
    for trainer in plan.trainers:
        values = [
            _uas(plan, scores, best_cell(plan, scores, language, trainer)) for language in plan.languages
        ]
        known = [v for v in values if v is not None]
        rows.append([trainer, *values, sum(known) / len(known) if len(known) == len(values) else None])
    return Table(
        "Table 3: UAS by trainer",
        "Projective or non-projective training, whichever validation chose.",
        ["trainer", *plan.languages, "average"],
        rows,
    )


def choices_table(plan: Plan, scores: Mapping[Cell, dict]) -> Table:
    """What validation chose for every cell, and its score there."""
    rows = []
    for cell in plan.cells:
        found = scores[cell]
        cost = "" if found["C"] is None else f"{found['C']:g}"
        chosen = [cost, found["passes"], found["decoder"], found["valid"][plan.counted]]
        rows.append([cell.language, cell.trainer, cell.trees, *chosen])
    return Table(
        "What validation chose",
        f"C, number of passes and decoder, with the validation UAS before a refit. {_counted(plan)}",
        ["language", "trainer", "trees", "C", "passes", "decoder", "validation UAS"],
        rows,
    )


def paper_table(plan: Plan, scores: Mapping[Cell, dict]) -> Table:
    """Our test UAS of every cell beside the paper's, and the averages over the languages."""
    rows = []
    for trainer in plan.trainers:
        for trees in plan.trees:
            pairs = []
            for language in plan.languages:
                ours = scores[Cell(language, trainer, trees)]["test"]["without_punctuation"]
                theirs = UAS[language][trainer, trees]
                pairs.append((ours, theirs))
                rows.append([language, trainer, trees, ours, theirs, None if ours is None else ours - theirs])
            if all(ours is not None for ours, _ in pairs):
                ours, theirs = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
                rows.append(["average", trainer, trees, ours, theirs, ours - theirs])
    return Table(
        "Beside the paper",
        "UAS on test data, without punctuation. The paper is Koo, Globerson, Carreras, Collins (2007), "
        "table 2; its division into training and validation sentences is not known.",
        ["language", "trainer", "trees", "UAS", "paper", "difference"],
        rows,
    )


def counts_table(plan: Plan, scores: Mapping[Cell, dict]) -> Table:
    """Whether the files hold as many words and sentences as those of the shared task."""
    rows = []
    for language in plan.languages:
        found = next(s for cell, s in scores.items() if cell.language == language)
        known = COUNTS[language]
        for part, here, there in (
            ("training", found["treebank"], (known.training_words, known.training_sentences)),
            ("test", found["test"], (known.test_words, known.test_sentences)),
        ):
            counts = (here["words"], here["sentences"])
            rows.append([language, part, *counts, *there, "yes" if counts == there else "NO"])
    return Table(
        "Check of the data",
        "Words and sentences of the files (training with validation) and of the CoNLL-X shared task.",
        ["language", "file", "words", "sentences", "words there", "sentences there", "the same"],
        rows,
    )


def significance_table(plan: Plan, scores: Mapping[Cell, dict], runs: Mapping[Cell, str]) -> Table:
    """Sign and randomization tests between each two trainers (table 3), all languages together."""
    rows = []
    sentences = {trainer: _sentences(plan, scores, runs, trainer) for trainer in plan.trainers}
    for a, b in combinations(plan.trainers, 2):
        found = compare(sentences[a], sentences[b])
        rows.append(
            [
                f"{b} against {a}",
                found.improved,
                found.worsened,
                found.sentences,
                f"{found.p_sign:.3g}",
                f"{found.p_randomization:.3g}",
            ]
        )
    return Table(
        "Significance",
        "Test sentences of all languages together, the choices of table 3: a two-sided sign test on "
        "sentences, a paired randomization test on right heads.",
        ["pair", "improved", "worsened", "sentences", "p (sign)", "p (randomization)"],
        rows,
    )


def best_cell(plan: Plan, scores: Mapping[Cell, dict], language: str, trainer: str) -> Cell:
    """A trainer's cell with the best validation score; of equals the non-projective one."""
    cells = [Cell(language, trainer, trees) for trees in sorted(plan.trees)]  # non-projective first
    return max(cells, key=lambda cell: scores[cell]["valid"][plan.counted] or 0.0)


def _counted(plan: Plan) -> str:
    return "All tokens count." if plan.counted == "all_tokens" else "Punctuation does not count."


def _uas(plan: Plan, scores: Mapping[Cell, dict], cell: Cell) -> float | None:
    return scores[cell]["test"][plan.counted]


def _sentences(plan: Plan, scores, runs, trainer: str) -> list[Scores]:
    """Scores of every test sentence of all languages by a trainer's chosen models."""
    found: list[Scores] = []
    for language in plan.languages:
        cell = best_cell(plan, scores, language, trainer)
        found += read_sentence_counts(os.path.join(runs[cell], SENTENCES_NAME), plan.counted)
    return found
