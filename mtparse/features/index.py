"""The set of known features: counted on training arcs, numbered by falling frequency, looked up by hash."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from mtparse.features.compiled_templates import BIN_BITS, compile_templates, form_counts
from mtparse.features.feature_keys import NO_BARE, event_keys
from mtparse.features.hash_table import number_table
from mtparse.features.lexicon import Lexicon
from mtparse.features.templates import ATTRIBUTES, MULTIVALUED, Template, resolve
from mtparse.features.word_hashes import hash_words

_EVENTS_A_CHUNK = 1 << 24


def present_attributes(sentences: Iterable[Sequence[Sequence[str]]]) -> set[str]:
    """Which attributes a treebank has (see :func:`mtparse.features.templates.resolve`).

    Parameters
    ----------
    sentences
        The CoNLL rows of each sentence.
    """
    present = set(ATTRIBUTES) - {"l", "f", "c"}
    for rows in sentences:
        for row in rows:
            if row[2] != "_":
                present.add("l")
            if row[3] != row[4] and row[4] != "_":
                present.add("c")
            if row[5] != "_":
                present |= {"f", MULTIVALUED}
    return present - {"e1", "e2"} if present & {"f", "l"} else present


class FeatureIndex:
    """Templates, and the features of theirs that are known, with their numbers.

    A *base* is a template with its values, without direction and distance; its known forms (bare, and
    one for each bin of direction and distance) have consecutive numbers.

    Parameters
    ----------
    templates
        In any order.
    keys
        uint64 (B,): base keys, distinct.
    masks
        uint16 (B,): bit f is set where form f is known; never 0.
    """

    def __init__(self, templates: Sequence[Template], keys: np.ndarray, masks: np.ndarray) -> None:
        self.templates = list(templates)
        self.program = compile_templates(self.templates)
        self.keys = np.ascontiguousarray(keys, np.uint64)
        self.masks = np.ascontiguousarray(masks, np.uint16)
        sizes = form_counts(self.masks)
        self.size = int(sizes.sum())
        if self.size >= 2**31:
            raise OverflowError(f"{self.size} features; at most 2^31: raise features.min_count")
        self.table = number_table(self.keys, self.masks, np.cumsum(sizes) - sizes)

    def __len__(self) -> int:
        return self.size

    @classmethod
    def build(
        cls,
        sentences: Sequence[Sequence[Sequence[str]]],
        heads: Sequence[np.ndarray],
        templates: Sequence[str],
        *,
        source: str = "gold",
        min_count: int = 1,
    ) -> FeatureIndex:
        """Count the features of a treebank and keep those seen often enough.

        Parameters
        ----------
        sentences
            CoNLL rows of each sentence.
        heads
            int64 (n+1,) gold heads of each sentence.
        templates
            In the text form; those that can tell nothing here are left out.
        source
            ``gold``: count on gold arcs. ``all``: on all arcs.
        min_count
            A form is known when it was seen on this many arcs.

        Notes
        -----
        Cost: one sort of all events (one an arc and base feature), in chunks of at most 16 M.
        """
        resolved = resolve(list(templates), present_attributes(sentences))
        program = compile_templates(resolved)
        lexicon = Lexicon()
        merged: list[tuple[np.ndarray, np.ndarray]] = []
        buffer = np.empty(_EVENTS_A_CHUNK, np.uint64)
        used = 0
        everything = np.zeros(1, np.int64)
        for rows, tree in zip(sentences, heads, strict=True):
            table, (types,) = lexicon.encode_all([rows])
            words = hash_words(program, table, types)
            wanted = tree if source == "gold" else everything
            while True:
                count = event_keys(program, words, wanted, buffer[used:])
                if count >= 0:
                    used += count
                    break
                if used:
                    _push(merged, *_count(buffer[:used]))
                    used = 0
                else:
                    buffer = np.empty(2 * len(buffer), np.uint64)
        _push(merged, *_count(buffer[:used]))
        events, counts = merged[0]
        for other in merged[1:]:
            events, counts = _merge((events, counts), other)
        keys, masks = _select(events, counts, min_count)
        return cls(resolved, keys, masks)


def _starts(ordered: np.ndarray) -> np.ndarray:
    """Where each run of equal values begins."""
    return np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])


def _count(events: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct events, ascending, and how often each occurs. Sorts ``events`` in place."""
    events.sort()
    starts = _starts(events)
    return events[starts], np.diff(np.append(starts, len(events)))


def _merge(
    a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    events = np.concatenate([a[0], b[0]])
    counts = np.concatenate([a[1], b[1]])
    order = np.argsort(events, kind="stable")
    events, counts = events[order], counts[order]
    starts = _starts(events)
    return events[starts], np.add.reduceat(counts, starts) if len(starts) else counts


def _push(merged: list[tuple[np.ndarray, np.ndarray]], events: np.ndarray, counts: np.ndarray) -> None:
    """Add a chunk, merging chunks of like size, so that each event is copied O(log chunks) times."""
    merged.append((events, counts))
    while len(merged) > 1 and len(merged[-2][0]) < 2 * len(merged[-1][0]):
        last = merged.pop()
        merged[-1] = _merge(merged[-1], last)


def _select(events: np.ndarray, counts: np.ndarray, min_count: int) -> tuple[np.ndarray, np.ndarray]:
    """Bases in order of falling count (then by key), with the mask of the forms to keep."""
    low = (events & np.uint64(2**BIN_BITS - 1)).astype(np.int64)
    keys = events - low.astype(np.uint64)
    forms, has_bare = low & (NO_BARE - 1), low & NO_BARE == 0
    starts = _starts(keys)
    totals = np.add.reduceat(counts, starts) if len(starts) else counts
    kept = np.where(counts >= min_count, 1 << forms, 0)
    masks = np.bitwise_or.reduceat(kept, starts) if len(starts) else kept
    masks |= (totals >= min_count) & has_bare[starts]
    order = np.lexsort([keys[starts], -totals])
    order = order[masks[order] != 0]
    return keys[starts][order], masks[order].astype(np.uint16)
