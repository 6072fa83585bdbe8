"""Training matrices in files are those in memory."""

from __future__ import annotations

import os
import sys
from multiprocessing import get_context

import numpy as np
import pytest
from helpers.made_up import TEMPLATES, made_up

from mtparse.errors import MtparseError
from mtparse.features.index import FeatureIndex
from mtparse.training import design_cache
from mtparse.training.build_design import extract_training
from mtparse.training.design import ARRAYS
from mtparse.training.entry_file import Entries, open_entries

pytestmark = pytest.mark.nojit


def make(seed=0, size=8):
    sentences, heads = made_up(seed, size)

    def extract(folder=None):
        index = FeatureIndex.build(sentences, heads, TEMPLATES)
        return index, *extract_training(index, sentences, heads, folder=folder)

    return sentences, heads, extract


def assert_same(one, other):
    arrays, others = one[1].arrays(), other[1].arrays()
    assert set(arrays) == set(others) == set(ARRAYS)
    for name, a in arrays.items():
        b = others[name]
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype
    np.testing.assert_array_equal(one[2].column_of, other[2].column_of)
    np.testing.assert_array_equal(one[2].multiplicity, other[2].multiplicity)
    np.testing.assert_array_equal(one[0].keys, other[0].keys)
    np.testing.assert_array_equal(one[0].masks, other[0].masks)
    assert one[0].templates == other[0].templates


def test_made_then_found(tmp_path):
    _, _, extract = make()
    design_cache.require_cache(str(tmp_path / "c"), str(tmp_path / "out"))
    first = design_cache.cached(str(tmp_path / "c"), "x", extract)
    second = design_cache.cached(str(tmp_path / "c"), "x", lambda folder: pytest.fail("made again"))
    assert_same(first, extract())
    assert_same(second, extract())
    assert os.listdir(tmp_path / "c") == ["x"]


def test_what_fails_leaves_nothing(tmp_path):
    def fail(folder):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        design_cache.cached(str(tmp_path), "x", fail)
    assert not os.listdir(tmp_path)


def test_a_damaged_folder_is_refused(tmp_path):
    _, _, extract = make()
    design_cache.cached(str(tmp_path), "x", extract)
    for name in sorted(os.listdir(tmp_path / "x")):
        path = tmp_path / "x" / name
        whole = path.read_bytes()
        middle = len(whole) // 2
        flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
        for damaged in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), flipped, None):
            path.unlink() if damaged is None else path.write_bytes(damaged)
            with pytest.raises(MtparseError, match=r"is damaged .* remove it"):
                design_cache.cached(str(tmp_path), "x", extract)
        path.write_bytes(whole)
    assert_same(design_cache.cached(str(tmp_path), "x", extract), extract())


def test_what_fails_midway_leaves_nothing(tmp_path):
    sentences, heads, _ = make()
    index = FeatureIndex.build(sentences, heads, TEMPLATES)

    def fail(done):
        raise RuntimeError(str(done))

    def extract(folder):
        return index, *extract_training(index, sentences, heads, folder=folder, progress=fail)

    with pytest.raises(RuntimeError, match="8"):
        design_cache.cached(str(tmp_path), "x", extract)
    assert not os.listdir(tmp_path)


def test_another_process_may_be_faster(tmp_path):
    _, _, extract = make()

    def slow(folder):
        design_cache.cached(str(tmp_path), "x", extract)
        return extract(folder)

    assert_same(design_cache.cached(str(tmp_path), "x", slow), extract())
    assert os.listdir(tmp_path) == ["x"]


def test_rows_may_have_no_entries_of_their_own(tmp_path):
    sentences, heads, _ = make()

    def extract(folder=None):
        index = FeatureIndex.build(sentences, heads, ["Hw", "Mp"])
        return index, *extract_training(index, sentences, heads, folder=folder)

    first = design_cache.cached(str(tmp_path), "x", extract)
    assert len(first[1].arcs.indices) == 0 < len(first[1].words.indices)
    assert_same(first, extract())


def test_the_name_depends_on_words_trees_settings_and_code(monkeypatch):
    sentences, heads, _ = make()
    name = design_cache.fingerprint(sentences, heads, "s")
    assert name == design_cache.fingerprint(sentences, heads, "s")
    others, trees, _ = make(1)
    names = {
        design_cache.fingerprint(*x)
        for x in ((others, heads, "s"), (sentences, trees, "s"), (sentences, heads, "t"))
    }
    assert len({*names, name}) == 4
    with monkeypatch.context() as patch:
        patch.setattr(design_cache, "DIGEST", "that of other code")
        assert name != design_cache.fingerprint(sentences, heads, "s")
    gold = [[*row[:6], "0", "x", "_", "_"] for row in sentences[0]]
    assert name == design_cache.fingerprint([gold, *sentences[1:]], heads, "s")


def _cached(directory):
    return design_cache.cached(directory, "x", make()[2])[1].arcs.indices.sum()


def test_processes_that_come_together_all_get_it(tmp_path):
    with get_context("fork").Pool(3) as pool:
        sums = pool.map(_cached, [str(tmp_path)] * 3)
    assert len(set(sums)) == 1
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.parametrize("in_file", [False, True])
def test_entries_grow_and_are_cut(in_file, tmp_path):
    entries = Entries(str(tmp_path) if in_file else None)
    parts = [np.arange(n, dtype=np.int32) for n in (0, 3, 1000, 0, 7)]
    for k, part in enumerate(parts, 1):
        entries.append(part, k / len(parts))
    array = entries.array()
    np.testing.assert_array_equal(array, np.concatenate(parts))
    array[:] = np.arange(len(array))[::-1]
    cut = entries.cut(11)
    np.testing.assert_array_equal(cut, np.arange(1010)[::-1][:11])
    assert len(entries.cut(0)) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count memory in other ways")
def test_a_file_larger_than_memory_can_be_mapped(tmp_path):
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") + (1 << 30)
    with open(tmp_path / "large", "wb") as file:
        file.truncate(size)
    found = open_entries(str(tmp_path / "large"))
    assert len(found) == size // 4
    assert found.flags.writeable  # of the same type to compiled code as an array in memory
    assert found[-1] == 0


@pytest.mark.parametrize("below", ["", "cache"])
def test_a_cache_in_the_run_directory_is_refused(below, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(MtparseError, match=r"the cache must be outside .*out"):
        design_cache.require_cache(str(out / below), str(out))
    assert not out.exists()
