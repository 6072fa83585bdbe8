"""What the commands share of the terminal: output, warnings, and one line and a status for every failure."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress

import click

from mtparse.cli import signals
from mtparse.errors import ConfigError, InputWarning, MtparseError, missing_package


class Group(click.Group):
    """A group whose commands end in one line on stderr and an exit status, never in a traceback.

    The status is 1 for faults of the data or the system, 2 for usage and config, 130 for an interrupt, 143
    for SIGTERM and 141 when the reader of standard output went away.
    """

    def main(self, *args, **kwargs):
        try:
            return super().main(*args, **kwargs)
        except OSError as error:  # from --help and --version; commands end in invoke
            status = _fail(_describe(error))
        _settle_stdout()
        sys.exit(status)

    def invoke(self, ctx: click.Context):
        try:
            with signals.working(), warnings.catch_warnings():
                warnings.simplefilter("always", InputWarning)
                warnings.showwarning = _showing(warnings.showwarning)
                result = super().invoke(ctx)
                if sys.stdout is not None:
                    sys.stdout.flush()
                return result
        except (Exception, KeyboardInterrupt) as error:
            status = _report(error)
        _settle_stdout()
        return ctx.exit(status)


def _showing(others: Callable) -> Callable:
    """A function that shows warnings of mtparse in one line, and leaves those of others to ``others``."""

    def show(message, category, *place, **options) -> None:
        if issubclass(category, InputWarning):
            warn(str(message))
        else:
            others(message, category, *place, **options)

    return show


def _report(error: BaseException) -> int:
    """Say in one line why a command ends; its status. A bug, or what click sees to, is raised again."""
    if (signalled := signals.ending(error)) is not None:
        return _fail(*signalled)
    if isinstance(error, BrokenPipeError):
        return 141
    if isinstance(error, ConfigError):
        return _fail(str(error), 2)
    if isinstance(error, ImportError) and (text := missing_package(error)) is not None:
        return _fail(text)
    if isinstance(error, MemoryError):
        return _fail("out of memory")
    if isinstance(error, OSError):
        return _fail(_describe(error))
    if isinstance(error, MtparseError | UnicodeError):
        return _fail(str(error))
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return _fail("the system allows no more threads; a smaller --jobs needs fewer")
    raise error


def stdout():
    """Standard output for bytes."""
    if sys.stdout is None:
        raise OSError("standard output is closed")
    sys.stdout.flush()
    return sys.stdout.buffer


def write(text: str) -> None:
    """Write text and a line end to standard output, at once, in UTF-8 whatever the locale."""
    output = stdout()
    output.write(f"{text}\n".encode("utf-8", "surrogateescape"))
    output.flush()


def warn(text: str) -> None:
    """Write a warning to standard error."""
    to_stderr(f"mtparse: warning: {text}")


def _fail(text: str, status: int = 1) -> int:
    to_stderr(f"mtparse: error: {text}")
    return status


def to_stderr(text: str) -> None:
    line = " ".join(text.splitlines()) + "\n"
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.flush()
            sys.stderr.buffer.write(line.encode("utf-8", "surrogateescape"))
            sys.stderr.flush()


def _describe(error: OSError) -> str:
    text = error.strerror or str(error) or type(error).__name__
    return text if error.filename is None else f"{error.filename or repr('')}: {text}"


def _settle_stdout() -> None:
    """Flush standard output; if that fails point it nowhere, or the interpreter would fail once more."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
