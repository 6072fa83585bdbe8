"""Reading and writing treebanks: what is accepted, what is refused and with which words."""

import bz2
import gzip
import io
import lzma
import os
import re
from pathlib import Path

import pytest
from helpers.project import ROOT

from mtparse.errors import ConfigError, ConllError
from mtparse.treebank.conll import format_sentence, read_conll, write_conll
from mtparse.treebank.sentence import COLUMNS

pytestmark = pytest.mark.nojit

TREEBANKS = Path(os.environ.get("MTPARSE_TREEBANKS", ROOT / "../shared/treebanks"))


def word(number, form="w", head="0", label="dep", tag="N"):
    return f"{number}\t{form}\t_\t{tag}\t{tag}\t_\t{head}\t{label}\t_\t_"


def text(*sentences):
    return "".join("\n".join(lines) + "\n\n" for lines in sentences)


TWO = text([word(1, "der", 2), word(2, "Tag", 0)], [word(1, "Ende", 0)])


def read(data, **options):
    data = data.encode() if isinstance(data, str) else data
    return list(read_conll(io.BytesIO(data), **options))


def fault(data, **options):
    with pytest.raises(ConllError) as caught:
        read(data, **options)
    return caught.value.line, caught.value.message


class TestAccepted:
    def test_columns_and_places(self):
        """Every column has a name, and every word its physical line."""
        row = ["1", "Häuser", "Haus", "N", "NN", "pl", "0", "ROOT", "_", "_"]
        (first, second) = read("\n\n" + "\t".join(row) + "\n\n" + text([word(1), word(2, head=1)]))
        assert first.rows == [row]
        assert (first.forms, first.lemmas, first.cpostags) == (["Häuser"], ["Haus"], ["N"])
        assert (first.postags, first.feats, first.deprels) == (["NN"], ["pl"], ["ROOT"])
        assert (first.number, first.line, list(first.lines), first.heads) == (1, 3, [3], [0])
        assert (second.number, second.line, list(second.lines), second.heads) == (2, 5, [5, 6], [0, 1])
        assert len(second) == 2
        assert second.has_heads
        assert "2 words" in repr(second)

    @pytest.mark.parametrize(
        "data",
        [
            TWO.replace("\n", "\r\n"),
            TWO.rstrip("\n"),
            TWO[:-1],
            TWO.replace("\n", "\r\n").rstrip("\n"),
            TWO.replace("\n", "\r\r\n"),
            "\n\r\n" + TWO.replace("\n\n", "\n\n\n\n"),
            TWO.replace("\n\n", "\n  \n"),
            "\ufeff" + TWO,
            gzip.compress(TWO.encode()),
            gzip.compress(TWO[:20].encode()) + gzip.compress(TWO[20:].encode()),
            gzip.compress(("\ufeff" + TWO).encode()),
        ],
        ids=[
            "crlf",
            "no-lf",
            "no-blank",
            "cr",
            "crcrlf",
            "blanks",
            "spaces",
            "bom",
            "gzip",
            "members",
            "gzip-bom",
        ],
    )
    def test_harmless_differences(self, data):
        """Line ends, blank lines, a byte order mark and compression do not change what is read."""
        expected = [sentence.rows for sentence in read(TWO)]
        assert [sentence.rows for sentence in read(data)] == expected
        assert "".join(map(format_sentence, read(data))) == TWO

    @pytest.mark.parametrize("data", ["", "\n", "\n\n\r\n", "\ufeff", "\ufeff\n", "# only this\n"])
    def test_nothing_to_read(self, data):
        """A file without words has no sentences and is no error."""
        assert read(data) == []

    def test_only_lf_ends_a_line(self):
        """Separators that Unicode knows stay inside the form."""
        forms = ["a\u2028b", "c\u2029d", "e\x85f", "g\x0bh", "i\x0cj", "k\x1cl", "m\rn"]
        forms += ["o p", "\xa0", "\x00"]
        data = text([word(i, form) for i, form in enumerate(forms, 1)])
        (sentence,) = read(data)
        assert sentence.forms == forms
        assert format_sentence(sentence) == data

    def test_signs_that_look_like_comments_and_ranges(self):
        """Only the first column says what a line is."""
        forms = ["#", "#tag", "C#", "1-2", "3.1"]
        (sentence,) = read(text(["#\tid=1\tx", *(word(i, form) for i, form in enumerate(forms, 1))]))
        assert sentence.forms == forms
        assert sentence.extras == [(0, "#\tid=1\tx")]

    def test_extras_keep_their_places(self):
        """Comments, multi-word lines and empty nodes come out where they stood."""
        row = "\tx" + "\t_" * 8
        lines = ["# a = 1", "# a = 2", "0.1" + row, "1-2" + row, word(1), "# inside", word(2, head=1)]
        lines += ["2.1" + row, "2.2" + row, word(3, head=1), "# last"]
        for layout in ("auto", "conllu"):
            (sentence, _) = read(text(lines, [word(1)]), format=layout)
            assert [position for position, _ in sentence.extras] == [0, 0, 0, 0, 1, 2, 2, 3]
            assert list(sentence.lines) == [5, 7, 10]
            assert sentence.heads == [0, 1, 1]
            assert format_sentence(sentence) == text(lines)

    def test_comments_without_words(self):
        """They go with the next sentence."""
        (sentence,) = read("# newdoc\n\n# s1\n" + text([word(1)]))
        assert sentence.extras == [(0, "# newdoc"), (0, "# s1")]
        assert (sentence.line, list(sentence.lines)) == (3, [4])

    def test_missing_heads(self):
        """A blind file gives -1; with heads ignored nothing in the column is refused."""
        (sentence,) = read(text([word(1, head="_"), word(2, head=1)]))
        assert sentence.heads == [-1, 1]
        assert not sentence.has_heads
        (sentence,) = read(text([word(1, head="x"), word(2, head=2), word(3, head=9)]), heads="ignore")
        assert sentence.heads == [-1, 2, 9]

    def test_a_word_may_be_its_own_head_where_no_tree_is_needed(self):
        (sentence,) = read(text([word(1), word(2, head=2)]))
        assert sentence.heads == [0, 2]
        with pytest.raises(ConllError, match=":2: sentence 1: word 2 is its own HEAD"):
            read(text([word(1), word(2, head=2)]), heads="required")

    @pytest.mark.parametrize("blank", ["\t", "\t" * 9, " ", " \t ", "\r"])
    def test_separators_that_hold_blanks(self, blank):
        """Editors and spreadsheets leave them."""
        assert len(read(text([word(1)]).replace("\n\n", f"\n{blank}\n") + text([word(1)]))) == 2

    def test_text_streams(self, tmp_path):
        for source in (io.StringIO(TWO), io.StringIO(TWO.replace("\n", "\r\n"))):
            assert [s.rows for s in read_conll(source, encoding="latin-1")] == [s.rows for s in read(TWO)]
        (tmp_path / "a").write_text(TWO, encoding="utf-8")
        with open(tmp_path / "a", encoding="utf-8") as source:
            assert [s.rows for s in read_conll(source)] == [s.rows for s in read(TWO)]
        with pytest.raises(ConllError, match="not valid utf-8"):
            list(read_conll(io.StringIO(TWO + "\ud800")))

    @pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
    def test_packed(self, pack):
        """In one or several streams, with zeros behind, or so well that a chunk is many when unpacked."""
        half = len(TWO.encode()) // 2
        parts = [TWO.encode()[:half], TWO.encode()[half:]]
        for data in (pack(TWO.encode()), b"".join(map(pack, parts)), pack(TWO.encode()) + b"\0" * 512):
            assert [s.rows for s in read(data)] == [s.rows for s in read(TWO)]
        assert len(read(pack(TWO.encode() * 20_000))) == 40_000

    def test_utf_8_sig(self, tmp_path):
        """What Windows calls UTF-8; a mark is written by none of our commands."""
        for data in (TWO.encode(), TWO.encode("utf-8-sig")):
            assert [s.rows for s in read(data, encoding="utf-8-sig")] == [s.rows for s in read(TWO)]
        write_conll(read(TWO), tmp_path / "out", encoding="utf-8-sig")
        assert (tmp_path / "out").read_bytes() == TWO.encode()

    @pytest.mark.parametrize("name", ["conllu", "conllx"])
    def test_the_ten_columns_declared(self, name):
        conllu = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC"
        columns = {"conllu": conllu, "conllx": " ".join(COLUMNS)}[name]
        assert len(read(text([f"# global.columns = {columns}", word(1)]))) == 1

    def test_long_sentence(self):
        """More words than numerals are prepared for."""
        size = 1000
        (sentence,) = read(text([word(i, head=i - 1) for i in range(1, size + 1)]))
        assert sentence.heads == list(range(size))

    def test_other_encodings(self):
        data = text([word(1, "señal")]).encode("latin-1")
        (sentence,) = read(data, encoding="latin-1")
        assert sentence.forms == ["señal"]
        target = io.BytesIO()
        write_conll([sentence], target, encoding="latin-1")
        assert target.getvalue() == data

    def test_short_rows(self):
        """The shared task's parsers left out the last two columns."""
        short = text([word(1)[:-4], word(2, head=1)])
        (sentence,) = read(short, short_rows=True)
        assert [len(row) for row in sentence.rows] == [10, 10]
        (sentence,) = read(text([word(1)[:-4], "# c", word(2, head=1)]), short_rows=True)
        assert len(sentence) == 2
        assert fault(short)[1] == "sentence 1: 8 columns found, 10 expected, separated by tabs"

    def test_sources(self, tmp_path, monkeypatch):
        """Path, text path, stream and standard input agree."""
        path = tmp_path / "a.conll"
        path.write_text(TWO, encoding="utf-8")
        expected = [sentence.rows for sentence in read(TWO)]
        assert [sentence.rows for sentence in read_conll(path)] == expected
        assert [sentence.path for sentence in read_conll(str(path))] == [str(path)] * 2
        for data in (TWO.encode(), gzip.compress(TWO.encode())):
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data), encoding="ascii"))
            sentences = list(read_conll("-"))
            assert [sentence.rows for sentence in sentences] == expected
            assert sentences[0].path == "<stdin>"

    def test_stream_is_read_as_it_comes(self):
        """A sentence is handed out when its blank line is there, not at the end of the input."""
        reading, writing = os.pipe()
        with os.fdopen(reading, "rb") as source, os.fdopen(writing, "wb", buffering=0) as sink:
            sink.write(TWO.encode())
            sentences = read_conll(source)
            assert next(sentences).forms == ["der", "Tag"]
            assert next(sentences).forms == ["Ende"]


