"""A sentence of a treebank: ten columns a word, and what stood between the words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import index, itemgetter
from typing import overload

from mtparse.errors import ConllError
from mtparse.treebank.head_column import head_value

COLUMNS = ("ID", "FORM", "LEMMA", "CPOSTAG", "POSTAG", "FEATS", "HEAD", "DEPREL", "PHEAD", "PDEPREL")
"""The columns' names in CoNLL-X. CoNLL-U calls the fourth and fifth UPOS and XPOS, the last DEPS and MISC."""

MAX_TRAINED = 2000
"""Words of a sentence that can be trained on: the features of its arcs then take about half a gigabyte."""

MAX_PARSED = 5000
"""Words of the longest sentence that is parsed: its scores take 200 megabytes, Eisner's charts a gigabyte
more, and both some minutes. Ten times the length would be a hundred times the memory and many hours."""

_MADE = "<memory>"
"""In the place of the file, for a sentence that was not read from one."""

_id_of, _head_of = itemgetter(0), itemgetter(6)


def _ids(words: int) -> list[str]:
    return [str(number) for number in range(1, words + 1)]


_IDS = _ids(MAX_TRAINED)


class _Values(dict):
    """The heads that texts of the HEAD column stand for."""

    def __missing__(self, text: str) -> int:
        return head_value(text)


_VALUES = _Values({"_": -1, "0": 0, **{text: number for number, text in enumerate(_IDS, 1)}})


class Heads(Sequence[int]):
    """The heads of a sentence's words, as they stand in its rows: to change one is to change its row.

    Equal to a list of the same numbers. -1 stands for ``_``, and for what is no integer.
    """

    __slots__ = ("_rows",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, rows: list[list[str]]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[int]:
        return iter([_VALUES[text] for text in map(_head_of, self._rows)])

    @overload
    def __getitem__(self, word: int) -> int: ...
    @overload
    def __getitem__(self, word: slice) -> list[int]: ...
    def __getitem__(self, word: int | slice) -> int | list[int]:
        if isinstance(word, slice):
            return list(self)[word]
        return int(_VALUES[self._rows[word][6]])

    def __setitem__(self, word: int, head: int) -> None:
        self._rows[word][6] = _head_text(head)

    def __contains__(self, head: object) -> bool:
        return head in list(self)

    def count(self, head: int) -> int:
        """How many words have this head."""
        return list(self).count(head)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (Heads, list, tuple)):
            return list(self) == list(other)
        return NotImplemented

    def __repr__(self) -> str:
        return repr(list(self))


def _head_text(head: int) -> str:
    head = index(head)
    if head < -1:
        raise ValueError(f"head {head}: a head is a word's number, 0 for the root, or -1 for none")
    return str(head) if head >= 0 else "_"


def _column(position: int, doc: str) -> property:
    return property(lambda self: [row[position] for row in self.rows], doc=doc)


