"""All problems of a treebank: each is found, each once, with its line; what is well is left alone."""

import gzip
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.project import DEMO, ROOT

from mtparse.cli.main import main
from mtparse.errors import ConfigError, InputWarning
from mtparse.treebank import sentence as limits
from mtparse.treebank import validate
from mtparse.treebank.conll import read_conll
from mtparse.treebank.validate import Validation

pytestmark = pytest.mark.nojit

TREEBANKS = Path(os.environ.get("MTPARSE_TREEBANKS", ROOT / "../shared/treebanks"))


def word(number, head="0", form="w", label="dep"):
    return f"{number}\t{form}\t_\tN\tN\t_\t{head}\t{label}\t_\t_"


def text(*sentences):
    return "".join("\n".join(lines) + "\n\n" for lines in sentences)


GOOD = text([word(1, 2), word(2, 0)])


def problems(data, **options):
    """Lines, severities and messages; the messages without ``sentence N: ``."""
    data = data.encode() if isinstance(data, str) else data
    issues = list(Validation(io.BytesIO(data), **options))
    return [(i.line, i.severity, i.message.partition("sentence 1: ")[2] or i.message) for i in issues]


def errors(*lines):
    found = problems(text(lines))
    assert {severity for _, severity, _ in found} <= {"error"}
    return [(line, message) for line, _, message in found]


def columns(number):
    return f"{number} column{'s' * (number != 1)} found, 10 expected, separated by tabs"


class TestRows:
    """Each faulty row is told, and what follows from it is not."""

    @pytest.mark.parametrize(
        ("numbers", "faults"),
        [
            ([1, 2, 4, 5, 6], [(3, "ID is '4', 3 expected")]),
            ([1, 2, 9, 4, 5], [(3, "ID is '9', 3 expected")]),
            ([1, 2, 2, 3, 4], [(3, "ID is '2', 3 expected")]),
            ([1, 2, 3, 1, 2], [(4, "ID is '1', 4 expected; a blank line must separate sentences")]),
            ([1, "x", 3, 4], [(2, "ID is 'x', 2 expected")]),
            ([1, "x", 2, 3], [(2, "ID is 'x', 2 expected")]),
            (["01", 2, 3], [(1, "ID is '01', 1 expected")]),
            ([2, 3, 4], [(1, "ID is '2', 1 expected")]),
            ([1, 3, 4, 7, 8], [(2, "ID is '3', 2 expected"), (4, "ID is '7', 5 expected")]),
            ([3, 1, 6], [
                (1, "ID is '3', 1 expected"),
                (2, "ID is '1', 4 expected; a blank line must separate sentences"),
                (3, "ID is '6', 2 expected"),
            ]),
            (["1-2", 1, 2, "2-3", 3], [(4, "multi-word line '2-3' is out of place, 3 expected in front")]),
            ([1, "3.1", 2, "2.1"], [(2, "empty node '3.1' is out of place, 1 expected in front")]),
            (["1-4", 1, 2], [(1, "the multi-word line goes beyond the last word, 2")]),
            ([1, "2-1", 2], [(2, "multi-word line '2-1' ends before it begins")]),
            (["0.1", "# c"], [(1, "no words, only multi-word lines or empty nodes")]),
        ],
    )  # fmt: skip
    def test_numbers(self, numbers, faults):
        assert errors(*(n if n == "# c" else word(n) for n in numbers)) == faults

    def test_columns(self):
        rows = [word(1), word(2)[:-2], "junk", word(3).replace("\t", " "), word(4).replace("w", ""), word(5)]
        assert errors(*rows, word(6) + "\tx") == [
            (2, columns(9)),
            (3, columns(1)),
            (4, columns(1) + "; here they are separated by blanks"),
            (5, "column 2 (FORM) is empty; put _ where there is no value"),
            (7, columns(11)),
        ]

    def test_heads_beside_a_faulty_row(self):
        """What depends on the missing row is not guessed at: neither ranges nor cycles."""
        rows = [word(1, 4), word(2, 1), word(4, 2), word(5, 5), word(6, "x"), word(7, -1), word(8, 99)]
        assert errors(*rows) == [
            (3, "ID is '4', 3 expected"),
            (4, "word 5 is its own HEAD"),
            (5, "HEAD 'x' of word 6 is not an integer; 0 is the root, _ is no head"),
            (6, "HEAD '-1' of word 7 is negative; 0 is the root, _ is no head"),
        ]

    def test_a_wrong_number_is_told_once(self):
        assert errors(word(0, 0), word(1, 0), word(3, 3)) == [
            (1, "ID is '0', 1 expected"),
            (3, "ID is '3', 2 expected"),
        ]

    def test_bytes_of_another_encoding(self):
        """Each line, with the rest of it checked as far as it can be read."""
        lines = [word(1, 2, "é\x92"), word(2), "# é", word(3, 7, "é"), word(5, 2, "é")]
        found = problems(text(lines).encode("latin-1"))
        bad = "byte 0xE9 is not valid utf-8"
        assert [(line, message.partition(" (")[0]) for line, _, message in found] == [
            (1, bad),
            (3, bad),
            (4, bad),
            (5, bad),
            (5, "ID is '5', 4 expected"),
        ]

    def test_bytes_that_become_line_ends(self):
        ((line, severity, message),) = problems(
            text([word(1, form="\\u000a")]), encoding="raw_unicode_escape"
        )
        assert (line, severity) == (1, "error")
        assert message.startswith("some bytes are a line end in raw_unicode_escape")

    def test_damaged_gzip(self):
        packed = gzip.compress((GOOD * 50).encode())
        (*_, (line, severity, message)) = problems(packed[:-9])
        assert (line, severity) == (140, "error")  # what came before the damage was read
        assert message.startswith("the gzip data are damaged or cut off")


