"""Scores by tag, label, direction, distance, length: by hand, by naive loops, against the script's sums."""

import re

import pytest
from helpers.naive_scores import made_up, naive_tables
from helpers.scorer import RECORDED, recorded, treebank

from mtparse.evaluation.attachment import Scores, evaluate_sentences
from mtparse.evaluation.breakdown import CONFUSIONS, TABLES, Breakdown, direction, distance, length_bin
from mtparse.treebank.conll import read_conll
from mtparse.treebank.sentence import Sentence

pytestmark = pytest.mark.nojit

GOLD = ["a//2//s//D b//0//r//V c//2//o//N ,//3//p//P", "d//2//s//D e//0//r//V f//2//o//N"]
SYSTEM = ["a//2//s//X b//0//R//X c//1//o//X ,//1//q//X", "d//2//s//X e//3//r//X f//3//s//X"]
"""Six words that are scored, of three tags: in the second sentence e is below f, and f its own head."""


def broken_down(gold, system, by=TABLES, **options):
    tables = Breakdown(by)
    scores = sum(evaluate_sentences(gold, system, also=tables.add, **options), Scores())
    return tables, scores


def by_hand(by, **options):
    return broken_down(treebank(*GOLD), treebank(*SYSTEM), [by], **options)[0]


def same(found, wanted):
    """Whether records are equal but for the last digits of percentages."""
    assert [list(row) for row in found] == [list(row) for row in wanted]
    for row, other in zip(found, wanted, strict=True):
        for key, value in row.items():
            assert value == (pytest.approx(other[key]) if isinstance(value, float) else other[key]), row
    return True


