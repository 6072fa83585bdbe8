"""Scores by tag, by label, by direction and distance of heads, by length of sentences.

The tables of the long report of the CoNLL-X shared task's script (eval.pl 1.9 without ``-q``), with its
figures (those by tag with two decimals more), and two that it does not have: lengths, and labels that are
taken for others. What is kept are counts: of tags, of pairs of labels, of pairs of bins.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import compress
from operator import eq
from typing import Protocol

from mtparse.evaluation.aligned import format_table
from mtparse.evaluation.attachment import Compared, Scores

TABLES = ("label", "tag", "distance", "direction", "length")

CONFUSIONS = 20
"""Pairs of labels that are printed; JSON has all."""

_BIN = 10
"""Lengths of sentences in a bin."""


def direction(head: int, word: int) -> str:
    """Where the head stands: ``left`` of the word or ``right`` of it, ``to_root``, or the word itself."""
    return "to_root" if head == 0 else "left" if head < word else "right" if head > word else "self"


def distance(head: int, word: int) -> str:
    """How far the head stands from the word, on either side; 1 is also a word that is its own head."""
    if head == 0:
        return "to_root"
    words = abs(head - word)
    return "1" if words <= 1 else "2" if words == 2 else "3-6" if words <= 6 else "7-..."


def length_bin(words: int) -> int:
    """The last length of the bin of a sentence of so many words: 10 of 1 to 10, 20 of 11 to 20."""
    return math.ceil(words / _BIN) * _BIN


class Breakdown:
    """Tables by the names in ``TABLES``, to which sentences are added one by one.

    Parameters
    ----------
    by : iterable of str
        The tables, in the order in which they are wanted; one that is named twice is made once.

    Raises
    ------
    ValueError
        If there is no table of a name.

    Examples
    --------
    >>> tables = Breakdown(["direction"])
    >>> scores = sum(evaluate_sentences(gold, system, also=tables.add), Scores())
    >>> tables.as_dict()["direction"]
    """

    def __init__(self, by: Iterable[str]) -> None:
        self._tables: dict[str, _Table] = {}
        for name in by:
            if name not in TABLES:
                raise ValueError(f"{name!r} is no table; there are {', '.join(TABLES)}")
            self._tables[name] = _MAKERS[name]()

    def add(self, words: Compared, scores: Scores) -> None:
        """Count a sentence: what `evaluate_sentences` gives to ``also``."""
        for table in self._tables.values():
            table.add(words, scores)

    def as_dict(self, *, labels: bool = True) -> dict[str, object]:
        """The tables for ``mtparse eval --json``, percentages unrounded; None stands for what is undefined.

        Without ``labels`` all that is said of labels is undefined: the system gives none.
        """
        return {name: table.records(labels) for name, table in self._tables.items()}

    def format(self, *, labels: bool = True) -> str:
        """The tables for people, without a line end after the last."""
        return "\n\n".join(table.text(labels) for table in self._tables.values())


class _Table(Protocol):
    def add(self, words: Compared, scores: Scores) -> None: ...

    def records(self, labels: bool) -> object: ...

    def text(self, labels: bool) -> str: ...


class _Tags:
    """Right heads and labels of the words of each gold CPOSTAG, the most frequent one first."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, bool, bool]] = Counter()

    def add(self, words: Compared, scores: Scores) -> None:
        right_heads = map(eq, words.gold_heads, words.system_heads)
        right_labels = map(eq, words.gold_labels, words.system_labels)
        self._counts.update(compress(zip(words.tags, right_heads, right_labels, strict=True), words.counted))

    def _rows(self) -> list[tuple[str, Scores]]:
        found: dict[str, Scores] = {}
        for (tag, head, label), count in self._counts.items():
            scores = Scores(count * head, count * label, count * (head and label), count)
            found[tag] = found.get(tag, Scores()) + scores
        return sorted(found.items(), key=lambda row: (-row[1].scored, row[0]))

    def records(self, labels: bool) -> list[dict[str, object]]:
        return [
            {
                "tag": tag,
                "scored": row.scored,
                "correct_heads": row.correct_heads,
                "correct_labels": row.correct_labels if labels else None,
                "correct_both": row.correct_both if labels else None,
                "UAS": _or_none(row.UAS),
                "label_accuracy": _or_none(row.label_accuracy) if labels else None,
                "LAS": _or_none(row.LAS) if labels else None,
            }
            for tag, row in self._rows()
        ]

    def text(self, labels: bool) -> str:
        rows = self._rows()
        figures = [
            [
                tag,
                row.scored,
                row.correct_heads,
                row.UAS,
                *([row.correct_labels, row.label_accuracy] if labels else [None, None]),
                *([row.correct_both, row.LAS] if labels else [None, None]),
            ]
            for tag, row in [("total", sum((row for _, row in rows), Scores())), *rows]
        ]
        header = ["tag", "words", "heads", "%", "labels", "%", "both", "%"]
        title = "Right heads, right labels, and both right, by CPOSTAG of GOLD"
        return format_table(title, header, figures, rules=(1,))


