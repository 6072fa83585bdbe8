"""Feature templates as data: a template is a short string of atoms, a set is a list of templates.

An atom names a word (``H`` head, ``M`` modifier, ``B`` a word strictly between them), an attribute and,
for H and M, an optional offset into the sentence::

    Hw Hp Mw Mp          forms and fine tags of both words
    Hp Hp+1 Mp-1 Mp      with the head's right and the modifier's left neighbour
    Hp Bp Mp             fires once for each distinct tag in between
    Hp Mp Bc#            ... for each distinct (tag, how often it stands there, up to 3)
    Ha Ma                fires for each pair of FEATS attributes of the two words

Attributes: ``w`` form (numbers folded), ``p`` fine tag, ``c`` coarse tag, ``l`` lemma, ``f`` the whole
FEATS value, ``a`` one FEATS attribute at a time (of more than 64 the first), ``x`` the first five letters of
longer forms, ``s1 s2 s3`` the last one, two, three letters, ``e1 e2`` the last one and two letters where the
treebank has neither FEATS nor lemmas: endings then are all there is of morphology. A template fires where
all its attributes exist.
Every template is emitted twice: bare, and conjoined with the arc's direction and binned distance; templates
that do not look at the head are emitted conjoined only (bare, they fire on all arcs into a word alike, and
no trainer can give them a weight other than zero).

The sets follow McDonald, Crammer, Pereira (2005), table 1, and MSTParser's extensions for CoNLL-X. The
default one was chosen by ``scripts/experiments/choose_features``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

ATTRIBUTES = ("w", "p", "c", "l", "f", "x", "s1", "s2", "s3", "e1", "e2")
"""Single-valued attributes, in the order of the columns of a lexicon's table."""

MULTIVALUED = "a"

MAX_OFFSET = 3
"""How far from H and M the words may be that a template looks at."""

_ATOM = re.compile(r"(?P<word>[HMB])(?P<attribute>[a-z]\d?)(?P<offset>[+-][0-9]+)?(?P<count>#)?\Z")
_OFFSETS = {f"{i:+d}": i for i in range(-MAX_OFFSET, MAX_OFFSET + 1) if i}


@dataclass(frozen=True, order=True)
class Atom:
    """One attribute of one word, e.g. ``Hp+1``."""

    word: str
    attribute: str
    offset: int = 0
    counted: bool = False


@dataclass(frozen=True)
class Template:
    """A parsed template. ``atoms`` are sorted, so that equal templates compare equal."""

    atoms: tuple[Atom, ...]

    @classmethod
    def parse(cls, text: str) -> Template:
        """Read the text form.

        Raises
        ------
        ValueError
            An atom that is malformed, an unknown attribute, or a combination that has no meaning.
        """
        atoms = []
        for word in text.split():
            match = _ATOM.match(word)
            if match is None or match["attribute"] not in (*ATTRIBUTES, MULTIVALUED):
                raise ValueError(
                    f"feature template {text!r}: {word!r} is not an attribute of a word; write H, M or B, an "
                    "attribute "
                    f"({', '.join((*ATTRIBUTES, MULTIVALUED))}) and, for H and M, an offset like +1"
                )
            if match["offset"] and match["offset"] not in _OFFSETS:
                raise ValueError(
                    f"feature template {text!r}: {word!r}: an offset is from -{MAX_OFFSET} to +{MAX_OFFSET}, "
                    "without 0"
                )
            offset = _OFFSETS.get(match["offset"], 0)
            atom = Atom(match["word"], match["attribute"], offset, bool(match["count"]))
            between = atom.word == "B"
            if (between and (atom.offset or atom.attribute == MULTIVALUED)) or (atom.counted and not between):
                raise ValueError(
                    f"feature template {text!r}: {word!r}: B takes no offset and no 'a'; # goes with B only"
                )
            atoms.append(atom)
        template = cls(tuple(sorted(set(atoms))))
        between = [a for a in template.atoms if a.word == "B"]
        multi = [a for a in template.atoms if a.attribute == MULTIVALUED]
        if len(between) > 1 or (between and multi):
            raise ValueError(f"feature template {text!r}: at most one B, and not together with 'a'")
        if len({a.word for a in multi}) != len(multi) or any(a.offset for a in multi):
            raise ValueError(f"feature template {text!r}: at most one 'a' for H and one for M, no offset")
        return template

    @property
    def uses(self) -> set[str]:
        """The attributes this template reads."""
        return {a.attribute for a in self.atoms}

    @property
    def uses_head(self) -> bool:
        """Whether the bare form can tell two heads of one modifier apart."""
        return any(a.word != "M" for a in self.atoms)

    def with_attribute(self, old: str, new: str) -> Template:
        """The template that reads attribute ``new`` wherever this one reads ``old``."""
        atoms = {replace(a, attribute=new) if a.attribute == old else a for a in self.atoms}
        return Template(tuple(sorted(atoms)))

    def part(self, word: str) -> tuple[Atom, ...]:
        """The single-valued atoms of one word, H or M, offsets included."""
        return tuple(a for a in self.atoms if a.word == word and a.attribute != MULTIVALUED)

    def __str__(self) -> str:
        return " ".join(
            f"{a.word}{a.attribute}{f'{a.offset:+d}' if a.offset else ''}{'#' if a.counted else ''}"
            for a in self.atoms
        )


