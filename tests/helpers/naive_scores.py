"""The tables of ``eval --by``, each figure from a walk of its own over all words."""

from __future__ import annotations

import random
from typing import NamedTuple

from mtparse.evaluation.attachment import is_punctuation
from mtparse.treebank.sentence import Sentence


class Word(NamedTuple):
    position: int
    tag: str
    head: int
    guess: int
    label: str
    guessed: str
    size: int


DIRECTIONS = {
    "to_root": lambda head, word: head == 0,
    "left": lambda head, word: 0 < head < word,
    "right": lambda head, word: head > word,
    "self": lambda head, word: head == word,
}
DISTANCES = {
    "to_root": lambda head, word: head == 0,
    "1": lambda head, word: head and head - word in (-1, 0, 1),
    "2": lambda head, word: head and head - word in (-2, 2),
    "3-6": lambda head, word: head and (3 <= head - word <= 6 or 3 <= word - head <= 6),
    "7-...": lambda head, word: head and (head - word > 6 or word - head > 6),
}


def made_up(seed):
    """A gold treebank and a system's, with loops, heads beyond the sentence, punctuation and subtypes."""
    draw = random.Random(seed)
    gold, system = [], []
    for _ in range(40):
        size = draw.choice([1, 3, 9, 10, 11, 25])
        forms = [draw.choice(["a", "b", ".", "$"]) for _ in range(size)]
        tags = draw.choices(["N", "V", "_", "鷺"], k=size)
        for side, most in ((gold, size), (system, size + 3)):
            heads = [draw.randint(0, most) for _ in range(size)]
            labels = draw.choices(["s", "s:t", "s:u", "o", "_", "r" if side is gold else "R"], k=size)
            side.append(Sentence.from_words(forms, cpostags=tags, heads=heads, deprels=labels))
    return gold, system


def naive_tables(gold, system, *, punctuation, ignore_subtypes):
    """What ``Breakdown(TABLES).as_dict()`` returns of them, with figures computed another way."""
    words = []
    for right, guess in zip(gold, system, strict=True):
        for i in range(len(right)):
            if punctuation or not is_punctuation(right.forms[i]):
                labels = right.deprels[i], guess.deprels[i]
                if ignore_subtypes:
                    labels = tuple(label.split(":")[0] for label in labels)
                words.append(
                    Word(i + 1, right.cpostags[i], right.heads[i], guess.heads[i], *labels, len(right))
                )
    return {
        "label": {"labels": _labels(words), "confusion": _confusion(words)},
        "tag": sorted(_tags(words), key=lambda row: (-row["scored"], row["tag"])),
        "distance": [_bin(words, "distance", name, holds) for name, holds in DISTANCES.items()],
        "direction": [_bin(words, "direction", name, holds) for name, holds in DIRECTIONS.items()],
        "length": [_length(words, gold, range(first, first + 10)) for first in (1, 11, 21)],
    }


def _share(part, total):
    return None if total == 0 else 100 * part / total


def _labels(words):
    for_each = sorted({word.label for word in words} | {word.guessed for word in words})
    rows = []
    for label in for_each:
        right = [word for word in words if word.label == label and word.guessed == label]
        gold = len([word for word in words if word.label == label])
        system = len([word for word in words if word.guessed == label])
        attached = len([word for word in right if word.head == word.guess])
        rows.append(
            {
                "label": label,
                "gold": gold,
                "correct": len(right),
                "correct_with_head": attached,
                "system": system,
                "recall": _share(len(right), gold),
                "precision": _share(len(right), system),
                "recall_with_head": _share(attached, gold),
                "precision_with_head": _share(attached, system),
            }
        )
    return rows


def _confusion(words):
    rows = []
    for label, guessed in sorted({(word.label, word.guessed) for word in words}):
        if label != guessed:
            count = len([word for word in words if (word.label, word.guessed) == (label, guessed)])
            rows.append({"gold": label, "system": guessed, "count": count})
    return sorted(rows, key=lambda row: -row["count"])


def _tags(words):
    for tag in {word.tag for word in words}:
        mine = [word for word in words if word.tag == tag]
        heads = len([word for word in mine if word.head == word.guess])
        labels = len([word for word in mine if word.label == word.guessed])
        both = len([word for word in mine if (word.head, word.label) == (word.guess, word.guessed)])
        yield {
            "tag": tag,
            "scored": len(mine),
            "correct_heads": heads,
            "correct_labels": labels,
            "correct_both": both,
            "UAS": _share(heads, len(mine)),
            "label_accuracy": _share(labels, len(mine)),
            "LAS": _share(both, len(mine)),
        }


def _bin(words, key, name, holds):
    gold = [word for word in words if holds(word.head, word.position)]
    system = [word for word in words if holds(word.guess, word.position)]
    both = len([word for word in gold if holds(word.guess, word.position)])
    shares = {"recall": _share(both, len(gold)), "precision": _share(both, len(system))}
    return {key: name, "gold": len(gold), "correct": both, "system": len(system), **shares}


def _length(words, gold, lengths):
    sizes = [len(sentence) for sentence in gold if len(sentence) in lengths]
    mine = [word for word in words if word.size in lengths]
    heads = len([word for word in mine if word.head == word.guess])
    both = len([word for word in mine if (word.head, word.label) == (word.guess, word.guessed)])
    return {
        "length": f"{lengths[0]}-{lengths[-1]}",
        "sentences": len(sizes),
        "words": sum(sizes),
        "scored": len(mine),
        "correct_heads": heads,
        "correct_both": both,
        "UAS": _share(heads, len(mine)),
        "LAS": _share(both, len(mine)),
    }