def test_a_mark_is_one_at_the_beginning_only():
    """Whatever the pieces are in which a file comes: the last line is a piece of its own."""
    for start in ("\0", "\ufeff", "\ufeff\0"):
        (*warnings, (line, severity, message)) = problems(GOOD + start + "junk")
        assert (line, severity) == (4, "warning")
        assert message == "the last line has no line end: is the file whole?"
        assert warnings == [(4, "error", "sentence 2: 1 column found, 10 expected, separated by tabs")]


class TestHeads:
    def test_all_faults_in_the_order_of_lines(self):
        rows = [word(1, 2), word(2, 1), word(3, 3), word(4, 12), word(5, "two"), word(6, 0)]
        assert errors(*rows) == [
            (1, "the heads form a cycle, 1 -> 2 -> 1 (lines 1-2)"),
            (3, "word 3 is its own HEAD"),
            (4, "HEAD 12 of word 4 is out of range; the sentence has 6 words"),
            (5, "HEAD 'two' of word 5 is not an integer; 0 is the root, _ is no head"),
        ]

    def test_no_root(self):
        assert errors(word(1, 2), word(2, 1)) == [
            (1, "the heads form a cycle, 1 -> 2 -> 1 (lines 1-2), and no root: no HEAD is 0")
        ]

    def test_heads_of_some_words_only(self):
        blind, partly, whole = [word(1, "_"), word(2, "_")], [word(1), word(2, "_")], [word(1), word(2, 1)]
        missing = "sentence 2: HEAD missing (_) for word 2, others have one"
        assert problems(text(whole, partly, blind)) == [
            (5, "error", missing),
            (7, "error", "sentence 3: no word has a HEAD, but other sentences have heads"),
        ]
        assert problems(text(blind, blind, whole)) == [
            (7, "error", "sentence 3: this word has a HEAD, unlike the 2 sentences before")
        ]
        message = "no word has a HEAD: the file can be parsed, but not trained on or scored against"
        assert problems(text(blind, blind)) == [(0, "warning", message)]


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        ("", 0, "the file holds no sentence"),
        (GOOD[:-1], 2, "no blank line after the last sentence"),
        (GOOD[:-2], 2, "the last line has no line end: is the file whole?"),
        (GOOD.replace("\n", "\r\n"), 0, "a line end is CR LF on 3 lines, first on line 1; output has LF"),
        ("\ufeff" + GOOD, 1, "a byte order mark; it is skipped"),
        (
            text([word(1, 0), word(2, 0), word(3, 0)]),
            0,
            "several roots in 1 sentence, line 2: words 1, 2, 3 have HEAD 0",
        ),
        (
            text([word(1, 0), word(2, 0)], [word(1, 0), word(2, 0)]),
            0,
            "several roots in 2 sentences, first on line 2: words 1, 2 have HEAD 0",
        ),
        (
            GOOD[:-1] + " \t\n" + GOOD,
            0,
            "a line between sentences is not empty but holds blanks or tabs on line 3",
        ),
        (text([word(1, label=" x")]), 0, "a value begins or ends with a blank on line 1 (DEPREL ' x')"),
        (
            text([word(1).replace("\t_\t0", "\tCase= Nom\t0")]),
            0,
            "a value begins or ends with a blank on line 1 (FEATS 'Case= Nom')",
        ),
        (
            text([word("1-2"), word(1), word("2-3"), word(2, 1), word(3, 1)]),
            3,
            "multi-word line '2-3' overlaps another",
        ),
        (text([word("1-2"), word("1-2"), word(1), word(2, 1)]), 2, "multi-word line '1-2' overlaps another"),
        (text([word(1), word(2, 1, label="_")]), 0, "DEPREL is _ beside a HEAD on line 2"),
        (
            text([word(1, label="_")], [word(1, label="_")]),
            0,
            "DEPREL is _ beside a HEAD on 2 lines, first on line 1",
        ),
        (text([word(1, form="a\u2028b")]), 0, "U+2028 (LINE SEPARATOR) is on line 1 (FORM)"),
        (text([word(1, label="\x01\x01")] * 1), 0, "U+0001 (a control character) is on line 1 (DEPREL)"),
        (text([word(1, form="\ufffd")]), 0, "U+FFFD (REPLACEMENT CHARACTER) is on line 1 (FORM)"),
    ],
)
def test_warnings(data, line, message):
    """What the reader takes, but may be an accident; the reader's number of the line is kept."""
    assert problems(data) == [(line, "warning", message)]


