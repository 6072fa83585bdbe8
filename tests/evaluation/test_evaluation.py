"""Scores against the CoNLL-X script's recorded outputs and against cases worked out by hand."""

import io
import math
import re

import pytest
from helpers.scorer import RECORDED, recorded, treebank

from mtparse.errors import ConllError
from mtparse.evaluation.attachment import (
    Scores,
    evaluate,
    evaluate_sentences,
    format_report,
    format_scores,
    format_sentences,
    is_punctuation,
)
from mtparse.treebank.conll import read_conll
from mtparse.treebank.sentence import Sentence

pytestmark = pytest.mark.nojit

PUNCTUATION = [*".,%#&@*/\\_-'«»…·¡¿・§¶。、،؟(){}[]!?:;\"", "--", "''", "...", "?!", "„", "—"]
OTHERS = [*"$+<=>|~^`€№°½1a😀", "", "``", "-LRB-", "A.", "'s", "--a", "3,5", "+-", ". "]


@pytest.mark.parametrize("form", PUNCTUATION)
def test_punctuation(form):
    assert is_punctuation(form)


@pytest.mark.parametrize("form", OTHERS)
def test_no_punctuation(form):
    assert not is_punctuation(form)


def test_figures_are_kept_apart():
    """Six words: heads right in 4, labels in 3, both in 2; the comma is not scored."""
    gold = treebank("a//2//s b//0//r c//2//o ,//3//p", "d//2//s e//0//r f//2//o")
    system = treebank("a//2//s b//0//R c//1//o ,//1//q", "d//2//s:t e//0//r f//1//p")
    scores = evaluate(gold, system)
    assert scores == Scores(4, 3, 2, 6, 7, 2, 0)
    assert (scores.UAS, scores.LAS, scores.label_accuracy) == pytest.approx((400 / 6, 200 / 6, 50))
    assert format_report(scores) == (
        "  Labeled   attachment score: 2 / 6 * 100 = 33.33 %\n"
        "  Unlabeled attachment score: 4 / 6 * 100 = 66.67 %\n"
        "  Label accuracy score:       3 / 6 * 100 = 50.00 %\n"
        "  Complete sentences:         0 / 2 * 100 = 0.00 %\n"
        "  Sentences: 2, tokens: 7, scored: 6"
    )


def test_subtypes_can_be_ignored():
    """On both sides, from the first colon on; a label that begins with a colon has no subtype."""
    gold = ["a//0//r b//1//s:t c//1//s d//1//s:t:u e//1//: f//1//:x"]
    system = ["a//0//r b//1//s c//2//s:v d//1//s:t e//1//:x f//1//:x"]
    assert evaluate(treebank(*gold), treebank(*system)) == Scores(5, 2, 2, 6, 6, 1, 0)
    scores = evaluate(treebank(*gold), treebank(*system), ignore_subtypes=True)
    assert scores == Scores(5, 5, 4, 6, 6, 1, 0)
    assert scores.has_labels


def test_what_was_compared_is_handed_on():
    """Once a sentence, with its scores, before they are yielded."""
    seen = []
    rows = evaluate_sentences(
        treebank("a//0//r:x//V .//1", "b"),
        treebank("a//2//r .//2", "b"),
        ignore_subtypes=True,
        also=lambda *given: seen.append(given),
    )
    first = next(rows)
    assert seen == [((["V", "N"], [0, 1], [2, 2], ["r", "x"], ["r", "x"], [True, False]), first)]
    assert seen[0][0].tags == ["V", "N"]
    assert len(seen) == 1


def test_punctuation_can_be_scored():
    pair = ["a//0 .//1 $//1"], ["a//0 .//3 $//2"]
    assert evaluate(treebank(*pair[0]), treebank(*pair[1])) == Scores(1, 2, 1, 2, 3, 1, 0)
    assert evaluate(treebank(*pair[0]), treebank(*pair[1]), punctuation=True) == Scores(1, 3, 1, 3, 3, 1, 0)


def test_complete_sentences():
    """Heads of punctuation do not count, nor do labels; a sentence of punctuation only is complete."""
    gold = treebank("a//0 .//1 b//1", "a//0 b//1", ". ,//1", "a")
    system = treebank("a//0//y .//3 b//1", "a//2 b//0", ". ,//1", "a")
    scores = evaluate(gold, system)
    assert (scores.complete, scores.sentences, scores.complete_rate) == (3, 4, 75)


def test_system_need_be_no_tree():
    gold = ["a//2 b//0 c//4 d//2"]
    for system in ("a//2 b//4 c//4 d//2", "a//2 b//0 c//4 d//0"):
        assert evaluate(treebank(*gold), treebank(system)).UAS == 75


