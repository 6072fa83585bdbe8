"""The model file: what is saved is loaded, and nothing else is."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import struct
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from helpers.made_up import TEMPLATES, made_up

from mtparse.errors import ModelError
from mtparse.features.index import FeatureIndex
from mtparse.features.scorer import Scorer
from mtparse.model.model_file import (
    FORMAT_VERSION,
    MODEL_NAME,
    NEGLIGIBLE,
    Model,
    load_model,
    save_model,
    without_negligible,
)
from mtparse.model.parser import Parser

pytestmark = pytest.mark.nojit


@pytest.fixture
def model() -> Model:
    return Model(
        templates=["Hp Mp", "Hw Mw"],
        keys=np.array([2**40, 2**63 + 32, 7 * 2**50], np.uint64),
        masks=np.array([0b11, 0b1000, 1 << 15], np.uint16),
        weights=np.array([0.5, -1.25, 3e-300]),
        root="single",
        decoder="mst",
        info={"C": 0.1, "name": "türkçe"},
    )


def test_what_is_saved_is_loaded(model, tmp_path):
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    for name in ("templates", "root", "decoder", "info"):
        assert getattr(loaded, name) == getattr(model, name)
    for name in ("keys", "masks", "weights"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
        assert getattr(loaded, name).dtype == getattr(model, name).dtype


def test_the_same_model_gives_the_same_bytes(model, tmp_path):
    save_model(model, tmp_path / "a")
    save_model(load_model(tmp_path / "a"), tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("letters", range(0, 70, 3))
def test_arrays_begin_at_multiples_of_64_bytes(letters, model, tmp_path):
    """However long the header is: kernels for arrays that are not aligned would be others."""
    save_model(dataclasses.replace(model, info={"name": letters * "x"}), tmp_path / "m")
    data = (tmp_path / "m").read_bytes()
    start = 20 + struct.unpack_from("<Q", data, 12)[0]
    assert start % 64 == 0
    arrays = json.loads(data[20:start])["arrays"]
    assert [a["offset"] % 64 for a in arrays] == [0, 0, 0]
    assert len(data) == start + 3 * 64 + 32
    at = start + arrays[2]["offset"]
    np.testing.assert_array_equal(np.frombuffer(data[at : at + 24], "<f8"), model.weights)


def test_a_run_directory_stands_for_its_model(model, tmp_path):
    save_model(model, tmp_path / MODEL_NAME)
    assert load_model(tmp_path).root == "single"


def test_a_directory_without_a_model(tmp_path):
    with pytest.raises(ModelError, match=f"no {MODEL_NAME} in this directory"):
        load_model(tmp_path)


@pytest.mark.parametrize("content", [b"", b"1\tHello\t_", b"MTPARSE", b"PK\3\4" + b"0" * 100])
def test_other_files_are_no_models(content, tmp_path):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ModelError, match="not a model file of mtparse"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("version", [0, FORMAT_VERSION + 1, 2**31])
def test_another_version_is_named(version, model, tmp_path):
    """Before the checksum is looked at, which may be elsewhere in such a file."""
    save_model(model, tmp_path / "m")
    data = bytearray((tmp_path / "m").read_bytes())
    data[8:12] = struct.pack("<I", version)
    (tmp_path / "m").write_bytes(data)
    with pytest.raises(ModelError, match=f"version {version}, this mtparse reads version {FORMAT_VERSION};"):
        load_model(tmp_path / "m")


def test_any_flipped_byte_or_cut_is_noticed(model, tmp_path):
    save_model(model, tmp_path / "m")
    data = (tmp_path / "m").read_bytes()
    for place in range(0, len(data), 3):
        damaged = bytearray(data)
        damaged[place] ^= 0x10
        (tmp_path / "d").write_bytes(damaged)
        with pytest.raises(ModelError):
            load_model(tmp_path / "d")
        (tmp_path / "d").write_bytes(data[:place])
        with pytest.raises(ModelError):
            load_model(tmp_path / "d")


def described(name, kind, shape, offset):
    return {"name": name, "type": kind, "shape": shape, "offset": offset}


KEYS, MASKS = described("keys", "<u8", [3], 0), described("masks", "<u2", [3], 64)
WEIGHTS = described("weights", "<f8", [3], 128)


@pytest.mark.parametrize(
    "change",
    [
        {"root": "both"},
        {"decoder": "greedy"},
        {"templates": ["Hq"]},
        {"templates": [5]},
        {"arrays": []},
        {"arrays": [described("keys", "|O", [3], 0), MASKS, WEIGHTS]},
        {"arrays": [described("keys", "<u8", [10**9], 0), MASKS, WEIGHTS]},
        {"arrays": [described("keys", "<u8", [-3], 0), MASKS, WEIGHTS]},
        {"arrays": [described("keys", "<u8", [3, 1], 0), MASKS, WEIGHTS]},
        {"arrays": [described("keys", "<u8", [3], 128), MASKS, WEIGHTS]},  # with low bits set
        {"arrays": [KEYS, described("masks", "<u2", [2], 64), WEIGHTS]},
        {"arrays": [KEYS, MASKS, described("weights", "<f8", [2], 128)]},
        {"arrays": [KEYS, MASKS, described("weights", "<f8", [4], 128)]},
        {"arrays": [KEYS, MASKS, described("weights", "<f8", [3], -64)]},
        {"arrays": [KEYS, MASKS, described("weights", "<u8", [3], 128)]},
        {"arrays": [KEYS, MASKS, described("weights", "<f8", [3], 2**70)]},
        {"info": 3},
    ],
)
def test_contents_that_make_no_sense(change, model, tmp_path):
    save_model(model, tmp_path / "m")
    with pytest.raises(ModelError, match="are invalid"):
        load_model(rewritten(tmp_path / "m", change))


def test_weights_that_are_not_finite(model, tmp_path):
    model.weights[1] = np.nan
    save_model(model, tmp_path / "m")
    with pytest.raises(ModelError, match="not finite"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize(
    ("changed", "value", "message"),
    [
        ("weights", [1e39], "beyond the range of 32-bit numbers"),
        ("keys", np.arange(6000, dtype=np.uint64) << np.uint64(5), "are no hashes"),
    ],
)
def test_a_model_that_cannot_be_used_is_named(changed, value, message, tmp_path):
    arrays = {"keys": np.zeros(1, np.uint64), "masks": np.ones(1, np.uint16), "weights": np.ones(1)}
    arrays[changed] = np.asarray(value)
    size = len(arrays[changed])
    arrays = {name: np.resize(array, size) for name, array in arrays.items()}
    save_model(Model(["Hp Mp"], root="multi", decoder="mst", info={}, **arrays), tmp_path / "m")
    with pytest.raises(ModelError, match=f"m: the model cannot be used: .*{message}"):
        Parser.load(tmp_path / "m")


def test_the_header_may_be_as_it_is(model, tmp_path):
    save_model(model, tmp_path / "m")
    assert load_model(rewritten(tmp_path / "m", {})).root == model.root


def rewritten(path, change):
    """A model file whose header is changed and whose checksum is right."""
    data = path.read_bytes()
    length = struct.unpack_from("<Q", data, 12)[0]
    text = json.dumps(json.loads(data[20 : 20 + length]) | change).encode()
    data = data[:12] + struct.pack("<Q", len(text)) + text + data[20 + length : -32]
    path.write_bytes(data + hashlib.sha256(data).digest())
    return path


def test_leaving_out_what_is_negligible_changes_no_score():
    sentences, heads = made_up(20, 12)
    others, _ = made_up(21)
    index = FeatureIndex.build(sentences, heads, TEMPLATES)
    random = np.random.default_rng(0)
    weights = random.normal(size=len(index)) * random.choice([0.0, 1e-11, 1.0], len(index))
    keys, masks, left = without_negligible(index.keys, index.masks, weights)

    assert set(left) == set(weights[np.abs(weights) >= NEGLIGIBLE * np.abs(weights).max()])
    assert len(left) < 0.5 * len(weights)
    assert len(keys) == len(masks) < len(index.keys)
    whole = Scorer(index.templates, index.keys, index.masks, weights)
    smaller = Scorer(index.templates, keys, masks, left)
    for rows in others:
        np.testing.assert_allclose(smaller.scores(rows), whole.scores(rows), atol=1e-8)
        assert np.abs(whole.scores(rows)).max() > 0


def test_what_is_negligible_does_not_depend_on_the_scale():
    keys, masks = np.arange(5, dtype=np.uint64) << np.uint64(5), np.ones(5, np.uint16)
    weights = np.array([1.0, -1e-8, 0.0, 1e-12, 2.0])
    for scale in (1.0, 1e-15, 1e15):
        _, _, left = without_negligible(keys, masks, scale * weights)
        np.testing.assert_array_equal(left, scale * weights[[0, 1, 4]])
    assert len(without_negligible(keys, masks, np.zeros(5))[2]) == 0


def test_a_weight_that_is_no_number_is_not_left_out():
    keys, masks = np.arange(2, dtype=np.uint64) << np.uint64(5), np.ones(2, np.uint16)
    assert np.isnan(without_negligible(keys, masks, np.array([np.nan, 1.0]))[2][0])


def test_a_mask_with_more_bits_than_forms_is_harmless():
    sentences, heads = made_up(20, 12)
    index = FeatureIndex.build(sentences, heads, TEMPLATES)
    weights = np.random.default_rng(0).normal(size=len(index))
    plain = Scorer(index.templates, index.keys, index.masks, weights)
    other = Scorer(index.templates, index.keys, index.masks | np.uint16(1 << 15), weights)
    np.testing.assert_array_equal(plain.scores(sentences[0]), other.scores(sentences[0]))


def test_bases_that_earlier_versions_kept_without_a_form_are_passed_by():
    sentences, heads = made_up(20, 12)
    index = FeatureIndex.build(sentences, heads, TEMPLATES)
    weights = np.random.default_rng(0).normal(size=len(index))
    with_more = np.append(index.keys, np.uint64(2**50)), np.append(index.masks, np.uint16(1 << 15))
    one = Scorer(index.templates, index.keys, index.masks, weights)
    other = Scorer(index.templates, *with_more, weights)
    np.testing.assert_array_equal(one.scores(sentences[0]), other.scores(sentences[0]))


def test_loaded_arrays_are_of_the_same_types_to_kernels(model, tmp_path):
    """Else kernels would be compiled for models that were trained and again for those that were loaded."""
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    for name in ("keys", "masks", "weights"):
        assert numba.typeof(getattr(loaded, name)) == numba.typeof(getattr(model, name))


def test_a_model_is_read_from_a_pipe(model, tmp_path):
    save_model(model, tmp_path / "m")
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit((tmp_path / "pipe").write_bytes, (tmp_path / "m").read_bytes())
        assert load_model(tmp_path / "pipe").weights.tolist() == model.weights.tolist()
        assert written.result() > 0