class TestByHand:
    def test_tags(self):
        """The tags of gold, the most frequent first, then by name; the system's play no part."""
        found = by_hand("tag", punctuation=True).as_dict()["tag"]
        columns = [
            "tag", "scored", "correct_heads", "correct_labels", "correct_both", "UAS", "label_accuracy", "LAS"
        ]  # fmt: skip
        rows = [
            ("D", 2, 2, 2, 2, 100.0, 100.0, 100.0),
            ("N", 2, 0, 1, 0, 0.0, 50.0, 0.0),
            ("V", 2, 1, 1, 0, 50.0, 50.0, 0.0),
            ("P", 1, 0, 0, 0, 0.0, 0.0, 0.0),
        ]
        assert same(found, [dict(zip(columns, row, strict=True)) for row in rows])
        assert by_hand("tag").format() == (
            "  Right heads, right labels, and both right, by CPOSTAG of GOLD\n"
            "\n"
            "  tag   | words | heads |      % | labels |      % | both |      %\n"
            "  ------+-------+-------+--------+--------+--------+------+-------\n"
            "  total |     6 |     3 |  50.00 |      4 |  66.67 |    2 |  33.33\n"
            "  ------+-------+-------+--------+--------+--------+------+-------\n"
            "  D     |     2 |     2 | 100.00 |      2 | 100.00 |    2 | 100.00\n"
            "  N     |     2 |     0 |   0.00 |      1 |  50.00 |    0 |   0.00\n"
            "  V     |     2 |     1 |  50.00 |      1 |  50.00 |    0 |   0.00"
        )

    def test_labels(self):
        """Labels of either side; a share of nothing is undefined."""
        found = by_hand("label").as_dict()["label"]
        columns = [
            "label", "gold", "correct", "correct_with_head", "system",
            "recall", "precision", "recall_with_head", "precision_with_head",
        ]  # fmt: skip
        rows = [
            ("R", 0, 0, 0, 1, None, 0.0, None, 0.0),
            ("o", 2, 1, 0, 1, 50.0, 100.0, 0.0, 0.0),
            ("r", 2, 1, 0, 1, 50.0, 100.0, 0.0, 0.0),
            ("s", 2, 2, 2, 3, 100.0, 200 / 3, 100.0, 200 / 3),
        ]
        assert same(found["labels"], [dict(zip(columns, row, strict=True)) for row in rows])
        assert found["confusion"] == [
            {"gold": "o", "system": "s", "count": 1},
            {"gold": "r", "system": "R", "count": 1},
        ]
        assert by_hand("label").format() == (
            "  Precision and recall of DEPREL\n"
            "\n"
            "  deprel | gold | correct | system | recall (%) | precision (%)\n"
            "  -------+------+---------+--------+------------+--------------\n"
            "  R      |    0 |       0 |      1 |        NaN |          0.00\n"
            "  o      |    2 |       1 |      1 |      50.00 |        100.00\n"
            "  r      |    2 |       1 |      1 |      50.00 |        100.00\n"
            "  s      |    2 |       2 |      3 |     100.00 |         66.67\n"
            "\n"
            "  Precision and recall of DEPREL + ATTACHMENT\n"
            "\n"
            "  deprel | gold | correct | system | recall (%) | precision (%)\n"
            "  -------+------+---------+--------+------------+--------------\n"
            "  R      |    0 |       0 |      1 |        NaN |          0.00\n"
            "  o      |    2 |       0 |      1 |       0.00 |          0.00\n"
            "  r      |    2 |       0 |      1 |       0.00 |          0.00\n"
            "  s      |    2 |       2 |      3 |     100.00 |         66.67\n"
            "\n"
            "  Confusion of labels, the most frequent first\n"
            "\n"
            "  label in gold | label in system | words\n"
            "  --------------+-----------------+------\n"
            "  o             | s               |     1\n"
            "  r             | R               |     1"
        )

    def test_directions(self):
        """Whether the head itself is right does not matter; self is shown because f is its own head."""
        assert by_hand("direction").format() == (
            "  Precision and recall of binned HEAD direction\n"
            "\n"
            "  direction | gold | correct | system | recall (%) | precision (%)\n"
            "  ----------+------+---------+--------+------------+--------------\n"
            "  to_root   |    2 |       1 |      1 |      50.00 |        100.00\n"
            "  left      |    2 |       1 |      1 |      50.00 |        100.00\n"
            "  right     |    2 |       2 |      3 |     100.00 |         66.67\n"
            "  self      |    0 |       0 |      1 |        NaN |          0.00"
        )
        records = by_hand("direction", punctuation=True).as_dict()["direction"]
        row = {"gold": 3, "correct": 2, "system": 2, "recall": 200 / 3, "precision": 100.0}
        assert same(records[1:2], [{"direction": "left", **row}])
        assert records[3]["recall"] is None

    def test_distances(self):
        """All bins, also those without a word; a word that is its own head is at distance 1."""
        assert by_hand("distance").format() == (
            "  Precision and recall of binned HEAD distance\n"
            "\n"
            "  distance | gold | correct | system | recall (%) | precision (%)\n"
            "  ---------+------+---------+--------+------------+--------------\n"
            "  to_root  |    2 |       1 |      1 |      50.00 |        100.00\n"
            "  1        |    4 |       3 |      4 |      75.00 |         75.00\n"
            "  2        |    0 |       0 |      1 |        NaN |          0.00\n"
            "  3-6      |    0 |       0 |      0 |        NaN |           NaN\n"
            "  7-...    |    0 |       0 |      0 |        NaN |           NaN"
        )

    def test_lengths(self):
        """All words make the length, the scored ones the scores; bins without a sentence are left out."""
        long = " ".join(["a"] * 9 + ["."] * 2)
        gold, system = [*GOLD, long, " ".join(["a"] * 40)], [*SYSTEM, long, " ".join(["a//0//y"] * 40)]
        tables, _ = broken_down(treebank(*gold), treebank(*system), ["length"])
        assert tables.format() == (
            "  Scores by the number of words in a sentence\n"
            "\n"
            "  length | sentences | words | scored |    UAS |    LAS\n"
            "  -------+-----------+-------+--------+--------+-------\n"
            "  1-10   |         2 |     7 |      6 |  50.00 |  33.33\n"
            "  11-20  |         1 |    11 |      9 | 100.00 | 100.00\n"
            "  31-40  |         1 |    40 |     40 | 100.00 |   0.00"
        )
        first = {"length": "1-10", "sentences": 2, "words": 7, "scored": 6, "correct_heads": 3,
                 "correct_both": 2, "UAS": 50.0, "LAS": 100 / 3}  # fmt: skip
        assert same(tables.as_dict()["length"][:1], [first])


