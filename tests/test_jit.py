"""The cache of compiled kernels never outlives the sources it was made of."""

import os
import subprocess
import sys

import numba
import pytest
from conftest import ROOT

from mtparse import _jit
from mtparse._jit import cache_directory, compiling_said, kernel, sources_digest

pytestmark = pytest.mark.nojit


@pytest.fixture(autouse=True)
def _no_cache_asked_for(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_change_of_any_source_means_another_cache(tmp_path):
    package = tmp_path / "package"
    (package / "inner").mkdir(parents=True)
    (package / "inner" / "a.py").write_text("one")
    first = sources_digest(package)
    assert sources_digest(package) == first
    old = cache_directory(package, first)
    (old / "a.nbi").write_text("")
    (package / "inner" / "a.py").write_text("two")
    second = sources_digest(package)
    new = cache_directory(package, second)
    assert first != second
    assert old != new
    assert not old.exists()
    (package / "b.py").write_text("")
    assert sources_digest(package) not in (first, second)


def test_where_the_cache_is(tmp_path, monkeypatch):
    package = tmp_path / "package"
    package.mkdir()
    assert cache_directory(package, "d") == package / "__pycache__" / "kernels-d"
    (package / "__pycache__" / "kernels-d").rmdir()
    (package / "__pycache__").rmdir()
    (package / "__pycache__").write_text("a file where the folder should be")
    assert cache_directory(package, "d") == tmp_path / "cache" / "mtparse" / "kernels-d"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cache_directory(package, "d") is None
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "asked"))
    assert cache_directory(package, "d") == tmp_path / "asked" / "kernels-d"


def test_kernels_work_without_any_cache(tmp_path):
    code = (
        "import numpy as np; from mtparse._jit import CACHE, kernel; assert CACHE is None\n"
        "print(kernel(lambda x: x + 1)(1))"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": os.devnull}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("2\n", 0), done.stderr


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_it_is_said_once_that_kernels_are_compiled(monkeypatch):
    monkeypatch.setattr(_jit, "CACHE", None)
    said = []
    first, second = kernel(lambda x: x + 1), kernel(lambda x: x + 2)
    with compiling_said(said.append, "a while"):
        assert said == []
        assert (first(1), second(1)) == (2, 3)
        assert said == ["compiling kernels, once after an installation for each trainer: a while"]
    kernel(lambda x: x + 3)(1)
    with compiling_said(said.append, "a while"):
        first(1)
    assert len(said) == 1


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_nothing_is_said_of_kernels_from_the_cache(monkeypatch, tmp_path):
    monkeypatch.setattr(_jit, "CACHE", tmp_path)

    def double(x):
        return 2 * x

    said = []
    for _ in range(2):
        with compiling_said(said.append, "a while"):
            assert kernel(double)(4) == 8
    assert len(said) == 1


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
@pytest.mark.parametrize("fault", ["full", "damaged", "none"])
def test_a_cache_that_fails_does_no_harm(fault, tmp_path):
    """Kernels are compiled each time, and nothing is said of it."""
    (tmp_path / "some.py").write_text(
        "from mtparse._jit import kernel\n@kernel\ndef double(x):\n    return 2 * x\n"
    )
    code = "import some; print(some.double(4), sum(some.double.stats.cache_hits.values()))"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    limit = "ulimit -f 0; " if fault == "full" else ""
    hits = []
    for _ in range(2):
        done = subprocess.run(
            ["bash", "-c", f'{limit}exec "{sys.executable}" -B -c "{code}"'],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        result, found = done.stdout.split()
        assert result == "8"
        hits.append(int(found))
        files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
        assert bool(files) == (fault != "full")
        if fault == "damaged":
            for path in files:
                path.write_bytes(path.read_bytes()[:10])
    assert hits == [0, fault == "none"]
