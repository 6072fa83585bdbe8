"""Slow, plain versions of feature extraction, for comparison: features are strings, rows are sets."""

from __future__ import annotations

import re

from mtparse.features.templates import Template

MAX_COUNT = 3
SINGLE = ("w", "p", "c", "l", "f", "x", "s1", "s2", "s3", "e1", "e2")


def word_values(form, lemma, coarse, fine, feats):
    """Attribute name to value, as the templates' documentation has it; absent ones left out."""
    number = re.compile(r"[0-9][0-9.,]*")
    found = {"w": "NUMBER" if number.fullmatch(form) else form, "c": coarse}
    found["p"] = coarse if fine == "_" else fine
    if lemma != "_":
        found["l"] = "NUMBER" if number.fullmatch(lemma) else lemma
    if feats != "_":
        found["f"] = feats
    if number.fullmatch(form):
        return found | dict.fromkeys(("s1", "s2", "s3", "e1", "e2"), "NUMBER")
    if len(form) > 5:
        found["x"] = form[0] + form[1] + form[2] + form[3] + form[4]
    for name, length in (("s1", 1), ("s2", 2), ("s3", 3), ("e1", 1), ("e2", 2)):
        found[name] = form if len(form) < length else form[len(form) - length :]
    return found


def values(rows, position):
    """Attribute name to value (absent ones left out) and the list of FEATS attributes."""
    if position == 0:
        return dict.fromkeys(SINGLE, "ROOT"), []
    if not 0 < position <= len(rows):
        return dict.fromkeys(SINGLE, "OUTSIDE"), []
    row = rows[position - 1]
    return word_values(*row[1:6]), [] if row[5] == "_" else sorted(set(row[5].split("|")))


def bin_name(h, m):
    """Direction and binned distance."""
    distance = abs(h - m)
    size = str(distance) if distance <= 5 else "6-10" if distance <= 10 else ">10"
    return ("right" if h < m else "left") + size


def base_features(template: Template, rows, h, m):
    """The values with which a template fires on an arc, as strings."""
    fixed, repeated = [], [[]]
    for atom in template.atoms:
        if atom.word == "B":
            between = [values(rows, i)[0].get(atom.attribute) for i in range(min(h, m) + 1, max(h, m))]
            seen = {v: between.count(v) for v in between if v is not None}
            repeated = [
                [*r, f"B{v}#{min(c, MAX_COUNT) if atom.counted else ''}"]
                for r in repeated
                for v, c in seen.items()
            ]
            continue
        word = h if atom.word == "H" else m
        single, feats = values(rows, word + atom.offset)
        if atom.attribute == "a":
            repeated = [[*r, f"{atom.word}{v}"] for r in repeated for v in feats]
        elif atom.attribute in single:
            fixed.append(f"{atom}={single[atom.attribute]}")
        else:
            return set()
    return {f"{template}|{'|'.join(fixed + r)}" for r in repeated}


def arc_features(templates, rows, h, m):
    """All features of an arc: bare where the template looks at the head, and with its bin."""
    found = set()
    for template in templates:
        for base in base_features(template, rows, h, m):
            if any(atom.word in "HB" for atom in template.atoms):
                found.add(base)
            found.add(f"{base}|{bin_name(h, m)}")
    return found
