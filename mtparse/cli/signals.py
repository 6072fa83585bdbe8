"""How signals end the command: in one line, with a status of their own, and with nothing left half-written.

Only the command line installs this; to a program that imports mtparse, signals stay what they were. The state
is that of the process, as signals are.
"""

from __future__ import annotations

import os
import signal
import sys
import time

ENDINGS = {
    signal.SIGINT: ("interrupted", 130),
    signal.SIGTERM: ("terminated", 143),
}
if hasattr(signal, "SIGHUP"):
    ENDINGS[signal.SIGHUP] = ("the terminal was closed", 129)
"""What is said of each signal, and the exit status."""

_ONE = 1.0
"""Signals within a second of the first belong to it (a shell and its ``make`` may both send one): raised once
more, they would break off the tidying up."""


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, tidied up after like an interrupt from the keyboard."""


class _State:
    """Where the process is: ``working`` between imports and the last line, ``ending`` after it."""

    working = ending = False
    received = 0
    at = -_ONE


def install() -> None:
    """See to these signals from now on, unless the process was started to ignore them."""
    for number in ENDINGS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _handle)
    sys.unraisablehook = _unraisable


class working:
    """The time in which there may be something to tidy up, so that signals become exceptions."""

    def __enter__(self) -> None:
        _State.working, _State.ending = True, False

    def __exit__(self, *exc: object) -> None:
        _State.working, _State.ending = False, True


class importing:
    """The time, at its beginning, in which a command imports what it needs: signals end the process at once.

    There is nothing to tidy up yet, and an exception raised within an import may be swallowed by C code or
    become another error.
    """

    def __enter__(self) -> None:
        _State.working = False

    def __exit__(self, *exc: object) -> None:
        _State.working = True


def ending(error: BaseException) -> tuple[str, int] | None:
    """What is said, and the status, where a signal came; None where ``error`` has another cause.

    What the exception itself says, as how to go on, is said with it.
    Any exception after a signal is the signal's: Python and its extensions turn what is raised in some places
    into other errors.
    """
    if _State.received or isinstance(error, KeyboardInterrupt):
        text, status = ENDINGS[_State.received or signal.SIGINT]
        hints = error.args if isinstance(error, KeyboardInterrupt) else ()
        return ": ".join([text, *map(str, hints)]), status
    return None


def leave(status: object) -> None:
    """End the process with the status of a signal, if one came; all is said and tidied up by then.

    Python would end some of these with the signal itself: those in which C code ran Python code when it came.
    """
    if _State.received:
        from contextlib import suppress

        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(status if isinstance(status, int) else 1)


def _handle(number: int, _: object) -> None:
    if _State.ending:
        signal.signal(number, signal.SIG_DFL)  # all is done or said; the next one is not waited for
    elif not _State.working:
        line, status = ENDINGS[number]
        try:
            os.write(2, f"mtparse: error: {line}\n".encode())
        finally:
            os._exit(status)
    elif time.monotonic() - _State.at >= _ONE:
        _State.received, _State.at = number, time.monotonic()
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated


def _unraisable(report) -> None:
    """Send a signal again whose exception was raised where Python can but ignore it (a callback from C)."""
    if not isinstance(report.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(report)
        return
    from threading import Timer

    number, _State.at = _State.received or signal.SIGINT, -_ONE

    def send() -> None:
        if _State.working:  # else another exception has ended the command meanwhile
            os.kill(os.getpid(), number)

    again = Timer(0.05, send)
    again.daemon = True
    again.start()
