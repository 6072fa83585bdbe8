"""What other code made is told from what this code made, whatever file of the package changed."""

import shutil

import pytest
from helpers.project import ROOT

from mtparse.runtime.source_digest import DIGEST, PACKAGE, source_digest


@pytest.fixture
def package(tmp_path):
    """A copy of the package, with what Python and numba left in it."""
    return shutil.copytree(PACKAGE, tmp_path / "mtparse")


def test_it_is_of_this_package():
    assert PACKAGE == ROOT / "mtparse"
    assert source_digest(PACKAGE) == DIGEST


def test_a_copy_has_the_same(package):
    (package / "__pycache__").mkdir(exist_ok=True)
    (package / "__pycache__" / "anything.pyc").write_bytes(b"x")
    assert source_digest(package) == DIGEST


def test_a_module_that_is_renamed_is_seen(package):
    """Whichever it is."""
    for file in sorted(package.rglob("*.py")):
        renamed = file.rename(file.with_name("renamed.py"))
        assert source_digest(package) != DIGEST, file
        renamed.rename(file)
    assert source_digest(package) == DIGEST


def test_a_file_changed_removed_or_added_is_seen(package):
    file = package / "treebank" / "reader.py"
    found = {DIGEST}
    content = file.read_bytes()
    file.write_bytes(content + b" ")
    found.add(source_digest(package))
    file.unlink()
    found.add(source_digest(package))
    file.write_bytes(content)
    file.with_name("another.py").write_bytes(content)
    found.add(source_digest(package))
    assert len(found) == 4


def test_what_moves_from_one_file_to_another_is_seen(tmp_path):
    """Names and contents are not run together."""
    found = set()
    for number, files in enumerate(
        [{"a.py": "xb.pyy"}, {"a.py": "x", "b.py": "y"}, {"a.py": "", "b.py": "xy"}]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_text(content)
        found.add(source_digest(folder))
    assert len(found) == 3