def test_a_warning_hides_no_error():
    """The heads of a sentence after a byte order mark are checked like all others."""
    assert [line for line, *_ in problems("\ufeff" + text([word(1, 2), word(2, 7)]))] == [1, 2]
    assert len(problems("\ufeff" + text([word(1, 2), word(2, 1)]))) == 2


def test_text_of_windows_read_as_latin():
    data = text([word(1, form="“w”")]).encode("cp1252")
    assert problems(data, encoding="cp1252") == []
    assert [message.partition("; ")[2] for _, _, message in problems(data, encoding="latin-1")] == [
        "in cp1252 it is punctuation"
    ] * 2


def test_comments_at_the_end_are_left_out():
    data = b"1\ta\t_\tN\tN\t_\t0\tr\t_\t_\n\n# lost = 1\n\n"
    (issue,) = Validation(io.BytesIO(data))
    assert (issue.line, issue.severity) == (0, "warning")
    assert issue.message.startswith("comments after the last sentence, from line 3, ")
    with pytest.warns(InputWarning, match="<stream>: comments after the last sentence belong to no sentence"):
        assert len(list(read_conll(io.BytesIO(data)))) == 1


def test_prose_is_not_listed_line_by_line():
    found = Validation(io.BytesIO(b"Once upon a time\n\n" * 500))
    issues = list(found)
    assert len(issues) == 21
    assert str(issues[-1]) == (
        "<stream>: error: not a treebank: no row so far has ten columns; the rest is not checked"
    )
    rows = b"1\ta\t_\tN\tN\t_\t0\tr\t_\t_\n\n" + b"Once upon a time\n\n" * 50
    assert sum("columns" in issue.message or "column found" in issue.message
               for issue in Validation(io.BytesIO(rows))) == 50  # fmt: skip


