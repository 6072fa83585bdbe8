"""Words as features see them: what stands in for what, and what is forgotten."""

from __future__ import annotations

import pytest

from mtparse.features.lexicon import Lexicon, attributes
from mtparse.features.templates import ATTRIBUTES

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize(
    ("coarse", "fine", "expected"), [("N", "n1", ("n1", "N")), ("N", "_", ("N", "N")), ("_", "n", ("n", "_"))]
)
def test_a_coarse_tag_stands_in_for_a_fine_one(coarse, fine, expected):
    found = dict(zip(ATTRIBUTES, attributes("a", "_", coarse, fine, "_"), strict=True))
    assert (found["p"], found["c"]) == expected


def test_a_full_lexicon_forgets_words(monkeypatch):
    """As soon as it holds more than it may, before the next sentences."""
    monkeypatch.setattr("mtparse.features.lexicon.MAX_TYPES", 10)
    lexicon = Lexicon()
    sizes = []
    for i in range(6):
        rows = [["1", f"w{i}-{k}", "_", "N", "n", "_"] for k in range(3)]
        lexicon.encode_all([rows])
        sizes.append(len(lexicon))
    assert sizes == [5, 8, 11, 5, 8, 11]  # with the root symbol and the place outside