class _Labels:
    """Precision and recall of each label, and the labels that are taken for others."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, bool]] = Counter()

    def add(self, words: Compared, scores: Scores) -> None:
        right_heads = map(eq, words.gold_heads, words.system_heads)
        triples = zip(words.gold_labels, words.system_labels, right_heads, strict=True)
        self._counts.update(compress(triples, words.counted))

    def _pairs(self, *, attached: bool) -> Counter[tuple[str, str]]:
        """How often a gold label meets one of the system's; where heads are right too if ``attached``."""
        pairs: Counter[tuple[str, str]] = Counter()
        for (gold, system, right_head), count in self._counts.items():
            pairs[gold, system] += count * (right_head or not attached)
        return pairs

    def _rows(self) -> list[tuple[str, int, int, int, int]]:
        """Label, words in gold, right ones, right ones on right heads, words in the system."""
        pairs, attached = self._pairs(attached=False), self._pairs(attached=True)
        names = sorted({label for pair in pairs for label in pair})
        gold, system = _sums(pairs)
        return [(name, gold[name], pairs[name, name], attached[name, name], system[name]) for name in names]

    def _confusion(self) -> list[tuple[str, str, int]]:
        found = [(*pair, count) for pair, count in self._pairs(attached=False).items() if pair[0] != pair[1]]
        return sorted(found, key=lambda row: (-row[2], row[:2]))

    def records(self, labels: bool) -> dict[str, list[dict[str, object]]] | None:
        if not labels:
            return None
        return {
            "labels": [
                {
                    "label": name,
                    "gold": gold,
                    "correct": correct,
                    "correct_with_head": attached,
                    "system": system,
                    "recall": _or_none(_share(correct, gold)),
                    "precision": _or_none(_share(correct, system)),
                    "recall_with_head": _or_none(_share(attached, gold)),
                    "precision_with_head": _or_none(_share(attached, system)),
                }
                for name, gold, correct, attached, system in self._rows()
            ],
            "confusion": [
                {"gold": gold, "system": system, "count": count} for gold, system, count in self._confusion()
            ],
        }

    def text(self, labels: bool) -> str:
        if not labels:
            return "  Precision, recall and confusion of DEPREL: n/a, SYSTEM has no labels"
        rows = self._rows()
        title = "Precision and recall of DEPREL"
        plain = [(name, gold, correct, system) for name, gold, correct, _, system in rows]
        attached = [(name, gold, correct, system) for name, gold, _, correct, system in rows]
        tables = (
            _format_bins(title, "deprel", plain),
            _format_bins(f"{title} + ATTACHMENT", "deprel", attached),
            self._confusion_text(),
        )
        return "\n\n".join(tables)

    def _confusion_text(self) -> str:
        found = self._confusion()
        if not found:
            return "  Confusion of labels: none, all are right"
        rows: list[list[str | float | None]] = [list(row) for row in found[:CONFUSIONS]]
        rules: tuple[int, ...] = ()
        if left := found[CONFUSIONS:]:
            rules = (len(rows),)
            rows.append([f"{len(left)} more pair{'s' * (len(left) > 1)}", "", sum(row[2] for row in left)])
        header = ["label in gold", "label in system", "words"]
        title = "Confusion of labels, the most frequent first"
        return format_table(title, header, rows, texts=2, rules=rules)


