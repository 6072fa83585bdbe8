"""One pass over the lines of a treebank: sentences, and every check of them.

The common sentence is checked as a whole by a few operations that run in C; only when one of them
fails is it looked at line by line.
"""

from __future__ import annotations

import codecs
import io
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import eq, itemgetter

from mtparse.errors import ConllError, InputWarning
from mtparse.treebank.byte_source import InputError, Source, read_lines
from mtparse.treebank.extras import ExtraRows, column_fault, comment_fault
from mtparse.treebank.head_column import shown, small_int, word_fault
from mtparse.treebank.sentence import Sentence

_WORD = re.compile(r"[0-9]+")
_id_of, _head_of = itemgetter(0), itemgetter(6)


class _Numerals:
    """The decimal numerals 1, 2, ... as text and the values of 0, 1, 2, ..., as far as needed."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.values = {"_": -1, "0": 0}

    def extend(self, size: int) -> None:
        if size > len(self.texts):
            for number in range(len(self.texts) + 1, max(size, 2 * len(self.texts)) + 1):
                self.texts.append(str(number))
                self.values[self.texts[-1]] = number


class Reader:
    """Splits a file into sentences and checks each; parameters as for `mtparse.treebank.conll.read_conll`.

    Every fault goes through :meth:`fault`, which raises. A subclass may note it and return instead: then
    the reader goes on as well as the fault allows, and leaves rows it cannot use out of the sentence.
    """

    def __init__(
        self,
        path: str,
        format: str = "auto",
        encoding: str = "utf-8",
        heads: str = "optional",
        short_rows: bool = False,
    ) -> None:
        self.path = path
        self.format = format
        self.encoding = encoding
        self.hint = (
            f"the file was read as {encoding}; name its encoding (--encoding; to train, data.encoding)"
        )
        self.heads = heads
        self.short_rows = short_rows
        self.number = 1
        self.comments: list[str] = []  # those of a block without words
        self.numerals = _Numerals()
        self.numerals.extend(128)

    def fault(self, line: int, message: str) -> None:
        """Refuse the file."""
        raise ConllError(self.path, line, message)

    def sentence_fault(self, line: int, message: str) -> None:
        """Refuse the sentence that is being read."""
        self.fault(line, f"sentence {self.number}: {message}")

    def sentence_oddity(self, line: int, message: str) -> None:
        """Take notice of what is read but may be an accident. Does nothing; a subclass may."""

    def sentences(self, source: Source) -> Iterator[Sentence | None]:
        """Yield the sentences of a file, and None wherever more of it may have to be waited for."""
        for block, first in self.blocks(source):
            if block is None:
                yield None
                continue
            sentence = self.parse(block, first)
            if sentence is not None:
                yield sentence
                self.number += 1
        if self.comments:
            text = f"{self.path}: comments after the last sentence belong to no sentence and are left out"
            warnings.warn(text, InputWarning, stacklevel=2)

    def blocks(self, source: Source) -> Iterator[tuple[list[bytes] | None, int]]:
        """Yield what stands between blank lines: raw lines, and the number of the first.

        And None in place of the lines wherever more may have to be waited for.
        """
        line = 0
        block: list[bytes] = []
        begun = False
        try:
            for piece in read_lines(source):
                if piece is None:
                    yield None, line
                    continue
                marked = not begun and piece.startswith(codecs.BOM_UTF8)
                begun = True
                for raw in self.lines(piece[len(codecs.BOM_UTF8) :] if marked else piece, marked=marked):
                    line += 1
                    if not raw.isspace():
                        block.append(raw)
                    elif block:
                        yield block, line - len(block)
                        block = []
        except InputError as error:
            self.fault(line + 1, str(error))
            return
        if block:
            yield block, line + 1 - len(block)
        self.end()

    def lines(self, piece: bytes, *, marked: bool) -> Iterable[bytes]:
        """The lines of a piece of the file; ``marked`` is whether a byte order mark stood before it."""
        return io.BytesIO(piece)

    def end(self) -> None:
        """The file has been read."""

    def parse(self, block: list[bytes], first: int) -> Sentence | None:
        """Make a sentence of the raw lines of a block that begins at line `first`, if it has words."""
        lines = self.decode(block, first)
        leading = 0
        while leading < len(lines) and lines[leading].startswith("#"):
            leading += 1
        if leading == len(lines):
            for place, text in enumerate(lines, first):
                self.check_comment(place, text)
            self.comments += lines
            return None
        for place, text in enumerate(lines[:leading], first):
            self.check_comment(place, text)
        extras = [(0, text) for text in self.comments + lines[:leading]]
        self.comments = []
        rows = [text.split("\t") for text in lines[leading:]]
        if self.short_rows:
            rows = [row if len(row) != 8 else [*row, "_", "_"] for row in rows]
        size = len(rows)
        places: Sequence[int] = range(first + leading, first + leading + size)
        self.numerals.extend(size)
        whole = set(map(len, rows)) == {10} and "" not in chain.from_iterable(rows)
        if not whole or list(map(_id_of, rows)) != self.numerals.texts[:size]:
            rows, places, more = self.parse_slowly(lines, leading, first)
            extras += more
        self.check_heads(rows, places)
        return Sentence(rows, None, self.number, first, places, extras, self.path)

    def check_comment(self, place: int, text: str) -> None:
        """Refuse a declaration of other columns than the ten (CoNLL-U Plus)."""
        if "global.columns" in text and (fault := comment_fault(text)):
            self.fault(place, fault)

    def decode(self, block: list[bytes], first: int) -> list[str]:
        """Return the lines as text, without their ends."""
        try:
            text = b"".join(block).decode(self.encoding)
        except UnicodeError:
            text = self.decode_slowly(block, first)
        lines = _split(text)
        if len(lines) != len(block):
            self.sentence_fault(first, f"some bytes are a line end in {self.encoding}; {self.hint}")
            lines = _split("".join(map(_as_ascii, block)))
        return lines

    def decode_slowly(self, block: list[bytes], first: int) -> str:
        """Report the lines that are not valid; return a text in which tabs and line ends are right."""
        texts, valid = [], True
        for number, raw in enumerate(block, first):
            try:
                texts.append(raw.decode(self.encoding))
            except UnicodeError as error:
                self.sentence_fault(number, f"{_describe(error)}; {self.hint}")
                texts.append(_as_ascii(raw))
                valid = False
        if valid:
            self.sentence_fault(first, f"the bytes are not valid {self.encoding}; {self.hint}")
            texts = map(_as_ascii, block)
        return "".join(texts)

    def parse_slowly(
        self, lines: list[str], leading: int, first: int
    ) -> tuple[list[list[str]], list[int], list[tuple[int, str]]]:
        """Check line by line; return the rows of words, their lines, and the extras between them."""
        rows: list[list[str]] = []
        places: list[int] = []
        extras: list[tuple[int, str]] = []
        more = ExtraRows()
        due = (1,)
        words = False
        for place, text in enumerate(lines[leading:], first + leading):
            if text.startswith("#"):
                extras.append((len(rows), text))
                continue
            row = text.split("\t")
            if self.short_rows and len(row) == 8:
                row += ["_", "_"]
            fault = column_fault(row, text)
            if fault:
                self.sentence_fault(place, fault)
            kind = more.kind(row[0])
            if not kind:
                words = True
                if not fault and row[0] != str(due[0]) and row[0] not in map(str, due):
                    hint = "; a blank line must separate sentences" if row[0] == "1" else ""
                    self.sentence_fault(place, f"ID is {shown(row[0])}, {due[0]} expected{hint}")
                due = _due_after(row[0], due)
                if len(row) == 10:
                    rows.append(row)
                    places.append(place)
                continue
            if fault:
                continue
            if self.format == "conllx":
                message = f"{kind} ({row[0][:20]}) is not allowed in CoNLL-X; set format: conllu"
                self.sentence_fault(place, message)
            else:
                overlaps = more.overlaps(row[0])
                if fault := more.fault(row[0], due, due[0], place):
                    self.sentence_fault(place, fault)
                elif overlaps:
                    self.sentence_oddity(place, f"multi-word line {shown(row[0])} overlaps another")
            extras.append((len(rows), text))
        if not words:
            self.sentence_fault(first + leading, "no words, only multi-word lines or empty nodes")
            return rows, places, extras
        for end, place in more.ends:
            if end >= max(due):
                message = f"the multi-word line goes beyond the last word, {max(due) - 1}"
                self.sentence_fault(place, message)
        return rows, places, extras

    def check_heads(self, rows: list[list[str]], places: Sequence[int]) -> None:
        """Check the heads of the words, as far as one word's can be alone."""
        if self.heads in ("ignore", "unchecked"):
            return
        size, required = len(rows), self.heads == "required"
        values = self.numerals.values
        try:
            heads = [values[text] for text in map(_head_of, rows)]
        except KeyError:
            pass
        else:
            in_range = max(heads) <= size
            if in_range and not (required and (-1 in heads or True in map(eq, heads, range(1, size + 1)))):
                return
        for word, (row, place) in enumerate(zip(rows, places, strict=True), 1):
            fault = word_fault(word, row[6], size, required, loops=not required)
            if fault:
                self.sentence_fault(place, fault)


def _split(text: str) -> list[str]:
    lines = text.removesuffix("\n").split("\n")
    # of several CRs none is left that would be part of a line end when the sentence is written
    return [line.rstrip("\r") for line in lines] if "\r" in text else lines


def _as_ascii(raw: bytes) -> str:
    """What can be read in any encoding, tabs, line ends and digits among it; the rest as question marks."""
    return raw.decode("ascii", "replace").replace("\ufffd", "?")


def _due_after(text: str, due: tuple[int, ...]) -> tuple[int, ...]:
    """The IDs that may follow an ID.

    One, as a rule. After a wrong number two: rows before it may be missing, or it alone may be wrong; and
    after what is no number the row may have been a word or not.
    """
    if not _WORD.fullmatch(text):
        return due[0] + 1, due[0]
    number = small_int(text)
    return (number + 1,) if number in due else (number + 1, due[0] + 1)


def _describe(error: UnicodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte 0x{error.object[error.start]:02X} is not valid {error.encoding} ({error.reason})"
    return str(error)
