"""Progress of long work on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import suppress

SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Shows what goes on; safe to call from several threads."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet or sys.stderr is None
        self._bar = not self._quiet and sys.stderr.isatty()
        self._last = time.monotonic()

    def say(self, text: str) -> None:
        """A line of its own, at once."""
        if not self._quiet:
            self.explain(text)

    def explain(self, text: str) -> None:
        """`say` in spite of ``quiet``: why it takes longer than it should."""
        if sys.stderr is None:
            return
        try:
            if self._bar:
                from tqdm import tqdm

                tqdm.write(text, file=sys.stderr)
            else:
                sys.stderr.write(f"{text}\n")
                sys.stderr.flush()
        except (OSError, ValueError):
            self._quiet = True  # nobody reads it any more; the work goes on
        self._last = time.monotonic()

    def warn(self, text: str) -> None:
        """A warning, which ``quiet`` does not silence."""
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(f"mtparse: warning: {text}\n")
            sys.stderr.flush()

    def task(self, name: str, total: int | None, *, remaining: bool = True) -> Task:
        """A piece of work of ``total`` steps, None where nobody knows how many.

        ``remaining`` is whether a bar guesses the time left.
        """
        return Task(self, name, total, remaining)


class Task:
    """One bar, or one series of lines."""

    def __init__(self, progress: Progress, name: str, total: int | None, remaining: bool) -> None:
        self._progress, self._name, self._total, self._done = progress, name, total, 0
        self._bar = None
        if progress._bar:
            from tqdm import tqdm

            form = None if remaining else "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
            self._bar = tqdm(
                total=total, desc=name, file=sys.stderr, leave=False, dynamic_ncols=True, bar_format=form
            )

    def update(self, done: int, note: str = "") -> None:
        """``done`` of the steps are done."""
        step, self._done = done - self._done, done
        if self._bar is not None and not self._progress._quiet:
            try:
                self._bar.set_postfix_str(note, refresh=False)
                self._bar.update(step)
            except (OSError, ValueError):
                self._progress._quiet = True
        elif time.monotonic() - self._progress._last >= SECONDS_BETWEEN_LINES:
            of = "" if self._total is None else f" of {self._total}"
            self._progress.say(f"{self._name}: {done}{of}{f', {note}' if note else ''}")

    def close(self) -> None:
        """The work is over, done or not."""
        if self._bar is not None:
            with suppress(OSError, ValueError):
                self._bar.close()
