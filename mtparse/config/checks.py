"""Checks of single config values.

Each takes what YAML gave and returns the value to keep, or raises ``ValueError("must be ...")``, a message
to stand after the key and the value.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mtparse.config.strict_yaml import BareWord
from mtparse.errors import ConfigError
from mtparse.features.templates import Template
from mtparse.treebank.byte_source import check_encoding

VALID_KINDS = ("fraction", "words", "sentences")

Check = Callable[[Any], Any]


def one_of(*names: str) -> Check:
    """Exactly one of these names."""

    def check(value):
        if not isinstance(value, str) or str(value) not in names:
            raise ValueError(f"must be one of {', '.join(names)}")
        return str(value)

    return check


def truth(value):
    """True or false; a bare ``yes``, ``no``, ``on`` or ``off`` counts, a quoted one does not."""
    if isinstance(value, bool | BareWord):
        return bool(value)
    if isinstance(value, str):
        raise ValueError("must be true or false, without quotes")
    raise ValueError("must be true or false")


def unlabelled(value):
    """False, the only choice as yet."""
    if truth(value):
        raise ValueError("must be false: only unlabelled models exist")
    return False


def whole(low: int, high: int) -> Check:
    """A whole number in a closed range."""

    def check(value):
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return value

    return check


def number(low: float, high: float, *, open_ends: bool = False) -> Check:
    """A finite number in a range, kept as a float."""
    between = f"between {low:g} and {high:g}" if open_ends else f"from {low:g} to {high:g}"

    def check(value):
        good = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
        if not good or (open_ends and value in (low, high)):
            hint = ", without quotes" if isinstance(value, str) else ""
            raise ValueError(f"must be a number {between}{hint}")
        return float(value)

    return check


def checkpoint(value):
    """Passes between checkpoints, 0 for none; ``auto`` leaves it to their cost."""
    try:
        return "auto" if value == "auto" else whole(0, 10**6)(value)
    except ValueError as error:
        raise ValueError(f"{error}, or auto") from None


def cost(value):
    """One value of C or several distinct ones, kept as a tuple."""
    values = tuple(value) if isinstance(value, list | tuple) else (value,)
    try:
        values = tuple(map(number(1e-12, 1e12), values))
    except ValueError as error:
        raise ValueError(f"{error}, or a list of such numbers, such as [0.1, 1]") from None
    if not values:
        raise ValueError("must be a number or a list of at least one")
    if len(set(values)) < len(values):
        raise ValueError("must be a list without repeats")
    return values


def templates(value):
    """A list of feature templates in their text form, kept as a tuple.

    The empty template, a bias, is a part of named sets; in a list it is a slip.
    """
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError('must be a list of strings, such as ["Hw Mp+1"]')
    if not all(item.strip() for item in value):
        raise ValueError("must be a list of feature templates, none of them empty")
    try:
        for item in value:
            Template.parse(item)
    except ValueError as error:
        raise ValueError(f"must be a list of feature templates; {error}") from None
    return tuple(map(str, value))


def run_name(value):
    """Text that can name a folder."""
    if not isinstance(value, str) or not value.isprintable() or not re.fullmatch(r"[^/\\ .][^/\\]*", value):
        raise ValueError("must be text that can name a folder: no slash, no full stop or space in front")
    return str(value)


def path(value):
    """A path, with ``~`` and environment variables put in; ``$$`` stands for a dollar sign."""

    def variable(match):
        name = match[1].strip("{}")
        if name == "$":
            return "$"
        if name not in os.environ:
            raise ValueError(
                f"the environment variable {name} is not set; set it, or give this key with --set "
                "($$ stands for $)"
            )
        return os.environ[name]

    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be a path")
    return os.path.expanduser(re.sub(r"\$(\$|\w+|\{\w+\})", variable, str(value)))


def paths(value):
    """A path, or a list of paths, kept as a tuple."""
    if not isinstance(value, list | tuple):
        return path(value)
    found = tuple(map(path, value))
    if not found or len(set(found)) < len(found):
        raise ValueError("must be a path, or a list of different paths")
    return found


def encoding(value):
    """A text encoding, under Python's name for it."""
    if not isinstance(value, str):
        raise ValueError("must be the name of a text encoding, such as utf-8 or iso8859-1")
    try:
        return codecs.lookup(check_encoding(value)).name
    except ConfigError as error:
        raise ValueError(f"must be an encoding that can be read; {error}") from None


@dataclass(frozen=True)
class ValidPart:
    """What is used for validation: sentences spread over the training file, or a file of its own.

    Attributes
    ----------
    kind : str
        ``fraction``, ``words`` or ``sentences`` of the training file, or ``path``.
    value : float or int or str
        How much of it, or where the file is (relative to the data root).
    """

    kind: str = "fraction"
    value: float | int | str = 0.1


def valid_part(value):
    """A `ValidPart`, or None for no validation."""
    if value is None:
        return None
    if isinstance(value, str):
        return ValidPart("path", path(value))
    if isinstance(value, Mapping) and len(value) == 1:
        kind, amount = next(iter(value.items()))
        if kind == "fraction":
            return ValidPart("fraction", number(0, 1, open_ends=True)(amount))
        if kind in VALID_KINDS:
            return ValidPart(str(kind), whole(1, 10**9)(amount))
    raise ValueError("must be one of {fraction: F}, {words: N}, {sentences: N}, a path, null")


@dataclass(frozen=True)
class Fold:
    """A part of the training file that is held out to be tested: sentence ``number`` of every ``of``."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"fold {self.number} of {self.of}"


def test_part(value):
    """A path, a `Fold`, or None for no test."""
    if isinstance(value, Mapping) and set(value) == {"fold", "of"}:
        of = whole(2, 1000)(value["of"])
        return Fold(whole(1, of)(value["fold"]), of)
    if isinstance(value, Mapping):
        raise ValueError("must be {fold: K, of: N}, a path, null")
    return None if value is None else path(value)
