"""Parsing with a trained model."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import numpy as np

from mtparse.errors import InputWarning, ModelError, MtparseError
from mtparse.features.scorer import Scorer, arc_scores
from mtparse.features.templates import Template
from mtparse.inference.dispatch import best_tree_address, call_best_tree
from mtparse.inference.family import TreeFamily
from mtparse.model.model_file import Model, load_model, model_bytes, model_from_bytes
from mtparse.runtime.incoming import Incoming, incoming
from mtparse.runtime.jit import kernel
from mtparse.runtime.threads import Workers
from mtparse.treebank.inventory import Comparison, Inventory
from mtparse.treebank.sentence import (
    Sentence,
    require_parsable,
    require_sentences,
    require_well_formed,
)

BATCH = 32
"""Sentences that a thread parses at a time."""

LOOKED_AT = 1000
"""So many words of an input are compared with what the model was trained with."""

DECODERS = ("auto", "eisner", "mst")


@kernel
def parse_batch(program, weights, table, types, ends, best_tree_at, single, heads):  # type: ignore[no-untyped-def]
    """Fill ``heads`` with the best trees of several sentences.

    Parameters
    ----------
    types, heads
        int64: those of all sentences one after the other, n+1 of each.
    ends
        int64 (sentences,): where each sentence ends.
    best_tree_at
        The decoder, as from `mtparse.inference.dispatch.best_tree_address`.
    """
    begin = 0
    for s in range(ends.shape[0]):
        scores = arc_scores(program, weights, table, types[begin : ends[s]])
        call_best_tree(best_tree_at, scores, single, heads[begin : ends[s]])
        begin = ends[s]


def warn_of(differences: list[str], words: int) -> None:
    """Warn, at the caller's line outside of this package, that an input is unlike the training data."""
    seen = f"in the first {words} words, " if words >= LOOKED_AT else ""
    text = f"the input is unlike the training data, trees may be much worse: {seen}{'; '.join(differences)}"
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "mtparse":
        level, frame = level + 1, frame.f_back
    warnings.warn(text, InputWarning, stacklevel=level)


