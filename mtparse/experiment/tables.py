"""The paper's tables from stored runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import combinations

from mtparse.errors import MtparseError
from mtparse.evaluation.attachment import Scores
from mtparse.evaluation.significance import compare
from mtparse.experiment.paper import COUNTS, UAS
from mtparse.experiment.plan import Cell, Plan
from mtparse.experiment.results import Results, deviation, mean
from mtparse.experiment.run_directory import SCORES_NAME
from mtparse.experiment.stored_plan import TABLES, load_stored_plan, run_folder
from mtparse.experiment.text_table import Table
from mtparse.runtime.files import atomic_writer, lock_directory

_SOMETIMES = ("variation", "paper", "counts")
_STEPS = {
    "adaptive": "a step for each sentence (`step: adaptive`)",
    "paper": "the step rule of the paper's figure 2 (`step: paper`)",
}


def remake_tables(directory: str, only: Iterable[str] | None = None) -> str:
    """Make the tables of an experiment again from what its directory keeps.

    Needed are ``plan.json`` and each run's ``scores.json`` and ``sentences.csv``: no model, log or treebank.

    Parameters
    ----------
    only
        The languages wanted; all by default.

    Returns
    -------
    str
        The tables as Markdown; those of all languages are written to ``tables`` in the directory, too.

    Raises
    ------
    ConfigError
        If the experiment does not have such a language.
    MtparseError
        If something is missing or damaged, or if another process works in the directory.
    """
    plan = load_stored_plan(directory)
    if only is not None:
        plan = plan.only(only)
    runs = {cell: run_folder(directory, cell) for cell in plan.cells}
    missing = [cell for cell, run in runs.items() if not os.path.exists(os.path.join(run, SCORES_NAME))]
    if missing:
        raise MtparseError(
            f"{directory}: {len(missing)} of {len(runs)} runs are not finished, {missing[0]} among them; "
            "mtparse reproduce --resume runs them, --only leaves their languages out"
        )
    if only is not None:
        return markdown(plan, make_tables(plan, runs))
    release = lock_directory(directory)
    try:
        return write_tables(plan, runs, os.path.join(directory, TABLES))
    finally:
        release()


def make_tables(plan: Plan, runs: Mapping[Cell, str]) -> dict[str, Table]:
    """The tables of a finished experiment by their names in files.

    Parameters
    ----------
    runs
        The run directory of each cell.

    Raises
    ------
    MtparseError
        If a run is not finished, or if what is stored of it is damaged.
    """
    results = Results(plan, runs)
    tables = {
        "table1": data_table(results),
        "table2": settings_table(results),
        "table3": trainers_table(results),
        "choices": choices_table(results),
        "significance": significance_table(results),
    }
    if len(plan.cells) > len(results.settings):
        tables["variation"] = variation_table(results)
    if plan.shared_task is not None:
        tables |= {"paper": paper_table(results), "counts": counts_table(results)}
    return tables


def markdown(plan: Plan, tables: Mapping[str, Table]) -> str:
    """All tables as one Markdown text."""
    return f"# {plan.name}\n\n" + "\n".join(table.markdown() for table in tables.values())


def write_tables(plan: Plan, runs: Mapping[Cell, str], folder: str) -> str:
    """Make the tables of a finished experiment and write them to a folder.

    Parameters and errors are those of `make_tables`. The folder gets ``tables.md``, and for each table a
    ``.csv`` and a ``.json`` file.

    Returns
    -------
    str
        The Markdown text.
    """
    tables = make_tables(plan, runs)
    text = markdown(plan, tables)
    os.makedirs(folder, exist_ok=True)
    with atomic_writer(os.path.join(folder, "tables.md"), "w") as file:
        file.write(text)
    for name in _SOMETIMES:
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


def data_table(results: Results) -> Table:
    """Table 1: how far the training data are from projective, and the sizes of the parts."""
    rows = []
    for language in results.plan.languages:
        folds = results.folds(language)
        words, crossing, nonprojective = (
            sum(found["treebank"][name] for found in folds) for name in ("words", "crossing", "nonprojective")
        )
        training, validation = (
            round(sum(found["words"][name] for found in folds) / len(folds))
            for name in ("training", "validation")
        )
        rows.append(
            [
                language,
                100 * crossing / words,
                100 * nonprojective / words,
                training,
                validation,
                sum(found["test"]["words"] for found in folds),
                " or ".join(dict.fromkeys(found["root"] for found in folds)),
            ]
        )
    means = " Those of training and validation are means over the folds." if results.plan.folds else ""
    return Table(
        "Table 1: data",
        "Percent of crossing and of non-projective dependencies in the training and validation data; "
        f"words.{means}",
        ["language", "crossing %", "non-projective %", "training", "validation", "test", "root"],
        rows,
    )


def settings_table(results: Results) -> Table:
    """Table 2: test UAS of every trainer and tree family, the best of each language in bold."""
    plan = results.plan
    settings = [(trainer, trees) for trainer in plan.trainers for trees in plan.trees]
    rows, bold, deviations = [], set(), {}
    for r, language in enumerate(plan.languages):
        values = [results.test((language, *setting)) for setting in settings]
        rows.append([language, *values])
        best = max((v for v in values if v is not None), default=None)
        bold |= {(r, c + 1) for c, value in enumerate(values) if value is not None and value == best}
        spreads = [results.spread((language, *setting)) for setting in settings]
        deviations |= {(r, c + 1): spread for c, spread in enumerate(spreads) if spread is not None}
    return Table(
        "Table 2: UAS on test data",
        f"{_counted(plan)} Non-projective models are decoded by the decoder that validation chose."
        f"{_repeated(plan)}{_steps(plan)}",
        ["language", *(f"{trainer}, {trees}" for trainer, trees in settings)],
        rows,
        frozenset(bold),
        deviations,
    )


def trainers_table(results: Results) -> Table:
    """Table 3: per trainer the tree family that validation chose, all languages and the average."""
    plan = results.plan
    rows, deviations = [], {}
    for r, trainer in enumerate(plan.trainers):
        settings = [results.chosen(language, trainer) for language in plan.languages]
        values = [results.test(setting) for setting in settings]
        average = [mean(values)] if len(values) > 1 else []
        rows.append([trainer, *values, *average])
        spreads = [results.spread(setting) for setting in settings]
        deviations |= {(r, c + 1): spread for c, spread in enumerate(spreads) if spread is not None}
    return Table(
        "Table 3: UAS by trainer",
        "Projective or non-projective training, whichever validation chose."
        f"{_repeated(plan)}{_steps(plan)}",
        ["trainer", *plan.languages, *(["average"] if len(plan.languages) > 1 else [])],
        rows,
        deviations=deviations,
    )


def variation_table(results: Results) -> Table:
    """Test UAS over the seeds and over the folds: mean, standard deviation, lowest and highest."""
    plan, rows = results.plan, []
    for setting in results.settings:
        seeds = results.by_seed(setting)
        series = {"folds": results.by_fold(setting)} if plan.folds else {}
        if len(seeds) > 1 or not plan.folds:
            series["seeds"] = seeds
        for what, values in series.items():
            known = [value for value in values if value is not None]
            ends = [min(known), max(known)] if len(known) == len(values) else [None, None]
            over = what if len(values) > 1 else "one run"
            rows.append([*setting, over, len(values), results.test(setting), deviation(values), *ends])
    return Table(
        "Variation",
        f"UAS on test data. {_counted(plan)}{_repeated(plan)}",
        ["language", "trainer", "trees", "over", "values", "UAS", "standard deviation", "lowest", "highest"],
        rows,
    )


def choices_table(results: Results) -> Table:
    """What validation chose for every run, and its score there."""
    plan, rows = results.plan, []
    marks = [name for name in ("seed", "fold") if any(getattr(c, name) is not None for c in plan.cells)]
    for cell in plan.cells:
        found = results.scores[cell]
        cost = "" if found["C"] is None else f"{found['C']:g}"
        chosen = [cost, found["passes"], found["decoder"], found["valid"][plan.counted]]
        numbers = ["" if getattr(cell, name) is None else getattr(cell, name) for name in marks]
        rows.append([cell.language, cell.trainer, cell.trees, *numbers, *chosen])
    return Table(
        "What validation chose",
        f"C, number of passes and decoder, with the validation UAS before a refit. {_counted(plan)}",
        ["language", "trainer", "trees", *marks, "C", "passes", "decoder", "validation UAS"],
        rows,
    )


def paper_table(results: Results) -> Table:
    """Our test UAS of every setting beside the paper's, and the averages over the languages."""
    plan, rows = results.plan, []
    for trainer in plan.trainers:
        for trees in plan.trees:
            pairs = []
            for language in plan.languages:
                ours = results.test((language, trainer, trees), "without_punctuation")
                theirs = UAS[language].get((trainer, trees))  # None of a trainer that the paper has not
                pairs.append((ours, theirs))
                gap = None if None in (ours, theirs) else ours - theirs
                rows.append([language, trainer, trees, ours, theirs, gap])
            if not any(None in pair for pair in pairs):
                ours, theirs = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
                rows.append(["average", trainer, trees, ours, theirs, ours - theirs])
    return Table(
        "Beside the paper",
        "UAS on test data, without punctuation. The paper is Koo, Globerson, Carreras, Collins (2007), "
        f"table 2; its division into training and validation sentences is not known.{_steps(plan)}",
        ["language", "trainer", "trees", "UAS", "paper", "difference"],
        rows,
    )


