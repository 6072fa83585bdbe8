"""Reading and writing treebanks in the ten columns of CoNLL-X and CoNLL-U.

Lines end at LF and columns at tabs, nowhere else: a form may hold any other character, Unicode line
separators and blanks included. The reader is lenient about what does no harm (CRLF, a byte order
mark, no final newline, several blank lines) and refuses the rest with the physical line.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import IO, Any, BinaryIO, TextIO

from mtparse.runtime.files import atomic_writer
from mtparse.runtime.incoming import Incoming, incoming
from mtparse.treebank.byte_source import Source, check_encoding, source_name
from mtparse.treebank.head_column import brief
from mtparse.treebank.reader import Reader
from mtparse.treebank.sentence import Sentence, format_sentence, require_sentences


def _gzip_file(file: IO) -> gzip.GzipFile:
    return gzip.GzipFile("", "wb", fileobj=file, mtime=0)  # no name and no time in the header


_PACKERS: dict[str, Callable[[IO], Any]] = {
    ".gz": _gzip_file,
    ".xz": partial(lzma.LZMAFile, mode="wb"),
    ".bz2": partial(bz2.BZ2File, mode="wb"),
}
"""What compresses the output, by the ending of its name."""

FORMATS = ("auto", "conllx", "conllu")
HEADS = ("optional", "required", "unchecked", "ignore")


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
    source : str, path or stream
        ``-`` is standard input; a stream may give bytes or text. Data compressed by gzip, xz or bzip2 are
        recognised by their content and unpacked.
    format : {"auto", "conllx", "conllu"}
        ``conllx`` refuses multi-word lines and empty nodes, which only CoNLL-U has. Lines that start
        with ``#`` are comments in all of them.
    encoding : str
        Encoding of the bytes, one in which tabs, line ends and digits are as in ASCII.
    heads : {"optional", "required", "unchecked", "ignore"}
        ``optional`` accepts ``_`` in the HEAD column (-1) and words that are their own heads; ``required``
        refuses both. Heads that are no integer or out of range are errors in both. ``unchecked`` and
        ``ignore`` do not look at the column: heads are then integers as they stand, and -1 for all else, as
        `mtparse.treebank.head_column.head_value` gives them; `mtparse.treebank.trees.head_faults` says what
        is wrong with them. Longer cycles are never errors here, see `mtparse.treebank.trees.check_tree`.
    short_rows : bool
        Accept rows of the first eight columns, as in the outputs of parsers at the shared task; the
        other two become ``_``.

    Returns
    -------
    iterator of Sentence
        Comments with no words below them go to the next sentence; at the end of the file they are
        dropped. From a pipe, a sentence is there as soon as the blank line below it has come; what works
        on many at a time can tell when there are no more at the moment, see `mtparse.runtime.incoming`.

    Raises
    ------
    ConllError
        On reading the faulty sentence; names the file and the physical line.
    ConfigError
        If the encoding is unknown or not an extension of ASCII.
    OSError
        If the file cannot be opened or read.
    ValueError
        If ``format`` or ``heads`` is none of the above, or if ``source`` is the text itself.
    TypeError
        If ``source`` is neither a name nor a path nor a stream.
    """
    if isinstance(source, str) and ("\n" in source or "\t" in source):
        raise ValueError("source is the text of a treebank, not the name of a file; use parse_conll(text)")
    if not (isinstance(source, (str, os.PathLike)) or hasattr(source, "read")):
        raise TypeError(f"source is {brief(source)}; give a file's name, a path or a stream")
    if isinstance(source, io.TextIOBase):
        encoding = "utf-8"
    if format not in FORMATS:
        raise ValueError(f"format is {format!r}; it can be {', '.join(FORMATS)}")
    if heads not in HEADS:
        raise ValueError(f"heads is {heads!r}; it can be {', '.join(HEADS)}")
    encoding = check_encoding(encoding)
    return Incoming(Reader(source_name(source), format, encoding, heads, short_rows).sentences(source))


def parse_conll(text: str, **options: Any) -> Iterator[Sentence]:
    """Read a treebank from a text; options and errors are those of `read_conll`, the file is ``<stream>``.

    Raises
    ------
    TypeError
        If it is no string.
    """
    if not isinstance(text, str):
        raise TypeError(f"text is {brief(text)}, no string; read_conll reads files and streams")
    return read_conll(io.StringIO(text), **options)


def write_conll(
    sentences: Iterable[Sentence], target: str | os.PathLike | BinaryIO | TextIO, *, encoding: str = "utf-8"
) -> None:
    """Write sentences, each closed by one blank line; line ends are LF.

    Parameters
    ----------
    sentences : iterable of Sentence
        May be reading from the very file that is written.
    target : str, path or stream
        A file appears under its name only when all sentences are written; one whose name ends in
        ``.gz``, ``.xz`` or ``.bz2`` is compressed. Other streams are flushed whenever the next sentence must
        be waited for, so that who reads them has all that can be had.
    encoding : str
        Encoding of the output; a text stream has its own.

    Raises
    ------
    ConllError
        At a sentence that could not be read back, see `mtparse.treebank.sentence.format_sentence`.
    OSError
        If the target cannot be written.
    TypeError
        If ``sentences`` holds anything else, or is a single one; if ``target`` is neither a name nor a path
        nor a stream.
    """
    require_sentences("sentences", sentences)
    if not (isinstance(target, (str, os.PathLike)) or hasattr(target, "write")):
        raise TypeError(f"target is {brief(target)}; give a file's name, a path or a stream")
    encoding = check_encoding(encoding)
    if isinstance(target, TextIO | io.TextIOBase):
        for sentence in incoming(sentences):
            if sentence is None:
                target.flush()
            else:
                target.write(format_sentence(sentence))
        return
    if not isinstance(target, (str, os.PathLike)):
        _write(sentences, target.write, encoding, target.flush)
        return
    with atomic_writer(target, "wb") as file:
        if packer := _PACKERS.get(os.path.splitext(os.fsdecode(target))[1].lower()):
            # no flush in between: the same sentences give the same bytes
            with packer(file) as packed:
                _write(sentences, packed.write, encoding, lambda: None)
        else:
            _write(sentences, file.write, encoding, file.flush)


def _write(
    sentences: Iterable[Sentence],
    write: Callable[[bytes], object],
    encoding: str,
    flush: Callable[[], object],
) -> None:
    for sentence in incoming(sentences):
        if sentence is None:
            flush()
        else:
            write(format_sentence(sentence).encode(encoding))