def _word_templates(x: str, tag: str) -> list[str]:
    """Single-word and word-pair templates with attribute ``x`` for the word and ``tag`` for its tag."""
    return [
        f"H{x} H{tag}", f"H{x}", f"M{x} M{tag}", f"M{x}",
        f"H{x} H{tag} M{x} M{tag}", f"H{tag} M{x} M{tag}", f"H{x} M{x} M{tag}", f"H{x} H{tag} M{tag}",
        f"H{x} H{tag} M{x}", f"H{x} M{x}", f"H{x} M{tag}", f"H{tag} M{x}",
    ]  # fmt: skip


def _tag_templates(tag: str) -> list[str]:
    """Templates of tags alone: single, pair, in between, surrounding with trigram back-offs."""
    t = tag
    return [
        f"H{t}", f"M{t}", f"H{t} M{t}",
        f"H{t} B{t} M{t}",
        f"H{t} H{t}+1 M{t}-1 M{t}", f"H{t}-1 H{t} M{t}-1 M{t}",
        f"H{t} H{t}+1 M{t} M{t}+1", f"H{t}-1 H{t} M{t} M{t}+1",
        f"H{t} H{t}+1 M{t}", f"H{t}-1 H{t} M{t}", f"H{t} M{t}-1 M{t}", f"H{t} M{t} M{t}+1",
    ]  # fmt: skip


def _light(x: str) -> list[str]:
    """The templates with attribute ``x`` for a word that are worth their cost, with coarse tags.

    Those that join a word with both tags, or both words with a tag, add parameters and no accuracy.
    """
    return [f"H{x}", f"M{x}", f"H{x} Hc", f"M{x} Mc", f"H{x} Mc", f"Hc M{x}", f"H{x} M{x}"]


def _beside(x: str) -> list[str]:
    """Attribute ``x`` of one neighbour, with both coarse tags."""
    return [f"Hc H{x}-1 Mc", f"Hc H{x}+1 Mc", f"Hc M{x}-1 Mc", f"Hc M{x}+1 Mc"]


def _with_tags(x: str) -> list[str]:
    return _word_templates(x, "p") + _word_templates(x, "c")


MCDONALD = [
    "",  # the bias
    *_with_tags("w"), *_tag_templates("p"), *_tag_templates("c"),
    *_with_tags("x"), *_with_tags("l"), *_with_tags("f"),
    "Ha Ma", "Ha Ma Hp Mp", "Ha Ma Hc Mc",
]  # fmt: skip

# Changed by scripts/experiments/choose_features alone: see results/features.
DEFAULT = [
    "",
    *_tag_templates("p"), *_tag_templates("c"),
    *_light("w"), *_light("l"), *_light("f"), *_light("s3"), *_light("e1"), *_light("e2"),
    "Ha Ma",
    "Hw Hp Mp", "Hp Mw Mp",
    *_beside("w"), *_beside("l"),
    "Hw-1 Hw", "Hw Hw+1", "Mw-1 Mw", "Mw Mw+1", "Hc Hw-1", "Hc Hw+1", "Mc Mw-1", "Mc Mw+1",
    "Hc Bw Mc",
    "Hc Hc+2 Mc", "Hc-2 Hc Mc", "Hc Mc Mc+2", "Hc Mc-2 Mc",
    "He1 Me1 Me1+1", "He1 He1+1 Me1", "Hc Me1 Me1+1", "Hc Me1-1 Mc", "Hc He1+1 Mc", "He1-1 Hc Mc",
]  # fmt: skip

FEATURE_SETS: dict[str, list[str]] = {"default": DEFAULT, "mcdonald": MCDONALD, "none": []}
"""Named sets; a new one is one entry, a new template one string. ``none`` leaves all to the config."""


def resolve(names: list[str], present: set[str]) -> list[Template]:
    """The templates that can tell something on this treebank, duplicates removed.

    Parameters
    ----------
    names
        Templates in the text form.
    present
        Attributes that the treebank has. ``l`` is absent where every lemma is ``_``, ``f`` and ``a``
        where all FEATS are, ``e1`` and ``e2`` where it has either, and their templates are left out; ``c``
        is absent where coarse and fine tags never differ, and ``p`` stands in for it.

    Returns
    -------
    list of Template
        Coarser templates before those that extend them.
    """
    seen: dict[Template, None] = {}
    for text in names:
        template = Template.parse(text)
        if "c" not in present:
            template = template.with_attribute("c", "p")
        if template.uses <= present:
            seen.setdefault(template)
    return sorted(seen, key=lambda t: len(t.atoms))
