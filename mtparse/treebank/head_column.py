"""The HEAD column of one word: its value, and what can be wrong with it."""

from __future__ import annotations

import re

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


def brief(value: object) -> str:
    """Return an argument of any type as Python shows it, not too long for a message."""
    text = repr(value)
    return text if len(text) <= 40 else text[:40] + "..."


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
