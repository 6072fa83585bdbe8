"""A sentence of a treebank: ten columns a word, its heads, and what stood between the words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mtparse.errors import ConllError

MAX_TRAINED = 2000
"""Words of a sentence that can be trained on: the features of its arcs then take about half a gigabyte."""

MAX_PARSED = 5000
"""Words of the longest sentence that is parsed: its scores take 200 megabytes, Eisner's charts a gigabyte
more, and both some minutes. Ten times the length would be a hundred times the memory and many hours."""


def _column(index: int, doc: str) -> property:
    return property(lambda self: [row[index] for row in self.rows], doc=doc)


class Sentence:
    """The words of one sentence, with what stood between them.

    Attributes
    ----------
    rows : list of list of str
        The ten columns of each word.
    heads : list of int
        Head of each word, 0 for the root; -1 where HEAD is ``_`` or was not to be read. Any integer where
        it was not to be checked.
    number : int
        Number of the sentence in its file, from 1.
    line : int
        Physical line, from 1, on which the sentence begins.
    lines : sequence of int
        Physical line of each word.
    extras : list of (int, str)
        Comments, multi-word lines (``1-2``) and empty nodes (``1.1``), each with the index of the
        word before which it stands (the number of words for those at the end).
    path : str
        Name of the file, for messages.
    """

    __slots__ = ("extras", "heads", "line", "lines", "number", "path", "rows")

    def __init__(
        self,
        rows: list[list[str]],
        heads: list[int],
        number: int = 1,
        line: int = 1,
        lines: Sequence[int] | None = None,
        extras: Iterable[tuple[int, str]] = (),
        path: str = "<memory>",
    ) -> None:
        self.rows = rows
        self.heads = heads
        self.number = number
        self.line = line
        self.lines = range(line, line + len(rows)) if lines is None else lines
        self.extras = list(extras)
        self.path = path

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<Sentence {self.number} of {self.path}, line {self.line}, {len(self)} words>"

    forms = _column(1, "Column 2 of each word.")
    lemmas = _column(2, "Column 3 of each word.")
    cpostags = _column(3, "Column 4 of each word, the coarse tag.")
    postags = _column(4, "Column 5 of each word, the fine tag.")
    feats = _column(5, "Column 6 of each word.")
    deprels = _column(7, "Column 8 of each word.")

    @property
    def has_heads(self) -> bool:
        """Whether every word has a head."""
        return -1 not in self.heads

    def with_heads(self, heads: Sequence[int], deprels: Sequence[str] | str = "_") -> Sentence:
        """Return a copy with other heads and labels; the other eight columns are left as they are.

        Parameters
        ----------
        heads : sequence of int
            One head a word, without an entry for the root symbol; -1 is written as ``_``.
        deprels : str or sequence of str
            One label for all words, or one a word.

        Raises
        ------
        ValueError
            If the number of heads or labels is not the number of words.
        """
        new_heads = [int(head) for head in heads]
        labels = [deprels] * len(self) if isinstance(deprels, str) else list(deprels)
        if len(new_heads) != len(self) or len(labels) != len(self):
            raise ValueError(f"{len(self)} words, but {len(new_heads)} heads and {len(labels)} labels")
        rows = [
            [*row[:6], str(head) if head >= 0 else "_", label, *row[8:]]
            for row, head, label in zip(self.rows, new_heads, labels, strict=True)
        ]
        return Sentence(rows, new_heads, self.number, self.line, self.lines, self.extras, self.path)


def format_sentence(sentence: Sentence) -> str:
    """Return the lines of a sentence, extras included, and the blank line that ends it."""
    lines = ["\t".join(row) for row in sentence.rows]
    if sentence.extras:
        merged, done = [], 0
        for position, text in sentence.extras:
            merged += lines[done:position]
            merged.append(text)
            done = position
        lines = merged + lines[done:]
    return "\n".join(lines) + "\n\n"


def unparsable(sentence: Sentence) -> str:
    """Return why a sentence cannot be parsed: it has more than MAX_PARSED words; empty if it can."""
    if len(sentence) > MAX_PARSED:
        return f"{len(sentence)} words; at most {MAX_PARSED} can be parsed, split it"
    return ""


def require_parsable(sentence: Sentence) -> None:
    """Refuse a sentence of more than MAX_PARSED words.

    Raises
    ------
    ConllError
        With its file and line.
    """
    if message := unparsable(sentence):
        raise ConllError(sentence.path, sentence.line, f"sentence {sentence.number}: {message}")
