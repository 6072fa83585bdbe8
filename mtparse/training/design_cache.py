"""Training matrices kept in files: extracted once, then mapped into memory by any number of processes.

A cache directory holds a folder for each training set, named by a hash of all that the matrix depends on, the
code that makes it included. It appears whole, under its name, or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from mtparse.errors import MtparseError
from mtparse.features.index import FeatureIndex
from mtparse.features.templates import Template
from mtparse.runtime.files import temporary_beside
from mtparse.runtime.source_digest import DIGEST
from mtparse.training.design import ARRAYS, Columns, Design
from mtparse.training.entry_file import NAME, open_entries

_SUMS, _TEMPLATES = "sha256.json", "templates.json"
_FEATURES = {"keys", "masks"}
_COLUMNS = {"column_of", "multiplicity"}
_ENTRIES = "arcs.indices"

Training = tuple[FeatureIndex, Design, Columns]


def require_cache(directory: str, out: str) -> None:
    """Make a cache directory if there is none.

    Parameters
    ----------
    out
        The directory of the run or experiment, in which it must not be.

    Raises
    ------
    MtparseError
        If it is a file, or in ``out``.
    OSError
        If it cannot be made.
    """
    if not directory:
        raise MtparseError("--cache: must name a directory")
    inner, outer = os.path.realpath(directory), os.path.realpath(out)
    if os.path.commonpath([inner, outer]) == outer:
        raise MtparseError(f"{directory}: the cache must be outside {out}, which is for results only")
    try:
        os.makedirs(directory, exist_ok=True)
    except FileExistsError as error:
        raise MtparseError(f"{directory}: the cache must be a directory, this is a file") from error


def fingerprint(
    sentences: Iterable[Sequence[Sequence[str]]], heads: Iterable[np.ndarray], settings: object
) -> str:
    """A hash of the words, the trees, the feature settings and the code."""
    digest = hashlib.sha256()
    digest.update(f"{DIGEST}\n{sys.byteorder}\n{settings!r}\n".encode())
    for rows in sentences:
        digest.update("\n".join("\t".join(row[1:6]) for row in rows).encode("utf-8", "surrogatepass"))
        digest.update(b"\n\n")
    for tree in heads:
        digest.update(np.asarray(tree, np.int64).tobytes())
    return digest.hexdigest()[:32]


def cached(directory: str, name: str, make: Callable[[str], Training]) -> Training:
    """A training set from its folder in the cache, made there first if it is not.

    Parameters
    ----------
    directory
        The cache, which exists (:func:`require_cache`).
    name
        As from :func:`fingerprint`.
    make
        Makes it, with the entries of its rows in a file in the folder that it is given.

    Raises
    ------
    MtparseError
        If what is in the cache is damaged.
    OSError
        If the directory cannot be written.
    """
    folder = os.path.join(directory, name)
    if not os.path.isdir(folder):
        if os.path.exists(folder):
            raise MtparseError(f"{folder}: a file, where the cache must keep a folder; remove it")
        temporary = temporary_beside(folder)
        try:
            _make_folder(temporary)
            _write(temporary, *make(temporary))
            try:
                os.rename(temporary, folder)
            except OSError:
                if not os.path.isdir(folder):  # else another process was faster
                    raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return _read(folder)


def _make_folder(path: str) -> None:
    try:
        os.mkdir(path)
    except OSError as error:
        raise MtparseError(
            f"{os.path.dirname(path)}: the cache cannot be written: {error.strerror}"
        ) from error


def _write(folder: str, index: FeatureIndex, design: Design, columns: Columns) -> None:
    arrays = design.arrays() | {name: getattr(index, name) for name in _FEATURES}
    arrays |= {name: getattr(columns, name) for name in _COLUMNS}
    del arrays[_ENTRIES]  # in their file already
    for name, array in arrays.items():
        np.save(os.path.join(folder, f"{name}.npy"), array)
    _write_json(os.path.join(folder, _TEMPLATES), [str(t) for t in index.templates])
    sums = {name: _checksum(os.path.join(folder, name)) for name in sorted(os.listdir(folder))}
    _write_json(os.path.join(folder, _SUMS), sums)


def _write_json(path: str, value: object) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())


def _read_json(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        try:
            return json.load(file)
        except ValueError as error:
            raise ValueError(f"{os.path.basename(path)} cannot be read") from error


def _read(folder: str) -> Training:
    names = {*ARRAYS, *_FEATURES, *_COLUMNS} - {_ENTRIES}
    try:
        sums = _read_json(os.path.join(folder, _SUMS))
        for name in (NAME, _TEMPLATES, *(f"{name}.npy" for name in sorted(names))):
            if _checksum(os.path.join(folder, name)) != sums[name]:
                raise ValueError(name)
        templates = [Template.parse(text) for text in _read_json(os.path.join(folder, _TEMPLATES))]
        arrays = {
            name: np.asarray(np.load(os.path.join(folder, f"{name}.npy"), mmap_mode="c")) for name in names
        }
    except (ValueError, KeyError, TypeError, FileNotFoundError, IsADirectoryError) as error:
        reason = (
            f"{os.path.basename(error.filename)}: {error.strerror}" if isinstance(error, OSError) else error
        )
        raise MtparseError(
            f"{folder}: this folder of the cache is damaged ({reason}); remove it, and it is made again"
        ) from error
    index = FeatureIndex(templates, *(np.array(arrays.pop(name)) for name in ("keys", "masks")))
    columns = Columns(*(arrays.pop(name) for name in ("column_of", "multiplicity")))
    arrays[_ENTRIES] = open_entries(os.path.join(folder, NAME))
    return index, Design.from_arrays(arrays), columns


def _checksum(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()
