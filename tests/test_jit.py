"""The cache of compiled kernels never outlives the sources it was made of."""

import pytest

from mtparse._jit import drop_stale_kernels

pytestmark = pytest.mark.nojit


def test_a_change_of_any_source_drops_all_cached_kernels(tmp_path):
    (tmp_path / "inner" / "__pycache__").mkdir(parents=True)
    source, cached = tmp_path / "inner" / "a.py", tmp_path / "inner" / "__pycache__" / "a.k-1.py311.nbi"
    source.write_text("one")
    cached.write_text("")
    drop_stale_kernels(tmp_path)
    assert not cached.exists()

    cached.write_text("")
    drop_stale_kernels(tmp_path)
    assert cached.exists()

    (tmp_path / "b.py").write_text("new")
    drop_stale_kernels(tmp_path)
    assert not cached.exists()


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "__pycache__").write_text("a file where the folder should be")
    drop_stale_kernels(tmp_path)
