"""Comments, multi-word lines and empty nodes: in their places, written only if they could be read back."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtparse import ConllError, Sentence, parse_conll, read_conll, write_conll
from mtparse.treebank.sentence import format_sentence
from mtparse.treebank.validate import Validation

pytestmark = pytest.mark.nojit

REST = "\t_" * 9
ROWS = [["1", "a", *"_NN_", "0", *"x__"], ["2", "b", *"_NN_", "1", *"x__"]]


def made(*extras) -> Sentence:
    return Sentence(ROWS, extras=extras, path="here", line=7)


def test_they_are_written_in_the_order_of_their_positions():
    """Whatever order they are in, each word is written once; extras of one position keep their order."""
    (sentence,) = parse_conll(format_sentence(made((0, "# text = a b"), (1, "# mid"))))
    sentence.extras += [(2, "# end"), (0, "# parser = mine"), (1, "1.1" + REST), (0, "# a")]
    target = io.StringIO()
    write_conll([sentence], target)
    lines = ["# text = a b", "# parser = mine", "# a", "\t".join(ROWS[0]), "# mid", f"1.1{REST}"]
    assert target.getvalue().split("\n") == [*lines, "\t".join(ROWS[1]), "# end", "", ""]
    (back,) = parse_conll(target.getvalue())
    assert back.rows == ROWS
    assert back.extras == sorted(sentence.extras, key=lambda extra: extra[0])


def test_positions_are_integers_of_any_type():
    assert format_sentence(made((np.int64(1), "# c"))) == format_sentence(made((1, "# c")))


REFUSED = [
    ((0, "no hash"), "'no hash' is no comment, multi-word line or empty node"),
    ((1, " "), "' ' is no comment, multi-word line or empty node"),
    ((1, ""), "'' is no comment"),
    ((2, "3\tc" + "\t_" * 8), "is no comment, multi-word line or empty node"),
    ((-1, "# c"), "'# c' has position -1; it must be from 0 to 2, the number of words"),
    ((3, "# c"), "'# c' has position 3; it must be from 0 to 2, the number of words"),
    ((0, None), "None is no line, but of type NoneType"),
    ((0, b"# c"), "is no line, but of type bytes"),
    ((0.5, "# c"), "is no pair of a position and a line"),
    ((0,), r"\(0,\) is no pair of a position and a line"),
    ("# c", "'# c' is no pair of a position and a line"),
    (5, "5 is no pair of a position and a line"),
    ((0, "# a\nb"), "holds a line end"),
    ((0, "# a\r"), "must not end in CR"),
    ((0, "1-2" + REST + "\r"), "must not end in CR"),
    ((0, "# global.columns = ID FORM"), "global.columns declares other columns; the file must have ID FORM"),
    ((0, "1-2\t_"), "2 columns found, 10 expected"),
    ((0, "1-2\t" + REST[2:]), "column 2 .FORM. is empty"),
    ((1, "1-2" + REST), "multi-word line '1-2' is out of place, 2 expected in front"),
    ((1, "2-1" + REST), "multi-word line '2-1' ends before it begins"),
    ((1, "2-3" + REST), "it goes beyond the last word, 2"),
    ((0, "1.1" + REST), "empty node '1.1' is out of place, 0 expected in front"),
]


@pytest.mark.parametrize(("extra", "message"), REFUSED)
def test_what_could_not_be_read_back_is_not_written(extra, message, tmp_path):
    for sentence in (made(extra), made((0, "# good"), extra)):
        with pytest.raises(ConllError, match=f"^here:7: sentence 1: .*{message}"):
            write_conll([sentence], tmp_path / "out")
        assert not list(tmp_path.iterdir())


NODES = [
    (["1.1", "1.1"], "empty node '1.1' is there twice"),
    (["1.1", "1.01"], "empty node '1.01' is there twice"),
    (["1.10", "1.9"], "empty node '1.9' comes after 1.10; order them"),
    (["1.2", "1.3", "1.1"], "empty node '1.1' comes after 1.3; order them"),
]


@pytest.mark.parametrize(("nodes", "message"), NODES)
def test_empty_nodes_are_counted(nodes, message):
    """By the writer, the reader and `validate`."""
    with pytest.raises(ConllError, match=message):
        format_sentence(made(*((1, node + REST) for node in nodes)))
    text = "\n".join(["\t".join(ROWS[0]), *(node + REST for node in nodes), "\t".join(ROWS[1]), "", ""])
    with pytest.raises(ConllError, match=f"^<stream>:{len(nodes) + 1}: sentence 1: {message}"):
        list(parse_conll(text))
    (issue,) = [i for i in Validation(io.BytesIO(text.encode())) if i.severity == "error"]
    assert (issue.line, issue.message) == (len(nodes) + 1, f"sentence 1: {message}")


def test_empty_nodes_in_order():
    extras = [(0, "0.1" + REST), (1, "1.1" + REST), (1, "1.2" + REST), (1, "1.10" + REST), (2, "2.1" + REST)]
    (back,) = parse_conll(format_sentence(made(*extras)))
    assert back.extras == extras


LINE = st.one_of(
    st.text(st.sampled_from("#\r\n\t 1.-_"), max_size=4),
    st.builds(lambda number: number + REST, st.from_regex(r"[0-3]([.-][0-3])?", fullmatch=True)),
)


@given(st.lists(st.tuples(st.integers(-1, 3), LINE), max_size=4))
def test_written_is_read_back(extras):
    """Either it is refused, or it comes back the same."""
    try:
        text = format_sentence(made(*extras))
    except ConllError:
        return
    (back,) = read_conll(io.BytesIO(text.encode()))
    assert back.rows == ROWS
    assert back.extras == sorted(extras, key=lambda extra: extra[0])
