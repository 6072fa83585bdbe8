"""The ``mtparse`` command: options in, calls, text out. What a command does is in other modules.

Those modules are imported inside the commands, so that ``mtparse --help`` answers at once.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import click

from mtparse.errors import MtparseError

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

encoding_option = click.option(
    "--encoding", default="utf-8", show_default=True, help="Encoding of the input files."
)


class Group(click.Group):
    """A group whose commands end in one line on stderr and an exit status, never in a traceback.

    The status is 1 for faults of the data or the system, 2 for usage, 130 for an interrupt and 141
    when the reader of standard output went away.
    """

    def invoke(self, ctx: click.Context):
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
        except KeyboardInterrupt:
            status = _fail("interrupted", 130)
        except MemoryError:
            status = _fail("out of memory")
        except BrokenPipeError:
            status = 141
        except OSError as error:
            status = _fail(_describe(error))
        except (MtparseError, UnicodeError) as error:
            status = _fail(str(error))
        else:
            return result
        _settle_stdout()
        return ctx.exit(status)


def write(text: str) -> None:
    """Write text and a line end to standard output, in UTF-8 whatever the locale."""
    if sys.stdout is not None:
        sys.stdout.flush()
        sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "surrogateescape"))


def warn(text: str) -> None:
    """Write a warning to standard error."""
    _to_stderr(f"mtparse: warning: {text}")


@click.group(cls=Group, context_settings=CONTEXT)
@click.version_option(package_name="mtparse", message="mtparse %(version)s")
def main() -> None:
    """Train dependency parsers, parse with them and score them."""


@main.command("eval")
@click.argument("gold")
@click.argument("system")
@click.option("--all-tokens", is_flag=True, help="Score punctuation too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, percentages unrounded.")
@click.option("--per-sentence", is_flag=True, help="Print a row for each sentence first.")
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
    import json

    from mtparse import evaluation
    from mtparse.conll import read_conll

    if gold == system == "-":
        raise click.UsageError("GOLD and SYSTEM cannot both be standard input.")
    if as_json and per_sentence:
        raise click.UsageError("--json and --per-sentence exclude each other.")
    rows = evaluation.evaluate_sentences(
        read_conll(gold, encoding=encoding),
        read_conll(system, encoding=encoding, short_rows=True),
        punctuation=all_tokens,
    )
    if per_sentence:
        rows = list(rows)
        write(evaluation.format_sentences(rows))
    scores = sum(rows, evaluation.Scores())
    write(json.dumps(scores.as_dict()) if as_json else evaluation.format_report(scores))
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
    import json

    from mtparse.stats import format_stats, treebank_stats

    rows = [treebank_stats(file, encoding=encoding) for file in files]
    write(json.dumps(rows, indent=2) if as_json else format_stats(rows))


def _fail(text: str, status: int = 1) -> int:
    _to_stderr(f"mtparse: error: {text}")
    return status


def _to_stderr(text: str) -> None:
    line = " ".join(text.splitlines()) + "\n"
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.flush()
            sys.stderr.buffer.write(line.encode("utf-8", "surrogateescape"))
            sys.stderr.flush()


def _describe(error: OSError) -> str:
    text = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {text}" if error.filename else text


def _settle_stdout() -> None:
    """Flush standard output; if that fails point it nowhere, or the interpreter would fail once more."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