class _Heads:
    """Precision and recall of bins of heads: a head is right here where it is in the bin of the gold one."""

    def __init__(self, name: str, bins: tuple[str, ...], bin_of: Callable[[int, int], str]) -> None:
        self._name = name
        self._bins = bins
        self._bin_of = bin_of
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, words: Compared, scores: Scores) -> None:
        numbers = range(1, len(words.tags) + 1)
        sides = (words.gold_heads, words.system_heads)
        gold, system = (map(self._bin_of, heads, numbers) for heads in sides)
        pairs = zip(gold, system, strict=True)
        self._counts.update(compress(pairs, words.counted))

    def _rows(self) -> list[tuple[str, int, int, int]]:
        """Bin, words in gold, in it on both sides, in the system; ``self`` only where there are any."""
        gold, system = _sums(self._counts)
        names = [name for name in self._bins if name != "self" or gold[name] or system[name]]
        return [(name, gold[name], self._counts[name, name], system[name]) for name in names]

    def records(self, labels: bool) -> list[dict[str, object]]:
        return [
            {
                self._name: name,
                "gold": gold,
                "correct": correct,
                "system": system,
                "recall": _or_none(_share(correct, gold)),
                "precision": _or_none(_share(correct, system)),
            }
            for name, gold, correct, system in self._rows()
        ]

    def text(self, labels: bool) -> str:
        return _format_bins(f"Precision and recall of binned HEAD {self._name}", self._name, self._rows())


class _Lengths:
    """Scores of sentences of so many words, punctuation included, whether that is scored or not."""

    def __init__(self) -> None:
        self._scores: dict[int, Scores] = {}

    def add(self, words: Compared, scores: Scores) -> None:
        last = length_bin(scores.words)
        self._scores[last] = self._scores.get(last, Scores()) + scores

    def _rows(self) -> list[tuple[str, Scores]]:
        return [(f"{last - _BIN + 1}-{last}", scores) for last, scores in sorted(self._scores.items())]

    def records(self, labels: bool) -> list[dict[str, object]]:
        return [
            {
                "length": name,
                "sentences": row.sentences,
                "words": row.words,
                "scored": row.scored,
                "correct_heads": row.correct_heads,
                "correct_both": row.correct_both if labels else None,
                "UAS": _or_none(row.UAS),
                "LAS": _or_none(row.LAS) if labels else None,
            }
            for name, row in self._rows()
        ]

    def text(self, labels: bool) -> str:
        rows = [
            [name, row.sentences, row.words, row.scored, row.UAS, row.LAS if labels else None]
            for name, row in self._rows()
        ]
        header = ["length", "sentences", "words", "scored", "UAS", "LAS"]
        return format_table("Scores by the number of words in a sentence", header, rows)


_MAKERS: dict[str, Callable[[], _Table]] = {
    "label": _Labels,
    "tag": _Tags,
    "distance": lambda: _Heads("distance", ("to_root", "1", "2", "3-6", "7-..."), distance),
    "direction": lambda: _Heads("direction", ("to_root", "left", "right", "self"), direction),
    "length": _Lengths,
}


def _sums(pairs: Counter[tuple[str, str]]) -> tuple[Counter[str], Counter[str]]:
    """The sums of a table of pairs, by its first and by its second names."""
    gold: Counter[str] = Counter()
    system: Counter[str] = Counter()
    for (right, guess), count in pairs.items():
        gold[right] += count
        system[guess] += count
    return gold, system


def _share(part: int, total: int) -> float:
    # not from the errors as in attachment.percent: the script forms these otherwise than the scores
    return part / total * 100 if total else math.nan


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _format_bins(title: str, name: str, rows: Iterable[tuple[str, int, int, int]]) -> str:
    header = [name, "gold", "correct", "system", "recall (%)", "precision (%)"]
    figures = [
        (bin, gold, correct, system, _share(correct, gold), _share(correct, system))
        for bin, gold, correct, system in rows
    ]
    return format_table(title, header, figures)
