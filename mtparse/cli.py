"""The ``mtparse`` command: options in, calls, text out. What a command does is in other modules.

Those modules are imported inside the commands, so that ``mtparse --help`` answers at once.
"""

from __future__ import annotations

import os

import click

from mtparse import __version__
from mtparse.interrupts import importing
from mtparse.terminal import Group, stdout, to_stderr, warn, write

# BLAS sums in an order that depends on its threads: with one, models do not depend on the number of cores.
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
    os.environ[_name] = "1"

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

encoding_option = click.option(
    "--encoding", default="utf-8", show_default=True, help="Encoding of the input files."
)

jobs_option = click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(0, 1024),
    default=0,
    help="Threads to use; 0, the default, is all cores.",
)

set_option = click.option(
    "--set", "overrides", metavar="KEY=VALUE", multiple=True, help="Override a key by its dotted name."
)

cache_option = click.option(
    "--cache",
    metavar="DIR",
    help="Keep extracted features in files there: less memory, shared by processes, not made twice.",
)
only_option = click.option("--only", metavar="LANGUAGE,...", help="Some of the languages.")
quiet_option = click.option("--quiet", is_flag=True, help="No progress on standard error.")


@click.group(cls=Group, context_settings=CONTEXT)
@click.version_option(__version__, message="mtparse %(version)s")
def main() -> None:
    """Train dependency parsers, parse with them and score them."""


@main.command("eval")
@click.argument("gold")
@click.argument("system")
@click.option("--all-tokens", is_flag=True, help="Score punctuation too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, percentages unrounded.")
@click.option(
    "--per-sentence",
    is_flag=True,
    help="Print a row for each sentence first; with --json an object for each sentence, nothing else.",
)
@encoding_option
def evaluate_command(
    gold: str, system: str, all_tokens: bool, as_json: bool, per_sentence: bool, encoding: str
) -> None:
    """Score the heads and labels of SYSTEM against GOLD like the CoNLL-X shared task.

    Both are files in ten columns, plain or gzipped; - is standard input. Tokens that consist of
    punctuation only do not count. SYSTEM may lack the last two columns.

    \b
    Example:
      mtparse eval test.conll parsed.conll
    """
    with importing():
        import json

        from mtparse import evaluation
        from mtparse.conll import read_conll

    if gold == system == "-":
        raise click.UsageError("GOLD and SYSTEM cannot both be standard input.")
    right = read_conll(gold, encoding=encoding, heads="required")
    guess = read_conll(system, encoding=encoding, short_rows=True)
    as_lines = per_sentence and as_json
    if as_lines:
        right = list(right)
    rows = evaluation.evaluate_sentences(right, guess, punctuation=all_tokens)
    if per_sentence:
        rows = list(rows)
    if as_lines:
        for record in evaluation.sentence_records(right, rows):
            write(json.dumps(record))
    elif per_sentence:
        write(evaluation.format_sentences(rows))
    scores = sum(rows, evaluation.Scores())
    if not as_lines:
        write(json.dumps(scores.as_dict()) if as_json else evaluation.format_report(scores))
    if scores.words and not scores.labelled:
        warn("SYSTEM has no labels (DEPREL is _ throughout): only the unlabeled score says something")
    if not scores.scored:
        hint = "; with --all-tokens punctuation counts too" if scores.words else ", the files are empty"
        warn(f"nothing was scored{hint}")


@main.command("stats")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list with one object for each file.")
@encoding_option
def stats_command(files: tuple[str, ...], as_json: bool, encoding: str) -> None:
    """Count sentences, words, crossing arcs and roots of treebanks.

    Each FILE has ten columns, plain or gzipped; - is standard input. An arc is non-projective if a
    word below it does not descend from its head, and crossing if it crosses any other arc, those of
    the root symbol to the left of the sentence included.

    \b
    Example:
      mtparse stats train.conll test.conll
    """
    with importing():
        import json

        from mtparse.stats import format_stats, treebank_stats

    rows = [treebank_stats(file, encoding=encoding) for file in files]
    write(json.dumps(rows, indent=2) if as_json else format_stats(rows))


@main.command("validate")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@encoding_option
@click.pass_context
def validate_command(ctx: click.Context, files: tuple[str, ...], encoding: str) -> None:
    """List every problem of treebanks, with its line.

    Each FILE has ten columns, plain or gzipped; - is standard input. An error is what other commands
    refuse, as a malformed row or a cycle of heads; a warning is what they take but may be an accident. The
    exit code is 1 if there is an error in any file.

    \b
    Example:
      mtparse validate train.conll test.conll
    """
    with importing():
        from mtparse.validate import Validation

    errors = 0
    for file in files:
        found = Validation(file, encoding=encoding)
        for issue in found:
            write(str(issue))
        write(str(found))
        errors += found.errors
    ctx.exit(1 if errors else 0)