class TestRefused:
    @pytest.mark.parametrize(
        ("lines", "line", "message"),
        [
            ([word(1), word(2)[:-2]], 2, "9 columns found, 10 expected, separated by tabs"),
            ([word(1), word(2) + "\tx"], 2, "11 columns found, 10 expected, separated by tabs"),
            (
                [word(1).replace("\t", "    ")],
                1,
                "1 column found, 10 expected, separated by tabs; "
                "here they are separated by blanks",
            ),
            (["junk"], 1, "1 column found, 10 expected, separated by tabs"),
            (
                [word(1) + "\r" + word(2)],
                1,
                "19 columns found, 10 expected, separated by tabs; there are CR characters inside the line, "
                "convert the line ends to LF",
            ),
            ([word(1), word(2, "")], 2, "column 2 (FORM) is empty; put _ where there is no value"),
            ([word("")], 1, "column 1 (ID) is empty; put _ where there is no value"),
            ([word(1)[:-1]], 1, "column 10 (PDEPREL) is empty; put _ where there is no value"),
            ([word(2)], 1, "ID is '2', 1 expected"),
            ([word(1), word(3)], 2, "ID is '3', 2 expected"),
            ([word(1), word(1)], 2, "ID is '1', 2 expected; a blank line must separate sentences"),
            ([word("x")], 1, "ID is 'x', 1 expected"),
            ([word("01")], 1, "ID is '01', 1 expected"),
            ([word("1" * 99)], 1, f"ID is '{'1' * 40}...', 1 expected"),
            ([word(1, head=2)], 1, "HEAD 2 of word 1 is out of range; the sentence has 1 words"),
            ([word(1, head=200)], 1, "HEAD 200 of word 1 is out of range; the sentence has 1 words"),
            ([word(1), word(2, head="01")], 2, "HEAD '01' of word 2 begins with a zero; write 1"),
            ([word(1), word(2, head="00")], 2, "HEAD '00' of word 2 begins with a zero; write 0"),
            ([word(1, head="-1")], 1, "HEAD '-1' of word 1 is negative; 0 is the root, _ is no head"),
            ([word(1, head="2.0")], 1, "HEAD '2.0' of word 1 is not an integer; 0 is the root, _ is no head"),
            ([word(1, head="two")], 1, "HEAD 'two' of word 1 is not an integer; 0 is the root, _ is no head"),
            ([word(1, head="²")], 1, "HEAD '²' of word 1 is not an integer; 0 is the root, _ is no head"),
            (
                [word(1, head="9" * 5000)],
                1,
                f"HEAD {'9' * 20} of word 1 is out of range; the sentence has 1 words",
            ),
            ([word("2-3"), word(1)], 1, "multi-word line '2-3' is out of place, 1 expected in front"),
            ([word(1), word("2-1"), word(2)], 2, "multi-word line '2-1' ends before it begins"),
            ([word("1-3"), word(1), word(2)], 1, "the multi-word line goes beyond the last word, 2"),
            ([word("1.1"), word(1)], 1, "empty node '1.1' is out of place, 0 expected in front"),
            (["# c", word("0.1")], 2, "no words, only multi-word lines or empty nodes"),
        ],
    )
    def test_message(self, lines, line, message):
        """Every fault is named with its line, its sentence and what was expected."""
        assert fault(text(lines)) == (line, f"sentence 1: {message}")
        assert fault(TWO + text(lines)) == (line + 5, f"sentence 3: {message}")

    def test_missing_head_where_one_is_needed(self):
        data = text([word(1), word(2, head="_")])
        message = "sentence 1: HEAD missing (_) for word 2; gold heads are needed here"
        assert fault(data, heads="required") == (2, message)

    @pytest.mark.parametrize(("row", "kind"), [("1-2", "a multi-word line"), ("0.1", "an empty node")])
    def test_conllx_has_words_only(self, row, kind):
        data = text([word(row), word(1), word(2, head=1)])
        message = f"sentence 1: {kind} ({row}) is not allowed in CoNLL-X; set format: conllu"
        assert fault(data, format="conllx") == (1, message)

    @pytest.mark.parametrize("bad", [b"caf\xe9", b"\xed\xa0\xbd", b"\xff", b"\xf0\x9f\x8d"])
    def test_bytes_of_another_encoding(self, bad):
        """The line and the encoding that was tried are named."""
        data = TWO.encode() + b"# ok\n" + word(1, "???").encode().replace(b"???", bad) + b"\n\n"
        line, message = fault(data)
        assert line == 7
        assert message.startswith("sentence 3: byte 0x")
        assert message.endswith("; name its encoding (--encoding; to train, data.encoding)")

    def test_bytes_that_become_line_ends(self):
        data = text([word(1, "\\u000a")]).encode()
        line, message = fault(data, encoding="raw_unicode_escape")
        assert line == 1
        assert "a line end in raw_unicode_escape" in message

    def test_damaged_gzip(self):
        """Cut off or overwritten data are no shorter treebank."""
        packed = gzip.compress(TWO.encode() * 50)
        for damaged in (packed[:-9], packed[:2], packed + b"junk", packed[:30] + b"\xff" * 9 + packed[39:]):
            with pytest.raises(ConllError, match="gzip data are damaged or cut off"):
                read(damaged)

    @pytest.mark.parametrize("encoding", ["klingon", "utf-16", "utf-32", "cp037", "base64", "a\0b", ""])
    def test_encodings(self, encoding):
        with pytest.raises(ConfigError, match="encoding: "):
            read_conll("x", encoding=encoding)

    def test_arguments(self):
        """Wrong arguments are refused before the first sentence is asked for."""
        with pytest.raises(ValueError, match="format is 'conll'; it can be auto, conllx, conllu"):
            read_conll("x", format="conll")
        with pytest.raises(ValueError, match="heads is 'no'; it can be optional, required, unch"):
            read_conll("x", heads="no")
        with pytest.raises(ValueError, match=r"source is the text of a treebank, .* use parse_conll\(text\)"):
            read_conll(TWO)

    @pytest.mark.parametrize(
        "columns", ["ID FORM HEAD DEPREL", "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC X"]
    )
    @pytest.mark.parametrize("between", ["", "\n"])
    def test_other_columns_declared(self, columns, between):
        """CoNLL-U Plus: its columns would be taken for others."""
        data = f"# global.columns = {columns}\n{between}{text([word(1)])}"
        line, message = fault(data)
        assert line == 1
        assert message.startswith("global.columns declares other columns; the file must have ID FORM LEMMA ")

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (TWO.encode("utf-16"), r"UTF-16 or UTF-32 .*iconv"),
            (TWO.encode("utf-16-le"), "UTF-16 or UTF-32"),
            (TWO.encode("utf-16-be"), "UTF-16 or UTF-32"),
            (TWO.encode("utf-32"), "UTF-16 or UTF-32"),
            (b"PK\x03\x04rest of the archive", "a zip archive: unpack it first"),
            (b"\n" + TWO.encode("utf-16-le"), "binary data, or text in UTF-16"),
            (b"\n" + TWO.encode("utf-16-be"), "binary data, or text in UTF-16"),
            (TWO.encode("utf-32-be"), "binary data, or text in UTF-16"),
            (b"train.conll" + bytes(501), "binary data"),
            (lzma.compress(TWO.encode(), lzma.FORMAT_ALONE), "an lzma archive"),
            (gzip.compress(gzip.compress(TWO.encode(), mtime=0), mtime=0), "packed twice"),
            (gzip.compress(TWO.encode("utf-16-le"), mtime=0), "UTF-16 or UTF-32"),
            (b"\x28\xb5\x2f\xfdrest", "a zstd archive: unpack it first"),
        ],
    )
    def test_what_is_recognised_but_not_read(self, data, message):
        assert re.match(rf"this is {message}", fault(data)[1])

    def test_sentences_before_the_fault_are_there(self):
        sentences = read_conll(io.BytesIO((TWO + "junk\n").encode()))
        assert [len(next(sentences)), len(next(sentences))] == [2, 1]
        with pytest.raises(ConllError, match=r"<stream>:6: sentence 3: 1 column found"):
            next(sentences)


