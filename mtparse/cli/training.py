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


@click.command("train")
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

    Trains with every C, scores the validation part after every pass, keeps the best, and fills a
    directory with the model, the resolved config, a log of all passes and the scores. The model does
    not depend on the number of threads. What an interruption left is taken up by --resume, and ends in the
    same model.

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


@click.command("reproduce")
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

    Tunes on validation data, tests once, prints the paper's tables and leaves them in a directory with
    all runs. A finished experiment is printed again by --resume.

    Several machines can share the work: each runs some languages into a directory of its own. Then copy the
    runs of all into the runs/ of one of them, and let --resume make the tables; it refuses runs of another
    plan or other treebanks.

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


@click.command("tables")
@click.argument("directory", metavar="DIR", type=click.Path(file_okay=False))
@only_option
def tables_command(directory: str, only: str | None) -> None:
    """Print the tables of the experiment in DIR again.

    They are made from plan.json and each run's scores.json and sentences.csv, without models, logs or
    treebanks, and written to DIR/tables.

    \b
    Example:
      mtparse tables runs/demo-table
    """
    with importing():
        from mtparse.experiment.tables import remake_tables

    write(remake_tables(directory, None if only is None else languages(only)).rstrip())
