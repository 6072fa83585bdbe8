"""Pipes that break, disks that are full, limits that are met: one line, a status, nothing half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import zlib

import pytest
from click.testing import CliRunner

from mtparse import Parser
from mtparse.cli.main import main
from mtparse.errors import ConllError
from mtparse.model import parser as parser_module
from mtparse.treebank import sentence as limits
from mtparse.treebank.conll import read_conll

ROW = "{}\tw\t_\tN\tN\t_\t0\t_\t_\t_\n"


def shell(command: str, *, timeout: int = 300, **environment):
    """Run a command of mtparse in bash; what it printed and its status."""
    text = command.replace("mtparse ", f"{sys.executable} -m mtparse ")
    return subprocess.run(
        ["bash", "-c", text], capture_output=True, text=True, timeout=timeout, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip


def fails(command: str, message: str, **environment) -> None:
    """The command prints nothing, says one line and ends with status 1."""
    done = shell(command, **environment)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert done.stderr.startswith("mtparse: error: ")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.fixture(scope="module")
def many(small, tmp_path_factory):
    """More sentences than a pipe holds."""
    path = tmp_path_factory.mktemp("many") / "many.conll"
    path.write_bytes((small / "train.conll").read_bytes() * 16)
    return path


@pytest.fixture(scope="module")
def expected(run, small):
    return shell(f"mtparse parse {run} {small}/test.conll").stdout


@pytest.mark.parametrize(
    ("command", "reader", "lines"),
    [
        ("parse {run} {many}", "head -n 1", 1),
        ("parse {run} {many}", "true", 0),
        ("stats {many}", "true", 0),
        ("eval --per-sentence {many} {many}", "head -n 1", 1),
    ],
)
def test_a_reader_that_goes_away(command, reader, lines, run, many):
    """After a line, or at once: nothing is said, and the status is that of a broken pipe."""
    done = shell(f"mtparse {command.format(run=run, many=many)} | {reader}; echo ${{PIPESTATUS[0]}}")
    *printed, status = done.stdout.splitlines()
    assert (done.stderr, len(printed)) == ("", lines)
    assert status in ("0", "141")  # a short output fits into the pipe


def test_a_broken_pipe_has_a_status(run, many):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "mtparse", "parse", run, many],
        stdout=writing, stderr=subprocess.PIPE, timeout=300, check=False,
    )  # fmt: skip
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


NO_STDERR = ["2>/dev/full", "2>&-", "2> >(true)"]


@pytest.mark.parametrize("redirection", NO_STDERR)
def test_training_goes_on_when_nobody_reads_its_progress(redirection, small, tmp_path):
    done = shell(f"mtparse train {small}/run.yaml --out {tmp_path}/r --set trainer.passes=1 {redirection}")
    assert done.returncode == 0
    assert (tmp_path / "r" / "model.mtparse").exists()


@pytest.mark.parametrize("redirection", NO_STDERR)
@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("mtparse parse {run} /dev/null", 0),  # warns
        ("mtparse projectivize {small}/test.conll", 0),  # says what it did
        ("mtparse eval {small}/test.conll {small}/train.conll", 1),
        ("mtparse nothing", 2),
        ("mtparse train {small}/run.yaml --set C=1", 2),
        ("python -W always -c 'import warnings, mtparse.__main__ as m; m.main()' --version", 0),
    ],
)
def test_no_status_depends_on_standard_error(command, status, redirection, run, small):
    command = command.format(run=run, small=small).replace("python ", f"{sys.executable} ")
    done = shell(f"{command} {redirection}")
    assert (done.returncode, done.stderr) == (status, "")
    assert "rror" not in done.stdout


def test_a_closed_standard_error_does_not_write_into_other_files(run, small, tmp_path):
    """No file that is opened gets its number."""
    warns = f"cat {small}/test.conll | mtparse parse {run} -o {tmp_path}/o 2>&-"
    assert shell(warns).returncode == 0
    assert "sentences" not in (tmp_path / "o").read_text()


class Conversation:
    """A command that is spoken to through pipes; every answer is waited for before more is said."""

    def __init__(self, *arguments: object, pack=None) -> None:
        plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        command = [sys.executable, "-m", "mtparse", *map(str, arguments)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, **pipes, env=plain)
        self.pack = pack

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.communicate()

    def say(self, text: str) -> None:
        data = text.encode()
        if self.pack is not None:
            data = self.pack.compress(data) + self.pack.flush(zlib.Z_SYNC_FLUSH)
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def hear(self) -> str:
        """The next sentence; a test that waits for ever is ended by its limit of time."""
        lines = []
        while not lines or lines[-1] != b"\n":
            lines.append(self.process.stdout.readline())
            assert lines[-1], "the output ended"
        return b"".join(lines).decode()


@pytest.fixture(scope="module")
def sentences(small):
    return [f"{s}\n\n" for s in (small / "train.conll").read_text().split("\n\n")[:4]]


class TestSentenceBySentence:
    """From a pipe that stays open every sentence is answered before the next is written."""

    @pytest.mark.parametrize("jobs", [1, 3])
    def test_parse(self, jobs, run, sentences):
        with Conversation("parse", run, "--jobs", jobs) as talk:
            for sentence in sentences:
                talk.say(sentence)
                answer = talk.hear()
                assert answer.count("\n") == sentence.count("\n")
                assert answer.split("\t")[1] == sentence.split("\t")[1]
            out, _ = talk.process.communicate(timeout=60)
        assert (out, talk.process.returncode) == (b"", 0)

    def test_all_that_has_come_is_answered(self, run, sentences):
        """A sentence of which only the first line is there holds back none before it."""
        with Conversation("parse", run) as talk:
            begun, _, rest = sentences[2].partition("\n")
            talk.say(sentences[0] + sentences[1] + begun)
            assert [talk.hear().split("\t")[1] for _ in range(2)] == [s.split("\t")[1] for s in sentences[:2]]
            talk.say(f"\n{rest}")
            assert talk.hear().count("\n") == sentences[2].count("\n")

    def test_packed(self, run, sentences):
        pack = zlib.compressobj(wbits=31)
        with Conversation("parse", run, pack=pack) as talk:
            for sentence in sentences:
                talk.say(sentence)
                assert talk.hear().split("\t")[1] == sentence.split("\t")[1]

    def test_projectivize(self, sentences):
        with Conversation("projectivize") as talk:
            for sentence in sentences:
                talk.say(sentence)
                assert talk.hear().split("\t")[1] == sentence.split("\t")[1]

    def test_through_named_pipes(self, run, sentences, tmp_path):
        for name in ("in", "out"):
            os.mkfifo(tmp_path / name)
        with Conversation("parse", run, tmp_path / "in", "-o", tmp_path / "out"):
            both = os.open(tmp_path / "in", os.O_RDWR)  # does not wait for the other end
            with open(both, "w") as writing, open(tmp_path / "out") as reading:
                for sentence in sentences:
                    writing.write(sentence)
                    writing.flush()
                    assert reading.readline().split("\t")[1] == sentence.split("\t")[1]
                    while reading.readline() != "\n":
                        pass

    def test_the_library(self, run, sentences):
        reading, writing = os.pipe()
        with open(reading, "rb") as source, open(writing, "w") as sink:
            parsed = Parser.load(run).parse(read_conll(source), threads=2)
            for sentence in sentences:
                sink.write(sentence)
                sink.flush()
                assert len(next(parsed)) == sentence.count("\n") - 1

    def test_batches_are_full_while_input_is_waiting(self, run, many, monkeypatch):
        """No more calls of compiled code than needed: a file is parsed in full batches."""
        calls = []
        compiled = parser_module.parse_batch

        def counted(*arguments):
            calls.append(len(arguments[4]))
            return compiled(*arguments)

        monkeypatch.setattr(parser_module, "parse_batch", counted)
        with open(many, "rb") as source:
            total = sum(1 for _ in Parser.load(run).parse(read_conll(source)))
        assert sum(calls) == total
        assert set(calls[:-1]) == {parser_module.BATCH}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("mtparse parse {run} {small}/test.conll >&-", "standard output is closed"),
        ("mtparse stats {small}/test.conll >&-", "standard output is closed"),
        ("mtparse parse {run} <&-", "standard input is closed"),
        ("mtparse eval {small}/test.conll - <&-", "standard input is closed"),
        ("mtparse parse {run} {small}/test.conll >/dev/full", "No space left on device"),
        ("mtparse parse {run} {small}/test.conll -o /dev/full", "No space left on device"),
        ("mtparse stats {small}/test.conll >/dev/full", "No space left on device"),
        ("mtparse --help >/dev/full", "No space left on device"),
        ("mtparse --version >/dev/full", "No space left on device"),
        ("mtparse parse {run} {small}/test.conll -o {small}/run.yaml/o.conll", "o.conll: Not a directory"),
        ("ulimit -f 1; mtparse parse {run} {small}/train.conll -o {tmp}/o.conll", "o.conll: File too large"),
    ],
)
def test_what_cannot_be_read_or_written(command, message, run, small, tmp_path):
    fails(command.format(run=run, small=small, tmp=tmp_path), message)
    assert os.listdir(tmp_path) == []


def test_errors_with_nobody_to_read_them(run):
    """The status is all that is left."""
    done = shell(f"mtparse parse {run} /nowhere 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_must_not_be_written(run, small, tmp_path):
    (tmp_path / "d").mkdir(mode=0o500)
    fails(f"mtparse parse {run} {small}/test.conll -o {tmp_path}/d/o.conll", "d/o.conll: Permission denied")


def test_a_last_sentence_without_a_blank_line_is_parsed(run, small, expected):
    done = shell(f"head -c -2 {small}/test.conll | mtparse parse {run}")
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")


def test_sentences_before_a_faulty_row_are_parsed(run, small, expected):
    """Though the fault is in the same batch; the row is named."""
    lines = (small / "test.conll").read_text().count("\n")
    done = shell(f"(cat {small}/test.conll; printf '1\\tcut') | mtparse parse {run} --jobs 2")
    assert (done.returncode, done.stdout) == (1, expected)
    assert done.stderr.startswith(f"mtparse: error: <stdin>:{lines + 1}: sentence 11: 2 columns found, 10 ")


def test_sentences_before_one_that_is_too_long_are_parsed(run, small, expected, tmp_path):
    """Refused by file and line before anything of its size is made."""
    path = tmp_path / "long.conll"
    text = (small / "test.conll").read_text()
    path.write_text(text + "".join(map(ROW.format, range(1, 60_001))))
    done = shell(f"mtparse parse {run} {path}")
    assert (done.returncode, done.stdout) == (1, expected)
    line = text.count("\n") + 1
    message = "sentence 11: 60000 words; at most 5000 can be parsed, split it"
    assert done.stderr == f"mtparse: error: {path}:{line}: {message}\n"


def test_the_longest_sentence_that_is_parsed(run, small, monkeypatch):
    sentences = list(read_conll(small / "test.conll"))
    longest = max(map(len, sentences))
    first = [len(s) for s in sentences].index(longest)
    parser = Parser.load(run)
    monkeypatch.setattr(limits, "MAX_PARSED", longest)
    assert len(list(parser.parse(sentences, threads=2))) == len(sentences)
    monkeypatch.setattr(limits, "MAX_PARSED", longest - 1)
    stream = parser.parse(sentences, threads=2)
    assert [len(next(stream)) for _ in range(first)] == [len(s) for s in sentences[:first]]
    with pytest.raises(ConllError, match=f"sentence {first + 1}: {longest} words; at most {longest - 1} can"):
        next(stream)


def test_parse_reads_a_named_pipe(run, small, expected, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = shell(f"cat {small}/test.conll > {tmp_path}/pipe & mtparse parse {run} {tmp_path}/pipe")
    assert (done.returncode, done.stdout) == (0, expected)


@pytest.mark.parametrize("kind", ["same", "symlink", "link"])
def test_the_output_may_be_the_input(kind, run, small, expected, tmp_path):
    """By its own name or another; a hard link goes on to hold the input."""
    path, other = tmp_path / "t.conll", tmp_path / "other.conll"
    text = (small / "test.conll").read_text()
    path.write_text(text)
    if kind == "symlink":
        other.symlink_to(path)
    elif kind == "link":
        other.hardlink_to(path)
    done = shell(f"mtparse parse {run} {path} -o {path if kind == 'same' else other}")
    assert (done.returncode, done.stdout) == (0, "")
    assert path.read_text() == (text if kind == "link" else expected)
    if kind != "same":
        assert other.read_text() == expected
        assert other.is_symlink() == (kind == "symlink")


def test_more_jobs_than_cores(run, small, many, expected):
    done = shell(f"cat {many} {small}/test.conll | mtparse parse {run} --jobs 1000")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n\n") == 16 * 30 + 10
    assert done.stdout.endswith(expected)


def test_a_limit_of_threads(run, many, tmp_path, monkeypatch):
    def start(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    done = CliRunner().invoke(main, ["parse", str(run), str(many), "--jobs", "2", "-o", str(tmp_path / "o")])
    assert done.exit_code == 1
    assert done.stderr == "mtparse: error: the system allows no more threads; a smaller --jobs needs fewer\n"
    assert os.listdir(tmp_path) == []


def test_a_full_disk_while_training(small, run, tmp_path):
    """A file would be larger than it may be: said by its name, and no part of a model stays."""
    out = f"--quiet --set trainer.passes=1 --out {tmp_path}/r"
    fails(
        f"ulimit -f 20; mtparse train {small}/run.yaml {out}",
        "r/checkpoint/run C=0.1.journal: File too large",
    )
    assert not (tmp_path / "r").exists()  # nothing was trained yet
    out += " --set checkpoint=0"
    fails(f"ulimit -f 20; mtparse train {small}/run.yaml {out}", "r/model.mtparse: File too large")
    assert not [name for name in os.listdir(tmp_path / "r") if name.endswith((".tmp", ".mtparse"))]
    assert (tmp_path / "r" / "log.jsonl").stat().st_size


def test_a_full_disk_while_the_cache_is_written(small, tmp_path):
    out = f"--quiet --set trainer.passes=1 --out {tmp_path}/r --cache {tmp_path}/c"
    fails(f"ulimit -f 20; mtparse train {small}/run.yaml {out}", "File too large")
    assert os.listdir(tmp_path / "c") == []


def test_a_process_that_is_killed_while_it_writes_the_cache(small, tmp_path):
    """Leaves its temporary folder and no more; others are not hurt by it."""
    cache = tmp_path / "c"
    command = f"train {small}/run.yaml --quiet --set trainer.passes=1 --cache {cache}"
    stop = (
        "import os, signal, sys, mtparse.training.design_cache as cache; from mtparse.cli.main import main\n"
        "cache._write = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"main({[*command.split(), '--out', str(tmp_path / 'killed')]!r})"
    )
    killed = subprocess.run([sys.executable, "-c", stop], timeout=300, check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = os.listdir(cache)
    assert left.startswith(".mtparse-")
    assert left.endswith(".tmp")
    for name in ("made", "found"):
        done = shell(f"mtparse {command} --out {tmp_path / name}")
        assert (done.returncode, done.stderr) == (0, "")
    assert len(os.listdir(cache)) == 2
    models = {(tmp_path / name / "model.mtparse").read_bytes() for name in ("made", "found")}
    assert len(models) == 1


def test_too_little_memory(run, many):
    """Enough to begin with, then no more."""
    code = (
        "import resource, sys; from mtparse.cli.main import main; import mtparse.model.parser\n"
        "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 20), -1))\n"
        f"main(['parse', {str(run)!r}, {str(many)!r}])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "mtparse: error: out of memory\n")
