"""The model file: one file, no pickle, checked by a SHA-256 before anything in it is used.

Layout: 8 bytes of magic, the format version (uint32) and the header's length (uint64), both
little-endian; the header, JSON in UTF-8 with the arrays' names, types, shapes and offsets; the arrays,
little-endian, each at a multiple of 64 bytes; the SHA-256 of all that.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mtparse.errors import ConfigError, ModelError
from mtparse.features.program import BIN_BITS, form_counts
from mtparse.features.templates import Template
from mtparse.files import atomic_writer

MODEL_NAME = "model.mtparse"
"""Name of the model file in a run directory."""

FORMAT_VERSION = 1

NEGLIGIBLE = 1e-9
"""Weights below this share of the largest one, far below its rounding to float32, are left out."""

_MAGIC = b"MTPARSE\0"
_PREFIX = struct.Struct("<8sIQ")
_ALIGN = 64
_TYPES = {"keys": "<u8", "masks": "<u2", "weights": "<f8"}


@dataclass(frozen=True)
class Model:
    """What a parser needs: how to make features, their weights, and how to decode.

    Attributes
    ----------
    templates : list of str
        The feature templates in use.
    keys : uint64 (B,)
        Keys of the known base features.
    masks : uint16 (B,)
        Which forms of each base have a weight.
    weights : float64 (F,)
        Their weights, base after base.
    root : str
        ``single`` or ``multi``.
    decoder : str
        ``eisner`` or ``mst``: what ``auto`` means for this model.
    info : dict
        How the model came about: settings, chosen C and passes, validation scores, versions.
    """

    templates: list[str]
    keys: np.ndarray
    masks: np.ndarray
    weights: np.ndarray
    root: str
    decoder: str
    info: dict[str, Any]


def save_model(model: Model, path: str | os.PathLike) -> None:
    """Write a model file; it appears whole or not at all.

    The same model gives the same bytes.
    """
    arrays = {"keys": model.keys, "masks": model.masks, "weights": model.weights}
    described, at = [], 0
    for name, array in arrays.items():
        kind = array.dtype.newbyteorder("<").str
        described.append({"name": name, "type": kind, "shape": list(array.shape), "offset": at})
        at += -(-array.nbytes // _ALIGN) * _ALIGN
    header = {
        "templates": model.templates,
        "root": model.root,
        "decoder": model.decoder,
        "info": model.info,
        "arrays": described,
    }
    text = json.dumps(header, ensure_ascii=False, sort_keys=True).encode()
    text += b" " * (-(_PREFIX.size + len(text)) % _ALIGN)
    digest = hashlib.sha256()
    with atomic_writer(path) as file:

        def put(data) -> None:
            digest.update(data)
            file.write(data)

        put(_PREFIX.pack(_MAGIC, FORMAT_VERSION, len(text)))
        put(text)
        for array in arrays.values():
            data = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
            put(memoryview(data).cast("B") if data.size else b"")
            put(b"\0" * (-data.nbytes % _ALIGN))
        file.write(digest.digest())


def load_model(path: str | os.PathLike) -> Model:
    """Read a model file, or the one in a run directory.

    Raises
    ------
    ModelError
        If the file is no model, is damaged or cut off, or has another format version.
    OSError
        If it cannot be read.
    """
    path = os.fspath(path)
    if os.path.isdir(path):
        directory, path = path, os.path.join(path, MODEL_NAME)
        if not os.path.exists(path):
            raise ModelError(
                f"{directory}: no {MODEL_NAME} in this directory; give a finished run's directory"
            )
    data = _read(path)
    if len(data) < _PREFIX.size or data[: len(_MAGIC)] != _MAGIC:
        raise ModelError(f"{path}: not a model file of mtparse")
    _, version, length = _PREFIX.unpack_from(data)
    if version != FORMAT_VERSION:
        raise ModelError(
            f"{path}: format version {version}, this mtparse reads version {FORMAT_VERSION}; "
            "train it again or use the mtparse that wrote it"
        )
    body = data[:-32]
    if hashlib.sha256(body).digest() != data[-32:]:
        raise ModelError(f"{path}: the model file is damaged or cut off (its checksum does not match)")
    start = _PREFIX.size
    try:
        header = json.loads(bytes(body[start : start + length]))
        arrays = {d["name"]: _array(body, start + length, d) for d in header["arrays"]}
        if len(arrays["keys"]) != len(arrays["masks"]) or arrays["keys"].ndim != 1:
            raise ValueError("keys and masks differ in number")
        if (arrays["keys"] % 2**BIN_BITS).any():
            raise ValueError("keys with low bits set")
        if form_counts(arrays["masks"]).sum() != len(arrays["weights"]):
            raise ValueError("masks and weights differ in number")
        if not np.isfinite(arrays["weights"]).all():
            raise ValueError("weights that are not finite")
        return Model(
            templates=[str(Template.parse(text)) for text in header["templates"]],
            root=_one_of(header["root"], "single", "multi"),
            decoder=_one_of(header["decoder"], "eisner", "mst"),
            info=dict(header["info"]),
            **arrays,
        )
    except (KeyError, TypeError, ValueError, ConfigError, RecursionError) as error:
        # The checksum holds, so this was written so: by another program, not by an accident.
        raise ModelError(f"{path}: the model file's contents make no sense ({error})") from error


def _read(path: str) -> memoryview:
    """All bytes of a file, where arrays on them can be written.

    To numba, arrays that cannot are of other types: kernels compiled in training would not do for parsing.
    numpy's memory comes in large pages, which makes this twice as fast as ``bytes`` or ``bytearray``.
    """
    with open(path, "rb") as file:
        data = np.empty(os.fstat(file.fileno()).st_size, np.uint8)
        data = data[: file.readinto(data)]
        rest = file.read()  # of a pipe, whose size is not known
    return memoryview(np.concatenate([data, np.frombuffer(rest, np.uint8)]) if rest else data)


def _array(body: memoryview, start: int, described: Mapping[str, Any]) -> np.ndarray:
    kind, (count,), offset = _TYPES[described["name"]], described["shape"], described["offset"]
    if described["type"] != kind or count < 0 or offset < 0:
        raise ValueError(f"{described['name']} of type {described['type']}, {count} at {offset}")
    return np.frombuffer(body, kind, count, start + offset)


def _one_of(value: str, *allowed: str) -> str:
    if value not in allowed:
        raise ValueError(f"{value!r} is none of {', '.join(allowed)}")
    return value


def without_negligible(
    keys: np.ndarray, masks: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leave out forms with weights of 0 or below NEGLIGIBLE times the largest, and the bases left with none.

    Max-margin training leaves up to a third of them so.

    Parameters and results are keys, masks and weights as in :class:`Model`.
    """
    bits = np.unpackbits(masks.astype("<u2").view(np.uint8), bitorder="little").reshape(-1, 16)
    base, form = np.nonzero(bits)
    sizes = np.abs(weights)
    # A weight that is not a number stays, to be refused when the model is loaded.
    kept = ~((sizes == 0.0) | (sizes < NEGLIGIBLE * sizes.max(initial=0.0)))
    left = np.bincount(base[kept], (1 << form[kept]).astype(np.float64), minlength=len(masks))
    left = left.astype(np.uint16)
    return keys[left != 0], left[left != 0], weights[kept]
