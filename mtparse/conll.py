"""Reading and writing treebanks in the ten columns of CoNLL-X and CoNLL-U.

Lines end at LF and columns at tabs, nowhere else: a form may hold any other character, Unicode line
separators and blanks included. The reader is lenient about what does no harm (CRLF, a byte order
mark, no final newline, several blank lines) and refuses the rest with the physical line.

The common sentence is checked as a whole by a few operations that run in C; only when one of them
fails is it looked at line by line.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import eq, itemgetter
from typing import BinaryIO, NoReturn

from mtparse.errors import ConllError
from mtparse.files import Source, atomic_writer, check_encoding, open_input, source_name, without_mark
from mtparse.sentence import Sentence, format_sentence

COLUMNS = ("ID", "FORM", "LEMMA", "CPOSTAG", "POSTAG", "FEATS", "HEAD", "DEPREL", "PHEAD", "PDEPREL")
FORMATS = ("auto", "conllx", "conllu")

_WORD = re.compile(r"[0-9]+")
_RANGE = re.compile(r"([0-9]+)-([0-9]+)")
_EMPTY_NODE = re.compile(r"([0-9]+)\.[0-9]+")
_id_of, _head_of = itemgetter(0), itemgetter(6)


def read_conll(
    source: Source,
    *,
    format: str = "auto",
    encoding: str = "utf-8",
    heads: str = "optional",
    short_rows: bool = False,
) -> Iterator[Sentence]:
    """Read a treebank sentence by sentence, in constant memory.

    Parameters
    ----------
    source : str, path or binary stream
        ``-`` is standard input. Gzip data are recognised by their content and unpacked.
    format : {"auto", "conllx", "conllu"}
        ``conllx`` refuses multi-word lines and empty nodes, which only CoNLL-U has. Lines that start
        with ``#`` are comments in all of them.
    encoding : str
        Encoding of the text, one in which tabs, line ends and digits are as in ASCII.
    heads : {"optional", "required", "ignore"}
        Whether ``_`` in the HEAD column is accepted (giving -1), an error, or the column is not
        looked at. Heads that are no integer, out of range or the word itself are errors unless
        ignored. Cycles are left to `mtparse.trees.check_tree`.
    short_rows : bool
        Accept rows of the first eight columns, as in the outputs of parsers at the shared task; the
        other two become ``_``.

    Returns
    -------
    iterator of Sentence
        Comments with no words below them go to the next sentence; at the end of the file they are
        dropped.

    Raises
    ------
    ConllError
        On reading the faulty sentence; names the file and the physical line.
    ConfigError
        If the encoding is unknown or not an extension of ASCII.
    OSError
        If the file cannot be opened or read.
    ValueError
        If ``format`` or ``heads`` is none of the above.
    """
    if format not in FORMATS:
        raise ValueError(f"format is {format!r}; it can be {', '.join(FORMATS)}")
    if heads not in ("optional", "required", "ignore"):
        raise ValueError(f"heads is {heads!r}; it can be optional, required or ignore")
    check_encoding(encoding)
    return _Reader(source_name(source), format, encoding, heads, short_rows).sentences(source)


def write_conll(
    sentences: Iterable[Sentence], target: str | os.PathLike | BinaryIO, *, encoding: str = "utf-8"
) -> None:
    """Write sentences, each closed by one blank line; line ends are LF.

    Parameters
    ----------
    sentences : iterable of Sentence
        May be reading from the very file that is written.
    target : str, path or binary stream
        A file appears under its name only when all sentences are written; one whose name ends in
        ``.gz`` is compressed.
    encoding : str
        Encoding of the output.

    Raises
    ------
    OSError
        If the target cannot be written.
    """
    if isinstance(target, (str, os.PathLike)):
        with atomic_writer(target, "wb") as file:
            if os.fspath(target).endswith(".gz"):
                # no name and no time in the header: the same sentences give the same bytes
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    write_conll(sentences, packed, encoding=encoding)
            else:
                write_conll(sentences, file, encoding=encoding)
        return
    for sentence in sentences:
        target.write(format_sentence(sentence).encode(encoding))


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


class _Reader:
    """One pass over one file: splits it into sentences and checks each."""

    def __init__(self, path: str, format: str, encoding: str, heads: str, short_rows: bool) -> None:
        self.path = path
        self.format = format
        self.encoding = encoding
        self.hint = f"the file is read as {encoding}, name another with `encoding:` or --encoding"
        self.heads = heads
        self.short_rows = short_rows
        self.number = 1
        self.comments: list[str] = []  # those of a block without words
        self.numerals = _Numerals()
        self.numerals.extend(128)

    def fail(self, line: int, message: str) -> NoReturn:
        raise ConllError(self.path, line, f"sentence {self.number}: {message}")

    def sentences(self, source: Source) -> Iterator[Sentence]:
        line = 0
        try:
            with open_input(source) as stream:
                block: list[bytes] = []
                for raw in chain(without_mark(stream), (b"\n",)):
                    line += 1
                    if not raw.isspace() or b"\t" in raw:
                        block.append(raw)
                    elif block:
                        sentence = self.parse(block, line - len(block))
                        block = []
                        if sentence is not None:
                            yield sentence
                            self.number += 1
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            message = f"the gzip data are damaged or cut off ({error})"
            raise ConllError(self.path, line + 1, message) from error

    def parse(self, block: list[bytes], first: int) -> Sentence | None:
        """Make a sentence of the raw lines of a block that begins at line `first`."""
        lines = self.decode(block, first)
        leading = 0
        while leading < len(lines) and lines[leading].startswith("#"):
            leading += 1
        if leading == len(lines):
            self.comments += lines
            return None
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
        return Sentence(rows, self.read_heads(rows, places), self.number, first, places, extras, self.path)

    def decode(self, block: list[bytes], first: int) -> list[str]:
        """Return the lines as text, without their ends."""
        try:
            text = b"".join(block).decode(self.encoding)
        except UnicodeError:
            for number, raw in enumerate(block, first):
                try:
                    raw.decode(self.encoding)
                except UnicodeError as error:
                    self.fail(number, f"{_describe(error)}; {self.hint}")
            self.fail(first, f"the bytes are not valid {self.encoding}; {self.hint}")
        if text.endswith("\n"):
            text = text[:-1]
        if "\r" in text:
            text = text.replace("\r\n", "\n").removesuffix("\r")
        lines = text.split("\n")
        if len(lines) != len(block):
            self.fail(first, f"some bytes are a line end in {self.encoding}; {self.hint}")
        return lines

    def parse_slowly(self, lines: list[str], leading: int, first: int):
        """Return rows, their lines and the extras between them, line by line; raise on any fault."""
        rows: list[list[str]] = []
        places: list[int] = []
        extras: list[tuple[int, str]] = []
        span_end, span_line = 0, 0
        for place, text in enumerate(lines[leading:], first + leading):
            if text.startswith("#"):
                extras.append((len(rows), text))
                continue
            row = text.split("\t")
            if self.short_rows and len(row) == 8:
                row += ["_", "_"]
            self.check_columns(row, text, place)
            if _WORD.fullmatch(row[0]):
                self.check_id(row[0], len(rows) + 1, place)
                rows.append(row)
                places.append(place)
                continue
            span, node = _RANGE.fullmatch(row[0]), _EMPTY_NODE.fullmatch(row[0])
            if not span and not node:
                self.fail(place, f"ID is {_short(row[0])}, {len(rows) + 1} expected")
            if self.format == "conllx":
                kind = "a multi-word line" if span else "an empty node"
                self.fail(place, f"{kind} ({row[0][:20]}) is no CoNLL-X; set format: conllu")
            if node:
                self.check_number(node[1], len(rows), place, row[0])
            else:
                self.check_number(span[1], len(rows) + 1, place, row[0])
                end = _small_int(span[2])
                if end < len(rows) + 1:
                    self.fail(place, f"multi-word line {_short(row[0])} ends before it begins")
                if end > span_end:
                    span_end, span_line = end, place
            extras.append((len(rows), text))
        if not rows:
            self.fail(first + leading, "no words, only multi-word lines or empty nodes")
        if span_end > len(rows):
            self.fail(span_line, f"the multi-word line goes beyond the last word, {len(rows)}")
        return rows, places, extras

    def check_columns(self, row: list[str], text: str, place: int) -> None:
        if len(row) != 10:
            hint = ""
            if len(row) == 1 and len(text.split()) > 1:
                hint = "; blanks separate the columns, the tabs seem lost"
            elif "\r" in text:
                hint = "; there are CR characters inside the line, convert the line ends to LF"
            columns = "1 column" if len(row) == 1 else f"{len(row)} columns"
            self.fail(place, f"{columns} found, 10 expected, separated by tabs{hint}")
        if "" in row:
            index = row.index("")
            self.fail(place, f"column {index + 1} ({COLUMNS[index]}) is empty; put _ where there is no value")

    def check_id(self, text: str, expected: int, place: int) -> None:
        if text != self.numerals.texts[expected - 1]:
            hint = "; a blank line must separate sentences" if text == "1" else ""
            self.fail(place, f"ID is {_short(text)}, {expected} expected{hint}")

    def check_number(self, text: str, expected: int, place: int, whole: str) -> None:
        kind = "multi-word line" if "-" in whole else "empty node"
        if _small_int(text) != expected:
            self.fail(place, f"{kind} {_short(whole)} is out of place, {expected} expected in front")

    def read_heads(self, rows: list[list[str]], places: Sequence[int]) -> list[int]:
        """Return the heads of the words, checked as far as one word can be."""
        size = len(rows)
        if self.heads == "ignore":
            return [-1] * size
        values = self.numerals.values
        try:
            heads = [values[text] for text in map(_head_of, rows)]
        except KeyError:
            heads = [_small_int(row[6]) if _WORD.fullmatch(row[6]) else values.get(row[6]) for row in rows]
        else:
            in_order = max(heads) <= size and True not in map(eq, heads, range(1, size + 1))
            if in_order and (self.heads == "optional" or -1 not in heads):
                return heads
        for index, head in enumerate(heads):
            self.check_head(index, head, rows[index][6], size, places[index])
        return heads

    def check_head(self, index: int, head: int | None, text: str, size: int, place: int) -> None:
        word = f"word {index + 1}"
        if head is None:
            what = "is negative" if re.fullmatch(r"-[0-9]+", text) else "is not an integer"
            self.fail(place, f"HEAD {_short(text)} of {word} {what}; 0 is the root, _ is no head")
        if head == -1 and self.heads == "required":
            self.fail(place, f"HEAD missing (_) for {word}; gold heads are needed here")
        if head > size:
            self.fail(place, f"HEAD {text[:20]} of {word} is out of range; the sentence has {size} words")
        if head == index + 1:
            self.fail(place, f"{word} is its own HEAD")


def _small_int(text: str) -> int:
    """Return the value of some digits; any number far above a sentence's length for very many."""
    digits = text.lstrip("0")
    return int(digits or "0") if len(digits) < 19 else 10**18


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "...")


def _describe(error: UnicodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte 0x{error.object[error.start]:02X} is not valid {error.encoding} ({error.reason})"
    return str(error)
