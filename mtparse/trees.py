"""Predicates on head arrays, and the projective tree nearest to a tree.

A head array has one entry for each position 0..n: ``heads[m]`` is the head of word m, 0 is the root
symbol and ``heads[0] = -1``. `head_array` makes one of the heads of a sentence's words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from mtparse.errors import ConllError
from mtparse.heads import cycles, head_faults
from mtparse.incoming import Incoming, incoming
from mtparse.sentence import Sentence


def head_array(words: Sequence[int]) -> np.ndarray:
    """Return the head array of length n+1 for the heads of n words."""
    return np.concatenate(([-1], np.asarray(words, dtype=np.int64)))


def head_arrays(sentences: Sequence[Sequence[int]]) -> list[np.ndarray]:
    """Return the head arrays of many sentences, given the heads of their words: parts of one array."""
    sizes = np.fromiter(map(len, sentences), np.int64, len(sentences)) + 1
    ends = np.cumsum(sizes)
    starts = ends - sizes
    heads = np.empty(sizes.sum(), np.int64)
    is_word = np.ones(len(heads), bool)
    is_word[starts] = False
    heads[starts] = -1
    heads[is_word] = np.fromiter(chain.from_iterable(sentences), np.int64, len(heads) - len(sizes))
    return [heads[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def roots(heads: Sequence[int]) -> list[int]:
    """Return the words whose head is the root symbol, in order."""
    return [word for word, head in enumerate(_checked(heads)) if head == 0]


def find_cycle(heads: Sequence[int]) -> list[int]:
    """Return the words of one cycle, each followed by its head, or an empty list.

    The cycle that the first possible word leads to is returned, from its lowest word on. Heads
    outside 1..n end a path. O(n).
    """
    return next(cycles(_checked(heads)), [])


def is_tree(heads: Sequence[int]) -> bool:
    """Whether every word has a head in 0..n and there is no cycle."""
    heads = _checked(heads)
    return all(0 <= head < len(heads) for head in heads[1:]) and not find_cycle(heads)


def are_trees(heads: Sequence[np.ndarray]) -> bool:
    """Whether each of many head arrays is a tree, as `is_tree` says. O(n log d) for depths up to d.

    All at once: every position goes to its head, then to where its head went, and so on, until all are at
    the roots or, after enough steps for the longest path, some never will be.
    """
    if not heads:
        return True
    sizes = np.fromiter(map(len, heads), np.int64, len(heads))
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    above = np.concatenate(heads) + starts
    root = starts == np.arange(len(starts))
    above[root] = starts[root]
    if (above < starts).any() or (above >= starts + np.repeat(sizes, sizes)).any():
        return False
    for _ in range(int(sizes.max()).bit_length()):
        if np.array_equal(above, starts):
            break
        above = above[above]
    return np.array_equal(above, starts)


def is_single_root(heads: Sequence[int]) -> bool:
    """Whether the heads form a tree in which exactly one word depends on the root symbol."""
    return len(roots(heads)) == 1 and is_tree(heads)


def nonprojective_arcs(heads: Sequence[int]) -> list[int]:
    """Return the modifiers of all non-projective arcs, in order.

    The arc from h to m is non-projective if a word strictly between h and m does not descend from h.
    Arcs of the root symbol never are: every word descends from it. This is the definition behind the
    percentages usually given for treebanks. O(n log n).

    Raises
    ------
    ValueError
        If the heads are no tree.
    """
    heads = _checked(heads)
    if not is_tree(heads):
        raise ValueError("the heads form no tree; descendants are not defined")
    # preorder numbers: the descendants of h are those numbered first[h] .. last[h]
    first, last = _preorder(heads)
    head, modifier = np.array(heads[1:], dtype=np.int64), np.arange(1, len(heads))
    low, high = np.minimum(head, modifier) + 1, np.maximum(head, modifier) - 1
    inside = np.flatnonzero(low <= high)
    low, high, head = low[inside], high[inside], head[inside]
    outside = _extreme(first, low, high, np.minimum) < first[head]
    outside |= _extreme(first, low, high, np.maximum) > last[head]
    return (inside[outside] + 1).tolist()


def crossing_arcs(heads: Sequence[int]) -> list[int]:
    """Return the modifiers of all arcs that cross another arc, in order.

    Two arcs cross if exactly one end of the one lies strictly between the ends of the other. Arcs of
    the root symbol count, drawn from position 0 to the left of the first word. A tree has crossing
    arcs just when it has non-projective ones, but more of them: both arcs of a crossing are listed.
    The heads need not form a tree. O(n log n).
    """
    heads = _checked(heads)
    size = len(heads)
    head, modifier = np.array(heads[1:], dtype=np.int64), np.arange(1, size)
    left, right = np.minimum(head, modifier), np.maximum(head, modifier)
    farthest, nearest = np.full(size, -1), np.full(size, size)
    np.maximum.at(farthest, left, right)
    np.minimum.at(nearest, right, left)
    inside = np.flatnonzero(right - left > 1)
    left, right = left[inside], right[inside]
    crossing = _extreme(farthest, left + 1, right - 1, np.maximum) > right
    crossing |= _extreme(nearest, left + 1, right - 1, np.minimum) < left
    return (inside[crossing] + 1).tolist()


def is_projective(heads: Sequence[int]) -> bool:
    """Whether the heads form a tree without crossing arcs, those of the root symbol included."""
    return is_tree(heads) and not crossing_arcs(heads)


def projectivize(heads: Sequence[int], root: str = "multi") -> np.ndarray:
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
    ValueError
        If the heads are no tree or ``root`` is neither value.
    """
    if root not in ("multi", "single"):
        raise ValueError(f"root is {root!r}; it can be multi or single")
    heads = _checked(heads)
    if not is_tree(heads):
        raise ValueError("the heads form no tree; there is nothing to make projective")
    if not crossing_arcs(heads) and (root == "multi" or len(roots(heads)) <= 1):
        return np.array(heads, dtype=np.int64)
    from mtparse.inference import TreeFamily  # compiled code: loaded only where a tree is searched

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


