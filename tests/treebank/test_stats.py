"""Statistics of treebanks worked out by hand, and those known of the real ones."""

import gzip
import io
import os
from pathlib import Path

import pytest
from helpers.project import ROOT

from mtparse.errors import ConllError
from mtparse.treebank.stats import format_stats, treebank_stats

pytestmark = pytest.mark.nojit

TREEBANKS = Path(os.environ.get("MTPARSE_TREEBANKS", ROOT / "../shared/treebanks"))


def treebank(*sentences):
    rows = ""
    for heads in sentences:
        rows += "".join(f"{i}\tw\t_\tN\tN\t_\t{head}\tx\t_\t_\n" for i, head in enumerate(heads, 1)) + "\n"
    return rows.encode()


def stats(data):
    return treebank_stats(io.BytesIO(data))


def test_figures():
    """Of ten words one has a non-projective arc, and two arcs cross."""
    expected = {
        "file": "<stream>",
        "sentences": 4,
        "words": 10,
        "mean_length": 2.5,
        "longest": 5,
        "nonprojective_arcs": 10.0,
        "crossing_arcs": 20.0,
        "crossing_sentences": 25.0,
        "multi_root_sentences": 25.0,
    }
    data = treebank([2, 0, 5, 2, 2], [0], [0, 0], [2, 0])
    assert stats(data) == expected
    assert stats(gzip.compress(data)) == expected


def test_one_word_sentences():
    result = stats(treebank([0], [0], [0]))
    assert (result["sentences"], result["words"], result["nonprojective_arcs"]) == (3, 3, 0)
    assert (result["mean_length"], result["longest"]) == (1, 1)


def test_without_heads():
    """Sizes are given, what needs a tree is undefined."""
    result = stats(treebank(["_", "_"], ["_"]))
    assert (result["sentences"], result["words"], result["mean_length"]) == (2, 3, 1.5)
    trees = ("nonprojective_arcs", "crossing_arcs", "crossing_sentences", "multi_root_sentences")
    assert [result[name] for name in trees] == [None] * 4
    assert format_stats([result]).split()[-4:] == ["n/a"] * 4


def test_empty():
    result = stats(b"")
    assert (result["sentences"], result["words"]) == (0, 0)
    assert set(list(result.values())[3:]) == {None}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (treebank([0], [2, 3, 1]), "<stream>:3: sentence 2: the heads form a cycle"),
        (treebank([0], ["_"]), "<stream>:3: sentence 2: HEAD missing (_) for word 1"),
        (treebank([0, "_"]), "<stream>:2: sentence 1: HEAD missing (_) for word 2"),
        (treebank(["_"], ["_", 0]), "<stream>:4: sentence 2: this word has a HEAD, the sentences before"),
    ],
)
def test_refused(data, message):
    """A cycle ends in an error, not in an endless walk; half a treebank of heads is a fault."""
    with pytest.raises(ConllError) as caught:
        stats(data)
    assert str(caught.value).startswith(message)


def test_table_is_aligned():
    lines = format_stats([stats(treebank([0] * 20)), {**stats(treebank([0])), "file": "a.conll"}]).split("\n")
    assert len({len(line) for line in lines}) == 1
    assert lines[0].split()[:3] == ["file", "sentences", "words"]
    assert lines[2].split() == ["a.conll", "1", "1", "1.00", "1", "0.00", "0.00", "0.00", "0.00"]


@pytest.mark.treebanks
@pytest.mark.parametrize(
    ("name", "sentences", "words", "nonprojective", "multi_root"),
    [
        ("arabic", 786, 28263, 0.32, 0),
        ("dutch", 6626, 130758, 5.57, 6.5),
        ("japanese", 8277, 80172, 1.40, 0),
        ("slovene", 1250, 26500, 0.80, 0),
        ("spanish", 2949, 75822, 0.07, 0),
        ("turkish", 4535, 48064, 0.57, 0),
    ],
)
def test_real_treebanks(name, sentences, words, nonprojective, multi_root):
    path = TREEBANKS / name / "train.conll"
    if not path.exists():
        pytest.skip(f"no treebanks at {TREEBANKS}; set MTPARSE_TREEBANKS to their folder")
    result = treebank_stats(path)
    assert (result["sentences"], result["words"]) == (sentences, words)
    assert round(result["nonprojective_arcs"], 2) == nonprojective
    assert round(result["multi_root_sentences"], 1) == multi_root
