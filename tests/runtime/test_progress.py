"""Progress is a bar on a terminal, a line now and then elsewhere, and nothing when asked to be quiet."""

from __future__ import annotations

import io
import threading
import time

import pytest

from mtparse.runtime import progress
from mtparse.runtime.progress import Progress
from mtparse.runtime.threads import Workers, thread_count

pytestmark = pytest.mark.nojit


class Terminal(io.StringIO):
    def isatty(self):
        return True


def work(target, monkeypatch, quiet=False):
    monkeypatch.setattr("sys.stderr", target)
    shown = Progress(quiet)
    shown.say("begins")
    task = shown.task("counting", 3)
    for done in (1, 2, 3):
        task.update(done, f"at {done}")
    task.close()
    return target.getvalue()


def test_a_bar_on_a_terminal(monkeypatch):
    shown = work(Terminal(), monkeypatch)
    assert "begins" in shown
    assert "counting" in shown
    assert "\r" in shown


def test_lines_elsewhere_not_too_often(monkeypatch):
    assert work(io.StringIO(), monkeypatch) == "begins\n"
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    assert work(io.StringIO(), monkeypatch).splitlines() == [
        "begins",
        "counting: 1 of 3, at 1",
        "counting: 2 of 3, at 2",
        "counting: 3 of 3, at 3",
    ]


def test_an_unknown_total(monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr("sys.stderr", target := io.StringIO())
    Progress().task("sentences", None).update(7)
    assert target.getvalue() == "sentences: 7\n"


def test_quiet(monkeypatch):
    assert work(io.StringIO(), monkeypatch, quiet=True) == ""


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order_and_work_is_drawn_as_needed(threads):
    drawn = []

    def items():
        for i in range(50):
            drawn.append(i)
            yield i

    def slow(i):
        time.sleep(0.001 * (i % 3))
        return i, threading.get_ident()

    with Workers(threads) as workers:
        results = workers.map(slow, items())
        assert next(results)[0] == 0
        assert len(drawn) <= 2 * threads + 1
        rest = list(results)
    assert [i for i, _ in rest] == list(range(1, 50))
    assert len({t for _, t in rest}) <= threads


def test_an_error_in_a_thread_is_raised_here():
    with Workers(2) as workers, pytest.raises(ZeroDivisionError):
        list(workers.map(lambda i: 1 // i, [1, 0, 1]))


def test_thread_count(monkeypatch):
    assert thread_count(3) == 3
    monkeypatch.setenv("NUMBA_NUM_THREADS", "7")
    assert thread_count(0) == 7
    monkeypatch.setenv("NUMBA_NUM_THREADS", "many")
    assert thread_count(0) >= 1
    monkeypatch.delenv("NUMBA_NUM_THREADS")
    assert thread_count(0) >= 1