def check_tree(sentence: Sentence, path: str = "", root: str = "multi") -> None:
    """Refuse a sentence whose heads form no tree.

    Parameters
    ----------
    sentence : Sentence
        As read.
    path : str
        Name of the file for the message; the sentence's own by default.
    root : {"multi", "single"}
        With ``single``, several words with head 0 are refused too.

    Raises
    ------
    ConllError
        The first that `mtparse.heads.head_faults` finds.
    """
    heads = [-1, *sentence.heads]
    if is_tree(heads) and (root == "multi" or len(roots(heads)) <= 1):
        return
    for line, message in head_faults(sentence, root=root):
        raise ConllError(path or sentence.path, line, f"sentence {sentence.number}: {message}")


def _checked(heads: Sequence[int]) -> list[int]:
    heads = heads.tolist() if isinstance(heads, np.ndarray) else list(heads)
    if not heads or heads[0] != -1:
        raise ValueError("a head array begins with -1 for the root symbol; see mtparse.trees.head_array")
    return heads


def _preorder(heads: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return for each position its number in preorder and the highest number below it."""
    children: list[list[int]] = [[] for _ in heads]
    for word in range(len(heads) - 1, 0, -1):
        children[heads[word]].append(word)
    first = [0] * len(heads)
    order, stack = [], [0]
    while stack:
        word = stack.pop()
        first[word] = len(order)
        order.append(word)
        stack += children[word]
    last = first.copy()
    for word in reversed(order[1:]):
        last[heads[word]] = max(last[heads[word]], last[word])
    return np.array(first), np.array(last)


def _extreme(values: np.ndarray, low: np.ndarray, high: np.ndarray, choose: np.ufunc) -> np.ndarray:
    """Return the minimum or maximum of values[low..high] for each pair, by doubling windows."""
    level = np.frexp(high - low + 1)[1] - 1  # the largest power of two that fits in the span
    result = np.empty(len(low), dtype=values.dtype)
    window, width = values, 1
    for power in range(int(level.max(initial=-1)) + 1):
        if power:
            window = choose(window[:-width], window[width:])
            width *= 2
        chosen = level == power
        result[chosen] = choose(window[low[chosen]], window[high[chosen] - width + 1])
    return result