def test_what_is_well_is_left_alone():
    """Comments, multi-word lines, empty nodes, letters and blanks of any script."""
    lines = [
        "# c",
        "1-2" + "\t_" * 9,
        word(1, 3, "10\xa0000"),
        word(2, 3, "क\u094d\u200dष"),
        "2.1" + "\t_" * 9,
    ]
    assert problems(text([*lines, word(3, 0, "😀")])) == []
    for language in ("dunta", "avelu"):
        validation = Validation(DEMO / language / "test.conll")
        assert not [issue for issue in validation if issue.severity == "error"]
        assert validation.words > 1000


def test_long_sentences(monkeypatch):
    monkeypatch.setattr(validate, "MAX_TRAINED", 1)
    assert problems(GOOD) == [(1, "warning", "2 words; at most 1 can be trained on")]
    monkeypatch.setattr(limits, "MAX_PARSED", 1)
    assert problems(GOOD) == [(1, "error", "2 words; at most 1 can be parsed, split it")]


def test_an_unknown_encoding_is_refused():
    with pytest.raises(ConfigError, match="unknown"):
        Validation("x", encoding="klingon")


class TestCommand:
    @pytest.fixture(autouse=True)
    def _files(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "good").write_text(GOOD)
        (tmp_path / "bad").write_text(GOOD + text([word(1, 5), "junk"], [word(1), word(2)]))

    def test_lines_and_status(self):
        """All files are checked; one that is not there is an error among others."""
        result = CliRunner().invoke(main, ["validate", "bad", "none", "good", "."])
        assert result.stderr == ""
        assert result.stdout.splitlines() == [
            f"bad:5: error: sentence 2: {columns(1)}",
            "bad: warning: several roots in 1 sentence, line 8: words 1, 2 have HEAD 0",
            "bad: 3 sentences, 5 words, 1 error, 1 warning",
            "none: error: No such file or directory",
            "none: 0 sentences, 0 words, 1 error, 0 warnings",
            "good: 1 sentence, 2 words, 0 errors, 0 warnings",
            ".: error: Is a directory",
            ".: 0 sentences, 0 words, 1 error, 0 warnings",
        ]
        assert result.exit_code == 1
        assert CliRunner().invoke(main, ["validate", "good"]).exit_code == 0

    @pytest.mark.parametrize("arguments", [[], ["good", "--encoding", "klingon"], ["good", "--no"]])
    def test_usage(self, arguments):
        result = CliRunner().invoke(main, ["validate", *arguments])
        assert (result.exit_code, result.stdout) == (2, "")

    def test_output_comes_as_it_is_found(self):
        """The first faults are there before the input ends."""
        command = [sys.executable, "-m", "mtparse", "validate", "-"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            running.stdin.write(b"junk\n\n")
            running.stdin.flush()
            assert running.stdout.readline() == f"<stdin>:1: error: sentence 1: {columns(1)}\n".encode()
            out, _ = running.communicate(b"", timeout=60)
        assert out == b"<stdin>: 1 sentence, 0 words, 1 error, 0 warnings\n"
        assert running.returncode == 1


@pytest.mark.treebanks
@pytest.mark.parametrize(
    ("name", "encoding", "errors"),
    [
        ("dutch/train.conll", "utf-8", 0),
        ("extra/dutch-lassysmall.conll", "utf-8", 3),
        ("turkish/train.conll", "utf-8", 0),
    ],
)
def test_real_treebanks(name, encoding, errors):
    path = TREEBANKS / name
    if not path.exists():
        pytest.skip(f"no treebanks at {TREEBANKS}; set MTPARSE_TREEBANKS to their folder")
    validation = Validation(path, encoding=encoding)
    assert all(issue.severity == "warning" or "its own HEAD" in issue.message for issue in validation)
    assert validation.errors == errors
