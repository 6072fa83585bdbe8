"""Predicates on head arrays, and every reason for which the heads of a sentence are not a tree.

A head array has one entry for each position 0..n: ``heads[m]`` is the head of word m, 0 is the root
symbol and ``heads[0] = -1``. `head_array` makes one of the heads of a sentence's words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np

from mtparse.errors import ConllError
from mtparse.treebank.head_column import word_fault
from mtparse.treebank.heads import Heads, integers
from mtparse.treebank.sentence import Sentence

HeadArray: TypeAlias = "Sequence[int] | np.ndarray"
"""A head array as functions take it: a sequence of integers or an array, -1 first."""


def head_array(words: Sequence[int]) -> np.ndarray:
    """Return the head array of length n+1, int64, for the heads of n words.

    Raises
    ------
    TypeError
        If they are no integers, as floats and masked entries are not.
    ValueError
        If they have another dimension, begin with the root symbol's -1 already, or do not fit in int64. The
        -1 of a first word without a head is taken where `Sentence.heads` has it.
    """
    heads = integers(words)
    if heads and heads[0] == -1 and not isinstance(words, Heads):
        raise ValueError("the heads begin with -1, the root symbol's entry: they are a head array already")
    return np.array([-1, *_fitting(heads)], dtype=np.int64)


def word_heads(heads: HeadArray) -> list[int]:
    """Return the heads of the n words of a head array of length n+1: what `Sentence.heads` has.

    Raises
    ------
    TypeError
        If they are no integers, as floats and masked entries are not.
    ValueError
        If it does not begin with -1, or has another dimension.
    """
    return _checked(heads)[1:]


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


def roots(heads: HeadArray) -> list[int]:
    """Return the words whose head is the root symbol, in order."""
    return [word for word, head in enumerate(_checked(heads)) if head == 0]


def find_cycle(heads: HeadArray) -> list[int]:
    """Return the words of one cycle, each followed by its head, or an empty list.

    The cycle that the first possible word leads to is returned, from its lowest word on. Heads
    outside 1..n end a path. O(n).
    """
    return next(cycles(_checked(heads)), [])


def is_tree(heads: HeadArray) -> bool:
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


def is_single_root(heads: HeadArray) -> bool:
    """Whether the heads form a tree in which exactly one word depends on the root symbol."""
    return len(roots(heads)) == 1 and is_tree(heads)


def nonprojective_arcs(heads: HeadArray) -> list[int]:
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
        raise ValueError("the heads do not form a tree, so that words have no descendants")
    # preorder numbers: the descendants of h are those numbered first[h] .. last[h]
    first, last = _preorder(heads)
    head, modifier = np.array(heads[1:], dtype=np.int64), np.arange(1, len(heads))
    low, high = np.minimum(head, modifier) + 1, np.maximum(head, modifier) - 1
    inside = np.flatnonzero(low <= high)
    low, high, head = low[inside], high[inside], head[inside]
    outside = _extreme(first, low, high, np.minimum) < first[head]
    outside |= _extreme(first, low, high, np.maximum) > last[head]
    return list((inside[outside] + 1).tolist())


def crossing_arcs(heads: HeadArray) -> list[int]:
    """Return the modifiers of all arcs that cross another arc, in order.

    Two arcs cross if exactly one end of the one lies strictly between the ends of the other. Arcs of
    the root symbol count, drawn from position 0 to the left of the first word. A tree has crossing
    arcs just when it has non-projective ones, but more of them: both arcs of a crossing are listed.
    The heads need not form a tree. O(n log n).

    Raises
    ------
    ValueError
        If a head is none of 0..n.
    """
    heads = _checked(heads)
    size = len(heads)
    if min(heads[1:], default=0) < 0 or max(heads) >= size:
        wrong = next(head for head in heads[1:] if not 0 <= head < size)
        raise ValueError(f"head {str(wrong)[:40]}: the words are 1 to {size - 1}, the root symbol is 0")
    head, modifier = np.array(heads[1:], dtype=np.int64), np.arange(1, size)
    left, right = np.minimum(head, modifier), np.maximum(head, modifier)
    farthest, nearest = np.full(size, -1), np.full(size, size)
    np.maximum.at(farthest, left, right)
    np.minimum.at(nearest, right, left)
    inside = np.flatnonzero(right - left > 1)
    left, right = left[inside], right[inside]
    crossing = _extreme(farthest, left + 1, right - 1, np.maximum) > right
    crossing |= _extreme(nearest, left + 1, right - 1, np.minimum) < left
    return list((inside[crossing] + 1).tolist())


def is_projective(heads: HeadArray) -> bool:
    """Whether the heads form a tree without crossing arcs, those of the root symbol included."""
    return is_tree(heads) and not crossing_arcs(heads)


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
        The first that `head_faults` finds.
    """
    heads = [-1, *sentence.heads]
    if is_tree(heads) and (root == "multi" or len(roots(heads)) <= 1):
        return
    for line, message in head_faults(sentence, root=root):
        raise ConllError(path or sentence.path, line, f"sentence {sentence.number}: {message}")


