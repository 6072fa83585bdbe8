"""The model: what a parser needs, in one file (its layout: :mod:`mtparse.runtime.array_file`)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from mtparse.errors import ModelError
from mtparse.features.compiled_templates import BIN_BITS, form_counts
from mtparse.features.templates import Template
from mtparse.runtime.array_file import packed, read_packed, write_packed

MODEL_NAME = "model.mtparse"
"""Name of the model file in a run directory."""

FORMAT_VERSION = 1

NEGLIGIBLE = 1e-9
"""Weights below this share of the largest one, far below its rounding to float32, are left out."""

_MAGIC = b"MTPARSE\0"
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
    write_packed(path, _MAGIC, FORMAT_VERSION, *_contents(model))


def model_bytes(model: Model) -> bytes:
    """The bytes of the model's file."""
    return b"".join(packed(_MAGIC, FORMAT_VERSION, *_contents(model)))


def _contents(model: Model) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    header = {
        "templates": model.templates,
        "root": model.root,
        "decoder": model.decoder,
        "info": model.info,
    }
    return header, {"keys": model.keys, "masks": model.masks, "weights": model.weights}


def load_model(path: str | os.PathLike) -> Model:
    """Read a model file, or the one in a run directory.

    Raises
    ------
    ModelError
        If the file is no model, is damaged or cut off, or has another format version.
    OSError
        If it cannot be read.
    """
    path = model_path(path)
    return _model(path, *read_packed(path, _MAGIC, FORMAT_VERSION, "model file"))


def model_path(path: str | os.PathLike) -> str:
    """The model file that a path names: itself, or the one in a run directory.

    Raises
    ------
    ModelError
        If a directory holds none.
    """
    path = os.fspath(path)
    if not os.path.isdir(path):
        return path
    file = os.path.join(path, MODEL_NAME)
    if not os.path.exists(file):
        raise ModelError(f"{path}: no {MODEL_NAME} in this directory; give a finished run's directory")
    return file


def model_from_bytes(data: bytes) -> Model:
    """The model of a file with these bytes; errors as for `load_model`."""
    return _model("<model file>", *read_packed(data, _MAGIC, FORMAT_VERSION, "model file"))


def _model(path: str, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Model:
    try:
        if {name: array.dtype.str for name, array in arrays.items()} != _TYPES:
            raise ValueError(f"arrays other than {', '.join(_TYPES)}")
        if len(arrays["keys"]) != len(arrays["masks"]):
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
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: the model file's contents are invalid ({error})") from error


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