@main.command("train")
@click.argument("config", type=click.Path(dir_okay=False), required=False)
@set_option
@click.option("--out", metavar="DIR", help="Run directory to fill; runs/NAME by default.")
@jobs_option
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Short for --set seed=S.")
@click.option("--resume", metavar="RUN", help="Go on with an interrupted run; CONFIG may be left out.")
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
        raise click.UsageError("--out and --resume exclude each other.")
    with importing():
        from mtparse.config import load_config
        from mtparse.run_checks import useless_seed

    if config is None:
        with importing():
            from mtparse.run_directory import stored_config
        config = stored_config(resume)
    overrides = (*overrides, *([] if seed is None else [f"seed={seed}"]))
    settings = load_config(config, overrides)
    if (text := useless_seed([settings.trainer], overrides, settings.seed)) is not None:
        warn(text)
    with importing():
        from mtparse.experiment import format_summary, train
        from mtparse.progress import Progress

    out = resume if resume is not None else out or os.path.join("runs", settings.name)
    progress = Progress(quiet)
    with _compiling_said(progress):
        summary = train(
            settings, out, jobs=jobs, progress=progress, cache=cache, resume=resume is not None
        )
    write(f"{format_summary(summary)}\nmodel: {os.path.join(out, summary['model'])}")


@main.command("reproduce")
@click.argument("config", type=click.Path(dir_okay=False))
@set_option
@click.option("--out", metavar="DIR", help="Directory of the experiment; runs/NAME by default.")
@jobs_option
@only_option
@click.option("--resume", is_flag=True, help="Go on where an interruption left the experiment in --out.")
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
        from mtparse.plan import load_plan
        from mtparse.run_checks import useless_seed

    plan = load_plan(config, overrides)
    trainers = (run.trainer for run in plan.cells.values())
    if (text := useless_seed(trainers, overrides, *plan.seeds)) is not None:
        warn(text)
    if only is not None:
        plan = plan.only(_languages(only))
    with importing():
        from mtparse.progress import Progress
        from mtparse.reproduce import reproduce

    out = out or os.path.join("runs", plan.name)
    progress = Progress(quiet)
    with _compiling_said(progress):
        tables = reproduce(plan, out, jobs=jobs, resume=resume, progress=progress, cache=cache)
    write(tables.rstrip())


@main.command("tables")
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
        from mtparse.tables import remake_tables

    write(remake_tables(directory, None if only is None else _languages(only)).rstrip())


@main.command("parse")
@click.argument("model", type=click.Path())
@click.argument("input", default="-")
@click.option("-o", "--output", metavar="FILE", help="Where to write; standard output by default.")
@click.option(
    "--decoder",
    type=click.Choice(["auto", "eisner", "mst"]),
    default="auto",
    show_default=True,
    help="Best projective tree, best tree, or the one that did better on validation data.",
)
@jobs_option
@encoding_option
def parse_command(model: str, input: str, output: str | None, decoder: str, jobs: int, encoding: str) -> None:
    """Fill the HEAD column of INPUT with the trees that MODEL finds.

    MODEL is a run directory or the model file in it, INPUT a file in CoNLL-X or CoNLL-U, plain or
    gzipped; - is standard input. DEPREL becomes _, as the model has no labels; all else stays as it
    was. Sentences are written as they are parsed: from a pipe that stays open, each before the next is
    waited for.

    \b
    Example:
      mtparse parse runs/demo test.conll -o parsed.conll
    """
    with importing():
        from mtparse.collector import start_up
        from mtparse.conll import read_conll
        from mtparse.progress import Progress
        from mtparse.workers import thread_count

    sentences = read_conll(input, encoding=encoding, heads="ignore")
    if input != "-":
        os.stat(input)  # before the model is loaded
    with importing(), start_up():
        from mtparse.parser import Parser

    with _compiling_said(Progress()):
        with start_up():
            parser = Parser.load(model)
        parsed = parser.parse(sentences, decoder=decoder, threads=thread_count(jobs))
        _write_sentences(parsed, output, encoding)