@pytest.mark.parametrize(
    ("head", "word", "where", "far"),
    [
        (0, 1, "to_root", "to_root"),
        (0, 9, "to_root", "to_root"),
        (1, 1, "self", "1"),
        (1, 2, "left", "1"),
        (2, 1, "right", "1"),
        (3, 1, "right", "2"),
        (1, 4, "left", "3-6"),
        (7, 1, "right", "3-6"),
        (1, 8, "left", "7-..."),
        (999, 1, "right", "7-..."),
    ],
)
def test_bins_of_heads(head, word, where, far):
    assert (direction(head, word), distance(head, word)) == (where, far)


def test_bins_of_lengths():
    assert [length_bin(words) for words in (1, 10, 11, 20, 21, 100, 101)] == [10, 10, 20, 20, 30, 100, 110]


def test_self_is_shown_only_where_it_occurs():
    found, _ = broken_down(treebank("a//0 b//1"), treebank("a//0 b//1"), ["direction"])
    assert [row["direction"] for row in found.as_dict()["direction"]] == ["to_root", "left", "right"]
    loops = [Sentence.from_words(["a", "b"], heads=[0, 2])]
    found, _ = broken_down(loops, treebank("a//0 b//1"), ["direction"])
    assert found.as_dict()["direction"][3]["gold"] == 1


def test_order_and_names():
    """In the order that was asked for, each once; another name is no table."""
    assert list(Breakdown(["length", "tag", "length"]).as_dict()) == ["length", "tag"]
    with pytest.raises(ValueError, match=r"'word' is no table; there are label, tag, distance"):
        Breakdown(["tag", "word"])
    assert (Breakdown([]).as_dict(), Breakdown([]).format()) == ({}, "")


def test_ignored_subtypes():
    pair = treebank("a//0//r b//1//s:t"), treebank("a//0//r:x b//1//s:u")
    tables, scores = broken_down(*pair, ["label", "tag"], ignore_subtypes=True)
    found = tables.as_dict()
    assert [row["label"] for row in found["label"]["labels"]] == ["r", "s"]
    assert found["label"]["confusion"] == []
    assert found["tag"][0]["correct_both"] == scores.correct_both == 2
    assert tables.format().split("\n\n")[4] == "  Confusion of labels: none, all are right"


def test_a_system_without_labels():
    """A line, n/a and null for what needs them; all else is as it was."""
    tables, scores = broken_down(treebank(*GOLD), [s.with_heads(s.heads) for s in treebank(*SYSTEM)])
    assert not scores.has_labels
    text, found = tables.format(labels=False), tables.as_dict(labels=False)
    assert text.split("\n\n")[0] == "  Precision, recall and confusion of DEPREL: n/a, SYSTEM has no labels"
    (total,) = [line for line in text.split("\n") if line.startswith("  total")]
    assert total.replace("|", "").split() == ["total", "6", "3", "50.00", *["n/a"] * 4]
    assert text.endswith("\n  1-10   |         2 |     7 |      6 | 50.00 | n/a")
    assert found["label"] is None
    undefined = {"correct_labels", "correct_both", "label_accuracy", "LAS"}
    for row in found["tag"] + found["length"]:
        assert {name for name, value in row.items() if value is None} == undefined & set(row)
    assert found["direction"] == by_hand("direction").as_dict()["direction"]
    assert found["distance"] == by_hand("distance").as_dict()["distance"]


@pytest.mark.parametrize("sentences", [[], [". ,//1"]])
def test_nothing_scored(sentences):
    """No rows but those of fixed bins, no division by zero, nothing that JSON cannot hold."""
    tables, _ = broken_down(treebank(*sentences), treebank(*sentences))
    found = tables.as_dict()
    assert (found["tag"], found["label"]) == ([], {"labels": [], "confusion": []})
    assert [row["gold"] for row in found["direction"] + found["distance"]] == [0] * 8
    assert [row["UAS"] for row in found["length"]] == [None] * len(sentences)
    assert "\n  total |     0 |     0 | NaN |" in tables.format()


