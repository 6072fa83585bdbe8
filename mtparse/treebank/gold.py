"""Gold treebanks in memory: their trees checked, a validation part split off, how many roots they have."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mtparse.errors import ConfigError, ConllError
from mtparse.runtime import gc_pause
from mtparse.treebank.conll import read_conll
from mtparse.treebank.sentence import MAX_TRAINED, Sentence, require_parsable
from mtparse.treebank.trees import are_trees, head_arrays, head_faults, roots


@dataclass(frozen=True)
class Treebank:
    """Sentences with their gold head arrays, int64 (n+1,), and the SHA-256 of the file they are from.

    ``left_out`` is how many sentences of the file are not here, ``why`` says which and for what fault.
    """

    sentences: list[Sentence]
    heads: list[np.ndarray]
    sha256: str = ""
    left_out: int = 0
    why: str = ""

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


def read_treebank(
    path: str,
    *,
    format: str = "auto",
    encoding: str = "utf-8",
    root: str = "multi",
    trees: bool = True,
    on_bad_tree: str = "refuse",
) -> Treebank:
    """Read a file of gold heads.

    Parameters
    ----------
    format, encoding
        As for `mtparse.treebank.conll.read_conll`.
    root : {"multi", "single"}
        With ``single``, sentences with several roots are not good either.
    trees
        Whether sentences must be trees, and short enough to be trained on. To score what a parser made,
        heads are enough.
    on_bad_tree : {"refuse", "skip"}
        What becomes of sentences that are not: an error, or they are left out.

    Raises
    ------
    ConllError
        If it is malformed or empty, if a head is missing, or if a sentence cannot be trained on: the first,
        and where all others are.
    """
    with open(path, "rb") as file:
        data = file.read()
    sha256 = hashlib.sha256(data).hexdigest()
    options = {"format": format, "encoding": encoding}
    left_out, why = 0, ""
    try:
        sentences = _read(path, data, heads="required", **options)
        good = not trees or _all_good(sentences, root)
        if not trees:
            for sentence in sentences:
                require_parsable(sentence)
    except ConllError:
        if not trees:
            raise
        good = False
    if not good:
        found = _read(path, data, heads="unchecked", **options)
        sentences, why = _sift(path, found, root, on_bad_tree)
        left_out = len(found) - len(sentences)
    return Treebank(sentences, head_arrays([s.heads for s in sentences]), sha256, left_out, why)


def read_treebanks(paths: Sequence[str], **options: Any) -> Treebank:
    """Read several files of gold heads as one treebank; options and errors as for :func:`read_treebank`.

    The SHA-256 is that of :func:`files_sha256`.
    """
    files = [read_treebank(path, **options) for path in paths]
    return Treebank(
        [sentence for file in files for sentence in file.sentences],
        [heads for file in files for heads in file.heads],
        _together([file.sha256 for file in files]),
        sum(file.left_out for file in files),
        "; ".join(file.why for file in files if file.left_out),
    )


def files_sha256(paths: Sequence[str]) -> str:
    """The SHA-256 of a file; of several, that of theirs, one a line."""
    return _together([hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in paths])


def _together(hashes: list[str]) -> str:
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def _read(path: str, data: bytes, **options: str) -> list[Sentence]:
    stream = io.BytesIO(data)
    stream.name = path
    reading = read_conll(stream, **options)
    with gc_pause.paused():
        sentences = list(reading)
    if not sentences:
        raise ConllError(path, 0, "the file holds no sentence")
    return sentences


def _all_good(sentences: list[Sentence], root: str) -> bool:
    return (
        are_trees(head_arrays([s.heads for s in sentences]))
        and max(map(len, sentences)) <= MAX_TRAINED
        and (root == "multi" or all(s.heads.count(0) == 1 for s in sentences))
    )


def _sift(path: str, sentences: list[Sentence], root: str, on_bad_tree: str) -> tuple[list[Sentence], str]:
    """The sentences that can be trained on, and what is said of the others."""
    good, bad = [], []
    for sentence in sentences:
        fault = next(_faults(sentence, root), None)
        if fault is None:
            good.append(sentence)
        else:
            bad.append((fault[0], f"sentence {sentence.number}: {fault[1]}"))
    (line, first), *others = bad
    if others:
        lines = ", ".join(str(line) for line, _ in others[:20]) + (", ..." if len(others) > 20 else "")
        first += f"; {len(others)} more cannot be trained on, lines {lines} (mtparse validate says why)"
    if on_bad_tree == "refuse":
        raise ConllError(path, line, f"{first}; data.on_bad_tree: skip leaves such sentences out")
    if not good:
        raise ConllError(path, line, f"{first}; no sentence is left")
    return good, f"{path}:{line}: {len(bad)} of {len(sentences)} sentences are left out: {first}"


def _faults(sentence: Sentence, root: str) -> Iterator[tuple[int, str]]:
    if len(sentence) > MAX_TRAINED:
        message = f"{len(sentence)} words; at most {MAX_TRAINED} can be trained on, split the sentence"
        yield sentence.line, message
    yield from head_faults(sentence, root=root)


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
    """Whether trees have one root: as ``root`` says, for ``auto`` as all training trees have it."""
    if root != "auto":
        return root == "single"
    return all(len(roots(heads)) == 1 for heads in training.heads)
