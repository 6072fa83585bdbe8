"""What a model was trained with: tags, attributes, columns that were filled; and input that is unlike.

A model that meets tags it has never seen does not fail; it parses badly (a Turkish one at 41 UAS instead
of 70, with tags in lower case). So models know their inventories, and parsing compares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mtparse.treebank.sentence import COLUMNS

_PLACES = {name: COLUMNS.index(name) for name in ("LEMMA", "CPOSTAG", "POSTAG", "FEATS")}
_KINDS = {"CPOSTAG": "tags", "POSTAG": "tags", "FEATS": "attributes"}

MOST_VALUES = 5000
"""Columns with more different values are not listed, and not compared."""


@dataclass(frozen=True)
class Inventory:
    """What stands in the columns of a treebank.

    Attributes
    ----------
    words : int
    filled : dict of str to float
        For LEMMA, CPOSTAG, POSTAG and FEATS, the share of words where it is not ``_``.
    values : dict of str to list of str
        For CPOSTAG, POSTAG and FEATS (single attributes, ``Case=Nom``), all values in order; a column with
        more than `MOST_VALUES` is left out.
    """

    words: int
    filled: dict[str, float]
    values: dict[str, list[str]]

    @classmethod
    def of(cls, sentences: Iterable[Sequence[Sequence[str]]]) -> Inventory:
        """Take stock of the rows of some sentences. O(words)."""
        counts: dict[str, Counter] = {name: Counter() for name in _PLACES}
        for rows in sentences:
            for name, place in _PLACES.items():
                counts[name].update([row[place] for row in rows])
        words = counts["FEATS"].total()
        filled = {name: (words - count["_"]) / max(words, 1) for name, count in counts.items()}
        values = {name: sorted(_values(name, counts[name])) for name in _KINDS}
        return cls(words, filled, {k: v for k, v in values.items() if len(v) <= MOST_VALUES})

    def as_dict(self) -> dict[str, Any]:
        """For the header of a model file."""
        return {"words": self.words, "filled": self.filled, "values": self.values}

    @classmethod
    def from_dict(cls, kept: Any) -> Inventory | None:
        """What `as_dict` made; None where there is nothing of that kind (a model of an older version)."""
        try:
            filled = {name: float(kept["filled"][name]) for name in _PLACES}
            values = {str(k): [str(value) for value in v] for k, v in kept["values"].items()}
            return cls(int(kept["words"]), filled, values)
        except (AttributeError, KeyError, TypeError, ValueError):
            return None


def _values(name: str, cells: Iterable[str]) -> set[str]:
    if name == "FEATS":
        return {attribute for cell in cells for attribute in cell.split("|")} - {"_"}
    return set(cells) - {"_"}


class Comparison:
    """Compares the words of an input, as they come, with an inventory."""

    def __init__(self, inventory: Inventory) -> None:
        self._trained = inventory
        self._known = {name: frozenset(values) for name, values in inventory.values.items()}
        self._counts: dict[str, Counter] = {name: Counter() for name in _PLACES}
        self.words = 0

    def see(self, sentences: Iterable[Sequence[Sequence[str]]]) -> None:
        """Take the rows of some more sentences into account."""
        for rows in sentences:
            self.words += len(rows)
            for name, place in _PLACES.items():
                self._counts[name].update([row[place] for row in rows])

    def differences(self) -> list[str]:
        """What is unlike the training data in the words so far, beyond chance, with figures."""
        found = []
        for name, place in _PLACES.items():
            empty = self._counts[name]["_"]
            expected = self._trained.filled[name] * self.words
            filled = self.words - empty
            if (not filled and expected >= 5) or (filled < expected / 2 and expected >= 50):
                found.append(
                    f"column {place + 1} ({name}) is empty in {_percent(empty, self.words)} of the words, "
                    f"the model was trained with it filled in {100 * self._trained.filled[name]:.0f} %"
                )
            elif name in self._known:
                found += self._unknown(name, filled)
        return found

    def _unknown(self, name: str, filled: int) -> list[str]:
        """A line if many words have values in this column that the model has never seen."""
        seen = _values(name, self._counts[name])
        unknown = seen - self._known[name]
        cells = self._counts[name].items()
        hit = sum(count for cell, count in cells if not unknown.isdisjoint(_values(name, [cell])))
        if hit < 5 or hit < filled / 20:
            return []
        shown = ", ".join(sorted(unknown)[:3]) + (", ..." if len(unknown) > 3 else "")
        return [
            f"{name}: {len(unknown)} of {len(seen)} {_KINDS[name]} are unknown to the model ({shown}), on "
            f"{_percent(hit, self.words)} of the words"
        ]


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"


def describe(inventory: Inventory) -> Mapping[str, str]:
    """A line for each column: how often it was filled, and with how many different values."""
    lines = {}
    for name, share in inventory.filled.items():
        text = f"filled in {100 * share:.1f} % of the words"
        if share and name in inventory.values:
            text += f", {len(inventory.values[name])} {_KINDS[name]}"
        lines[name] = text
    return lines
