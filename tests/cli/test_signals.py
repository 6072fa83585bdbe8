"""A signal at any moment ends a command in one line, and leaves nothing half-written."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from helpers.project import heed_interrupts

MOMENTS = int(os.environ.get("MTPARSE_EXAMPLES", 6))
ENDINGS = {
    signal.SIGINT: (130, "mtparse: error: interrupted\n"),
    signal.SIGTERM: (143, "mtparse: error: terminated\n"),
    signal.SIGHUP: (129, "mtparse: error: the terminal was closed\n"),
}
linux = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="there is no /proc")


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        (mask,) = (int(line.split()[1], 16) for line in file if line.startswith("SigCgt"))
    return bool(mask >> (number - 1) & 1)


def signalled(command, number, seconds, text=b""):
    """Send a signal some time after the command installed its handlers, its input open; how it ended."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    arguments = [sys.executable, "-m", "mtparse", *map(str, command)]
    with subprocess.Popen(arguments, preexec_fn=heed_interrupts, **pipes) as process:
        process.stdin.write(text)
        process.stdin.flush()
        for _ in range(60_000):
            if process.poll() is not None or catches(process.pid, signal.SIGTERM):
                break
            time.sleep(0.0005)
        time.sleep(seconds)
        process.send_signal(number)
        errors = process.stderr.read()
        process.stdin.close()
        return process.wait(60), errors.decode()


@linux
@pytest.mark.parametrize("number", ENDINGS, ids=lambda number: number.name)
def test_parse_at_random_moments(number, run, small, tmp_path):
    """From the first import to the wait for more input; the older output stays."""
    output = tmp_path / "o.conll"
    output.write_text("older")
    text = (small / "train.conll").read_bytes()
    assert len(text) < 1 << 16  # what a pipe holds, so that the moment is not that of reading
    moments = random.Random(number)
    for k in range(MOMENTS):
        seconds = 0.0 if k == 0 else moments.uniform(0, (0.1, 1.5)[k % 2])
        found = signalled(["parse", run, "-", "-o", output], number, seconds, text)
        assert found == ENDINGS[number], f"after {seconds} s"
        assert os.listdir(tmp_path) == ["o.conll"]
        assert output.read_text() == "older"


@pytest.mark.parametrize("number", ENDINGS, ids=lambda number: number.name)
def test_training_ends_cleanly(number, small, tmp_path):
    """What has been logged stays, temporary files do not; threads are not waited for in vain."""
    log = tmp_path / "r" / "log.jsonl"
    command = ["train", small / "run.yaml", "--out", tmp_path / "r", "--cache", tmp_path / "c", "--quiet"]
    command += ["--set", "trainer.passes=1000000", "--set", "trainer.tolerance=0"]
    command += ["--set", "trainer.C=[0.1, 0.2]"]
    with subprocess.Popen(
        [sys.executable, "-m", "mtparse", *map(str, command)],
        stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts,
    ) as process:  # fmt: skip
        for _ in range(1200):
            if log.exists() and log.stat().st_size:
                break
            time.sleep(0.1)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    status, line = ENDINGS[number]
    hint = f": resume with: mtparse train --resume {tmp_path}/r\n"
    assert (process.returncode, errors) == (status, line.rstrip("\n") + hint)
    assert not [name for _, _, names in os.walk(tmp_path) for name in names if name.endswith(".tmp")]
    assert not (tmp_path / "r" / "model.mtparse").exists()


def python(code: str):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False,
        preexec_fn=heed_interrupts,
    )  # fmt: skip
    return done.returncode, done.stderr


START = "import sys, os, signal; sys.argv = ['mtparse', 'stats', '-']\nimport mtparse.__main__ as entry\n"


@pytest.mark.parametrize("number", ENDINGS, ids=lambda number: number.name)
def test_a_signal_within_an_import(number):
    """Where C code or ``__set_name__`` would swallow the exception or make another of it."""
    code = f"""
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "mtparse.treebank.stats":
            try:
                os.kill(os.getpid(), {number:d})
            except BaseException:
                print("swallowed", file=sys.stderr)
sys.meta_path.insert(0, Finder())
entry.main()
"""
    assert python(START + code) == ENDINGS[number]


@pytest.mark.parametrize("number", ENDINGS, ids=lambda number: number.name)
@pytest.mark.parametrize("fault", ["raise RuntimeError('wrapped')", "ignored()"])
def test_a_signal_whose_exception_gets_lost(number, fault):
    """Made another exception, or raised in a callback from C, which can only report it: sent again."""
    code = f"""
import ctypes, time, mtparse.treebank.stats
@ctypes.CFUNCTYPE(None)
def send():
    os.kill(os.getpid(), {number:d})
def ignored():
    send()
    time.sleep(60)
def work(*arguments, **options):
    if "ignored" in {fault!r}:
        ignored()
    try:
        os.kill(os.getpid(), {number:d})
    except KeyboardInterrupt:
        {fault}
mtparse.treebank.stats.treebank_stats = work
entry.main()
"""
    assert python(START + code) == ENDINGS[number]


def test_two_signals_at_once_are_one():
    """The second does not break off the tidying up after the first."""
    code = """
import mtparse.treebank.stats
def work(*arguments, **options):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        print("tidied up", file=sys.stderr)
mtparse.treebank.stats.treebank_stats = work
entry.main()
"""
    assert python(START + code) == (130, "tidied up\nmtparse: error: interrupted\n")


def test_an_ignored_signal_stays_ignored():
    """As for ``nohup`` and jobs in the background."""
    code = """
signal.signal(signal.SIGINT, signal.SIG_IGN)
import mtparse.treebank.stats
def work(*arguments, **options):
    os.kill(os.getpid(), signal.SIGINT)
    return {}
mtparse.treebank.stats.treebank_stats, mtparse.treebank.stats.format_stats = work, lambda rows: "done"
entry.main()
"""
    assert python(START + code) == (0, "")


def test_the_library_leaves_signals_alone():
    code = """
import mtparse, mtparse.cli.main, mtparse.model.parser
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
assert sys.unraisablehook is sys.__unraisablehook__
"""
    assert python("import sys, signal\n" + code) == (0, "")


@pytest.mark.parametrize("package", ["click", "numpy"])
def test_a_missing_package_is_named(package):
    code = f"sys.modules[{package!r}] = None; entry.main()"
    if package == "numpy":
        code = code.replace("entry", "sys.argv[1:] = ['parse', os.devnull, os.devnull]; entry")
    status, errors = python(START + code)
    assert status == 1
    assert errors.startswith(f"mtparse: error: {package} is missing or broken (")
    assert errors.endswith("); install mtparse with its dependencies again: pip install .\n")
    assert len(errors.splitlines()) == 1


def test_hardly_anything_is_imported_before_signals_are_seen_to():
    code = (
        "import sys; before = set(sys.modules)\n"
        "import mtparse.__main__, mtparse.cli.signals\n"
        "new = {n.partition('.')[0] for n in set(sys.modules) - before}\n"
        "assert new <= {'mtparse', '__future__', 'signal', 'enum', 'types', 'operator', 'functools', "
        "'collections', 'itertools', 'keyword', 'reprlib', '_operator', '_collections', '_functools', "
        "'time'}, new"
    )
    assert python(code) == (0, "")
