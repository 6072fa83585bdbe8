"""Commands on treebanks: ``stats``, ``validate`` and ``projectivize``."""

from __future__ import annotations

import click

from mtparse.cli.options import compiling_said, encoding_option, require_one_stdin, write_sentences
from mtparse.cli.signals import importing
from mtparse.cli.terminal import to_stderr, write


@click.command("stats")
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
    require_one_stdin(*files)
    with importing():
        import json

        from mtparse.treebank.stats import format_stats, treebank_stats

    rows = [treebank_stats(file, encoding=encoding) for file in files]
    write(json.dumps(rows, indent=2) if as_json else format_stats(rows))


@click.command("validate")
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
    require_one_stdin(*files)
    with importing():
        from mtparse.treebank.validate import Validation

    errors = 0
    for file in files:
        found = Validation(file, encoding=encoding)
        for issue in found:
            write(str(issue))
        write(str(found))
        errors += found.errors
    ctx.exit(1 if errors else 0)


@click.command("projectivize")
@click.argument("input", default="-")
@click.option("-o", "--output", metavar="FILE", help="Where to write; standard output by default.")
@encoding_option
def projectivize_command(input: str, output: str | None, encoding: str) -> None:
    """Replace trees with crossing arcs by the nearest projective trees.

    A sentence keeps as many of its arcs as a projective tree can have, and has one root where it had
    one. Where a tree changes, its HEAD column does, and what else holds heads becomes _ (DEPS, or PHEAD and
    PDEPREL); all else stays as it was. Line ends become LF.

    \b
    Example:
      mtparse projectivize train.conll -o train.projective.conll
    """
    with importing():
        from mtparse.runtime.progress import Progress
        from mtparse.treebank.conll import read_conll
        from mtparse.treebank.projectivize import Projectivized

    sentences = Projectivized(read_conll(input, encoding=encoding, heads="required"))
    with compiling_said(Progress()):
        write_sentences(sentences, output, encoding)
    to_stderr(str(sentences))
