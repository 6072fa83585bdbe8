"""From words to numbers: every distinct (form, lemma, tags, FEATS) is a type with a row of hashes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mtparse.features.compiled_templates import stable_hash
from mtparse.features.templates import ATTRIBUTES

ROOT, OUTSIDE = 0, 1
"""Types of the root symbol and of the positions beyond the sentence."""

MAX_ATTRIBUTES = 64
"""FEATS attributes of a word that are looked at one by one, first ones first in code point order: several
times what any language has. Templates pair those of two words, so without a bound a long list in a faulty
file would take quadratic time and memory."""

MAX_TYPES = 200_000
"""A lexicon that has grown beyond this starts anew: memory stays flat on endless input."""

_DIGITS = frozenset("0123456789.,")


class TypeTable(NamedTuple):
    """The attributes of all types seen so far, V rows."""

    values: np.ndarray
    """uint64 (V, number of ATTRIBUTES): hash of the value, 0 where the attribute is absent."""
    multi_start: np.ndarray
    """int64 (V+1,)"""
    multi_value: np.ndarray
    """uint64: hashes of the single FEATS attributes of type v at multi_start[v]:multi_start[v+1]."""


def attributes(form: str, lemma: str, coarse: str, fine: str, feats: str) -> list[str | None]:
    """The single-valued attributes of a word, in the order of ATTRIBUTES; None where absent.

    Forms and lemmas that are all digits (with , or . inside) are one symbol. A fine tag ``_`` repeats
    the coarse one.
    """
    number = form[:1].isdigit() and _DIGITS.issuperset(form)
    w = "\0number" if number else form
    if lemma == "_":
        l = None  # noqa: E741
    elif lemma[:1].isdigit() and _DIGITS.issuperset(lemma):
        l = "\0number"  # noqa: E741
    else:
        l = lemma  # noqa: E741
    if number:
        x, s1, s2, s3 = None, w, w, w
    else:
        x = form[:5] if len(form) > 5 else None
        s1, s2, s3 = form[-1:], form[-2:], form[-3:]
    p, f = coarse if fine == "_" else fine, None if feats == "_" else feats
    return [w, p, coarse, l, f, x, s1, s2, s3, s1, s2]


class Lexicon:
    """Numbers the types of words as they come.

    The numbers depend on the order of the input, the hashes on the words alone; features are made of
    the hashes, so two lexicons give the same features. A lexicon changes as it is used: one belongs to one
    caller in one thread, never to a model.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all types."""
        self._hashes = [_Hashes(attribute) for attribute in range(len(ATTRIBUTES))]
        self._multi = _MultiHashes({"_": []})
        self._types: dict[tuple[str, ...], int] = {}
        self._count = 0
        self._new_values: list[int] = []  # of types that are not in the arrays yet
        self._new_multi: list[int] = []
        self._new_ends: list[int] = []
        self._values = np.empty((0, len(ATTRIBUTES)), np.uint64)
        self._multi_start = np.zeros(1, np.int64)
        self._multi_value = np.empty(0, np.uint64)
        self._filled = self._multi_filled = 0
        for symbol in ("\0root", "\0outside"):
            self._add([symbol] * len(ATTRIBUTES), [])

    def __len__(self) -> int:
        return self._count

    def encode(self, rows: list[list[str]]) -> np.ndarray:
        """Types of the root symbol and the words of one sentence.

        Parameters
        ----------
        rows
            The CoNLL columns of each word.

        Returns
        -------
        int64 array of length n+1
        """
        types = self._types
        out = np.empty(len(rows) + 1, np.int64)
        out[0] = ROOT
        for i, row in enumerate(rows, 1):
            key = (row[1], row[2], row[3], row[4], row[5])
            number = types.get(key)
            if number is None:
                if not all(isinstance(value, str) for value in key):
                    raise TypeError("columns that are not texts")
                number = types[key] = self._add(attributes(*key), self._multi[row[5]])
            out[i] = number
        return out

    def encode_all(self, sentences: Iterable[list[list[str]]]) -> tuple[TypeTable, list[np.ndarray]]:
        """Number the words of some sentences, for ``words.hash_words``.

        Starts anew first where there are more than MAX_TYPES types.

        Returns
        -------
        table : TypeTable
            The types' attributes; valid for these sentences whatever is encoded later.
        types : list of int64 (n+1,)
        """
        if len(self) > MAX_TYPES:
            self.clear()
        types = [self.encode(rows) for rows in sentences]
        return self.table(), types

    def table(self) -> TypeTable:
        """The attributes of all types so far; stays valid, and unchanged, when types are added later."""
        first, multi_first = self._filled, self._multi_filled
        self._filled, self._multi_filled = self._count, multi_first + len(self._new_multi)
        self._values = _with_room(self._values, self._filled)
        self._multi_start = _with_room(self._multi_start, self._filled + 1)
        self._multi_value = _with_room(self._multi_value, self._multi_filled)
        new = np.array(self._new_values, np.uint64).reshape(-1, len(ATTRIBUTES))
        self._values[first : self._filled] = new
        self._multi_start[first + 1 : self._filled + 1] = np.array(self._new_ends, np.int64) + multi_first
        self._multi_value[multi_first : self._multi_filled] = np.array(self._new_multi, np.uint64)
        self._new_values, self._new_multi, self._new_ends = [], [], []
        return TypeTable(
            self._values[: self._filled],
            self._multi_start[: self._filled + 1],
            self._multi_value[: self._multi_filled],
        )

    def _add(self, values: list[str | None], multi: list[int]) -> int:
        self._new_values += [hashes[value] for hashes, value in zip(self._hashes, values, strict=True)]
        self._new_multi += multi
        self._new_ends.append(len(self._new_multi))
        self._count += 1
        return self._count - 1


class _Hashes(dict):
    """Hashes of one attribute's values, made when they are first asked for; 0 where it is absent."""

    def __init__(self, attribute: int) -> None:
        super().__init__({None: 0})
        self._start = f"{attribute}\t"

    def __missing__(self, value: str) -> int:
        made = self[value] = stable_hash(self._start + value)
        return made


class _MultiHashes(dict):
    """Hashes of the single attributes of FEATS columns, made when they are first asked for."""

    def __missing__(self, feats: str) -> list[int]:
        single = sorted(set(feats.split("|")))[:MAX_ATTRIBUTES]
        made = self[feats] = [stable_hash(f"{len(ATTRIBUTES)}\t{value}") for value in single]
        return made


def _with_room(array: np.ndarray, size: int) -> np.ndarray:
    """An array of at least this length that begins with the same; the array itself where that will do."""
    if size <= len(array):
        return array
    grown = np.zeros((max(size, 2 * len(array)), *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
