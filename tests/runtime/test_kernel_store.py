"""Compiled kernels on disk: found wherever they are, trusted where nobody else can have written them."""

from __future__ import annotations

import hashlib
import logging
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile

import numba
import pytest
from click.testing import CliRunner
from helpers.project import ROOT

from mtparse.cli.main import main
from mtparse.model.parser import Parser
from mtparse.runtime import jit, kernel_store
from mtparse.runtime.jit import kernel
from mtparse.runtime.kernel_store import KernelStore

pytestmark = pytest.mark.nojit

compiles = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
NAME, CONTENT = "kernel-1", ("key", 1)


@pytest.fixture
def package(monkeypatch, tmp_path) -> Path:
    """An empty package, a user whose cache folder is `cache`, and no other place for kernels."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "package").mkdir()
    return tmp_path / "package"


@pytest.fixture
def locked(monkeypatch) -> list[Path]:
    """Folders put into this list cannot be written any more, not even by root."""
    folders: list[Path] = []

    def refuse(dir):
        if any(Path(dir).is_relative_to(folder) for folder in folders):
            raise PermissionError(13, "Permission denied")
        return TemporaryFile(dir=dir)

    monkeypatch.setattr(kernel_store, "TemporaryFile", refuse)
    return folders


@pytest.fixture
def store(package, monkeypatch) -> KernelStore:
    """A store in place of the package's own."""
    made = KernelStore(package, "d")
    monkeypatch.setattr(jit, "STORE", made)
    return made


def test_where_kernels_are_stored(package, locked, tmp_path, monkeypatch):
    inside, user = package / "__pycache__" / "kernels-d", tmp_path / "cache" / "mtparse" / "kernels-d"
    asked = tmp_path / "asked" / "kernels-d"
    assert KernelStore(package, "d").folder() == inside
    assert inside.stat().st_mode & 0o777 == 0o755
    locked.append(package)
    assert KernelStore(package, "d").folder() == user
    locked.append(tmp_path / "cache")
    assert KernelStore(package, "d").folder() is None
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "asked"))
    assert KernelStore(package, "d").folder() == asked
    assert KernelStore(package, "d").folders() == [asked, inside, user]
    monkeypatch.setenv("NUMBA_CACHE_DIR", os.devnull)
    assert KernelStore(package, "d").folder() is None
    locked.clear()
    assert KernelStore(package, "d").folder() == inside


def test_older_kernels_in_the_package_are_removed(package, monkeypatch, tmp_path):
    old = KernelStore(package, "old").folder()
    (old / "some").write_text("")
    new = KernelStore(package, "new").folder()
    assert new.is_dir()
    assert not old.exists()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for digest in ("old", "new"):
        KernelStore(package, digest).folder()
    assert len(list(tmp_path.glob("kernels-*"))) == 2  # others may use them


