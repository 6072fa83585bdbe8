"""The projective tree nearest to a tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from mtparse.runtime.incoming import Incoming, incoming
from mtparse.treebank.sentence import Sentence
from mtparse.treebank.trees import (
    HeadArray,
    check_tree,
    crossing_arcs,
    head_array,
    is_projective,
    is_tree,
    roots,
    word_heads,
)


def projectivize(heads: HeadArray, root: str = "multi") -> np.ndarray:
    """Return the projective tree that shares most arcs with a tree.

    Found exactly by Eisner's algorithm with score +1 on the arcs of the tree and -1 on all others; of
    several nearest trees always the same one is taken. A projective tree of the family comes back
    unchanged. O(n) to O(n log n) for those, O(n^3) for the others.

    Parameters
    ----------
    heads : sequence of int
        Head array of a tree.
    root : {"multi", "single"}
        Whether the result may have several words that depend on the root symbol.

    Returns
    -------
    ndarray of int64, shape (n+1,)
        A new head array.

    Raises
    ------
    TypeError
        If the heads are no integers, as floats and masked entries are not.
    ValueError
        If the heads are no tree or ``root`` is neither value.
    """
    if root not in ("multi", "single"):
        raise ValueError(f"root is {root!r}; it can be multi or single")
    heads = [-1, *word_heads(heads)]
    if not is_tree(heads):
        raise ValueError("the heads do not form a tree, so it cannot be made projective")
    if not crossing_arcs(heads) and (root == "multi" or len(roots(heads)) <= 1):
        return np.array(heads, dtype=np.int64)
    from mtparse.inference.family import TreeFamily  # compiled code: loaded only where a tree is searched

    scores = np.full((len(heads), len(heads)), -1.0)
    scores[heads[1:], np.arange(1, len(heads))] = 1.0
    return np.asarray(TreeFamily("projective", root).best_tree(scores), dtype=np.int64)


class Projectivized:
    """Sentences with their trees made projective, and how many changed.

    Projective trees pass as they are; of the others only heads change, each as `projectivize` says, with
    one root where there was one. As text: the counts, once all sentences were taken.
    """

    def __init__(self, sentences: Iterable[Sentence]) -> None:
        self._sentences = sentences
        self.sentences = self.words = self.changed_sentences = self.changed_heads = 0

    def __iter__(self) -> Iterator[Sentence]:
        return Incoming(self._projectivized())

    def _projectivized(self) -> Iterator[Sentence | None]:
        for sentence in incoming(self._sentences):
            if sentence is None:
                yield None
                continue
            check_tree(sentence)
            self.sentences += 1
            self.words += len(sentence)
            heads = head_array(sentence.heads)
            if is_projective(heads):
                yield sentence
                continue
            nearest = projectivize(heads, "single" if len(roots(heads)) == 1 else "multi")
            self.changed_sentences += 1
            self.changed_heads += int((nearest != heads).sum())
            yield sentence.with_heads(nearest[1:].tolist(), sentence.deprels)

    def __str__(self) -> str:
        return (
            f"{self.changed_sentences} of {self.sentences} sentences changed, "
            f"{self.changed_heads} of {self.words} heads"
        )
