"""Commands on models: ``parse``, ``info`` and ``warmup``."""

from __future__ import annotations

import os

import click

from mtparse.cli.options import compiling_said, encoding_option, jobs_option, quiet_option, write_sentences
from mtparse.cli.signals import importing
from mtparse.cli.terminal import write


@click.command("parse")
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
        from mtparse.runtime.gc_pause import start_up
        from mtparse.runtime.progress import Progress
        from mtparse.runtime.threads import thread_count
        from mtparse.treebank.conll import read_conll

    sentences = read_conll(input, encoding=encoding, heads="ignore")
    if input != "-":
        os.stat(input)  # before the model is loaded
    with importing(), start_up():
        from mtparse.model.parser import Parser

    with compiling_said(Progress()):
        with start_up():
            parser = Parser.load(model)
        parsed = parser.parse(sentences, decoder=decoder, threads=thread_count(jobs))
        write_sentences(parsed, output, encoding)


@click.command("info")
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

        from mtparse.model.info import format_info, model_info

    found = model_info(model)
    write(json.dumps(found, indent=2, ensure_ascii=False) if as_json else format_info(found))


@click.command("warmup")
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

        from mtparse.model.warmup import warmup
        from mtparse.runtime.jit import STORE
        from mtparse.runtime.progress import Progress

    began = time.monotonic()
    compiled = warmup(Progress(quiet))
    if compiled:
        write(f"kernels compiled: {compiled}, in {time.monotonic() - began:.0f} seconds; {STORE.where()}")
    else:
        write("all kernels are there already, none was compiled")