class TestWriting:
    def test_with_heads(self):
        """Columns 7 and 8 change in a copy, other heads are gone, the rest stays."""
        data = text(["# c", "1\ta\tb\tc\td\te\t_\t_\t0:r|2:e\tQ", "2\tw\t_\tN\tN\t_\t1\tx\t1\ty"])
        (sentence,) = read(data)
        changed = sentence.with_heads([2, 0], ["l", "m"])
        expected = text(["# c", "1\ta\tb\tc\td\te\t2\tl\t_\tQ", word(2, head=0, label="m")])
        assert format_sentence(changed) == expected
        assert changed.heads == [2, 0]
        assert format_sentence(sentence) == data
        assert sentence.with_heads([0, -1]).rows[1][6:8] == ["_", "_"]
        for heads, labels in (([0], "_"), ([0, 1], ["x"]), ([-1, 0, 1], "_")):
            with pytest.raises(ValueError, match="2 words, but"):
                sentence.with_heads(heads, labels)

    def test_own_input_as_output(self, tmp_path):
        """A file may be rewritten while it is read."""
        path = tmp_path / "a.conll"
        path.write_text(TWO.replace("\n", "\r\n") * 5000, encoding="utf-8")
        write_conll(read_conll(path), path)
        assert path.read_text(encoding="utf-8") == TWO * 5000
        assert os.listdir(tmp_path) == ["a.conll"]

    def test_nothing_is_left_of_a_failure(self, tmp_path):
        """A fault on the way leaves the older file and no temporary one."""
        path = tmp_path / "a.conll"
        path.write_text("old", encoding="utf-8")
        for target in (path, tmp_path / "new"):
            with pytest.raises(ConllError):
                write_conll(read_conll(io.BytesIO((TWO + "junk").encode())), target)
        assert path.read_text(encoding="utf-8") == "old"
        assert os.listdir(tmp_path) == ["a.conll"]


@pytest.mark.treebanks
def test_real_treebanks_come_out_as_they_went_in():
    """Byte for byte, but for a blank line that a file may lack at its end."""
    files = sorted(TREEBANKS.glob("*/*.conl*"))
    if not files:
        pytest.skip(f"no treebanks at {TREEBANKS}; set MTPARSE_TREEBANKS to their folder")
    words = 0
    for path in files:
        encoding = "latin-1" if "latin1" in path.name else "utf-8"
        heads = "ignore" if path.name == "dutch-lassysmall.conll" else "optional"  # it has self-loops
        target = io.BytesIO()
        treebank = list(read_conll(path, encoding=encoding, heads=heads))
        write_conll(treebank, target, encoding=encoding)
        assert target.getvalue().rstrip(b"\n") == path.read_bytes().rstrip(b"\n"), path.name
        words += sum(map(len, treebank))
    assert words > 500_000