@main.command("info")
@click.argument("model", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: all but the weights.")
def info_command(model: str, as_json: bool) -> None:
    """Tell what MODEL is: how it was trained, on what, its scores, the tags it knows.

    MODEL is a run directory or the model file in it.

    \b
    Example:
      mtparse info runs/demo
    """
    with importing():
        import json

        from mtparse.model_info import format_info, model_info

    found = model_info(model)
    write(json.dumps(found, indent=2, ensure_ascii=False) if as_json else format_info(found))


@main.command("projectivize")
@click.argument("input", default="-")
@click.option("-o", "--output", metavar="FILE", help="Where to write; standard output by default.")
@encoding_option
def projectivize_command(input: str, output: str | None, encoding: str) -> None:
    """Replace trees with crossing arcs by the nearest projective trees.

    A sentence keeps as many of its arcs as a projective tree can have, and has one root where it had
    one. Only the HEAD column changes; projective sentences come out byte for byte.

    \b
    Example:
      mtparse projectivize train.conll -o train.projective.conll
    """
    with importing():
        from mtparse.conll import read_conll
        from mtparse.progress import Progress
        from mtparse.trees import Projectivized

    sentences = Projectivized(read_conll(input, encoding=encoding, heads="required"))
    with _compiling_said(Progress()):
        _write_sentences(sentences, output, encoding)
    to_stderr(str(sentences))


@main.command("compare")
@click.argument("gold")
@click.argument("system_a")
@click.argument("system_b")
@click.option("--all-tokens", is_flag=True, help="Score punctuation too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--samples", type=click.IntRange(1, 10**7), default=10_000, show_default=True, help="Random exchanges."
)
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True, help="Of the exchanges."
)
@encoding_option
def compare_command(
    gold: str,
    system_a: str,
    system_b: str,
    all_tokens: bool,
    as_json: bool,
    samples: int,
    seed: int,
    encoding: str,
) -> None:
    """Test whether SYSTEM_B is better than SYSTEM_A on GOLD.

    Counts the sentences that B improves and worsens, with the sign test, and tests the difference in
    right heads by a paired randomization test. Each file is read once, so that pipes will do; - is standard
    input.

    \b
    Example:
      mtparse compare test.conll a.conll b.conll
    """
    with importing():
        import json
        from itertools import tee

        from mtparse import significance
        from mtparse.conll import read_conll
        from mtparse.evaluation import evaluate_sentences

    if [gold, system_a, system_b].count("-") > 1:
        raise click.UsageError("Only one of GOLD, SYSTEM_A and SYSTEM_B can be standard input.")
    golds = tee(read_conll(gold, encoding=encoding, heads="required"))
    systems = [read_conll(system, encoding=encoding, short_rows=True) for system in (system_a, system_b)]
    scored = [
        evaluate_sentences(right, guess, punctuation=all_tokens)
        for right, guess in zip(golds, systems, strict=True)
    ]
    pairs = list(zip(*scored, strict=True))  # side by side: each file is read once, a sentence at a time
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    found = significance.compare(first, second, samples=samples, seed=seed)
    write(json.dumps(found.as_dict()) if as_json else significance.format_comparison(found))
    if found.uas_a != found.uas_a:
        warn("nothing was scored" + ("" if all_tokens else "; with --all-tokens punctuation counts too"))


@main.command("warmup")
@quiet_option
def warmup_command(quiet: bool) -> None:
    """Compile all kernels and store them, so that no later command waits for them.

    For images and servers: run it once after installing, as the user who installed mtparse. Kernels are
    stored in the first folder that can be written of NUMBA_CACHE_DIR, the package's own and the user's cache
    folder, and are read from all of them. The processor must be of the kind on which they will run.

    \b
    Example:
      mtparse warmup
    """
    with importing():
        import time

        from mtparse._jit import STORE
        from mtparse._warmup import warmup
        from mtparse.progress import Progress

    began = time.monotonic()
    compiled = warmup(Progress(quiet))
    if compiled:
        write(f"kernels compiled: {compiled}, in {time.monotonic() - began:.0f} seconds; {STORE.where()}")
    else:
        write("all kernels are there already, none was compiled")


def _compiling_said(progress):
    """A context in which ``progress`` says that kernels are compiled, and where they are stored."""
    from mtparse._jit import STORE

    return STORE.said_by(progress.explain)


def _languages(only: str) -> list[str]:
    return [name.strip() for name in only.split(",") if name.strip()]


def _write_sentences(sentences, output: str | None, encoding: str) -> None:
    """Write to a file, with progress, or to standard output; say so where there was nothing to write."""
    from mtparse.conll import write_conll
    from mtparse.incoming import Incoming, incoming
    from mtparse.progress import Progress

    to_stdout = output in (None, "-")
    task = Progress(quiet=to_stdout).task("sentences", None)
    count = 0

    def counted():
        nonlocal count
        for sentence in incoming(sentences):
            if sentence is not None:
                count += 1
                task.update(count)
            yield sentence

    try:
        write_conll(Incoming(counted()), stdout() if to_stdout else output, encoding=encoding)
    finally:
        task.close()
    if not count:
        warn("the input holds no sentence")
