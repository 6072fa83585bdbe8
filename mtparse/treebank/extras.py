"""What stands between words: comments, multi-word lines (``1-2``) and empty nodes (``1.1``)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from mtparse.treebank.head_column import brief, shown, small_int

COLUMNS = ("ID", "FORM", "LEMMA", "CPOSTAG", "POSTAG", "FEATS", "HEAD", "DEPREL", "PHEAD", "PDEPREL")
"""The columns' names in CoNLL-X. CoNLL-U calls the fourth and fifth UPOS and XPOS, the last DEPS and MISC."""

_COLUMNS_U = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
_RANGE = re.compile(r"([0-9]+)-([0-9]+)")
_EMPTY_NODE = re.compile(r"([0-9]+)\.([0-9]+)")
_DECLARED = re.compile(r"#\s*global\.columns\s*=(.*)")


def comment_fault(text: str) -> str:
    """What is wrong with a comment: it declares other columns than the ten (CoNLL-U Plus)."""
    match = _DECLARED.fullmatch(text) if "global.columns" in text else None
    if match is None or tuple(match[1].split()) in (COLUMNS, _COLUMNS_U):
        return ""
    return f"global.columns declares other columns; the file must have {' '.join(_COLUMNS_U)}"


def column_fault(row: Sequence[str], text: str) -> str:
    """Return what is wrong with the columns of a row; empty if nothing is."""
    if len(row) != 10:
        hint = ""
        if len(row) == 1 and len(text.split()) > 1:
            hint = "; here they are separated by blanks"
        elif "\r" in text:
            hint = "; there are CR characters inside the line, convert the line ends to LF"
        columns = "1 column" if len(row) == 1 else f"{len(row)} columns"
        return f"{columns} found, 10 expected, separated by tabs{hint}"
    if "" in row:
        index = row.index("")
        return f"column {index + 1} ({COLUMNS[index]}) is empty; put _ where there is no value"
    return ""


class ExtraRows:
    """The multi-word lines and empty nodes of one sentence in their order, each checked against the others.

    Attributes
    ----------
    ends : list of (int, int)
        Of each multi-word line in its place, the last word and the line on which it stands.
    """

    def __init__(self) -> None:
        self.ends: list[tuple[int, int]] = []
        self._node = (-1, -1)

    @staticmethod
    def kind(number: str) -> str:
        """What a row with this ID is, for a message; empty for a word."""
        if _RANGE.fullmatch(number):
            return "a multi-word line"
        return "an empty node" if _EMPTY_NODE.fullmatch(number) else ""

    def fault(self, number: str, due: Collection[int], expected: int, line: int = 0) -> str:
        """What is wrong with the next one; empty if nothing is.

        Parameters
        ----------
        number : str
            Its ID.
        due : collection of int
            The words that may come next.
        expected : int
            The one of them for the message.
        line : int
            Where it stands, for `ends`.
        """
        if span := _RANGE.fullmatch(number):
            begin, end = small_int(span[1]), small_int(span[2])
            if begin not in due:
                return f"multi-word line {shown(number)} is out of place, {expected} expected in front"
            if end < begin:
                return f"multi-word line {shown(number)} ends before it begins"
            self.ends.append((end, line))
        elif node := _EMPTY_NODE.fullmatch(number):
            place = small_int(node[1]), small_int(node[2])
            if place[0] + 1 not in due:
                return f"empty node {shown(number)} is out of place, {expected - 1} expected in front"
            before, self._node = self._node, place
            if place == before:
                return f"empty node {shown(number)} is there twice"
            if place < before and place[0] == before[0]:
                return f"empty node {shown(number)} comes after {before[0]}.{before[1]}; order them"
        return ""

    def overlaps(self, number: str) -> bool:
        """Whether a multi-word line begins within one before it; asked before its `fault`."""
        span = _RANGE.fullmatch(number)
        return span is not None and any(small_int(span[1]) <= end for end, _ in self.ends)


def extras_fault(extras: Sequence[tuple[int, str]], words: int) -> str:
    """What is wrong with the extras of a sentence of so many words, in order; empty if they can be written.

    Whatever passes is read back as it is.
    """
    rows = ExtraRows()
    for extra in extras:
        if not (isinstance(extra, (tuple, list)) and len(extra) == 2 and hasattr(extra[0], "__index__")):
            return f"{brief(extra)} is no pair of a position and a line"
        position, text = extra
        if not isinstance(text, str):
            return f"{brief(text)} is no line, but of type {type(text).__name__}"
        if not 0 <= position <= words:
            return f"{brief(text)} has position {position}; it must be from 0 to {words}, the number of words"
        if "\n" in text:
            return f"{brief(text)} holds a line end"
        if text.endswith("\r"):
            return f"{brief(text)} must not end in CR"
        if text.startswith("#"):
            fault = comment_fault(text)
        else:
            row = text.split("\t")
            if not rows.kind(row[0]):
                return f"{brief(text)} is no comment, multi-word line or empty node"
            fault = column_fault(row, text) or rows.fault(row[0], (position + 1,), position + 1)
            if not fault and rows.ends and rows.ends[-1][0] > words:
                fault = f"it goes beyond the last word, {words}"
        if fault:
            return f"{brief(text)}: {fault}"
    return ""
