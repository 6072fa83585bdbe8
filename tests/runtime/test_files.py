"""Files that appear whole or not at all."""

import gzip
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mtparse.runtime.files import atomic_writer, new_folder, remove_folder
from mtparse.treebank.conll import read_conll, write_conll

pytestmark = pytest.mark.nojit


def test_permissions_and_links(tmp_path):
    path, link = tmp_path / "a", tmp_path / "link"
    path.touch(mode=0o640)
    path.chmod(0o640)
    link.symlink_to(path)
    with atomic_writer(link, "w") as file:
        file.write("é\n")
    assert link.is_symlink()
    assert path.read_bytes() == "é\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with atomic_writer(tmp_path / "b") as file:
        file.write(b"x")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o666 & ~umask


def test_a_name_is_taken_when_the_content_is_on_disk(tmp_path, monkeypatch):
    """Until then the older file is there, whole; after a crash of the system, one of the two."""
    path, events = tmp_path / "a", []
    path.write_bytes(b"old")
    fsync, replace = os.fsync, os.replace

    def synced(descriptor):
        events.append(os.fstat(descriptor).st_size)
        fsync(descriptor)

    def replaced(one, other):
        events.append((os.path.getsize(one), os.fspath(other)))
        replace(one, other)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    with atomic_writer(path) as file:
        file.write(b"x" * 100_000)
        assert path.read_bytes() == b"old"
    assert events == [100_000, (100_000, str(path))]
    assert os.listdir(tmp_path) == ["a"]


def test_what_fails_leaves_the_older_file(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def write(target):
        with atomic_writer(target) as file:
            file.write(b"x" * 100_000)
            raise RuntimeError

    for target in (path, tmp_path / "new"):
        with pytest.raises(RuntimeError):
            write(target)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_folders_come_and_go_whole(tmp_path, monkeypatch):
    with new_folder(tmp_path / "f") as folder:
        assert not (tmp_path / "f").exists()
        Path(folder, "a").write_text("x")
    assert os.listdir(tmp_path / "f") == ["a"]
    with pytest.raises(RuntimeError), new_folder(tmp_path / "g"):
        raise RuntimeError
    seen = []
    rmtree = shutil.rmtree

    def watched(path, **options):
        seen.append((sorted(os.listdir(path)), (tmp_path / "f").exists()))
        rmtree(path, **options)

    monkeypatch.setattr(shutil, "rmtree", watched)
    remove_folder(tmp_path / "f")
    assert seen == [(["a"], False)]
    assert os.listdir(tmp_path) == []


def test_targets(tmp_path):
    """A device is written to, a directory and a missing folder are refused by name."""
    with atomic_writer(os.devnull) as file:
        file.write(b"x")
    assert not os.path.isfile(os.devnull)
    with pytest.raises(IsADirectoryError, match=tmp_path.name), atomic_writer(tmp_path):
        pass
    with pytest.raises(FileNotFoundError, match="none/x"), atomic_writer(tmp_path / "none" / "x"):
        pass
    with pytest.raises(ValueError, match="mode is 'a'"), atomic_writer(tmp_path / "x", "a"):
        pass


def test_a_name_in_gz_is_compressed(tmp_path):
    text = "1\ta\t_\tN\tN\t_\t0\tr\t_\t_\n\n"
    (tmp_path / "a").write_text(text)
    for name in ("one.gz", "two.gz"):
        write_conll(read_conll(tmp_path / "a"), tmp_path / name)
    assert gzip.decompress((tmp_path / "one.gz").read_bytes()).decode() == text
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()


def test_a_file_that_cannot_be_written_is_not_replaced(tmp_path, monkeypatch):
    """Renaming would not ask for the file's own permission, only for the folder's."""
    (tmp_path / "gold").write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # a test that is run by root may write all
    with pytest.raises(PermissionError, match="gold"), atomic_writer(tmp_path / "gold", "w") as file:
        file.write("new")
    assert (tmp_path / "gold").read_text() == "old"


class TestDescriptors:
    """What is written to an open descriptor goes where it stands, as a shell's redirections do."""

    def command(self, text: str, folder) -> subprocess.CompletedProcess:
        row = "1\\ta\\t_\\tN\\tN\\t_\\t0\\tr\\t_\\t_\\n\\n"
        text = text.replace("PRINT", f"printf '{row}' | {sys.executable} -m mtparse projectivize -o")
        return subprocess.run(["bash", "-c", text], cwd=folder, capture_output=True, text=True, check=False)

    @pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
    def test_nothing_is_lost(self, name, tmp_path):
        (tmp_path / "link").symlink_to("/dev/stdout")
        (tmp_path / "log").write_text("old\n")
        line = "1\ta\t_\tN\tN\t_\t0\tr\t_\t_\n\n"
        self.command(f"PRINT {name} >> log", tmp_path)
        assert (tmp_path / "log").read_text() == f"old\n{line}"
        self.command(f"{{ echo head; PRINT {name}; echo tail; }} > out", tmp_path)
        assert (tmp_path / "out").read_text() == f"head\n{line}tail\n"
        done = self.command(f"PRINT {name} | cat", tmp_path)
        assert (done.returncode, done.stdout) == (0, line)
        assert sorted(os.listdir(tmp_path)) == ["link", "log", "out"]

    def test_a_process_is_written_to(self, tmp_path):
        done = self.command("PRINT >(cat > got); sleep 0.2; while [ ! -s got ]; do sleep 0.1; done", tmp_path)
        assert done.returncode == 0
        assert (tmp_path / "got").read_text().startswith("1\ta")

    @pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="there is no /proc")
    def test_one_of_another_process_is_refused(self, tmp_path):
        done = self.command("{ echo head; PRINT /proc/$$/fd/1; echo tail; } > out", tmp_path)
        assert done.stderr.endswith("/fd/1: an open file of another process; write to - instead\n")
        assert (tmp_path / "out").read_text() == "head\ntail\n"

    @pytest.mark.parametrize("name", ["/dev/fd/77", "/dev/full"])
    def test_what_cannot_be_written_is_named(self, name, tmp_path):
        done = self.command(f"PRINT {name}", tmp_path)
        assert done.returncode == 1
        assert done.stderr.startswith(f"mtparse: error: {name}: ")
        assert len(done.stderr.splitlines()) == 1
