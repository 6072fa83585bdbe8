"""Commands on models: ``parse``, ``info`` and ``warmup``."""

from __future__ import annotations

import os

import click

from mtparse.cli.options import compiling_said, encoding_option, jobs_option, quiet_option, write_sentences
from mtparse.cli.signals import importing
from mtparse.cli.terminal import write


@click.command("parse", short_help="Fill the HEAD column with the trees of a model.")
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

    MODEL is a run directory or the model file in it, INPUT a treebank, with or without heads; - is standard
    input. DEPREL becomes _, as the model has no labels, and so do columns that hold the old heads (PHEAD and
    PDEPREL, or DEPS). Every other column, comment, multi-word line and empty node stays as it was.

    Sentences are written as they are parsed, and memory does not grow with the input: from a pipe that
    stays open, each is answered before the next is waited for. At a faulty sentence, those before it have
    been written to standard output, and nothing to a file. A sentence has at most 5,000 words. OUTPUT may
    be INPUT, which is then replaced, its heads and labels with it.

    The first thousand words are compared with the training data. A warning says if at least five have tags
    that are unknown to the model, or columns that are empty now and were filled then: trees are much worse
    then.

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


@click.command("info", short_help="Describe a model: how it was trained, its scores.")
@click.argument("model", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: all but the weights.")
def info_command(model: str, as_json: bool) -> None:
    """Describe MODEL: how it was trained, on what, its validation scores, the tags it knows.

    Its files are shown with their SHA-256, its columns with how often they were filled and with how many
    different tags. MODEL is a run directory or the model file in it.

    \b
    Example:
      mtparse info runs/demo
    """
    with importing():
        import json

        from mtparse.model.info import format_info, model_info

    found = model_info(model)
    write(json.dumps(found, indent=2, ensure_ascii=False) if as_json else format_info(found))


@click.command("warmup", short_help="Compile all now, so that nothing waits later.")
@quiet_option
def warmup_command(quiet: bool) -> None:
    """Compile all kernels now, so that no later command waits for it.

    Kernels are the compiled parts of mtparse. Without this, each command compiles those it needs when it is
    first run. For images and servers: run it once after installing, as the user who installed mtparse, on a
    processor of the kind on which it will run; it takes a minute or two.

    Kernels are stored in the first of three folders that can be written: NUMBA_CACHE_DIR, the package's own,
    the user's cache folder. They are read from all three, but not if a user other than root, the owner of the
    package and oneself could have written them.

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
