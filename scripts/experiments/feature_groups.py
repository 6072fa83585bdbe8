"""Groups of feature templates, as data: those of the default set, and candidates that it does without.

``scripts/experiments/choose_features`` leaves the first out and adds the second, a group at a time. The
templates of a group see the same kind of thing. ``BASE`` is the set that the choice of ``results/features``
began with; it stays here when the default set changes, until the next choice begins.
"""

from __future__ import annotations


def _alone(x: str) -> list[str]:
    return [f"H{x}", f"M{x}"]


def _with_tag(x: str, t: str = "c") -> list[str]:
    return [f"H{x} H{t}", f"M{x} M{t}", f"H{x} M{t}", f"H{t} M{x}"]


def _with_both_tags(x: str, t: str) -> list[str]:
    return [f"H{x} H{t} M{t}", f"H{t} M{x} M{t}"]


def _pair_with_tags(x: str, t: str) -> list[str]:
    return [f"H{x} H{t} M{x} M{t}", f"H{x} M{x} M{t}", f"H{x} H{t} M{x}"]


def _beside(x: str) -> list[str]:
    return [f"Hc H{x}-1 Mc", f"Hc H{x}+1 Mc", f"Hc M{x}-1 Mc", f"Hc M{x}+1 Mc"]


def _away(t: str, by: int) -> list[str]:
    return [f"H{t} H{t}+{by} M{t}", f"H{t}-{by} H{t} M{t}", f"H{t} M{t} M{t}+{by}", f"H{t} M{t}-{by} M{t}"]


def _three_in_a_row(t: str) -> list[str]:
    return [
        f"H{t} H{t}+1 H{t}+2 M{t}", f"H{t}-2 H{t}-1 H{t} M{t}",
        f"H{t} M{t} M{t}+1 M{t}+2", f"H{t} M{t}-2 M{t}-1 M{t}",
    ]  # fmt: skip


def _tags(t: str) -> dict[str, list[str]]:
    return {
        f"{t} alone": _alone(t),
        f"{t} pair": [f"H{t} M{t}"],
        f"{t} between": [f"H{t} B{t} M{t}"],
        f"{t} two neighbours": [
            f"H{t} H{t}+1 M{t}-1 M{t}", f"H{t}-1 H{t} M{t}-1 M{t}",
            f"H{t} H{t}+1 M{t} M{t}+1", f"H{t}-1 H{t} M{t} M{t}+1",
        ],
        f"{t} one neighbour": _away(t, 1),
    }  # fmt: skip


def _light(x: str) -> dict[str, list[str]]:
    return {f"{x} alone": _alone(x), f"{x} with c": _with_tag(x), f"{x} pair": [f"H{x} M{x}"]}


BASE: dict[str, list[str]] = {
    "bias": [""],
    **_tags("p"), **_tags("c"),
    **_light("w"), **_light("l"), **_light("f"), **_light("s3"), **_light("e1"), **_light("e2"),
    "a pair": ["Ha Ma"],
    "a pair with c": ["Ha Ma Hc Mc"],
    "w with both p": _with_both_tags("w", "p"),
    "l with both p": _with_both_tags("l", "p"),
    "w beside": _beside("w"),
    "w between": ["Hc Bw Mc"],
    "c two away": _away("c", 2),
    "e1 beside": [
        "He1 Me1 Me1+1", "He1 He1+1 Me1", "Hc Me1 Me1+1", "Hc Me1-1 Mc", "Hc He1+1 Mc", "He1-1 Hc Mc",
    ],
}  # fmt: skip
"""The default set of version 0.1.0."""

