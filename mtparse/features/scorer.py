"""Scores of arcs by the weights of their features."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

import numpy as np

from mtparse.features.compiled_templates import FORMS, compile_templates
from mtparse.features.extraction import sentence_scores
from mtparse.features.hash_table import weight_table
from mtparse.features.lexicon import Lexicon, TypeTable
from mtparse.features.templates import Template
from mtparse.features.word_hashes import hash_words
from mtparse.runtime.jit import kernel


@kernel
def arc_scores(program, weights, table, types):
    """Scores of all arcs of a sentence, float64 (n+1, n+1).

    ``program`` and ``weights`` are a `Scorer`'s, ``table`` and ``types`` (n+1,) as its ``encode`` gives them.
    """
    return sentence_scores(program, weights, hash_words(program, table, types))


class Scorer:
    """Templates and the weights of their features: the scores of arcs.

    Threads may share one: what they see of each other does not change.

    Parameters
    ----------
    templates, keys, masks
        As for :class:`mtparse.features.index.FeatureIndex`.
    weights
        float64 (features,), in the order of the features' numbers; kept as float32, which changes no score
        by more than 6e-8 times the sum of the sizes of its weights (those above 1e-38).
    """

    def __init__(
        self, templates: Sequence[Template], keys: np.ndarray, masks: np.ndarray, weights: np.ndarray
    ) -> None:
        self.templates = list(templates)
        self.program = compile_templates(self.templates)
        self.size = len(weights)
        masks = masks & np.uint16(FORMS)
        self.table = weight_table(keys[masks != 0], masks[masks != 0], weights)
        self._own = threading.local()

    def __len__(self) -> int:
        return self.size

    def encode(self, sentences: Iterable[Sequence[Sequence[str]]]) -> tuple[TypeTable, list[np.ndarray]]:
        """Number the words of some sentences, as :meth:`Lexicon.encode_all` does.

        The lexicon is the calling thread's, who finds words of earlier calls in it. It is taken away while it
        changes, so that an exception in between leaves none that is half changed.
        """
        lexicon = getattr(self._own, "lexicon", None)
        if lexicon is None:
            lexicon = Lexicon()
        self._own.lexicon = None
        encoded = lexicon.encode_all(sentences)
        self._own.lexicon = lexicon
        return encoded

    def scores(self, rows: Sequence[Sequence[str]]) -> np.ndarray:
        """Scores of all arcs of a sentence, float64 (n+1, n+1), ``[head, modifier]``; unused cells are 0."""
        table, (types,) = self.encode([rows])
        return arc_scores(self.program, self.table, table, types)
