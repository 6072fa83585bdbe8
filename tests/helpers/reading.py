"""What must hold for any bytes that are read as a treebank, whoever made them up."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable
from itertools import pairwise

from mtparse.errors import ConllError
from mtparse.evaluation.attachment import evaluate
from mtparse.treebank.conll import HEADS, format_sentence, read_conll
from mtparse.treebank.stats import treebank_stats
from mtparse.treebank.trees import is_tree
from mtparse.treebank.validate import Validation

ENCODINGS = (
    "utf-8", "latin-1", "cp1252", "shift_jis", "gb18030", "euc_kr", "iso2022_jp", "utf-7",
    "raw_unicode_escape",
)  # fmt: skip


def word(number: object, head: object = "0", form: str = "w") -> bytes:
    """The line of a word."""
    return f"{number}\t{form}\t_\tN\tN\t_\t{head}\tx\t_\t_\n".encode()


def rows(heads: Iterable) -> bytes:
    """The lines of a sentence with these heads."""
    return b"".join(word(number, head) for number, head in enumerate(heads, 1))


GROWING = {
    "one line": lambda n: b"x" * n,
    "columns": lambda n: b"\t" * n,
    "blank lines": lambda n: b"\n" * n,
    "carriage returns": lambda n: b"1\r" * n + b"\r" * n,
    "comments": lambda n: b"#\n" * n,
    "comments alone": lambda n: b"#\n\n" * n,
    "ranges": lambda n: word("1-2") * n + word(1) + word(2, 1),
    "ranges of nothing": lambda n: word("1-2") * n + word(1),
    "empty nodes": lambda n: word(1) + word("1.1") * n,
    "sentences": lambda n: (word(1) + b"\n") * n,
    "first words": lambda n: word(1) * n,
    "chain": lambda n: rows(range(n)),
    "star": lambda n: rows([0] + [1] * (n - 1)),
    "one cycle": lambda n: rows([*range(2, n + 1), 1]),
    "cycles": lambda n: rows(i + 2 - i % 2 * 2 for i in range(n)),
    "no root": lambda n: rows(["_"] * n),
    "roots": lambda n: rows([0] * n),
    "crossing": lambda n: rows(max(0, i - n // 2) for i in range(n)),
    "attributes": lambda n: word(1).replace(b"N\t_", b"N\t" + b"|".join([b"a=b"] * n)),
    "separators": lambda n: word(1, form="\u2028" * n),
    "digits": lambda n: word(1, "1" * n) + word("1" * n),
    "bad bytes": lambda n: word(1).replace(b"w", b"\xff") * n,
    "packed": lambda n: gzip.compress(b"\n" * n) * 2,
}
"""Files that grow with a number in one respect each."""


def check_reading(data: bytes, encoding: str) -> None:
    """Assert that reader, validator, statistics and scorer agree on bytes, and fail in one way only."""
    found = {heads: _outcome(_read, data, encoding, heads) for heads in HEADS}
    validation = Validation(io.BytesIO(data), encoding=encoding)
    issues = list(validation)
    errors = [(issue.line, issue.message) for issue in issues if issue.severity == "error"]

    assert len(errors) == len(set(errors)) == validation.errors
    assert all(before.line <= after.line or not after.line for before, after in pairwise(issues))
    for heads in ("optional", "unchecked", "ignore"):
        if isinstance(found[heads], ConllError):
            assert (found[heads].line, found[heads].message) in errors
    if isinstance(found["ignore"], list):
        _check_sentences(found["ignore"], encoding)
        assert len(found["unchecked"]) == len(found["ignore"]) == validation.sentences
        assert sum(map(len, found["ignore"])) == validation.words
    if isinstance(found["optional"], list):
        assert [s.heads for s in found["optional"]] == [s.heads for s in found["unchecked"]]

    stats = _outcome(treebank_stats, io.BytesIO(data), encoding=encoding)
    assert isinstance(stats, ConllError) == bool(errors)
    if not errors and isinstance(found["required"], list):
        assert all(is_tree([-1, *s.heads]) for s in found["required"])
    short = read_conll(io.BytesIO(data), encoding=encoding, short_rows=True)
    gold = read_conll(io.BytesIO(data), encoding=encoding, heads="required")
    scores = _outcome(evaluate, gold, short, punctuation=True)
    assert isinstance(scores, ConllError) == isinstance(found["required"], ConllError)


def _outcome(call, *arguments, **options):
    try:
        return call(*arguments, **options)
    except ConllError as error:
        return error


def _read(data: bytes, encoding: str, heads: str) -> list:
    return list(read_conll(io.BytesIO(data), encoding=encoding, heads=heads))


def _check_sentences(sentences: list, encoding: str) -> None:
    """Every word is whole; what is written is read as the same and written the same."""
    for sentence in sentences:
        assert [row[0] for row in sentence.rows] == [str(i + 1) for i in range(len(sentence))]
        assert all(len(row) == 10 and "" not in row for row in sentence.rows)
        assert len(sentence.lines) == len(sentence.heads) == len(sentence) > 0
    if encoding != "utf-8":
        return
    written = "".join(map(format_sentence, sentences)).encode()
    again = _read(written, "utf-8", "ignore")
    assert [s.rows for s in again] == [s.rows for s in sentences]
    assert [s.extras for s in again] == [s.extras for s in sentences]
