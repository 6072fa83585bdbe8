"""Commands that train: ``train``, ``reproduce``, and ``tables`` of what it left."""

from __future__ import annotations

import os

import click

from mtparse.cli.options import (
    cache_option,
    compiling_said,
    jobs_option,
    languages,
    only_option,
    quiet_option,
    set_option,
)
from mtparse.cli.signals import importing
from mtparse.cli.terminal import warn, write


@click.command("train", short_help="Train a parser on a treebank, as a config says.")
@click.argument("config", type=click.Path(dir_okay=False), required=False)
@set_option
@click.option("--out", metavar="DIR", help="Run directory to make; runs/NAME by default.")
@jobs_option
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Short for --set seed=S.")
@click.option("--resume", metavar="RUN", help="Resume an interrupted run; CONFIG may be left out.")
@cache_option
@quiet_option
def train_command(
    config: str | None,
    overrides: tuple[str, ...],
    out: str | None,
    jobs: int,
    seed: int | None,
    resume: str | None,
    cache: str | None,
    quiet: bool,
) -> None:
    """Train a parser as CONFIG, a YAML file, says.

    CONFIG names the treebank and what to try; configs/reference.yaml has every key with its default and
    range. With the defaults every tenth sentence is kept for validation, a non-projective log-linear model
    is trained with each of five values of C for up to 100 passes, the validation part is scored after every
    pass, and the best C, pass and decoder make the model. A run is then tested once, if there is a test
    file.

    The run directory (a new or an empty one) gets model.mtparse; config.yaml, the config with all
    defaults filled in; log.jsonl, a record of every pass and end, and curves.csv, the passes as a table;
    parsed.conll, the test file as parsed; scores.json, what was chosen, the scores, versions, seed and
    SHA-256 of the files; and sentences.csv, words and right heads of every test sentence. The model is the
    same, byte for byte, whatever the number of threads, on the same kind of processor with the same
    versions of numpy, scipy and numba. With --seed, another order of sentences is drawn where
    trainer.shuffle is true; otherwise nothing is drawn at random.

    --resume continues an interrupted run from its last checkpoint, to the same model, byte for byte. It
    needs the same settings, files and version; a finished run is not trained again. Checkpoints are kept in
    the run directory until the run ends (a log-linear run keeps 8 bytes per feature column for every
    evaluation), and are written after every pass unless that would take more than a 20th of the time:
    checkpoint: N writes one every N passes, 0 none.

    Sentences whose heads do not form a tree, or of more than 2,000 words, are refused with their lines;
    data.on_bad_tree: skip leaves them out. Files are read more than once and cannot be pipes. A warning
    says if test or validation data are trained on too. --cache keeps the extracted features in files, about
    5 KB a word: less memory, shared by processes, and later runs need not extract them; a folder in it that
    is no longer wanted can be removed.

    \b
    Example:
      mtparse train configs/demo-log-linear-nonprojective.yaml --set trainer.C=0.1 --out runs/demo
      mtparse train --resume runs/demo
    """
    if config is None and resume is None:
        raise click.UsageError("Missing argument 'CONFIG' (or --resume RUN).")
    if out is not None and resume is not None:
        raise click.UsageError("--out and --resume cannot be given together.")
    with importing():
        from mtparse.config.run import load_config
        from mtparse.experiment.run_checks import useless_seed

    if config is None:
        with importing():
            from mtparse.experiment.run_directory import stored_config
        config = stored_config(resume)
    overrides = (*overrides, *([] if seed is None else [f"seed={seed}"]))
    settings = load_config(config, overrides)
    if (text := useless_seed([settings.trainer], overrides, settings.seed)) is not None:
        warn(text)
    with importing():
        from mtparse.experiment.run import format_summary, train
        from mtparse.runtime.progress import Progress

    out = resume if resume is not None else os.path.join("runs", settings.name) if out is None else out
    progress = Progress(quiet)
    with compiling_said(progress):
        summary = train(settings, out, jobs=jobs, progress=progress, cache=cache, resume=resume is not None)
    write(f"{format_summary(summary)}\nmodel: {os.path.join(out, summary['model'])}")


