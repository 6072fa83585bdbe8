"""Every problem of a treebank: what the reader refuses, trees that are none, and oddities worth a look.

The reader's own checks do the work; here their faults are noted, and the reading goes on.
"""

from __future__ import annotations

import codecs
import io
import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from mtparse.treebank.byte_source import Source, check_encoding, source_name
from mtparse.treebank.head_column import shown, small_int, word_fault
from mtparse.treebank.reader import Reader
from mtparse.treebank.sentence import COLUMNS, MAX_TRAINED, Sentence, unparsable
from mtparse.treebank.trees import head_faults, shortened

_ODD = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffd]")
"""Control characters, line separators, marks of the byte order, and what stands for undecodable bytes."""

_NO_TREEBANK = 20
"""After so many errors without a row in ten columns, a file is taken for something else."""

_BLANK = re.compile(r"\s")
_BLANK_IN_FEATS = re.compile(r"\s[=|]|[=|]\s")


@dataclass(frozen=True)
class Issue:
    """One problem; as text, a line for the terminal.

    Attributes
    ----------
    path : str
        Name of the file.
    line : int
        Physical line, from 1; 0 where the file as a whole is meant.
    severity : str
        ``error``: the file, or the sentence as a gold tree, will be refused. ``warning``: it will not.
    message : str
        What is wrong.
    """

    path: str
    line: int
    severity: str
    message: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.severity}: {self.message}"


class Validation:
    """The problems of one file, found as it is read; iterate once.

    Linear time; memory for one sentence. Issues come in the order of their lines, those of the whole file
    at the end. As text: the counts, once all issues were taken.

    Parameters
    ----------
    source : str, path or binary stream
        As for `mtparse.treebank.conll.read_conll`. That it cannot be read is an issue too.
    encoding : str
        Encoding of the text.

    Attributes
    ----------
    sentences, words, errors, warnings : int
        Counts so far, faulty sentences included; rows that do not have ten columns are no words.

    Raises
    ------
    ConfigError
        If the encoding is unknown or not an extension of ASCII.
    """

    def __init__(self, source: Source, *, encoding: str = "utf-8") -> None:
        check_encoding(encoding)
        self._source = source
        self._path = source_name(source)
        self._reader = _NotingReader(self._path, encoding=encoding, heads="unchecked")
        self.sentences = self.words = self.errors = self.warnings = 0
        self._blind = 0  # sentences without any head, before the first head
        self._annotated = False
        self._loose = 0  # where comments stand with no words below them so far
        self._unlabelled, self._roots, self._blanks = _Tally(), _Tally(), _Tally()
        self._odd: dict[str, _Tally] = {}

    def __iter__(self) -> Iterator[Issue]:
        reader = self._reader
        readable = True
        try:
            for block, first in reader.blocks(self._source):
                if block is None:
                    continue
                sentence = reader.parse(block, first)
                if sentence is not None:
                    self._check(sentence)
                    reader.number += 1
                self._loose = first if reader.comments else 0
                reader.comments = []  # of no use here, and there may be more than memory holds
                issues = self._issues()
                if not self.words and self.errors >= _NO_TREEBANK:
                    yield from issues[:_NO_TREEBANK]
                    text = "not a treebank: no row so far has ten columns; the rest is not checked"
                    yield Issue(self._path, 0, "error", text)
                    return
                yield from issues
        except OSError as error:
            readable = False
            reader.fault(0, error.strerror or str(error))
        yield from self._issues()
        if readable:
            self._check_file()
            yield from self._issues()

    def __str__(self) -> str:
        counts = (("sentence", self.sentences), ("word", self.words), ("error", self.errors))
        counts += (("warning", self.warnings),)
        return f"{self._path}: " + ", ".join(_counted(number, noun) for noun, number in counts)

    def _issues(self) -> list[Issue]:
        """Hand out what was noted since the last call."""
        noted, self._reader.noted = self._reader.noted, []
        noted.sort(key=lambda issue: issue[0] or math.inf)
        issues = [Issue(self._path, *issue) for issue in noted]
        errors = sum(issue.severity == "error" for issue in issues)
        self.errors += errors
        self.warnings += len(issues) - errors
        return issues

    def _check(self, sentence: Sentence) -> None:
        """Check what the reader left: heads, labels, characters."""
        faulty = {line for line, severity, _ in self._reader.noted if severity == "error"}
        self.sentences += 1
        self.words += len(sentence)
        self._check_presence(sentence)
        self._check_length(sentence)
        if not faulty:
            for line, message in head_faults(sentence, required=False):
                self._reader.sentence_fault(line, message)
            tops = [word for word, head in enumerate(sentence.heads, 1) if head == 0]
            if len(tops) > 1:
                words = ", ".join(map(str, shortened(tops)))
                self._roots.add(sentence.lines[tops[1] - 1], f": words {words} have HEAD 0")
        else:
            self._check_words(sentence, faulty)
        if "_" in sentence.deprels:
            for row, head, line in zip(sentence.rows, sentence.heads, sentence.lines, strict=True):
                if head >= 0 and row[7] == "_":
                    self._unlabelled.add(line)
        text = "".join(chain.from_iterable(sentence.rows))
        if _BLANK.search(text):
            for row, line in zip(sentence.rows, sentence.lines, strict=True):
                for column, cell in zip(COLUMNS, row, strict=True):
                    if cell != cell.strip() or (column == "FEATS" and _BLANK_IN_FEATS.search(cell)):
                        self._blanks.add(line, f" ({column} {shown(cell)})")
        if _ODD.search(text):
            for row, line in zip(sentence.rows, sentence.lines, strict=True):
                for column, cell in zip(COLUMNS, row, strict=True):
                    for character in set(_ODD.findall(cell)):
                        self._odd.setdefault(character, _Tally()).add(line, f" ({column})")

    def _check_length(self, sentence: Sentence) -> None:
        """Report sentences that are too long to be parsed, or to be trained on."""
        if message := unparsable(sentence):
            self._reader.sentence_fault(sentence.line, message)
        elif len(sentence) > MAX_TRAINED:
            message = f"{len(sentence)} words; at most {MAX_TRAINED} can be trained on"
            self._reader.sentence_oddity(sentence.line, message)

    def _check_presence(self, sentence: Sentence) -> None:
        """Report words without a head in a file that has heads."""
        headed = [row[6] not in ("_", "") for row in sentence.rows]
        if not headed:
            return
        if True not in headed:
            if self._annotated:
                message = "no word has a HEAD, but other sentences have heads"
                self._reader.sentence_fault(sentence.lines[0], message)
            else:
                self._blind += 1
            return
        if self._blind and not self._annotated:
            line = sentence.lines[headed.index(True)]
            before = _counted(self._blind, "sentence")
            self._reader.sentence_fault(line, f"this word has a HEAD, unlike the {before} before")
        self._annotated = True
        for row, line in zip(sentence.rows, sentence.lines, strict=True):
            if row[6] == "_":
                self._reader.sentence_fault(line, f"HEAD missing (_) for word {row[0]}, others have one")

    def _check_words(self, sentence: Sentence, faulty: set[int]) -> None:
        """Report heads that are wrong whatever the words are that the reader could not use."""
        for row, line in zip(sentence.rows, sentence.lines, strict=True):
            if not row[0].isdecimal() or not row[6]:
                continue
            word = small_int(row[0])
            # of a word that seems its own head the number may be what is wrong
            fault = word_fault(word, row[6], math.inf, required=False, loops=line in faulty)
            if fault:
                self._reader.sentence_fault(line, fault)

    def _check_file(self) -> None:
        reader, warn = self._reader, self._reader.warning
        if not self.sentences and not self.errors:
            warn(0, "the file holds no sentence")
        elif not self._annotated and not self.errors:
            warn(0, "no word has a HEAD: the file can be parsed, but not trained on or scored against")
        if self._loose:
            place = f"from line {self._loose}"
            warn(0, f"comments after the last sentence, {place}, belong to none and are left out")
        if reader.ending:
            warn(reader.count, reader.ending)
        if reader.blank.count:
            warn(0, f"a line between sentences is not empty but holds blanks or tabs on {reader.blank}")
        if self._roots.count:
            warn(0, f"several roots in {self._roots.counted('sentence')}")
        if self._blanks.count:
            warn(0, f"a value begins or ends with a blank on {self._blanks}")
        if reader.crlf.count:
            warn(0, f"a line end is CR LF on {reader.crlf}; output has LF")
        if self._unlabelled.count:
            warn(0, f"DEPREL is _ beside a HEAD on {self._unlabelled}")
        latin = codecs.lookup(reader.encoding).name.startswith("iso8859")
        for character, tally in sorted(self._odd.items()):
            name = unicodedata.name(character, "a control character")
            hint = "; in cp1252 it is punctuation" if latin and "\x80" <= character <= "\x9f" else ""
            warn(0, f"U+{ord(character):04X} ({name}) is on {tally}{hint}")