def counts_table(results: Results) -> Table:
    """Whether the files hold as many words and sentences as those of the shared task."""
    rows = []
    for language in results.plan.languages:
        (found,) = results.folds(language)
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


def significance_table(results: Results) -> Table:
    """Sign and randomization tests between each two trainers (table 3), all languages together."""
    plan, rows = results.plan, []

    def sentences(trainer: str) -> list[Scores]:
        found: list[Scores] = []
        for language in plan.languages:
            found += results.sentences(results.chosen(language, trainer))
        return found

    by_trainer = {trainer: sentences(trainer) for trainer in plan.trainers}
    for a, b in combinations(plan.trainers, 2):
        found = compare(by_trainer[a], by_trainer[b])
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
    seeds = " The right heads of a sentence are the mean over the seeds." if _seeds(plan) else ""
    return Table(
        "Significance",
        "Test sentences of all languages together, the choices of table 3: a two-sided sign test on "
        f"sentences, a paired randomization test on right heads.{seeds}",
        ["pair", "improved", "worsened", "sentences", "p (sign)", "p (randomization)"],
        rows,
    )


def _counted(plan: Plan) -> str:
    return "All tokens count." if plan.counted == "all_tokens" else "Punctuation does not count."


def _seeds(plan: Plan) -> list[int]:
    """The seeds, where there are several."""
    return list(dict.fromkeys(cell.seed for cell in plan.cells if cell.seed is not None))


def _repeated(plan: Plan) -> str:
    """What a figure stands for where a setting has several runs."""
    text = ""
    if plan.folds:
        text += (
            f" Each figure is the UAS of all words of {plan.folds} folds of the training file, each tested "
            "once; ± is the standard deviation over the folds."
        )
    if seeds := _seeds(plan):
        shown = ", ".join(map(str, seeds))
        text += f" Means over the seeds {shown}" + ("." if plan.folds else "; ± is the standard deviation.")
        once = dict.fromkeys(cell.trainer for cell in plan.cells if cell.seed is None)
        if once:
            text += f" Run once, as nothing is drawn at random: {', '.join(once)}."
    return text


def _steps(plan: Plan) -> str:
    """The step rule of the max-margin models, as their configs have it."""
    found = (getattr(config.trainer, "step", None) for config in plan.cells.values())
    steps = dict.fromkeys(step for step in found if step)
    shown = " and ".join(_STEPS[step] for step in steps)
    return f" Max-margin models are trained with {shown}." if steps else ""
