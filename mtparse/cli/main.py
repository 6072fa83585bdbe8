"""The ``mtparse`` command: options in, calls, text out. What a command does is in other rooms.

Those are imported inside the commands, so that ``mtparse --help`` answers at once.
"""

from __future__ import annotations

import os

import click

from mtparse import __version__
from mtparse.cli.parsing import info_command, parse_command, warmup_command
from mtparse.cli.scoring import compare_command, evaluate_command
from mtparse.cli.terminal import Group
from mtparse.cli.training import reproduce_command, tables_command, train_command
from mtparse.cli.treebanks import projectivize_command, stats_command, validate_command

# BLAS sums in an order that depends on its threads: with one, models do not depend on the number of cores.
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
    os.environ[_name] = "1"

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=Group, context_settings=CONTEXT)
@click.version_option(__version__, message="mtparse %(version)s")
def main() -> None:
    """Train dependency parsers, parse with them and score them.

    Treebanks are files in CoNLL-X or CoNLL-U, UTF-8 unless --encoding (or data.encoding in a config) says
    otherwise, plain or compressed (gzip, xz, bzip2, recognised by content); - is standard input. Output
    lines end in LF. An output file appears when it is complete; until then, and where it cannot be
    completed, an older file stays as it was. Output whose name ends in .gz, .xz or .bz2 is compressed.

    An error is one line on standard error; wrong usage is shown with a hint. Exit status: 1 for faulty data
    or a fault of the system, 2 for wrong usage or a config that cannot be run, 130 after an interrupt, 143
    after SIGTERM, 129 when the terminal was closed, 141 when the reader of the output went away.
    """


for _command in (
    evaluate_command,
    stats_command,
    validate_command,
    train_command,
    reproduce_command,
    tables_command,
    parse_command,
    info_command,
    projectivize_command,
    compare_command,
    warmup_command,
):
    main.add_command(_command)