def head_faults(
    sentence: Sentence, *, required: bool = True, root: str = "multi"
) -> Iterator[tuple[int, str]]:
    """Yield every reason for which the heads of a sentence are no tree.

    Nothing is yielded for a tree. A fault is told once: a word that is its own head is no cycle too, and a
    sentence without a root word has that said with its first cycle. O(n).

    Parameters
    ----------
    sentence : Sentence
        As read, whether its heads were checked or not.
    required : bool
        Whether words without a head (``_``) are faults.
    root : {"multi", "single"}
        With ``single``, several words with head 0 are a fault.

    Yields
    ------
    line : int
        Physical line of the word at fault; of a cycle, the first of its lines.
    message : str
        What is wrong, without the number of the sentence. Faults of single words come first, in order.
    """
    heads = [-1, *sentence.heads]
    size = len(sentence)
    for word, (head, row) in enumerate(zip(sentence.heads, sentence.rows, strict=True), 1):
        if not 0 <= head <= size or head == word or row[6] != str(head):
            fault = word_fault(word, row[6], size, required)
            if fault:
                yield sentence.lines[word - 1], fault
    # a head that cannot be read or is out of range may have been meant for the root
    rootless = min(heads[1:], default=0) > 0 and max(heads) <= size
    for cycle in cycles(heads):
        if len(cycle) == 1:
            continue
        lines = [sentence.lines[word - 1] for word in cycle]
        chain = " -> ".join(map(str, [*shortened(cycle), cycle[0]]))
        message = f"the heads form a cycle, {chain} (lines {min(lines)}-{max(lines)})"
        yield min(lines), message + (", and no root: no HEAD is 0" if rootless else "")
        rootless = False
    tops = [word for word, head in enumerate(heads) if head == 0]
    if root == "single" and len(tops) > 1:
        words = ", ".join(map(str, shortened(tops)))
        message = f"{len(tops)} words have HEAD 0 ({words}), only one may; set root: multi"
        yield sentence.lines[tops[1] - 1], message


def cycles(heads: Sequence[int]) -> Iterator[list[int]]:
    """Yield the words of each cycle of a head array, each word followed by its head. O(n).

    A cycle begins with its lowest word; the cycle to which the lowest words lead comes first. Heads
    outside 1..n end a path.
    """
    size = len(heads)
    seen = [0] * size  # the word from which a position was reached first
    for start in range(1, size):
        word = start
        while 0 < word < size and not seen[word]:
            seen[word] = start
            word = heads[word]
        if 0 < word < size and seen[word] == start:
            cycle = [word]
            while heads[cycle[-1]] != word:
                cycle.append(heads[cycle[-1]])
            lowest = cycle.index(min(cycle))
            yield cycle[lowest:] + cycle[:lowest]


def shortened(words: list[int]) -> list:
    """Return some words for a message, not too many."""
    return words if len(words) <= 8 else [*words[:7], "..."]


def _checked(heads: HeadArray) -> list[int]:
    found = integers(heads)
    if not found or found[0] != -1:
        raise ValueError("a head array begins with -1 for the root symbol; see head_array")
    return found


def _fitting(heads: list[int]) -> list[int]:
    for head in (min(heads, default=0), max(heads, default=0)):
        if not -(2**63) <= head < 2**63:
            raise ValueError(f"head {str(head)[:40]}: it does not fit in 64 bits; a head is a word's number")
    return heads


def _preorder(heads: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return for each position its number in preorder and the highest number below it."""
    children: list[list[int]] = [[] for _ in heads]
    for word in range(len(heads) - 1, 0, -1):
        children[heads[word]].append(word)
    first = [0] * len(heads)
    order: list[int] = []
    stack = [0]
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