class Parser:
    """A trained model, ready to parse.

    Make one with :meth:`load`. Weights are kept as float32, see
    :class:`mtparse.features.scorer.Scorer`.

    Notes
    -----
    What threads share of a parser does not change: any number may use one at once, each with calls of its own
    (an iterator that :meth:`parse` returned belongs to one thread). Processes that were forked may go on with
    their parent's parser, as long as no other thread was compiling a kernel at the fork, which is what a
    thread's first sentence does; a parser sent to other processes, as ``multiprocessing`` does it where
    processes are spawned, travels as the bytes of its model file, whatever the version of numpy there, and is
    made from them again, so that loading the file there is as quick.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        templates = [Template.parse(t) for t in model.templates]
        self._scorer = Scorer(templates, model.keys, model.masks, model.weights)
        self._inventory = Inventory.from_dict(model.info.get("inventory"))

    def __reduce__(self) -> tuple[Callable[[bytes], Parser], tuple[bytes]]:
        return type(self)._from_bytes, (model_bytes(self.model),)

    @classmethod
    def _from_bytes(cls, data: bytes) -> Parser:
        return cls(model_from_bytes(data))

    @classmethod
    def load(cls, path: str | os.PathLike) -> Parser:
        """Load a model file, or the one in a run directory.

        Raises
        ------
        ModelError
            If it is no model file, damaged, cut off or of another version, or if its weights do not fit in
            float32.
        OSError
            If it cannot be read.
        """
        model = load_model(path)
        try:
            return cls(model)
        except MtparseError as error:
            raise ModelError(f"{os.fspath(path)}: the model cannot be used: {error}") from error

    def __repr__(self) -> str:
        info = self.model.info
        kind = f"{info.get('trainer', '')} {info.get('trees', '')} {self.model.root}-root".strip()
        return f"<Parser: {kind}, decoder {self.model.decoder}, {len(self._scorer)} features>"

    @property
    def family(self) -> TreeFamily:
        """The trees that the model was trained on, whatever decodes them."""
        return TreeFamily(self.model.info["trees"], self.model.root)

    def scores(self, sentence: Sentence) -> np.ndarray:
        """Scores of all arcs, float64 (n+1, n+1), ``scores[head, modifier]``; unused cells are 0.

        Those of a log-linear model are log-probabilities up to a constant: ``family.marginals(scores)`` are
        what the model was trained to get right. Those of a perceptron or a max-margin model are on no such
        scale: what is computed of them looks like probabilities, but is not.

        Raises
        ------
        ConllError
            If the words of a sentence made by hand could not be written and read back.
        TypeError
            If it is no `Sentence`.
        """
        require_well_formed(sentence)
        return self._scorer.scores(sentence.rows)

    def parse(
        self, sentences: Iterable[Sentence], *, decoder: str = "auto", threads: int = 1
    ) -> Iterator[Sentence]:
        """Parse sentences as they come, in their order.

        Parameters
        ----------
        sentences
            Gold heads, where there are any, are not looked at.
        decoder
            ``eisner``: the best projective tree. ``mst``: the best tree. ``auto``: the one that was
            better on validation data.
        threads
            Sentences are parsed by this many threads; the result does not depend on it.

        Yields
        ------
        Sentence
            A copy with the predicted heads; labels are ``_``, as the model has none, and so are other columns
            that hold heads, see `Sentence.with_heads`; the rest as it was.

        Raises
        ------
        ValueError
            If the decoder's name is none of these.
        ConllError
            At a sentence of more than `mtparse.treebank.sentence.MAX_PARSED` words, and at one made by hand
            whose words could not be written and read back, see `mtparse.treebank.sentence.format_sentence`.
        TypeError
            If ``sentences`` is a single one, and at what is not a `Sentence`. What the source of the
            sentences raises is raised again. Either way all sentences before are yielded first.

        Notes
        -----
        Sentences are parsed in batches. Where those of `mtparse.read_conll` come from a pipe and it holds no
        more at the moment, all that have come are parsed and yielded before the next is waited for.
        The first thousand words are compared with those that the model was trained on: a
        `mtparse.errors.InputWarning` says, once, if tags are unknown or columns empty that were not then, on
        at least five words.
        Memory does not grow with the number of sentences. Cost a sentence: O(n²) look-ups of all
        templates, and O(n³) (eisner) or O(n²) (mst) for the tree.
        """
        if decoder not in DECODERS:
            raise ValueError(f"decoder is {decoder!r}; it can be {', '.join(DECODERS)}")
        require_sentences("sentences", sentences)
        projective = (self.model.decoder if decoder == "auto" else decoder) == "eisner"
        return Incoming(self._parse(sentences, projective, threads))

    def _parse(
        self, sentences: Iterable[Sentence], projective: bool, threads: int
    ) -> Iterator[Sentence | None]:
        single = self.model.root == "single"
        best_tree_at = best_tree_address(projective)
        scorer = self._scorer

        failures: list[Exception] = []
        comparison = None if self._inventory is None else Comparison(self._inventory)

        def encoded(batch: list[Sentence]) -> Iterator[tuple]:
            """A batch with its words numbered."""
            nonlocal comparison
            numbers = scorer.encode([s.rows for s in batch])
            if comparison is not None:
                comparison.see(s.rows for s in batch)
                if differences := comparison.differences():
                    warn_of(differences, comparison.words)
                if differences or comparison.words >= LOOKED_AT:
                    comparison = None
            if batch:
                yield batch, *numbers

        def batches() -> Iterator[tuple | None]:
            batch: list[Sentence] = []
            try:
                for sentence in incoming(sentences):
                    if sentence is not None:
                        require_well_formed(sentence)
                        require_parsable(sentence)
                        batch.append(sentence)
                    if len(batch) == BATCH or sentence is None:
                        yield from encoded(batch)
                        batch = []
                    if sentence is None:
                        yield None
            except Exception as error:
                failures.append(error)  # raised when all sentences before it are parsed
            yield from encoded(batch)

        def parse(item: tuple) -> list[Sentence]:
            batch, table, encoded = item
            types = np.concatenate(encoded)
            ends = np.cumsum([len(one) for one in encoded])
            heads = np.empty_like(types)
            parse_batch(scorer.program, scorer.table, table, types, ends, best_tree_at, single, heads)
            found = iter(heads.tolist())
            return [s.with_heads(list(islice(found, 1, len(s) + 1))) for s in batch]

        with Workers(threads) as workers:
            for parsed in workers.map(parse, batches()):
                if parsed is None:
                    yield None
                else:
                    yield from parsed
        if failures:
            raise failures[0]
