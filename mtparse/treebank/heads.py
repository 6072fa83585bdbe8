"""The heads of a sentence's words: integers, seen in the rows and set there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import index, itemgetter
from typing import Any, overload

from mtparse.treebank.head_column import brief, head_value

_head_of = itemgetter(6)
_NUMERALS = [str(number) for number in range(1, 2001)]


def numerals(words: int) -> list[str]:
    """The IDs of so many words: the decimal numerals from 1."""
    ready = _NUMERALS[:words]
    return ready + [str(number) for number in range(len(ready) + 1, words + 1)]


def integers(heads: Iterable[int]) -> list[int]:
    """Heads as integers of Python; nothing is rounded, cut off or taken from under a mask.

    Raises
    ------
    TypeError
        If it is no sequence, or at the first entry that is no integer.
    ValueError
        If it is an array of another number of dimensions than one.
    """
    # arrays are told by what they have, as commands that have none need not wait for numpy to be loaded
    dtype = getattr(heads, "dtype", None)
    if dtype is not None and getattr(heads, "ndim", 1) != 1:
        raise ValueError(f"heads have shape {heads.shape}; one dimension is needed")  # type: ignore[attr-defined]
    if getattr(dtype, "kind", "") in ("i", "u") and not hasattr(heads, "mask"):
        return list(heads.tolist())  # type: ignore[attr-defined]
    if isinstance(heads, (str, bytes)) or not isinstance(heads, Iterable):
        raise TypeError(f"heads must be a sequence of integers, not {brief(heads)}")
    entries: list[Any] = list(heads)
    try:
        return list(map(index, entries))
    except TypeError:
        wrong = next(entry for entry in entries if not _is_integer(entry))
        raise TypeError(f"head {brief(wrong)}: a head is an integer") from None


def _is_integer(entry: Any) -> bool:
    try:
        index(entry)
    except TypeError:
        return False
    return True


def head_texts(heads: Iterable[int]) -> list[str]:
    """What stands in the HEAD column for heads; -1 is ``_``.

    Raises
    ------
    TypeError, ValueError
        For what `integers` refuses, and below -1.
    """
    found = integers(heads)
    if min(found, default=0) < -1:
        wrong = next(head for head in found if head < -1)
        raise ValueError(f"head {wrong}: a head is a word's number, 0 for the root, or -1 for none")
    return [str(head) if head >= 0 else "_" for head in found]


class _Values(dict):
    """The heads that texts of the HEAD column stand for."""

    def __missing__(self, text: str) -> int:
        return head_value(text)


_VALUES = _Values({"_": -1, "0": 0, **{text: number for number, text in enumerate(_NUMERALS, 1)}})


class Heads(Sequence[int]):
    """The heads of a sentence's words, as they stand in its rows: to change one is to change its row.

    Equal to a list of the same numbers. -1 stands for ``_``, and for what is no integer.
    """

    __slots__ = ("_rows",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, rows: list[list[str]]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[int]:
        return iter([_VALUES[text] for text in map(_head_of, self._rows)])

    @overload
    def __getitem__(self, word: int) -> int: ...
    @overload
    def __getitem__(self, word: slice) -> list[int]: ...
    def __getitem__(self, word: int | slice) -> int | list[int]:
        if isinstance(word, slice):
            return list(self)[word]
        return int(_VALUES[self._rows[word][6]])

    def __setitem__(self, word: int, head: int) -> None:
        (self._rows[word][6],) = head_texts([head])

    def __contains__(self, head: object) -> bool:
        return head in list(self)

    def count(self, head: int) -> int:
        """How many words have this head."""
        return list(self).count(head)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (Heads, list, tuple)):
            return list(self) == list(other)
        return NotImplemented

    def __repr__(self) -> str:
        return repr(list(self))
