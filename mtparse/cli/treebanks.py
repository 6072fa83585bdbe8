"""Commands on treebanks: ``stats``, ``validate`` and ``projectivize``."""

from __future__ import annotations

import click

from mtparse.cli.options import compiling_said, encoding_option, require_one_stdin, write_sentences
from mtparse.cli.signals import importing
from mtparse.cli.terminal import to_stderr, write


@click.command("stats", short_help="Count words, crossing arcs and roots.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list with one object for each file.")
@encoding_option
def stats_command(files: tuple[str, ...], as_json: bool, encoding: str) -> None:
    """Count sentences, words, crossing arcs and roots of treebanks.

    For each FILE: sentences, words, the percentages of non-projective arcs, of crossing arcs, of sentences
    with crossing arcs and of sentences with several roots, mean and longest length; - is standard input. An
    arc is non-projective if a word below it does not descend from its head, and crossing if it crosses any
    other arc, those of the root symbol to the left of the sentence included (both arcs of a crossing
    count).

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


@click.command("validate", short_help="List every problem of treebanks, with its line.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@encoding_option
@click.pass_context
def validate_command(ctx: click.Context, files: tuple[str, ...], encoding: str) -> None:
    """List every problem of treebanks, with its line.

    Each problem is a line FILE:LINE: error: ..., or warning: ..., then a line of counts for each file; - is
    standard input. An error is what other commands refuse: a malformed row, bytes of another encoding,
    heads that do not form a tree (each cycle with its words), heads missing where other words have one. A
    warning is what they accept but may be an accident: several roots, no heads or labels, no sentence, CR
    LF, a byte order mark, no blank line at the end, control characters, comments below the last sentence.
    The exit status is 1 if there is an error in any file; a file that is missing is one. What has no row of
    ten columns at all is not a treebank, and not listed line by line.

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


@click.command("projectivize", short_help="Replace crossing trees by the nearest projective ones.")
@click.argument("input", default="-")
@click.option("-o", "--output", metavar="FILE", help="Where to write; standard output by default.")
@encoding_option
def projectivize_command(input: str, output: str | None, encoding: str) -> None:
    """Replace trees with crossing arcs by the nearest projective trees.

    A sentence keeps as many of its arcs as a projective tree can have (by Eisner's algorithm), and has one
    root where it had one, as in training with trees: projective. Where a tree changes, its HEAD column
    does, and what else holds heads becomes _ (DEPS, or PHEAD and PDEPREL); all else stays as it was. Line
    ends become LF.

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
