"""What is stored of the tested runs of an experiment, and the figures that its tables are made of."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping

from mtparse.config.run import Config
from mtparse.errors import MtparseError
from mtparse.evaluation.attachment import Scores, read_sentence_counts
from mtparse.experiment.plan import Cell, Plan
from mtparse.experiment.run_directory import SCORES_NAME, SENTENCES_NAME, read_summary
from mtparse.experiment.tuning import costs

COUNTED = ("all_tokens", "without_punctuation")


def read_result(folder: str) -> tuple[dict, dict[str, list[Scores]]]:
    """Read what tables need of a run directory: ``scores.json`` and ``sentences.csv``, no other file.

    Returns
    -------
    The summary, and the scores of every test sentence by ``all_tokens`` and ``without_punctuation``.

    Raises
    ------
    MtparseError
        If one is missing or damaged, if the run was not tested, or if the two are not of one run.
    """
    try:
        scores = read_summary(folder)
        path = os.path.join(folder, SENTENCES_NAME)
        rows = {key: read_sentence_counts(path, key) for key in COUNTED}
        for key in COUNTED:
            total = sum(rows[key], Scores())
            expected = [scores["test"][name] for name in ("sentences", "words", key)]
            if [total.sentences, total.words, total.as_dict()["UAS"]] != expected:
                raise ValueError(key)
        counts = [scores["treebank"][name] for name in ("words", "sentences", "crossing", "nonprojective")]
        counts += [scores["words"][name] for name in ("training", "validation")]
        if not all(isinstance(count, int) for count in counts) or not counts[0]:
            raise ValueError("counts")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MtparseError(
            f"{folder}: {SCORES_NAME} or {SENTENCES_NAME} is missing or damaged, or the run is not finished"
        ) from error
    return scores, rows


def _require_run_of(cell: Cell, config: Config, scores: Mapping, folder: str) -> None:
    """Refuse the scores of another run, which was copied into this cell's place."""
    wanted = {"name": config.name, "trainer": cell.trainer, "trees": cell.trees, "seed": config.seed}
    wrong = [key for key, value in wanted.items() if scores[key] != value]
    if scores["C"] not in costs(config):
        wrong.append("C")
    if wrong:
        raise MtparseError(
            f"{folder}: holds another run than the plan's {cell}: in {SCORES_NAME} {wrong[0]} is "
            f"{scores[wrong[0]]!r}"
        )


Setting = tuple[str, str, str]
"""A language, a trainer and a tree family."""


class Results:
    """The results of an experiment's runs, by setting.

    The runs of one setting differ in their seed, or in the fold of the training file that they test.

    Parameters
    ----------
    folders
        The run directory of every cell of the plan.

    Raises
    ------
    MtparseError
        As :func:`read_result`; also if a directory holds the run of another cell.
    """

    def __init__(self, plan: Plan, folders: Mapping[Cell, str]) -> None:
        self.plan = plan
        self.scores: dict[Cell, dict] = {}
        self._sentences: dict[Cell, dict[str, list[Scores]]] = {}
        self._cells: dict[Setting, list[Cell]] = {}
        for cell in plan.cells:
            self.scores[cell], self._sentences[cell] = read_result(folders[cell])
            _require_run_of(cell, plan.cells[cell], self.scores[cell], folders[cell])
            self._cells.setdefault((cell.language, cell.trainer, cell.trees), []).append(cell)

    @property
    def settings(self) -> list[Setting]:
        """The settings, in the plan's order."""
        return list(self._cells)

    def test(self, setting: Setting, counted: str | None = None) -> float | None:
        """Test UAS: of all folds together, the mean over the seeds; None where one is undefined."""
        return mean(self.by_seed(setting, counted))

    def spread(self, setting: Setting) -> float | None:
        """The standard deviation of the test UAS over the folds, or else over the seeds, if there are any."""
        return deviation(self.by_fold(setting) if self.plan.folds else self.by_seed(setting))

    def by_seed(self, setting: Setting, counted: str | None = None) -> list[float | None]:
        """Test UAS with every seed, all folds together."""
        groups = _groups(self._cells[setting], lambda cell: cell.seed)
        return [self._uas(cells, counted) for cells in groups]

    def by_fold(self, setting: Setting) -> list[float | None]:
        """Test UAS of every fold, the mean over the seeds."""
        groups = _groups(self._cells[setting], lambda cell: cell.fold)
        return [mean(self._uas([cell]) for cell in cells) for cells in groups]

    def valid(self, setting: Setting) -> float:
        """The mean validation UAS of all runs; 0 where one is undefined."""
        return mean(self.scores[cell]["valid"][self.plan.counted] for cell in self._cells[setting]) or 0.0

    def chosen(self, language: str, trainer: str) -> Setting:
        """The setting with the tree family that validation prefers; of equals the non-projective one."""
        families = sorted(self.plan.trees)  # non-projective first
        return max(((language, trainer, trees) for trees in families), key=self.valid)

    def sentences(self, setting: Setting) -> list[Scores]:
        """Counts of every test sentence, added over the seeds.

        Where another setting was run with more seeds, so many times as much that the two can be compared.
        """
        seeds = {setting: len(self.by_seed(setting)) for setting in self.settings}
        times = math.lcm(*seeds.values()) // seeds[setting]
        found: list[Scores] = []
        for cells in _groups(self._cells[setting], lambda cell: cell.fold):
            for rows in zip(*(self._sentences[cell][self.plan.counted] for cell in cells), strict=True):
                heads, scored, words = (
                    times * sum(getattr(row, name) for row in rows)
                    for name in ("correct_heads", "scored", "words")
                )
                found.append(Scores(correct_heads=heads, scored=scored, words=words, sentences=1))
        return found

    def folds(self, language: str) -> list[dict]:
        """The summary of one run for every fold of a language; of one run where there are no folds."""
        cells = [cell for cell in self.plan.cells if cell.language == language]
        return [self.scores[group[0]] for group in _groups(cells, lambda cell: cell.fold)]

    def _uas(self, cells: Iterable[Cell], counted: str | None = None) -> float | None:
        """The UAS of several runs' test sentences together."""
        key = counted or self.plan.counted
        return sum((row for cell in cells for row in self._sentences[cell][key]), Scores()).as_dict()["UAS"]


def _groups(cells: Iterable[Cell], key: Callable[[Cell], int | None]) -> list[list[Cell]]:
    groups: dict[int | None, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(key(cell), []).append(cell)
    return list(groups.values())


def mean(values: Iterable[float | None]) -> float | None:
    """The mean; None where a value is None or where there is none."""
    found = list(values)
    if not found or None in found:
        return None
    return sum(found) / len(found)


def deviation(values: list[float | None]) -> float | None:
    """The standard deviation of a sample; None where a value is None or where there are fewer than two."""
    center = mean(values)
    if center is None or len(values) < 2:
        return None
    return math.sqrt(sum((value - center) ** 2 for value in values) / (len(values) - 1))
