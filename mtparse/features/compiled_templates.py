"""Templates compiled to arrays, the form in which kernels see them."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np

from mtparse.features.templates import ATTRIBUTES, MULTIVALUED, Atom, Template

DISTANCE_BINS = (1, 2, 3, 4, 5, 6, 11)
"""Least distance of each bin: 1, 2, 3, 4, 5, 6-10, more than 10."""

BINS = 1 + 2 * len(DISTANCE_BINS)
"""Forms of one base: bare, then leftward heads by distance, then rightward heads."""

BIN_BITS = 5
"""Low bits of a feature's key, in which its form stands; 0 in the key of a base."""

FORMS = (1 << BINS) - 1
"""Mask of all forms."""

HEAD, MODIFIER, PAIR, BETWEEN, MULTI = range(5)
"""Kinds of templates, in the order in which they are evaluated.

Those of the first two look at one word of the arc only: their features are the same for all arcs of one
direction and distance, and are extracted and summed once a word.
"""


class Program(NamedTuple):
    """A list of templates as arrays; T templates, Q parts.

    A *part* is the set of single-valued atoms of one word (offsets included); its hash is computed once
    a token. Templates stand in the order of their kinds.
    """

    part_start: np.ndarray
    """int32 (Q+1,): the atoms of part q are part_start[q]:part_start[q+1]."""
    part_attribute: np.ndarray
    part_offset: np.ndarray
    first: np.ndarray
    """int64 (6,): the templates of kind k are first[k]:first[k+1]."""
    head_part: np.ndarray
    """int32 (T,): index of the head's part, 0 is the empty part."""
    modifier_part: np.ndarray
    extra: np.ndarray
    """int32 (T,): BETWEEN: index into between_attribute. MULTI: 1 the head's, 2 the modifier's, 3 both."""
    counted: np.ndarray
    """bool (T,): BETWEEN: whether the count belongs to the feature."""
    salt: np.ndarray
    """uint64 (T,): tells the templates apart."""
    bare: np.ndarray
    """bool (T,): whether the bare form exists."""
    between_attribute: np.ndarray
    """int32: the attributes that some BETWEEN template reads."""


def stable_hash(text: str) -> int:
    """64 bits that depend on the text alone (never 0, which stands for 'absent')."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") or 1


def compile_templates(templates: list[Template]) -> Program:
    """Lay templates out as arrays.

    Parameters
    ----------
    templates
        As from :func:`mtparse.features.templates.resolve`.
    """
    ordered = sorted(templates, key=lambda t: (_kind(t), len(t.atoms)))
    parts: dict[tuple[tuple[str, int], ...], int] = {(): 0}
    between: dict[str, int] = {}
    rows = []
    for template in ordered:
        kind = _kind(template)
        extra, counted = 0, False
        if kind == BETWEEN:
            atom = next(a for a in template.atoms if a.word == "B")
            extra, counted = between.setdefault(atom.attribute, len(between)), atom.counted
        elif kind == MULTI:
            words = {a.word for a in template.atoms if a.attribute == MULTIVALUED}
            extra = ("H" in words) + 2 * ("M" in words)
        rows.append(
            (
                _part(parts, template.part("H")),
                _part(parts, template.part("M")),
                extra,
                counted,
                stable_hash(str(template)),
                template.uses_head,
            )
        )
    part_atoms = list(parts)
    flat = [atom for atoms in part_atoms for atom in atoms]
    columns = list(zip(*rows, strict=True)) if rows else [()] * 6
    kinds = [_kind(template) for template in ordered]
    return Program(
        part_start=np.cumsum([0, *map(len, part_atoms)]).astype(np.int32),
        part_attribute=np.array([ATTRIBUTES.index(a) for a, _ in flat], np.int32),
        part_offset=np.array([o for _, o in flat], np.int32),
        first=np.searchsorted(kinds, range(MULTI + 2)).astype(np.int64),
        head_part=np.array(columns[0], np.int32),
        modifier_part=np.array(columns[1], np.int32),
        extra=np.array(columns[2], np.int32),
        counted=np.array(columns[3], np.bool_),
        salt=np.array(columns[4], np.uint64),
        bare=np.array(columns[5], np.bool_),
        between_attribute=np.array([ATTRIBUTES.index(a) for a in between], np.int32),
    )


def _kind(template: Template) -> int:
    if any(a.attribute == MULTIVALUED for a in template.atoms):
        return MULTI
    words = {a.word for a in template.atoms}
    if "B" in words:
        return BETWEEN
    if words == {"H", "M"}:
        return PAIR
    return HEAD if words == {"H"} else MODIFIER


def _part(parts: dict, atoms: tuple[Atom, ...]) -> int:
    key = tuple((a.attribute, a.offset) for a in atoms)
    return parts.setdefault(key, len(parts))


_ONES = np.unpackbits(np.arange(FORMS + 1, dtype="<u2").view(np.uint8)).reshape(-1, 16).sum(1, np.uint8)


def form_counts(masks: np.ndarray) -> np.ndarray:
    """Number of known forms of each base, int64."""
    return _ONES[masks & FORMS].astype(np.int64)
