"""Tables for a terminal: columns stay aligned and within a hundred, whatever the names are."""

import math

import pytest

from mtparse.evaluation.aligned import NAME_WIDTH, format_table, shorten, width

pytestmark = pytest.mark.nojit


def test_names_are_cut_to_the_width_of_a_terminal():
    """Wide characters take two columns, marks none; what cannot be seen is a question mark."""
    assert shorten("a" * NAME_WIDTH) == "a" * NAME_WIDTH
    assert shorten("a" * (NAME_WIDTH + 1)) == "a" * (NAME_WIDTH - 3) + "..."
    assert shorten("鷺" * 16) == "鷺" * 13 + "..."
    assert shorten("a\u0301" * NAME_WIDTH) == "a\u0301" * NAME_WIDTH
    assert shorten("\x1b[2J\u200b") == "?[2J?"
    assert [width(text) for text in ("", "ab", "鷺", "a\u0301")] == [0, 2, 2, 1]


def test_columns():
    rows = [["鷺", 1], ["abc", None], ["", 2.5], ["z", math.nan]]
    assert format_table("T", ["n", "x"], rows, rules=(3,)) == (
        "  T\n"
        "\n"
        "  n   |    x\n"
        "  ----+-----\n"
        "  鷺  |    1\n"
        "  abc |  n/a\n"
        "      | 2.50\n"
        "  ----+-----\n"
        "  z   |  NaN"
    )


def test_the_widest_tables_have_a_hundred_columns():
    """Names that are cut, and millions of words."""
    name, count = "x" * 99, 10**7 - 1
    by_tag = format_table(
        "T",
        ["tag", "words", "heads", "%", "labels", "%", "both", "%"],
        [[name, count, count, 100.0, count, 100.0, count, 100.0]],
    )
    pairs = format_table("T", ["label in gold", "label in system", "words"], [[name, name, count]], texts=2)
    assert max(map(len, f"{by_tag}\n{pairs}".split("\n"))) <= 100