class Sentence:
    """The words of one sentence, with what stood between them.

    Parameters
    ----------
    rows : list of list of str
        The ten columns of each word.
    heads : sequence of int, optional
        Written into copies of the rows, one head a word, without an entry for the root symbol. By default
        heads are those that the rows hold.
    number, line, lines, extras, path
        See the attributes.

    Attributes
    ----------
    rows : list of list of str
        The ten columns of each word.
    heads : Heads
        Head of each word, 0 for the root; -1 where HEAD is ``_`` or no integer. A view of the rows:
        ``heads[0] = 2`` and ``heads = [2, 0]`` change them. Any integer where it was read without a check.
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

    __slots__ = ("extras", "line", "lines", "number", "path", "rows")

    def __init__(
        self,
        rows: list[list[str]],
        heads: Sequence[int] | None = None,
        number: int = 1,
        line: int = 1,
        lines: Sequence[int] | None = None,
        extras: Iterable[tuple[int, str]] = (),
        path: str = _MADE,
    ) -> None:
        self.rows = rows
        self.number = number
        self.line = line
        self.lines = range(line, line + len(rows)) if lines is None else lines
        self.extras = list(extras)
        self.path = path
        if heads is not None:
            self.rows = [list(row) for row in rows]
            self.heads = heads

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        place = "" if self.path == _MADE else f" {self.number} of {self.path}, line {self.line}"
        return f"<Sentence{place}: {len(self)} word{'' if len(self) == 1 else 's'}>"

    forms = _column(1, "Column 2 of each word.")
    lemmas = _column(2, "Column 3 of each word.")
    cpostags = _column(3, "Column 4 of each word, the coarse tag.")
    postags = _column(4, "Column 5 of each word, the fine tag.")
    feats = _column(5, "Column 6 of each word.")
    deprels = _column(7, "Column 8 of each word.")

    @property
    def heads(self) -> Heads:
        return Heads(self.rows)

    @heads.setter
    def heads(self, heads: Sequence[int]) -> None:
        texts = [_head_text(head) for head in heads]
        if len(texts) != len(self.rows):
            raise ValueError(f"{len(self.rows)} words, but {len(texts)} heads; the root symbol has no entry")
        for row, text in zip(self.rows, texts, strict=True):
            row[6] = text

    @property
    def sent_id(self) -> str:
        """What the comment ``# sent_id = ...`` of CoNLL-U says; empty without one."""
        return self._comment("sent_id") or ""

    @property
    def text(self) -> str:
        """What the comment ``# text = ...`` of CoNLL-U says; without one the forms, with blanks between."""
        text = self._comment("text")
        return " ".join(self.forms) if text is None else text

    def _comment(self, key: str) -> str | None:
        """The value of the last comment ``# key = value`` above the words."""
        found = None
        for position, line in self.extras:
            name, equals, value = line.removeprefix("#").partition("=")
            if position == 0 and equals and line.startswith("#") and name.strip() == key:
                found = value.strip()
        return found

    @property
    def has_heads(self) -> bool:
        """Whether every word has a head."""
        return -1 not in self.heads

    def with_heads(self, heads: Sequence[int], deprels: Sequence[str] | str = "_") -> Sentence:
        """Return a copy with other heads and labels.

        What else holds heads becomes ``_``, as it would pass for part of the new tree: column 9 (DEPS, or
        PHEAD) and, where that is a PHEAD, column 10. The other columns are left as they are.

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
        texts = [_head_text(head) for head in heads]
        labels = [deprels] * len(self) if isinstance(deprels, str) else list(deprels)
        if len(texts) != len(self) or len(labels) != len(self):
            raise ValueError(f"{len(self)} words, but {len(texts)} heads and {len(labels)} labels")
        rows = [
            [*row[:6], text, label, "_", "_" if row[8].isdecimal() else row[9]]
            for row, text, label in zip(self.rows, texts, labels, strict=True)
        ]
        return Sentence(rows, None, self.number, self.line, self.lines, self.extras, self.path)

    @classmethod
    def from_words(
        cls,
        forms: Sequence[str],
        *,
        lemmas: Sequence[str] | None = None,
        cpostags: Sequence[str] | None = None,
        postags: Sequence[str] | None = None,
        feats: Sequence[str] | None = None,
        heads: Sequence[int] | None = None,
        deprels: Sequence[str] | None = None,
    ) -> Sentence:
        """Make a sentence of its words, with what else is known of them, one entry a word.

        Columns that are not given are ``_``; where one of the two kinds of tags is given it stands for both.
        A model needs the columns that it was trained with.

        Raises
        ------
        ValueError
            If a sequence has another length than ``forms``, or an entry cannot stand in a file.

        Examples
        --------
        >>> Sentence.from_words(["Dogs", "bark"], postags=["NOUN", "VERB"], heads=[2, 0]).heads
        [2, 0]
        """
        coarse, fine = cpostags or postags, postags or cpostags
        given = [forms, lemmas, coarse, fine, feats]
        if isinstance(forms, str):
            raise ValueError("forms is one string; give a list of words")
        columns = [["_"] * len(forms) if column is None else list(column) for column in [*given, deprels]]
        given_tags = "postags" if cpostags is None else "cpostags"
        names = ("forms", "lemmas", given_tags, "postags", "feats", "deprels")
        for name, column in zip(names, columns, strict=True):
            if len(column) != len(forms):
                raise ValueError(f"{len(forms)} words, but {len(column)} {name}")
        *first, labels = columns
        rows = [
            [str(number), *cells, "_", label, "_", "_"]
            for number, (*cells, label) in enumerate(zip(*first, labels, strict=True), 1)
        ]
        sentence = cls(rows, heads)
        require_well_formed(sentence)
        return sentence


def format_sentence(sentence: Sentence) -> str:
    """Return the lines of a sentence, extras included, and the blank line that ends it.

    Raises
    ------
    ConllError
        If it could not be read back: no words, cells that are no text, are empty or hold a tab or a line end,
        rows that do not have ten columns, IDs that do not count the words.
    """
    rows = sentence.rows
    try:
        lines = ["\t".join(row) for row in rows]
        text = "\n".join(lines)
        # a few operations that run in C; what is wrong is found out word by word, where something is
        whole = (
            set(map(len, rows)) == {len(COLUMNS)}
            and list(map(_id_of, rows)) == (_IDS if len(rows) <= len(_IDS) else _ids(len(rows)))[: len(rows)]
            and text.count("\t") == 9 * len(rows)
            and text.count("\n") == len(rows) - 1
            and not ("\t\t" in text or "\t\n" in text or text[-1] == "\t")
            and not ("\r" in text and ("\r\n" in text or text[-1] == "\r"))
        )
    except (TypeError, IndexError):
        whole = False
    if not whole:
        require_well_formed(sentence)
    if sentence.extras:
        merged, done = [], 0
        for position, extra in sentence.extras:
            if "\n" in extra:
                fault = f"sentence {sentence.number}: {extra[:40]!r} holds a line end"
                raise ConllError(sentence.path, sentence.line, fault)
            merged += lines[done:position]
            merged.append(extra)
            done = position
        text = "\n".join(merged + lines[done:])
    return text + "\n\n"


def require_well_formed(sentence: Sentence) -> None:
    """Refuse a sentence, made or changed by hand, that is none: see `format_sentence`.

    Raises
    ------
    ConllError
        With its file, line, word and column.
    TypeError
        If it is no `Sentence`.
    """
    if not isinstance(sentence, Sentence):
        kind = type(sentence).__name__
        raise TypeError(f"a Sentence is needed, not a {kind}; Sentence.from_words makes one of words")
    if not sentence.rows:
        raise ConllError(sentence.path, sentence.line, f"sentence {sentence.number} has no words")
    for number, row in enumerate(sentence.rows, 1):
        if fault := _row_fault(row, number):
            line = sentence.lines[number - 1] if number <= len(sentence.lines) else sentence.line
            raise ConllError(sentence.path, line, f"sentence {sentence.number}: word {number}: {fault}")


def _row_fault(row: Sequence[str], number: int) -> str:
    if len(row) != len(COLUMNS):
        return f"{len(row)} columns, 10 expected"
    for name, cell in zip(COLUMNS, row, strict=True):
        if not isinstance(cell, str):
            return f"{name} is {cell!r}, not a string"
        if cell == "":
            return f"{name} is empty; put _ where there is no value"
        if "\t" in cell or "\n" in cell:
            return f"{name} is {cell[:40]!r}; it must not hold a tab or a line end"
    if row[0] != str(number):
        return f"ID is {row[0][:40]!r}, {number} expected"
    if row[-1].endswith("\r"):
        return f"{COLUMNS[-1]} is {row[-1][-40:]!r}; it must not end in CR"
    return ""


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