@pytest.mark.parametrize("more", [0, 1, 3])
def test_confusions_in_text_are_limited(more):
    """The rest is summed up in one row; JSON has all. Ties stand in the order of the labels."""
    labels = [f"l{number:02}" for number in range(CONFUSIONS + more)]
    gold = " ".join(f"a//0//{label}" for label in labels for _ in range(2))
    system = gold.replace("//l", "//m").replace("m07", "l07", 1)
    tables, _ = broken_down(treebank(gold), treebank(system), ["label"])
    found = tables.as_dict()["label"]["confusion"]
    assert len(found) == CONFUSIONS + more
    assert [row["count"] for row in found] == [2] * (CONFUSIONS + more - 1) + [1]
    assert [row["gold"] for row in found] == [label for label in labels if label != "l07"] + ["l07"]
    rows = tables.format().split("\n\n")[-1].split("\n")[2:]
    assert rows[0].split() == ["l00", "|", "m00", "|", "2"]
    if not more:
        assert len(rows) == CONFUSIONS
    else:
        rule, last = rows[CONFUSIONS:]
        assert re.fullmatch(r" +-+\+-+\+-+", rule)
        cells = [cell.strip() for cell in last.split("|")]
        assert cells == [f"{more} more pair{'s' * (more > 1)}", "", str(2 * more - 1)]


@pytest.mark.parametrize("punctuation", [False, True])
@pytest.mark.parametrize("ignore_subtypes", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_naive_loops(seed, punctuation, ignore_subtypes):
    gold, system = made_up(seed)
    options = {"punctuation": punctuation, "ignore_subtypes": ignore_subtypes}
    wanted = naive_tables(gold, system, **options)
    tables, _ = broken_down(gold, system, **options)
    found = tables.as_dict()
    assert list(found) == list(wanted)
    for name in ("tag", "direction", "distance", "length"):
        assert same(found[name], wanted[name]), name
    for name in ("labels", "confusion"):
        assert same(found["label"][name], wanted["label"][name]), name


@pytest.mark.parametrize("name", RECORDED)
def test_sums_are_those_of_the_script(name):
    """The recorded outputs hold no tables but what these add up to: the three figures, twice, and rows of
    sentences, which give the table by length."""
    gold, system, record = recorded(name)
    _, *parts = re.split("^# .*\n", record.read_text(encoding="utf-8"), flags=re.M)

    def sides():
        return read_conll(gold), read_conll(system, short_rows=True)

    def totals(rows, *keys):
        return [sum(row[key] for row in rows) for key in keys]

    for punctuation, part in zip((False, True), parts, strict=False):
        both, heads, labels = (int(count) for count in re.findall(r"score: +(\d+) /", part))
        scored = int(re.search(r"/ (\d+)", part)[1])
        found = broken_down(*sides(), punctuation=punctuation)[0].as_dict()
        tags, of_labels, lengths = found["tag"], found["label"]["labels"], found["length"]
        wanted = [scored, heads, labels, both]
        assert totals(tags, "scored", "correct_heads", "correct_labels", "correct_both") == wanted
        wanted = [scored, scored, labels, both]
        assert totals(of_labels, "gold", "system", "correct", "correct_with_head") == wanted
        assert totals(found["label"]["confusion"], "count") == [scored - labels]
        assert totals(lengths, "scored", "correct_heads", "correct_both") == [scored, heads, both]
        for rows in (found["direction"], found["distance"]):
            assert totals(rows, "gold", "system") == [scored, scored]
            assert [heads] <= totals(rows, "correct") <= [scored]
    if len(parts) > 2:
        wanted = {}
        rows = re.findall(r"^ *\d+ +(\d+) +0 +\S+ +\S+ +(\d+) +(\d+) +(\d+)(?: +0){4}$", parts[2], re.M)
        for words, *counts in rows:
            row = wanted.setdefault((int(words) - 1) // 10, [0, 0, 0, 0])
            row[:] = (old + new for old, new in zip(row, [1, *map(int, counts)], strict=True))
        lengths = broken_down(*sides(), ["length"])[0].as_dict()["length"]
        keys = ("sentences", "correct_heads", "correct_both", "scored")
        assert [[row[key] for key in keys] for row in lengths] == [wanted[first] for first in sorted(wanted)]
