"""Sentences made and changed by hand: heads in one place, nothing written that could not be read back."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtparse import ConllError, Parser, Sentence, evaluate, read_conll, write_conll
from mtparse.treebank.sentence import format_sentence

pytestmark = pytest.mark.nojit


def made(**columns) -> Sentence:
    return Sentence.from_words(["a", "b", "c"], postags=["X", "Y", "Z"], **columns)


def written(sentence: Sentence) -> str:
    target = io.StringIO()
    write_conll([sentence], target)
    return target.getvalue()


class TestHeads:
    """Whatever way heads are set, all who read the sentence see them: the writer, the scorer, a copy."""

    @pytest.mark.parametrize(
        "change",
        [
            lambda s: s.heads.__setitem__(0, 3),
            lambda s: s.rows[0].__setitem__(6, "3"),
            lambda s: setattr(s, "heads", [3, 0, 2]),
            lambda s: setattr(s, "heads", np.array([3, 0, 2])),
        ],
    )
    def test_set(self, change):
        sentence = made(heads=[2, 0, 2])
        change(sentence)
        assert sentence.heads == [3, 0, 2]
        (back,) = read_conll(io.StringIO(written(sentence)))
        assert back.heads == [3, 0, 2]
        assert evaluate([made(heads=[3, 0, 2])], [sentence]).UAS == 100
        assert evaluate([made(heads=[2, 0, 2])], [sentence]).correct_heads == 2

    def test_given_to_a_new_sentence(self):
        """They are written, into copies of the rows."""
        rows = made().rows
        sentence = Sentence(rows, [2, 0, -1])
        assert [line.split("\t")[6] for line in written(sentence).splitlines()[:3]] == ["2", "0", "_"]
        assert rows[0][6] == "_"
        assert not sentence.has_heads

    def test_like_a_list(self):
        heads = made(heads=[2, 0, 2]).heads
        assert heads == (2, 0, 2)
        assert heads != [2, 0]
        assert heads != "202"
        assert (list(heads), heads[1:], heads[-1], len(heads)) == ([2, 0, 2], [0, 2], 2, 3)
        assert (heads.count(2), heads.index(0), 0 in heads, 7 in heads) == (2, 1, True, False)
        assert repr(heads) == "[2, 0, 2]"
        assert np.array(heads).tolist() == [2, 0, 2]

    @pytest.mark.parametrize("heads", [[1], [0, 1, 2, 3]])
    def test_one_for_each_word(self, heads):
        with pytest.raises(ValueError, match=f"3 words, but {len(heads)} heads; the root symbol has no e"):
            made(heads=heads)

    def test_no_other_values(self):
        sentence = made()
        with pytest.raises(ValueError, match="head -2: a head is a word's number, 0 for the root, or -1"):
            sentence.heads[0] = -2
        with pytest.raises(TypeError, match=r"head 1.5: a head is an integer"):
            sentence.heads[0] = 1.5
        for heads, message in ((np.array([1.0, 2, 0]), "a head is an integer"), (3, "must be a sequence")):
            with pytest.raises(TypeError, match=message):
                sentence.heads = heads
        assert sentence.heads == [-1, -1, -1]

    def test_deps_do_not_keep_the_old_ones(self):
        """DEPS holds heads, as PHEAD does; MISC has nothing to do with them, PDEPREL has."""
        rows = [["1", "a", "_", "X", "X", "_", "0", "x", cell, "SpaceAfter=No"] for cell in ("0:x", "1", "_")]
        for row in rows:
            (changed,) = Sentence([row]).with_heads([0]).rows
            assert changed[8:] == ["_", "_" if row[8] == "1" else "SpaceAfter=No"]


class TestFromWords:
    def test_columns(self):
        sentence = Sentence.from_words(
            ["a", "b"], lemmas=["l", "m"], cpostags=["C", "D"], postags=["P", "Q"], feats=["F=1", "_"],
            heads=[2, 0], deprels=["x", "y"],
        )  # fmt: skip
        assert written(sentence) == "1\ta\tl\tC\tP\tF=1\t2\tx\t_\t_\n2\tb\tm\tD\tQ\t_\t0\ty\t_\t_\n\n"
        assert sentence.forms == ["a", "b"]

    def test_one_kind_of_tags_stands_for_both(self):
        for kind in ("cpostags", "postags"):
            sentence = Sentence.from_words(["a"], **{kind: ["X"]})
            assert sentence.cpostags == sentence.postags == ["X"]

    def test_any_iterables(self):
        wanted = Sentence.from_words(["a", "b"], cpostags=["C", "D"], postags=["X", "Y"], heads=[2, 0])
        arrays = Sentence.from_words(
            np.array(["a", "b"]), cpostags=np.array(["C", "D"]), postags=np.array(["X", "Y"]),
            heads=np.array([2, 0]),
        )  # fmt: skip
        lazy = Sentence.from_words(iter("ab"), cpostags=iter("CD"), postags=iter("XY"), heads=iter([2, 0]))
        assert wanted.rows == arrays.rows == lazy.rows
        assert all(type(cell) is str for row in arrays.rows for cell in row)

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"forms": None}, "forms is None; give a list of strings, one a word"),
            ({"forms": ["a"], "feats": 5}, "feats is 5; give a list of strings, one a word"),
            ({"forms": ["a"], "heads": [0.5]}, "head 0.5: a head is an integer"),
            ({"forms": ["a"], "heads": 0}, "heads must be a sequence of integers, not 0"),
        ],
    )
    def test_of_another_type(self, columns, message):
        with pytest.raises(TypeError, match=message):
            Sentence.from_words(**columns)

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"forms": ["a"], "cpostags": [], "postags": ["X"]}, "1 words, but 0 cpostags"),
            ({"forms": ["a", "b"], "postags": "XY"}, "postags is one string; give a list with an entry"),
            ({"forms": ["a"], "lemmas": np.ma.array(["l"], mask=[True])}, "LEMMA is None, not a string"),
            ({"forms": ["a"], "postags": ["X", "Y"]}, "1 words, but 2 postags"),
            ({"forms": ["a"], "lemmas": []}, "1 words, but 0 lemmas"),
            ({"forms": "abc"}, "forms is one string; give a list of words"),
            ({"forms": []}, "sentence 1 has no words"),
            ({"forms": ["a", ""]}, "sentence 1: word 2: FORM is empty"),
            ({"forms": ["a", None]}, "sentence 1: word 2: FORM is None, not a string"),
            ({"forms": ["a\tb"]}, "word 1: FORM is 'a\\\\tb'; it must not hold a tab or a line end"),
        ],
    )
    def test_refused(self, columns, message):
        with pytest.raises(ValueError, match=message):
            Sentence.from_words(**columns)


ROW = ["1", "a", "_", "X", "X", "_", "0", "x", "_", "_"]
FAULTS = [
    ([], " has no words"),
    ([ROW[:3]], "word 1: 3 columns, 10 expected"),
    ([[*ROW, "_"]], "word 1: 11 columns, 10 expected"),
    ([ROW, ["2", *ROW[1:4], None, *ROW[5:]]], "word 2: POSTAG is None, not a string"),
    ([[1, *ROW[1:]]], "word 1: ID is 1, not a string"),
    ([ROW, ROW], "word 2: ID is '1', 2 expected"),
    ([["1", "a\tb", *ROW[2:]]], "word 1: FORM is .*; it must not hold a tab or a line end"),
    ([["1", "a\tb", *ROW[2:-1]]], "word 1: 9 columns, 10 expected"),
    ([["1", "a\nb", *ROW[2:]]], "word 1: FORM is .*; it must not hold a tab or a line end"),
    ([[*ROW[:-1], "x\n"]], "word 1: PDEPREL is .*; it must not hold a tab or a line end"),
    ([["1", "", *ROW[2:]]], "word 1: FORM is empty; put _ where there is no value"),
    ([[*ROW[:-1], ""]], "word 1: PDEPREL is empty"),
    ([[*ROW[:-1], "x\r"]], "word 1: PDEPREL is .*; it must not end in CR"),
    ([ROW[:-1], ["2", "b", *ROW[2:], "_"]], "word 1: 9 columns"),
]


@pytest.mark.parametrize(("rows", "message"), FAULTS)
def test_what_could_not_be_read_back_is_not_written(rows, message, tmp_path):
    sentence = Sentence(rows, path="here", line=7)
    with pytest.raises(ConllError, match=f"^here:[78]: sentence 1.*{message}"):
        write_conll([sentence], tmp_path / "out")
    assert not list(tmp_path.iterdir())


CELL = st.text(st.sampled_from("ab\t\n\r _"), max_size=3)


@given(st.lists(st.lists(CELL, min_size=9, max_size=11), max_size=3), st.booleans())
def test_written_is_read_back(rows, counted):
    """Either it is refused, or it comes back the same."""
    if counted:
        rows = [[str(number), *row[1:]] for number, row in enumerate(rows, 1)]
    try:
        text = format_sentence(Sentence(rows))
    except ConllError:
        return
    (back,) = read_conll(io.BytesIO(text.encode()), heads="ignore")
    assert back.rows == rows


NO_SENTENCES = [
    (["a", "b"], TypeError, "a Sentence is needed, not a list; Sentence.from_words makes one of words"),
    *((Sentence(rows), ConllError, message) for rows, message in FAULTS),
    (Sentence([[*ROW[:8], None, "_"]]), ConllError, "word 1: PHEAD is None, not a string"),
    (Sentence([["1", 5, *ROW[2:]]]), ConllError, "word 1: FORM is 5, not a string"),
    (Sentence([5]), ConllError, "word 1: the row is of type int, not a list of ten columns"),
]


@pytest.mark.parametrize(("sentence", "error", "message"), NO_SENTENCES)
def test_what_is_no_sentence_is_not_parsed(sentence, error, message, run):
    """Those before it are, and it has no scores."""
    parser = Parser.load(run)
    parsed = parser.parse([made(), sentence, made()])
    assert len(next(parsed)) == 3
    with pytest.raises(error, match=message):
        next(parsed)
    with pytest.raises(error, match=message):
        parser.scores(sentence)


@pytest.mark.parametrize(("sentence", "error", "message"), NO_SENTENCES[1:])
def test_what_is_no_sentence_is_not_scored(sentence, error, message):
    good = Sentence([ROW])
    for sides in (([sentence], [good]), ([good], [sentence]), ([sentence], [sentence])):
        with pytest.raises(error, match=message):
            evaluate(*sides)


def test_words_added_by_hand_have_the_line_of_their_sentence():
    longer, other = (Sentence([list(ROW)], path="here", line=7) for _ in range(2))
    longer.rows.append(["2", "b", *ROW[2:]])
    other.rows.append(["2", "c", *ROW[2:]])
    shorter = Sentence([ROW], path="here", line=7)
    for system, message in ((other, "this file has word 2, 'c'"), (shorter, "ends after 1 words")):
        with pytest.raises(ConllError, match=f"^here:7: sentence 1:? {message}"):
            evaluate([longer], [system])
    with pytest.raises(ConllError, match="here ends after sentence 1, line 7"):
        evaluate([longer, longer], [longer])
    longer.rows[1][6] = "9"
    with pytest.raises(ConllError, match=r"^here:7: sentence 1: HEAD 9 of word 2 is out of range"):
        evaluate([longer], [longer])


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x, run: Parser.load(run).parse(x), "sentences"),
        (lambda x, run: write_conll(x, io.StringIO()), "sentences"),
        (lambda x, run: evaluate(x, []), "gold"),
        (lambda x, run: evaluate([], x), "system"),
    ],
)
def test_what_holds_no_sentences(call, name, run):
    with pytest.raises(TypeError, match=f"{name} is one Sentence; give a list of them"):
        call(made(), run)
    with pytest.raises(TypeError, match=f"{name} is None; give a list of Sentence, or what read_conll"):
        call(None, run)


@pytest.mark.parametrize("name", ["lemmas", "postags", "cpostags", "feats", "deprels"])
def test_a_column_of_another_length_is_named_as_it_was_given(name):
    with pytest.raises(ValueError, match=rf"2 words, but 1 {name}$"):
        Sentence.from_words(["a", "b"], **{name: ["x"]})
