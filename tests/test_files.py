"""Files that appear whole or not at all."""

import gzip
import os
import stat

import pytest

from mtparse.conll import read_conll, write_conll
from mtparse.files import atomic_writer

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
