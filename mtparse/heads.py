"""Heads as they stand in a file: their values, and every fault that the heads of a sentence can have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtparse.sentence import Sentence

_MAX_DIGITS = 18
"""Numbers of more digits stand for 10**18: they fit in an int64 and are above any sentence's length."""

_INTEGER = re.compile(r"-?[0-9]+")


def head_value(text: str) -> int:
    """Return the integer in a HEAD column; -1 for ``_`` and for what is no integer.

    Integers beyond ±10**18 become ±10**18.
    """
    if not _INTEGER.fullmatch(text):
        return -1
    value = small_int(text.removeprefix("-"))
    return (-value or -1) if text[0] == "-" else value  # -0 must not pass for the root


def small_int(digits: str) -> int:
    """Return the value of some ASCII digits, at most 10**18. O(number of digits)."""
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= _MAX_DIGITS else 10**_MAX_DIGITS


def shown(text: str) -> str:
    """Return a text from a file, quoted and not too long for a message."""
    return repr(text if len(text) <= 40 else text[:40] + "...")


def word_fault(word: int, text: str, size: float, required: bool = True, loops: bool = False) -> str:
    """Return what is wrong with the head of one word, looked at alone; empty if nothing is.

    Parameters
    ----------
    word : int
        The word's number, from 1.
    text : str
        Its HEAD column.
    size : float
        Words in the sentence; infinity if that is not known.
    required : bool
        Whether ``_`` is a fault.
    loops : bool
        Whether a word may be its own head.
    """
    head = head_value(text)
    if head > size:
        return f"HEAD {text[:20]} of word {word} is out of range; the sentence has {size} words"
    if text == "_":
        return f"HEAD missing (_) for word {word}; gold heads are needed here" if required else ""
    if not _INTEGER.fullmatch(text):
        return f"HEAD {shown(text)} of word {word} is not an integer; 0 is the root, _ is no head"
    if text[0] == "-":
        return f"HEAD {shown(text)} of word {word} is negative; 0 is the root, _ is no head"
    if text != "0" and text[0] == "0":
        return f"HEAD {shown(text)} of word {word} begins with a zero; write {head}"
    if head == word and not loops:
        return f"word {word} is its own HEAD"
    return ""


def head_faults(
    sentence: Sentence, *, required: bool = True, root: str = "multi"
) -> Iterator[tuple[int, str]]:
    """Yield every reason for which the heads of a sentence are no tree.

    Nothing is yielded for a tree. A fault is told once: a word that is its own head is no cycle too, and a
    sentence without a root word has that said with its first cycle. O(n).

    Parameters
    ----------
    sentence : Sentence
        As read, whether its heads were checked or not.
    required : bool
        Whether words without a head (``_``) are faults.
    root : {"multi", "single"}
        With ``single``, several words with head 0 are a fault.

    Yields
    ------
    line : int
        Physical line of the word at fault; of a cycle, the first of its lines.
    message : str
        What is wrong, without the number of the sentence. Faults of single words come first, in order.
    """
    heads = [-1, *sentence.heads]
    size = len(sentence)
    for word, (head, row) in enumerate(zip(sentence.heads, sentence.rows, strict=True), 1):
        if not 0 <= head <= size or head == word or row[6] != str(head):
            fault = word_fault(word, row[6], size, required)
            if fault:
                yield sentence.lines[word - 1], fault
    # a head that cannot be read or is out of range may have been meant for the root
    rootless = min(heads[1:], default=0) > 0 and max(heads) <= size
    for cycle in cycles(heads):
        if len(cycle) == 1:
            continue
        lines = [sentence.lines[word - 1] for word in cycle]
        chain = " -> ".join(map(str, [*shortened(cycle), cycle[0]]))
        message = f"the heads form a cycle, {chain} (lines {min(lines)}-{max(lines)})"
        yield min(lines), message + (", and no root: no HEAD is 0" if rootless else "")
        rootless = False
    tops = [word for word, head in enumerate(heads) if head == 0]
    if root == "single" and len(tops) > 1:
        words = ", ".join(map(str, shortened(tops)))
        message = f"{len(tops)} words have HEAD 0 ({words}), only one may; set root: multi"
        yield sentence.lines[tops[1] - 1], message


def cycles(heads: Sequence[int]) -> Iterator[list[int]]:
    """Yield the words of each cycle of a head array, each word followed by its head. O(n).

    A cycle begins with its lowest word; the cycle to which the lowest words lead comes first. Heads
    outside 1..n end a path.
    """
    size = len(heads)
    seen = [0] * size  # the word from which a position was reached first
    for start in range(1, size):
        word = start
        while 0 < word < size and not seen[word]:
            seen[word] = start
            word = heads[word]
        if 0 < word < size and seen[word] == start:
            cycle = [word]
            while heads[cycle[-1]] != word:
                cycle.append(heads[cycle[-1]])
            lowest = cycle.index(min(cycle))
            yield cycle[lowest:] + cycle[:lowest]


def shortened(words: list[int]) -> list:
    """Return some words for a message, not too many."""
    return words if len(words) <= 8 else [*words[:7], "..."]