@pytest.mark.parametrize("home", ["relative", ""])
def test_a_user_without_a_home_has_no_cache_folder(home, package, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # what it does for an unknown user
    assert KernelStore(package, "d").folders() == [package / "__pycache__" / "kernels-d"]


def test_the_home_of_another_user_is_left_alone(package, locked, tmp_path, monkeypatch):
    """sudo may leave HOME as it was: its owner could not write what root would make there."""
    locked.append(package)
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    store = KernelStore(package, "d")
    assert store.folder() is None
    assert f"{tmp_path / 'cache' / 'mtparse'} (it is another user's)" in store.where()
    assert not (tmp_path / "cache").exists()


def test_kernels_are_read_where_they_cannot_be_written(package, locked, tmp_path, monkeypatch):
    KernelStore(package, "d").store(NAME, CONTENT)
    locked.append(package)
    store = KernelStore(package, "d")
    assert store.load(NAME) == CONTENT
    store.store("kernel-2", ("other", 2))
    assert os.listdir(tmp_path / "cache" / "mtparse" / "kernels-d") == ["kernel-2"]
    locked.append(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", os.devnull)
    store = KernelStore(package, "d")
    assert (store.load(NAME), store.load("kernel-2")) == (CONTENT, ("other", 2))
    assert store.load("kernel-3") is None
    assert KernelStore(package, "other").load(NAME) is None
    store.store("kernel-3", CONTENT)
    assert store.load("kernel-3") is None


class _Trap:
    """What runs when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize(
    ("change", "loaded"),
    [
        (lambda folder, file: None, True),
        (lambda folder, file: folder.chmod(0o777), False),
        (lambda folder, file: folder.chmod(0o1777), False),
        (lambda folder, file: folder.chmod(0o775), False),
        (lambda folder, file: file.chmod(0o666), False),
        (lambda folder, file: file.chmod(0o664), False),
        (lambda folder, file: folder.chmod(0o700), True),
    ],
)
def test_what_other_users_may_have_written_is_not_unpickled(change, loaded, package, tmp_path):
    store = KernelStore(package, "d")
    store.store(NAME, (_Trap(tmp_path / "sprung"),))
    change(store.folder(), store.folder() / NAME)
    assert (store.load(NAME) is not None) == loaded
    assert (tmp_path / "sprung").exists() == loaded


@pytest.mark.parametrize(
    ("owner", "loaded"), [("me", True), ("root", True), ("the package's", True), ("another", False)]
)
@pytest.mark.parametrize("of", ["folder", "file"])
def test_whose_kernels_are_unpickled(owner, of, loaded, package, tmp_path, monkeypatch):
    store = KernelStore(package, "d")
    store.store(NAME, CONTENT)
    me, other = 1001, 1002
    users = {"me": me, "root": 0, "the package's": 1003, "another": other}
    monkeypatch.setattr(os, "geteuid", lambda: me)
    stat = Path.stat

    def owned(status, uid: int) -> os.stat_result:
        return os.stat_result((*status[:4], uid, *status[5:10]))

    def path_stat(path, **options):
        package_or_mine = 1003 if path == package else users[owner] if of == "folder" else me
        return owned(stat(path, **options), package_or_mine)

    fstat = os.fstat
    monkeypatch.setattr(Path, "stat", path_stat)
    monkeypatch.setattr(os, "fstat", lambda fd: owned(fstat(fd), users[owner] if of == "file" else me))
    assert store.load(NAME) == (CONTENT if loaded else None)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[:10],
        lambda data: b"",
        lambda data: bytes(len(data)),
        lambda data: data[:40] + bytes(len(data) - 40),
        lambda data: hashlib.sha256(b"no pickle").digest() + b"no pickle",
    ],
)
def test_damaged_files_are_not_there(damage, package, tmp_path, monkeypatch):
    """And a whole one is taken from the next folder."""
    store = KernelStore(package, "d")
    store.store(NAME, CONTENT)
    file = store.folder() / NAME
    file.write_bytes(damage(file.read_bytes()))
    assert store.load(NAME) is None
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "asked"))
    other = KernelStore(package, "d")
    other.store(NAME, CONTENT)
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    (tmp_path / "cache").mkdir()
    (tmp_path / "asked").rename(tmp_path / "cache" / "mtparse")
    assert store.load(NAME) == CONTENT
    store.store(NAME, CONTENT)
    assert hashlib.sha256(file.read_bytes()[32:]).digest() == file.read_bytes()[:32]


def _one(x):
    return x + 1


def _two(x):
    return x + 2


@compiles
def test_kernels_come_from_the_store(store, package):
    assert kernel(_one)(1) == 2
    assert store.compiled == 1
    assert len(list(store.folder().iterdir())) == 1
    jit.STORE = KernelStore(package, "d")
    again = kernel(_one)
    assert (again(1), again(1.5)) == (2, 2.5)  # one of another type is another one
    assert jit.STORE.compiled == 1
    assert len(list(store.folder().iterdir())) == 2


@compiles
def test_a_kernel_under_the_name_of_another_is_not_taken_for_it(store, package):
    """Whoever may rename files in a folder could do that."""
    kernel(_one)(1)
    (one,) = store.folder().iterdir()
    kernel(_two)(1)
    (two,) = set(store.folder().iterdir()) - {one}
    one.replace(two)
    jit.STORE = KernelStore(package, "d")
    assert kernel(_two)(1) == 3
    assert jit.STORE.compiled == 1


@compiles
def test_it_is_said_once_where_compiled_kernels_are_stored(store, caplog):
    caplog.set_level(logging.INFO)
    kernel(_one)(1), kernel(_two)(2)
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("mtparse", logging.WARNING)
    assert record.getMessage() == (
        f"compiling kernels, {kernel_store.TAKES}; later runs will not wait: "
        f"they are stored in {store.folder()}"
    )
    jit.STORE = KernelStore(store.folder().parent.parent, "d")
    kernel(_one)(1)
    assert len(caplog.records) == 1


@compiles
def test_it_is_said_that_they_cannot_be_stored(store, package, locked, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("NUMBA_CACHE_DIR", os.devnull)
    locked.append(tmp_path)
    assert kernel(_one)(1) == 2
    assert store.not_stored == "no folder can be written"
    assert caplog.messages == [
        f"compiling kernels, {kernel_store.TAKES} in every run: they cannot be stored in "
        f"{os.devnull} (not a folder) or {package / '__pycache__'} (Permission denied) or "
        f"{tmp_path / 'cache' / 'mtparse'} (Permission denied); run `mtparse warmup` as the user who "
        "installed mtparse, or set NUMBA_CACHE_DIR to a folder that can be written"
    ]


def test_commands_say_it_themselves(store, caplog):
    said = []
    with store.said_by(said.append):
        store.missing()
        store.missing()
    assert (len(said), caplog.messages) == (1, [])
    store.missing()
    assert caplog.messages == []  # said already
    with store.said_by(said.append):
        store.missing()
    assert len(said) == 2


def test_parse_says_that_it_compiles(run, small, monkeypatch):
    load = Parser.load

    def compile_and_load(path):
        jit.STORE.missing()
        return load(path)

    monkeypatch.setattr(Parser, "load", compile_and_load)
    result = CliRunner().invoke(main, ["parse", str(run), str(small / "test.conll"), "--jobs", "1"])
    assert result.exit_code == 0
    assert result.stderr.startswith("compiling kernels, ")
    assert result.stderr.count("compiling") == 1
    assert "compiling" not in result.stdout


@pytest.mark.parametrize("command", ["train", "reproduce"])
def test_quiet_training_says_it_too(command, tmp_path, monkeypatch):
    """It is no progress, but why nothing seems to happen."""
    import mtparse.experiment.grid
    import mtparse.experiment.run

    def work(*args, **options):
        jit.STORE.missing()
        raise KeyboardInterrupt

    monkeypatch.setattr(mtparse.experiment.run, "train", work)
    monkeypatch.setattr(mtparse.experiment.grid, "reproduce", work)
    config = ROOT / "configs" / ("demo.yaml" if command == "reproduce" else "demo-perceptron-projective.yaml")
    result = CliRunner().invoke(main, [command, str(config), "--quiet", "--out", str(tmp_path / "out")])
    assert [line.split(",")[0] for line in result.stderr.splitlines()] == [
        "compiling kernels",
        "mtparse: error: interrupted",
    ]


@compiles
def test_a_library_says_it_on_standard_error_and_a_full_disk_does_no_harm(tmp_path):
    (tmp_path / "some.py").write_text(
        "from mtparse.runtime.jit import STORE, kernel\n@kernel\ndef double(x):\n    return 2 * x\n"
    )
    code = "import some; print(some.double(4), some.STORE.compiled)"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}

    def run(limit: str = "") -> tuple[str, list[str]]:
        command = ["bash", "-c", f'{limit}exec "{sys.executable}" -B -c "{code}"']
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout, done.stderr.splitlines()

    result, (compiling, stored) = run("ulimit -f 0; ")
    assert result == "8 1\n"
    assert compiling.startswith("compiling kernels, ")
    assert stored.startswith(f"compiled kernels cannot be stored in {tmp_path / 'cache'}")
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []
    result, (compiling,) = run()
    assert result == "8 1\n"
    assert str(tmp_path / "cache") in compiling
    assert run() == ("8 0\n", [])
