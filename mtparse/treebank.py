"""A treebank in memory: gold trees that are checked, the validation part, how many roots."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtparse import collector
from mtparse.config import Config
from mtparse.conll import read_conll
from mtparse.errors import ConfigError, ConllError
from mtparse.sentence import Sentence
from mtparse.trees import are_trees, check_tree, head_arrays, roots


@dataclass(frozen=True)
class Treebank:
    """Sentences with their gold head arrays, int64 (n+1,), and the SHA-256 of the file they are from."""

    sentences: list[Sentence]
    heads: list[np.ndarray]
    sha256: str = ""

    @property
    def rows(self) -> list[list[list[str]]]:
        """The CoNLL columns of every sentence."""
        return [s.rows for s in self.sentences]

    @property
    def words(self) -> int:
        """Number of words."""
        return sum(map(len, self.sentences))

    def __add__(self, other: Treebank) -> Treebank:
        return Treebank(self.sentences + other.sentences, self.heads + other.heads)

    def take(self, mask: np.ndarray) -> Treebank:
        """The sentences for which ``mask`` is true."""
        chosen = np.flatnonzero(mask)
        return Treebank([self.sentences[i] for i in chosen], [self.heads[i] for i in chosen])


def read_treebank(path: str, config: Config) -> Treebank:
    """Read a file of gold trees.

    Raises
    ------
    ConllError
        If it is malformed or empty, if a head is missing, or if the heads of a sentence are no tree.
    """
    with open(path, "rb") as file:
        data = file.read()
    stream = io.BytesIO(data)
    stream.name = path
    reading = read_conll(stream, format=config.data.format, encoding=config.data.encoding, heads="required")
    with collector.paused():
        sentences = list(reading)
    if not sentences:
        raise ConllError(path, 0, "the file holds no sentence")
    heads = head_arrays([s.heads for s in sentences])
    if not are_trees(heads):
        for sentence in sentences:
            check_tree(sentence)
    return Treebank(sentences, heads, hashlib.sha256(data).hexdigest())


def validation_mask(lengths: Sequence[int], kind: str, value: float) -> np.ndarray:
    """Which sentences of a training file are its validation part: spread evenly over the file.

    A sentence belongs to it where the part's due size passes the next whole sentence (``fraction``,
    ``sentences``) or where the part, counted in words, is behind its due size by more than half of the
    sentence (``words``). No randomness: the same file gives the same part.

    Parameters
    ----------
    kind, value
        ``fraction`` of the sentences, a number of ``sentences``, or a number of ``words``.

    Returns
    -------
    bool array of the length of ``lengths``

    Raises
    ------
    ConfigError
        If this leaves nothing to train on or nothing to validate with.
    """
    size = len(lengths)
    if kind == "words":
        words = np.cumsum(lengths)
        mask = np.zeros(size, bool)
        chosen = 0
        for i, length in enumerate(lengths):
            if chosen + length / 2 <= words[i] * value / words[-1]:
                mask[i] = True
                chosen += length
    else:
        share = value if kind == "fraction" else value / size
        due = np.floor(np.arange(size + 1) * share + 1e-9)
        mask = np.diff(due) > 0
    if mask.all() or not mask.any():
        what = "training" if mask.all() else "validation"
        raise ConfigError(
            f"data.valid: {kind}: {value:g} of {size} sentences ({sum(lengths)} words) leaves none for "
            f"{what}; set another size, or a file of its own"
        )
    return mask


def is_single(training: Treebank, root: str) -> bool:
    """Whether trees have one root: as ``root`` says, for ``auto`` as all training trees have it.

    Raises
    ------
    ConllError
        The first tree with several roots where ``root`` is ``single``.
    """
    for sentence, heads in zip(training.sentences, training.heads, strict=True):
        found = roots(heads)
        if len(found) > 1 and root != "multi":
            if root == "auto":
                return False
            words = ", ".join(map(str, found))
            raise ConllError(
                sentence.path, sentence.line,
                f"sentence {sentence.number}: several roots (words {words}); set root: multi or auto",
            )  # fmt: skip
    return root != "multi"