@click.command("reproduce", short_help="Run the paper's experiment, as a plan says.")
@click.argument("config", type=click.Path(dir_okay=False))
@set_option
@click.option("--out", metavar="DIR", help="Directory of the experiment; runs/NAME by default.")
@jobs_option
@only_option
@click.option("--resume", is_flag=True, help="Resume the experiment in --out.")
@cache_option
@quiet_option
def reproduce_command(
    config: str,
    overrides: tuple[str, ...],
    out: str | None,
    jobs: int,
    only: str | None,
    resume: bool,
    cache: str | None,
    quiet: bool,
) -> None:
    """Run the paper's experiment: every language, trainer and tree family of CONFIG.

    CONFIG is a plan: like a config of mtparse train, with languages in the place of files and a section for
    each trainer; configs/demo.yaml explains it. Every run is tuned on validation data and tested once. Then
    the tables are printed: the data, the test UAS of all settings, of each trainer with the tree family
    that validation chose, and tests of the differences between trainers.

    The directory gets runs/, a run directory for each cell, the same as mtparse train makes; tables/, the
    tables as Markdown, CSV and JSON, curves.csv with all passes, and, with matplotlib (the extra plots), a
    figure; plan.json, inputs.json and cost.json: the configs, the hashes of files and code, the time taken.

    --resume continues an interrupted experiment within the value of C where it stopped, and prints a finished
    one again. It needs the same CONFIG, the same --set and the same files.

    A plan with seeds: [1, 2, 3] runs trainers with shuffle: true once a seed; tables show means and
    standard deviations. With folds: 10, for small treebanks without test files, each fold of the training
    file is tested by a model that was tuned and trained on the rest.

    Several machines can share the work: each runs some languages into a directory of its own. Then copy the
    runs of all into the runs/ of one of them, and let --resume make the tables; it refuses runs of another
    plan or of other treebanks.

    \b
    Examples:
      mtparse reproduce configs/demo.yaml --out runs/demo-table
    \b
      mtparse reproduce configs/demo.yaml --only avelu,borim,cadro --out runs/a    (on one machine)
      mtparse reproduce configs/demo.yaml --only dunta,estol,felno --out runs/b    (on another)
      cp -r runs/b/runs/* runs/a/runs/
      mtparse reproduce configs/demo.yaml --out runs/a --resume
    """
    with importing():
        from mtparse.experiment.plan import load_plan
        from mtparse.experiment.run_checks import useless_seed

    plan = load_plan(config, overrides)
    trainers = (run.trainer for run in plan.cells.values())
    if (text := useless_seed(trainers, overrides, *plan.seeds)) is not None:
        warn(text)
    if only is not None:
        plan = plan.only(languages(only))
    with importing():
        from mtparse.experiment.grid import reproduce
        from mtparse.runtime.progress import Progress

    out = os.path.join("runs", plan.name) if out is None else out
    progress = Progress(quiet)
    with compiling_said(progress):
        tables = reproduce(plan, out, jobs=jobs, resume=resume, progress=progress, cache=cache)
    write(tables.rstrip())


@click.command("tables", short_help="Print the tables of an experiment again.")
@click.argument("directory", metavar="DIR", type=click.Path(file_okay=False))
@only_option
def tables_command(directory: str, only: str | None) -> None:
    """Print the tables of the experiment in DIR again.

    They are made from plan.json and each run's scores.json and sentences.csv, without models, logs or
    treebanks, and written to DIR/tables; with --only they are printed and not written.

    \b
    Example:
      mtparse tables runs/demo-table
    """
    with importing():
        from mtparse.experiment.tables import remake_tables

    write(remake_tables(directory, None if only is None else languages(only)).rstrip())
