"""The command projectivize: nearest projective trees, everything else as it was."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from helpers.project import DEMO

from mtparse.cli.main import main
from mtparse.treebank.conll import read_conll
from mtparse.treebank.trees import head_array, is_projective, roots

pytestmark = pytest.mark.nojit

CROSSING = (
    "1\ta\tl\tN\tn\tF=1\t3\tx\t_\t_\n"
    "2\tb\t_\tN\tn\t_\t4\ty\t2\tz\n"
    "3\tc\t_\tV\tv\t_\t0\tr\t_\t_\n"
    "4\td\t_\tN\tn\t_\t3\to\t_\tM\n"
)
PLAIN = (
    "# text = e f\n"
    "1-2\tef\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\te\t_\tN\tn\t_\t2\tx\t_\t_\n"
    "2\tf\t_\tV\tv\t_\t0\tr\t_\t_\n"
)
TEXT = f"{CROSSING}\n{PLAIN}\n"


def call(*arguments, **options):
    return CliRunner().invoke(main, ["projectivize", *map(str, arguments)], **options)


def test_only_heads_of_crossing_trees_change():
    result = call("-", input=TEXT)
    assert result.exit_code == 0
    first, second = result.stdout.split("\n\n")[:2]
    assert second + "\n" == PLAIN
    rows, before = [r.split("\t") for r in first.split("\n")], [r.split("\t") for r in CROSSING.splitlines()]
    before[1][8:] = "__"  # another head, and its label
    assert [r[:6] + r[7:] for r in rows] == [r[:6] + r[7:] for r in before]
    heads = [int(r[6]) for r in rows]
    assert is_projective(head_array(heads))
    assert sum(a != int(b[6]) for a, b in zip(heads, before, strict=True)) == 1
    assert result.stderr.strip().endswith("1 of 2 sentences changed, 1 of 6 heads")


def test_a_second_run_changes_nothing(tmp_path):
    once, twice = tmp_path / "once", tmp_path / "twice"
    assert call(DEMO / "dunta" / "test.conll", "-o", once).exit_code == 0
    assert call(once, "-o", twice).exit_code == 0
    assert once.read_bytes() == twice.read_bytes() != (DEMO / "dunta" / "test.conll").read_bytes()
    gold = list(read_conll(DEMO / "dunta" / "test.conll"))
    for old, new in zip(gold, read_conll(once), strict=True):
        tree = head_array(new.heads)
        assert is_projective(tree)
        if is_projective(head_array(old.heads)):
            assert old.rows == new.rows
        if len(roots(head_array(old.heads))) == 1:
            assert len(roots(tree)) == 1


def test_projective_files_come_out_byte_for_byte():
    assert call("-", input=PLAIN + "\n").stdout == PLAIN + "\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\ta\t_\tN\tn\t_\t2\tx\t_\t_\n2\tb\t_\tN\tn\t_\t1\tx\t_\t_\n", "cycle"),
        ("1\ta\t_\tN\tn\t_\t_\tx\t_\t_\n", "HEAD missing"),
        ("1\ta\t_\tN\tn\t_\t7\tx\t_\t_\n", "out of range"),
    ],
)
def test_what_is_no_tree_is_refused(text, message, tmp_path):
    (tmp_path / "in").write_text(TEXT + text)
    result = call(tmp_path / "in", "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert message in result.stderr
    assert not (tmp_path / "out").exists()
