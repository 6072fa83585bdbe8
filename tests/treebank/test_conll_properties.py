"""The reader on sentences and on bytes that nobody wrote: round trips, one kind of error, linear work."""

from __future__ import annotations

import gc
import gzip
import io
import os
import sys
from collections import deque

import pytest
from helpers.reading import ENCODINGS, GROWING, check_reading, word
from hypothesis import given, settings
from hypothesis import strategies as st

import mtparse
from mtparse.errors import ConllError
from mtparse.treebank.conll import read_conll, write_conll
from mtparse.treebank.sentence import Sentence
from mtparse.treebank.stats import treebank_stats
from mtparse.treebank.validate import Validation

pytestmark = pytest.mark.nojit

PACKAGE = os.path.dirname(os.path.abspath(mtparse.__file__)) + os.sep

CELLS = st.text(st.characters(exclude_characters="\t\n", exclude_categories=["Cs"]), min_size=1, max_size=4)
LAST = CELLS.filter(lambda cell: not cell.endswith("\r"))
COMMENTS = st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=5)


@st.composite
def sentences(draw):
    """A sentence with any text in its cells, comments, multi-word lines and empty nodes between its words."""

    def row(number, head):
        cells = draw(st.lists(CELLS, min_size=7, max_size=7))
        return [str(number), *cells[:5], head, *cells[5:], draw(LAST)]

    size = draw(st.integers(1, 4))
    heads = [draw(st.integers(-1, size).filter(lambda head, own=i: head != own)) for i in range(1, size + 1)]
    extras = []
    for place in range(size + 1):
        kinds = draw(st.lists(st.sampled_from("#.-" if place < size else "#."), max_size=2))
        for count, kind in enumerate(kinds, 7):
            if kind == "#":
                extras.append((place, "#" + draw(COMMENTS)))
            else:
                span = f"{place + 1}-{draw(st.integers(place + 1, size))}" if kind == "-" else ""
                number = span or f"{place}.{count}"
                extras.append((place, "\t".join(row(number, draw(CELLS)))))
    rows = [row(number, "_" if head < 0 else str(head)) for number, head in enumerate(heads, 1)]
    return Sentence(rows, heads, extras=extras)


def written(treebank, **options):
    target = io.BytesIO()
    write_conll(treebank, target, **options)
    return target.getvalue()


def read(data, **options):
    return list(read_conll(io.BytesIO(data), **options))


@given(st.lists(sentences(), max_size=3), st.booleans())
@settings(deadline=None, max_examples=60)
def test_what_was_written_is_read_and_written_the_same(treebank, packed):
    """Cell by cell and byte by byte, whatever stands in the cells; every line's number is right."""
    data = written(treebank)
    back = read(gzip.compress(data) if packed else data)
    for attribute in ("rows", "heads", "extras"):
        assert [getattr(s, attribute) for s in back] == [getattr(s, attribute) for s in treebank]
    assert written(back) == data
    lines = data.decode().split("\n")
    for sentence in back:
        assert [lines[line - 1] for line in sentence.lines] == ["\t".join(row) for row in sentence.rows]
    assert all(issue.severity == "warning" or "HEAD" in issue.message or "heads" in issue.message
               for issue in Validation(io.BytesIO(data)))  # fmt: skip


@pytest.mark.parametrize(("encoding", "text"), [("utf-8", "\ud800"), ("latin-1", "Ł")])
def test_what_cannot_be_encoded_leaves_no_file(encoding, text, tmp_path):
    row = ["1", text, *"____", "0", "_", "_", "_"]
    with pytest.raises(UnicodeEncodeError):
        write_conll([Sentence([row], [0])], tmp_path / "a", encoding=encoding)
    assert not list(tmp_path.iterdir())


PIECES = [
    b"1",
    b"2",
    b"\t",
    b"\n",
    b"\r\n",
    b"_",
    b"#",
    b"-",
    b".",
    b" ",
    b"\xff",
    b"\x1f\x8b",
    b"\n\n",
    b"\x85",
]
PIECES += [
    "\u2028é\ufeff".encode(),
    word(1),
    word(2),
    word(2, 1),
    word(1, 2),
    word(3, "_"),
    word("1-2"),
    word("1.1"),
]
VALID = (
    b"# c\n"
    + word("1-2")
    + word(1, 2)
    + word(2)
    + word("2.1", "_")
    + b"\n"
    + word(1, 2)
    + word(2, 3)
    + word(3, 1)
)


@st.composite
def damaged(draw):
    """A good file in which some stretches were replaced."""
    data = VALID
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 30)))
        data = data[:start] + draw(st.sampled_from([b"", data[start:end] * 2, *PIECES])) + data[end:]
    return data


BYTES = st.one_of(
    st.binary(max_size=100), st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join), damaged()
)


@given(BYTES, st.sampled_from(ENCODINGS))
@settings(deadline=None, max_examples=300)
def test_any_bytes_are_sentences_or_one_error(data, encoding):
    check_reading(data, encoding)


@given(BYTES, st.integers(0, 200), st.sampled_from([b"", b"\0", b"\xff\xff", b"\x1f\x8b\x08"]))
@settings(deadline=None, max_examples=100)
def test_gzip_data_whole_or_damaged(data, place, damage):
    packed = gzip.compress(data, 1, mtime=0)
    check_reading(packed, "utf-8")
    check_reading(packed[:place] + damage + packed[place + len(damage) :], "utf-8")
    check_reading(packed[:place], "utf-8")


def work(call, data):
    """How many lines of the package's Python a call runs through."""
    count, before = 0, sys.gettrace()

    def trace(frame, event, argument):
        nonlocal count
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        count += 1
        return trace

    gc.disable()  # it comes when it likes, and closes generators that earlier tests left
    sys.settrace(trace)
    try:
        deque(call(io.BytesIO(data)), 0)
    except ConllError:
        pass
    finally:
        sys.settrace(before)
        gc.enable()
    return count


@pytest.mark.parametrize("call", [read_conll, Validation, treebank_stats], ids=["read", "validate", "stats"])
@pytest.mark.parametrize("kind", GROWING)
def test_work_is_linear(kind, call):
    """Twice the file is twice the work at most; scripts/bench/reading measures the time."""
    work(call, GROWING[kind](10))  # what is done once
    one, two, four = (work(call, GROWING[kind](size)) for size in (256, 512, 1024))
    assert work(call, GROWING[kind](512)) == two > 0  # it is work that is counted, not time
    assert four - two <= 2.2 * (two - one) + 100
