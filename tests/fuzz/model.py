"""Any bytes as a model file: a model that parses a sentence, or ModelError.

The first byte says how much is mended before loading, so that mutations get behind the checks: nothing,
the checksum, or also the prefix, with everything up to the first line end as the header.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
import tempfile
from pathlib import Path

from common import fuzz, instrumented

with instrumented("mtparse"):
    import numpy as np

    from mtparse.errors import ModelError
    from mtparse.features.index import FeatureIndex
    from mtparse.model.model_file import _MAGIC, FORMAT_VERSION, Model, save_model
    from mtparse.model.parser import Parser
    from mtparse.runtime.array_file import PREFIX
    from mtparse.treebank.sentence import Sentence
    from mtparse.treebank.trees import head_array, is_tree

_folder = tempfile.TemporaryDirectory()
PATH = os.path.join(_folder.name, "model.mtparse")

# hashes wrap around, of which numpy warns where kernels are not compiled
np.seterr(over="ignore")

ROWS = [[str(i), form, "l", "N", "NN", "a=b|c", "0", "_", "_", "_"] for i, form in enumerate("abc", 1)]


def check(data: bytes) -> None:
    """Load a model, and parse a sentence of three words with it."""
    with open(PATH, "wb") as file:
        file.write(mended(data))
    try:
        parser = Parser.load(PATH)
    except ModelError as error:
        message = str(error)
        assert message.splitlines() == [message]
        return
    repr(parser)
    sentence = Sentence(ROWS, [-1] * len(ROWS))
    assert np.isfinite(parser.scores(sentence)).all()
    (parsed,) = parser.parse([sentence])
    assert is_tree(head_array(parsed.heads))


def mended(data: bytes) -> bytes:
    """The model file that the data stand for."""
    how, data = data[:1], data[1:]
    if how == b"h":
        header, _, arrays = data.partition(b"\n")
        data = PREFIX.pack(_MAGIC, FORMAT_VERSION, len(header)) + header + arrays
    return data + hashlib.sha256(data).digest() if how in (b"c", b"h") else data


VALUES = (
    None, True, False, 0, 1, -1, 2, 3, 64, 0.5, 1e400, 2**31, 2**63, 2**64, -(2**70), [], {}, [3], [[]],
    "", "x", "\ud800", "keys", "masks", "weights", "<u8", "<u2", "<f8", "<f4", "Hp", "Ha Ma", "Bw#", "single",
)  # fmt: skip


def mutate(data: bytes, most: int, seed: int) -> bytes:
    """Change a value of the header, if the data are of the form that has one, or some bytes."""
    import atheris

    rng = random.Random(seed)
    header, newline, arrays = data[1:].partition(b"\n")
    if data[:1] == b"h" and rng.random() < 0.7:
        try:
            changed = json.dumps(_changed(json.loads(header), rng)).encode()
        except (ValueError, RecursionError):
            return atheris.Mutate(data, most)
        return (b"h" + changed + newline + arrays)[:most]
    return atheris.Mutate(data, most)


def _changed(value, rng: random.Random):
    """A copy of a JSON value in which one part was replaced, removed or doubled."""
    if rng.random() < 0.2 or not isinstance(value, (dict, list)) or not value:
        return rng.choice(VALUES)
    parts = dict(value) if isinstance(value, dict) else dict(enumerate(value))
    key = rng.choice(list(parts))
    if rng.random() < 0.2:
        del parts[key]
    else:
        parts[key] = _changed(parts[key], rng)
    if isinstance(value, dict):
        return parts
    values = list(parts.values())
    return [*values, rng.choice(values)] if values and rng.random() < 0.2 else values


def seeds():
    """A small model in all three forms, and one without features."""
    with tempfile.TemporaryDirectory() as folder:
        for model in (_trained(), _empty()):
            path = Path(folder, "m")
            save_model(model, path)
            data = path.read_bytes()
            length = PREFIX.unpack_from(data)[2]
            header, arrays = data[PREFIX.size :][:length], data[PREFIX.size + length : -32]
            yield b"_" + data
            yield b"c" + data[:-32]
            yield b"h" + header + b"\n" + arrays


def _trained() -> Model:
    index = FeatureIndex.build(
        [ROWS], [np.array([-1, 2, 0, 2])], ["Hw Mp", "Hp Bc# Mp", "Ha Ma", "Hp+1 Mx-1"]
    )
    return Model(
        [str(template) for template in index.templates], index.keys, index.masks,
        np.linspace(-1, 1, len(index)), "single", "mst", {"trainer": "log-linear", "C": 0.1},
    )  # fmt: skip


def _empty() -> Model:
    return Model(
        ["Hp Mp"], np.zeros(0, np.uint64), np.zeros(0, np.uint16), np.zeros(0), "multi", "eisner", {}
    )


if __name__ == "__main__":
    sys.exit(fuzz(check, seeds(), mutate=mutate))
