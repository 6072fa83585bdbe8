"""From words to numbers: every distinct (form, lemma, tags, FEATS) is a type with a row of hashes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtparse.features.program import stable_hash
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
    number = form[0].isdigit() and _DIGITS.issuperset(form)
    w = "\0number" if number else form
    if lemma == "_":
        l = None  # noqa: E741
    elif lemma[0].isdigit() and _DIGITS.issuperset(lemma):
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
    the hashes, so two lexicons give the same features.
    """

    def __init__(self) -> None:
        self._hashes: dict[tuple[int, str], int] = {}
        self.clear()

    def clear(self) -> None:
        """Forget all types."""
        self._hashes.clear()
        self._types: dict[tuple[str, ...], int] = {}
        self._count = 0
        self._values = np.zeros((256, len(ATTRIBUTES)), np.uint64)
        self._multi_start = np.zeros(257, np.int64)
        self._multi_value = np.zeros(256, np.uint64)
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
                feats = [] if row[5] == "_" else sorted(set(row[5].split("|")))[:MAX_ATTRIBUTES]
                number = types[key] = self._add(attributes(*key), feats)
            out[i] = number
        return out

    def table(self) -> TypeTable:
        """The attributes of all types so far; stays valid, and unchanged, when types are added later."""
        return TypeTable(
            self._values[: self._count],
            self._multi_start[: self._count + 1],
            self._multi_value[: self._multi_start[self._count]],
        )

    def _add(self, values: list[str | None], multi: list[str]) -> int:
        number = self._count
        start = int(self._multi_start[number])
        if number == len(self._values):
            self._values = np.concatenate([self._values, np.zeros_like(self._values)])
            self._multi_start = np.concatenate([self._multi_start, np.zeros(number, np.int64)])
        if start + len(multi) > len(self._multi_value):
            grown = np.zeros(2 * len(self._multi_value) + len(multi), np.uint64)
            grown[:start] = self._multi_value[:start]
            self._multi_value = grown
        self._values[number] = [0 if v is None else self._hash(a, v) for a, v in enumerate(values)]
        self._multi_value[start : start + len(multi)] = [self._hash(len(ATTRIBUTES), v) for v in multi]
        self._multi_start[number + 1] = start + len(multi)
        self._count += 1
        return number

    def _hash(self, attribute: int, value: str) -> int:
        key = (attribute, value)
        found = self._hashes.get(key)
        if found is None:
            found = self._hashes[key] = stable_hash(f"{attribute}\t{value}")
        return found