def test_gold_need_be_no_tree_either():
    """The script of the shared task does not look for cycles: words are counted one by one."""
    gold = ["a//2 b//1 c//4 d//3"]
    assert evaluate(treebank(*gold), treebank(*gold)).UAS == 100


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        (["9", "7"], "HEAD 9 of word 1 is out of range; the sentence has 2 words"),
        (["0", "3"], "HEAD 3 of word 2 is out of range; the sentence has 2 words"),
        (["0", "-5"], "HEAD '-5' of word 2 is negative"),
        (["0", "un"], "HEAD 'un' of word 2 is not an integer"),
    ],
)
def test_gold_heads_are_words_of_the_sentence(heads, message):
    """By whatever way they came there; a system's are wrong, where they are integers at all."""
    good = Sentence.from_words(["a", "b"], heads=[0, 1])
    bad = Sentence([list(row) for row in good.rows], path="here", line=3)
    for row, head in zip(bad.rows, heads, strict=True):
        row[6] = head
    word = 0 if heads[0] != "0" else 1
    for system in (good, bad):
        with pytest.raises(ConllError, match=f"^here:{3 + word}: sentence 1: {message}"):
            evaluate([bad], [system])
    if "un" in heads:
        with pytest.raises(ConllError, match=message):
            evaluate([good], [bad])
    else:
        assert evaluate([good], [bad]).correct_heads == word


def test_nothing_to_score():
    """An undefined score is no number and no division by zero."""
    scores = evaluate(treebank(". ,//1"), treebank(". ,//1"))
    assert all(map(math.isnan, (scores.UAS, scores.LAS, scores.label_accuracy)))
    assert scores.as_dict() == {
        "UAS": None,
        "LAS": None,
        "label_accuracy": None,
        "scored": 0,
        "words": 2,
        "sentences": 1,
        "complete": 1,
    }
    assert "0 / 0 * 100 = NaN %" in format_scores(scores)
    assert math.isnan(evaluate([], []).complete_rate)


@pytest.mark.parametrize("sides", [("a", "b"), ("ab", "a"), ("a", treebank("a//0")), (treebank("a//0"), "a")])
def test_names_of_files_are_no_sentences(sides):
    with pytest.raises(TypeError, match=r"this holds a str; read_conll reads a file"):
        evaluate(*sides)


def test_counts_add():
    """Scoring by parts and summing is scoring the whole."""
    gold, system = ["a//0 b//1", "c//0 d//1"], ["a//0 b//1", "c//2 d//0"]
    parts = list(evaluate_sentences(treebank(*gold), treebank(*system)))
    assert parts[0] + parts[1] == evaluate(treebank(*gold), treebank(*system)) == Scores(2, 4, 2, 4, 4, 2, 1)
    with pytest.raises(TypeError):
        parts[0] + 1


def test_rows():
    rows = evaluate_sentences(treebank("a//0 b//1 c//1", "."), treebank("a//0 b//3 c//1", "."))
    assert format_sentences(rows).split("\n")[3:] == [
        "     1    3    0   66.67  66.67     2       2           3    0 0 0 0",
        "     2    1    0     NaN    NaN     0       0           0    0 0 0 0",
        "",
        "",
    ]


DIFFERENCES = [
    ("a b|c", "a b", "G:4: sentence 2 begins here, but the system file S ends after sentence 1, line 2"),
    ("a b", "a b|c", "S:4: sentence 2 begins here, but the gold file G ends after sentence 1, line 2"),
    ("a", "", "G:1: sentence 1 begins here, but the system file is empty"),
    ("a b|c", "a b c", "S:3: sentence 1 has word 3, 'c', but in G it ends at line 2 after 2 words"),
    ("a b c", "a b|c", "S:2: sentence 1 ends after 2 words, but G:3 has word 3, 'c'"),
    ("x|a b", "x|a B", "S:4: sentence 2: this file has word 2, 'B', but G:4 has word 2, 'b'"),
    ("a//_", "a", "G:1: sentence 1: HEAD missing (_) for word 1; nothing to score there"),
    ("a b//1", "a b//_", "S:2: sentence 1: HEAD missing (_) for word 2; nothing to score there"),
]


@pytest.mark.parametrize(("gold", "system", "message"), DIFFERENCES)
def test_differences(gold, system, message):
    """What cannot be compared is named with both places, never scored in part."""
    sides = [(text.split("|") if text else [], name) for text, name in ((gold, "G"), (system, "S"))]
    with pytest.raises(ConllError) as caught:
        evaluate(*(treebank(*sentences, name=name) for sentences, name in sides))
    assert str(caught.value) == message


def test_extras_play_no_part():
    row = "\t_" * 8
    words = "1\ta\t_\tN\tN\t_\t0\tx\t_\t_\n2\tb\t_\tN\tN\t_\t1\tx\t_\t_\n"
    gold = f"# c\n1-2\tab{row}\n{words}2.1\t_{row}\n"
    pair = [read_conll(io.BytesIO(data.encode())) for data in (gold, words)]
    assert evaluate(*pair) == Scores(2, 2, 2, 2, 2, 1, 1)


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_outputs(name):
    """The script's own figures and rows, to the last digit."""
    gold, system, record = recorded(name)
    _, plain, punctuation, *more = re.split("^# .*\n", record.read_text(encoding="utf-8"), flags=re.M)

    def sides():
        return read_conll(gold), read_conll(system, short_rows=True)

    assert format_scores(evaluate(*sides())) == plain.rstrip("\n")
    assert format_scores(evaluate(*sides(), punctuation=True)) == punctuation.rstrip("\n")
    rows = list(evaluate_sentences(*sides()))
    assert len(rows) >= 60
    if name != "rounding":
        (sentences,) = more
        assert f"{format_sentences(rows)}\n{format_scores(sum(rows, Scores()))}" == sentences.rstrip("\n")
