"""A sentence of a treebank: ten columns a word, and what stood between the words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter

from mtparse.errors import ConllError
from mtparse.treebank.extras import COLUMNS, extras_fault
from mtparse.treebank.head_column import brief
from mtparse.treebank.heads import Heads, head_texts, numerals

MAX_TRAINED = 2000
"""Words of a sentence that can be trained on: the features of its arcs then take about half a gigabyte."""

MAX_PARSED = 5000
"""Words of the longest sentence that is parsed: its scores take 200 megabytes, Eisner's charts a gigabyte
more, and both some minutes. Ten times the length would be a hundred times the memory and many hours."""

_MADE = "<memory>"
"""In the place of the file, for a sentence that was not read from one."""

_id_of = _position_of = itemgetter(0)


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
        heads: Iterable[int] | None = None,
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
    def heads(self, heads: Iterable[int]) -> None:
        texts = head_texts(heads)
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
        texts = head_texts(heads)
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
        forms: Iterable[str],
        *,
        lemmas: Iterable[str] | None = None,
        cpostags: Iterable[str] | None = None,
        postags: Iterable[str] | None = None,
        feats: Iterable[str] | None = None,
        heads: Iterable[int] | None = None,
        deprels: Iterable[str] | None = None,
    ) -> Sentence:
        """Make a sentence of its words, with what else is known of them, one entry a word.

        Columns that are not given are ``_``; where one of the two kinds of tags is given it stands for both.
        A model needs the columns that it was trained with.

        Raises
        ------
        ValueError
            If a column has another length than ``forms``, is a single string, or an entry cannot stand in a
            file.
        TypeError
            If ``forms`` or another column is nothing to iterate over, and at heads that are no integers.

        Examples
        --------
        >>> Sentence.from_words(["Dogs", "bark"], postags=["NOUN", "VERB"], heads=[2, 0]).heads
        [2, 0]
        """
        words = _cells("forms", forms)
        given = {"lemmas": lemmas, "cpostags": cpostags, "postags": postags, "feats": feats}
        columns = {
            name: ["_"] * len(words) if column is None else _cells(name, column)
            for name, column in (given | {"deprels": deprels}).items()
        }
        for name, cells in columns.items():
            if len(cells) != len(words):
                raise ValueError(f"{len(words)} words, but {len(cells)} {name}")
        if cpostags is None:
            columns["cpostags"] = columns["postags"]
        elif postags is None:
            columns["postags"] = columns["cpostags"]
        *first, labels = columns.values()
        rows = [
            [str(number), *cells, "_", label, "_", "_"]
            for number, (*cells, label) in enumerate(zip(words, *first, labels, strict=True), 1)
        ]
        sentence = cls(rows, heads)
        require_well_formed(sentence)
        return sentence


def _cells(name: str, column: Iterable[str]) -> list[str]:
    """The entries of a column that was given; of an array of texts plain strings."""
    found = column.tolist() if hasattr(column, "tolist") else column
    if isinstance(found, (str, bytes)):
        what = "a list of words" if name == "forms" else "a list with an entry for each word"
        raise ValueError(f"{name} is one string; give {what}")
    if not isinstance(found, Iterable):
        raise TypeError(f"{name} is {brief(found)}; give a list of strings, one a word")
    return list(found)


def format_sentence(sentence: Sentence) -> str:
    """Return the lines of a sentence, extras included, and the blank line that ends it.

    Extras are written in the order of their positions; those of one position in their own.

    Raises
    ------
    ConllError
        If it could not be read back: no words, cells that are no text, are empty or hold a tab or a line end,
        rows that do not have ten columns, IDs that do not count the words; extras that are no comment,
        multi-word line or empty node in its place.
    TypeError
        If it is no `Sentence`.
    """
    text = _text(sentence)
    if not sentence.extras:
        return text + "\n\n"
    above = _comments_above(sentence.extras)
    if above:
        return f"{above}\n{text}\n\n"
    extras = _sorted_extras(sentence)
    lines, merged, done = text.split("\n"), [], 0
    for position, extra in extras:
        merged += lines[done:position]
        merged.append(extra)
        done = position
    return "\n".join([*merged, *lines[done:], "\n"])


def _comments_above(extras: list[tuple[int, str]]) -> str:
    """The lines of extras that are all comments above the words, seen by what runs in C; else empty."""
    try:
        if set(map(_position_of, extras)) != {0}:
            return ""
        text = "\n".join([line for _, line in extras])
    except (TypeError, IndexError, KeyError, ValueError):
        return ""
    plain = text[:1] == "#" and text.count("\n") == text.count("\n#") == len(extras) - 1
    return text if plain and "\r" not in text and "global.columns" not in text else ""


def _text(sentence: Sentence) -> str:
    """The lines of the words, with line ends between them; raises what `require_well_formed` raises."""
    if not isinstance(sentence, Sentence):
        kind = type(sentence).__name__
        raise TypeError(f"a Sentence is needed, not a {kind}; Sentence.from_words makes one of words")
    rows = sentence.rows
    try:
        text = "\n".join(["\t".join(row) for row in rows])
        # a few operations that run in C; what is wrong is found out word by word, where something is
        whole = (
            set(map(len, rows)) == {len(COLUMNS)}
            and list(map(_id_of, rows)) == numerals(len(rows))
            and text.count("\t") == 9 * len(rows)
            and text.count("\n") == len(rows) - 1
            and not ("\t\t" in text or "\t\n" in text or text[-1] == "\t")
            and not ("\r" in text and ("\r\n" in text or text[-1] == "\r"))
        )
    except (TypeError, IndexError, KeyError):
        whole = False
    if whole:
        return text
    if not rows:
        raise ConllError(sentence.path, sentence.line, f"sentence {sentence.number} has no words")
    for number, row in enumerate(rows, 1):
        if fault := _row_fault(row, number):
            line = line_of(sentence, number)
            raise ConllError(sentence.path, line, f"sentence {sentence.number}: word {number}: {fault}")
    return text


def _sorted_extras(sentence: Sentence) -> list[tuple[int, str]]:
    """The extras in the order of their positions.

    Raises
    ------
    ConllError
        If they could not be read back.
    """
    try:
        extras = sorted(sentence.extras, key=_position_of)
    except (TypeError, IndexError, KeyError):
        extras = sentence.extras
    if fault := extras_fault(extras, len(sentence.rows)):
        raise ConllError(sentence.path, sentence.line, f"sentence {sentence.number}: {fault}")
    return extras


def require_well_formed(sentence: Sentence) -> None:
    """Refuse a sentence, made or changed by hand, whose words are none: see `format_sentence`.

    A few microseconds for one that is right.

    Raises
    ------
    ConllError
        With its file, line, word and column.
    TypeError
        If it is no `Sentence`.
    """
    _text(sentence)


def line_of(sentence: Sentence, word: int) -> int:
    """The physical line of a word, from 1; of one that was added by hand, that of the sentence."""
    return sentence.lines[word - 1] if word <= len(sentence.lines) else sentence.line


def _row_fault(row: Sequence[str], number: int) -> str:
    if not isinstance(row, (list, tuple)):
        return f"the row is of type {type(row).__name__}, not a list of ten columns"
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


def require_sentences(name: str, given: object) -> None:
    """Refuse what cannot be iterated over, a single sentence too, where an iterable of them is needed.

    Raises
    ------
    TypeError
        With the name of the argument.
    """
    if isinstance(given, Sentence):
        raise TypeError(f"{name} is one Sentence; give a list of them")
    if not (hasattr(given, "__iter__") or hasattr(given, "__getitem__")):
        raise TypeError(f"{name} is {brief(given)}; give a list of Sentence, or what read_conll returns")
