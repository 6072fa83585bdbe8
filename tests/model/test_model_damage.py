"""Damaged model files: an error that names the file, or the same trees; never a crash, never other trees."""

from __future__ import annotations

import io
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.project import ROOT

from mtparse.errors import ModelError
from mtparse.model.model_file import MODEL_NAME, load_model
from mtparse.model.parser import Parser
from mtparse.treebank.conll import read_conll

EXAMPLES = int(os.environ.get("MTPARSE_EXAMPLES", 100))
ENDED = re.compile(rb"mtparse: error: [^\n]+\n")


@pytest.fixture(scope="module")
def data(run) -> bytes:
    return (run / MODEL_NAME).read_bytes()


@pytest.fixture(scope="module")
def sentences(small):
    return list(read_conll(small / "test.conll"))


def parse(path, sentences):
    return [s.heads for s in Parser.load(path).parse(sentences)]


def flipped(data: bytes, place: int, bits: int) -> bytes:
    return data[:place] + bytes([data[place] ^ bits]) + data[place + 1 :]


def survivors(path: Path, damaged: list[bytes]) -> list[int]:
    """Which of these model files load."""
    found, messages = [], []
    for k, content in enumerate(damaged):
        path.write_bytes(content)
        try:
            load_model(path)
            found.append(k)
        except ModelError as error:
            messages.append(str(error))
    assert all(text.startswith(f"{path}: ") for text in messages)
    return found


def test_flipped_bytes(data, tmp_path):
    """The checksum covers all of the file, and nothing is used before it is compared."""
    draw = random.Random(1)
    places = [*range(24), *range(len(data) - 34, len(data))]
    places += [draw.randrange(len(data)) for _ in range(EXAMPLES)]
    damaged = [flipped(data, place, draw.randrange(1, 256)) for place in places]
    assert survivors(tmp_path / "m", damaged) == []
    assert survivors(tmp_path / "m", [data]) == [0]


def test_cut_files(data, tmp_path):
    draw = random.Random(2)
    lengths = [0, 7, 8, 19, 20, 21, 51, 52, 53, len(data) - 32, len(data) - 1]
    lengths += [draw.randrange(len(data)) for _ in range(EXAMPLES // 10)]
    assert survivors(tmp_path / "m", [data[:length] for length in lengths]) == []
    assert survivors(tmp_path / "m", [data + b"\0", data[1:], data + data]) == []


def command(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "mtparse", "parse", *map(str, arguments)],
        capture_output=True, check=False, timeout=300, env={**os.environ, **environment},
    )  # fmt: skip


def test_the_command_ends_in_one_line(data, small, tmp_path):
    draw = random.Random(3)
    damaged = [flipped(data, draw.randrange(len(data)), 1), data[: len(data) // 2]]
    for content in damaged:
        (tmp_path / "m").write_bytes(content)
        done = command(tmp_path / "m", small / "test.conll")
        assert (done.returncode, done.stdout) == (1, b"")
        assert ENDED.fullmatch(done.stderr)
        assert str(tmp_path / "m").encode() in done.stderr


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (["--jobs", 3], {}),
        ([], {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}),
        ([], {"NUMBA_DISABLE_JIT": "1"}),
    ],
)
def test_heads_depend_on_the_model_alone(arguments, environment, run, small, sentences):
    """Neither on threads nor on whether kernels are compiled."""
    done = command(run, small / "test.conll", *arguments, **environment)
    assert done.returncode == 0, done.stderr.decode()
    heads = [s.heads for s in read_conll(io.BytesIO(done.stdout))]
    assert heads == parse(run, sentences)


def test_nothing_in_the_package_unpickles():
    """Loading a model or a cache of features never runs code from it.

    Compiled kernels are code: `tests/runtime/test_kernel_store.py` has whose are loaded.
    """
    store = ROOT / "mtparse" / "runtime" / "kernel_store.py"
    sources = sorted(set((ROOT / "mtparse").rglob("*.py")) - {store})
    assert len(sources) > 40
    forbidden = re.compile(
        r"^\s*(import|from) (pickle|marshal|shelve|joblib|dill)\b|allow_pickle=True|\b(eval|exec)\(",
        re.MULTILINE,
    )
    assert forbidden.search("import pickle\n")
    assert forbidden.search("np.load(path, allow_pickle=True)")
    assert [str(path) for path in sources if forbidden.search(path.read_text(encoding="utf-8"))] == []
