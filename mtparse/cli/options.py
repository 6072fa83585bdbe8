"""Options and steps that several commands share."""

from __future__ import annotations

import click

from mtparse.cli.terminal import stdout, warn

encoding_option = click.option(
    "--encoding", default="utf-8", show_default=True, help="Encoding of the files."
)

jobs_option = click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(0, 1024),
    default=0,
    help="Threads; 0, the default, is all cores.",
)

set_option = click.option(
    "--set", "overrides", metavar="KEY=VALUE", multiple=True, help="Set a key of CONFIG by its dotted name, "
    "as trainer.C=0.1."
)

cache_option = click.option(
    "--cache",
    metavar="DIR",
    help="Keep extracted features in this folder: less memory, and later runs need not extract them.",
)
only_option = click.option("--only", metavar="LANGUAGE,...", help="Only these languages.")
quiet_option = click.option("--quiet", is_flag=True, help="No progress on standard error.")


def compiling_said(progress):
    """A context in which ``progress`` says that kernels are compiled, and where they are stored."""
    from mtparse.runtime.jit import STORE

    return STORE.said_by(progress.explain)


def require_one_stdin(*files: str) -> None:
    """Refuse several files that are standard input, which can be read once."""
    if sum(file in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0") for file in files) > 1:
        raise click.UsageError("Only one file can be standard input.")


def languages(only: str) -> list[str]:
    return [name.strip() for name in only.split(",") if name.strip()]


def write_sentences(sentences, output: str | None, encoding: str) -> None:
    """Write to a file, with progress, or to standard output; say so where there was nothing to write."""
    from mtparse.runtime.incoming import Incoming, incoming
    from mtparse.runtime.progress import Progress
    from mtparse.treebank.conll import write_conll

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