CANDIDATES: dict[str, list[str]] = {
    # FEATS, one attribute at a time.
    "a alone": ["Ha", "Ma"],
    "a with c": ["Ha Hc", "Ma Mc", "Ha Mc", "Hc Ma"],
    "a with both c": ["Ha Hc Mc", "Hc Ma Mc"],
    "a with both p": ["Ha Hp Mp", "Hp Ma Mp"],
    "a pair with p": ["Ha Ma Hp Mp"],
    "a pair with one c": ["Ha Hc Ma", "Ha Ma Mc"],
    "a with l": ["Hl Ma", "Ha Ml"],
    "a with l and c": ["Hl Ma Mc", "Ha Hc Ml"],
    # FEATS as a whole.
    "f with both c": _with_both_tags("f", "c"),
    "f with both p": _with_both_tags("f", "p"),
    "f pair with c": _pair_with_tags("f", "c"),
    "f with l": ["Hl Mf", "Hf Ml"],
    "f beside": _beside("f"),
    "f between": ["Hc Bf Mc"],
    # Words and lemmas with more tags.
    "w with both c": _with_both_tags("w", "c"),
    "w with p": _with_tag("w", "p"),
    "w pair with c": _pair_with_tags("w", "c"),
    "l with both c": _with_both_tags("l", "c"),
    "l with p": _with_tag("l", "p"),
    "l pair with c": _pair_with_tags("l", "c"),
    "l with w": ["Hl Mw", "Hw Ml"],
    "x alone": _alone("x"),
    "x with c": _with_tag("x"),
    "x pair": ["Hx Mx"],
    "x with both p": _with_both_tags("x", "p"),
    # Ends of words.
    "s1 with c": [*_alone("s1"), *_with_tag("s1"), "Hs1 Ms1"],
    "s2 with c": [*_alone("s2"), *_with_tag("s2"), "Hs2 Ms2"],
    "s3 with both c": _with_both_tags("s3", "c"),
    "s3 pair with c": _pair_with_tags("s3", "c"),
    "s3 beside": _beside("s3"),
    "e1 pair with c": _pair_with_tags("e1", "c"),
    "e1 between": ["Hc Be1 Mc", "He1 Be1 Me1"],
    "e2 beside": [*_beside("e2"), "He2 Me2 Me2+1", "He2 He2+1 Me2"],
    # What stands in between.
    "c counted between": ["Hc Bc# Mc"],
    "p counted between": ["Hp Bp# Mp"],
    "c between, one tag": ["Hc Bc", "Bc Mc"],
    "p between, one tag": ["Hp Bp", "Bp Mp"],
    "w between, one tag": ["Bw Hc", "Bw Mc"],
    "l between": ["Hc Bl Mc"],
    "c between with w": ["Hw Bc Mc", "Hc Bc Mw"],
    "c between with l": ["Hl Bc Mc", "Hc Bc Ml"],
    # Neighbours.
    "p two away": _away("p", 2),
    "c three away": _away("c", 3),
    "c both sides": ["Hc-1 Hc Hc+1 Mc", "Hc Mc-1 Mc Mc+1"],
    "p both sides": ["Hp-1 Hp Hp+1 Mp", "Hp Mp-1 Mp Mp+1"],
    "c both sides of both": ["Hc-1 Hc Hc+1 Mc-1 Mc Mc+1"],
    "c three in a row": _three_in_a_row("c"),
    "p three in a row": _three_in_a_row("p"),
    "l beside": _beside("l"),
    "p beside, word alone": ["Hp-1 Hp", "Hp Hp+1", "Mp-1 Mp", "Mp Mp+1", "Hp-1 Hp Hp+1", "Mp-1 Mp Mp+1"],
    "w beside, word alone": [
        "Hw-1 Hw", "Hw Hw+1", "Mw-1 Mw", "Mw Mw+1", "Hc Hw-1", "Hc Hw+1", "Mc Mw-1", "Mc Mw+1",
    ],
    "w triples": ["Hw Mw Mw+1", "Hw Mw-1 Mw", "Hw Hw+1 Mw", "Hw-1 Hw Mw"],
}  # fmt: skip
"""The rest of the set ``mcdonald``, and more of what features of these kinds can see."""