class _Tally:
    """How many lines have something, and the first of them."""

    def __init__(self) -> None:
        self.count = self.last = 0
        self.first = ""

    def add(self, line: int, detail: str = "") -> None:
        self.first = self.first or f"line {line}{detail}"
        self.count += line != self.last
        self.last = line

    def counted(self, noun: str) -> str:
        """The number with a noun, and where the first is."""
        return f"{_counted(self.count, noun)}, {'' if self.count == 1 else 'first on '}{self.first}"

    def __str__(self) -> str:
        return self.first if self.count == 1 else f"{self.count} lines, first on {self.first}"


class _NotingReader(Reader):
    """A reader that notes faults, as (line, severity, message), and how lines and the file end."""

    def __init__(self, path: str, **options: str) -> None:
        super().__init__(path, **options)
        self.noted: list[tuple[int, str, str]] = []
        self.crlf, self.blank = _Tally(), _Tally()
        self.count = 0
        self.last = b"\n"
        self.ending = ""

    def fault(self, line: int, message: str) -> None:
        self.noted.append((line, "error", message))

    def warning(self, line: int, message: str) -> None:
        self.noted.append((line, "warning", message))

    def sentence_oddity(self, line: int, message: str) -> None:
        self.warning(line, f"sentence {self.number}: {message}")

    def lines(self, piece: bytes, *, marked: bool) -> Iterator[bytes]:
        if marked:
            self.warning(1, "a byte order mark; it is skipped")
        for raw in io.BytesIO(piece):
            self.count += 1
            self.last = raw
            if raw.endswith(b"\r\n"):
                self.crlf.add(self.count)
            if raw.isspace() and raw.strip(b"\r\n"):
                self.blank.add(self.count)
            yield raw

    def end(self) -> None:
        raw = self.last
        if not raw.endswith(b"\n"):
            self.ending = "the last line has no line end: is the file whole?"
        elif not raw.isspace():
            self.ending = "no blank line after the last sentence"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + "s" * (number != 1)
