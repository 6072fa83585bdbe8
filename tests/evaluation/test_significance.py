"""The sign test and the randomization test, against counting all outcomes."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

from mtparse.cli.main import main
from mtparse.evaluation.attachment import Scores
from mtparse.evaluation.significance import compare, randomization_test, sign_test

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize(("improved", "worsened"), [(0, 0), (1, 0), (3, 9), (9, 3), (20, 20), (448, 343)])
def test_sign_test_counts_all_outcomes(improved, worsened):
    n = improved + worsened
    tail = sum(math.comb(n, k) for k in range(min(improved, worsened) + 1))
    assert sign_test(improved, worsened) == pytest.approx(min(1.0, 2 * tail / 2**n))


def test_the_papers_figures_are_significant():
    assert sign_test(448, 343) <= 0.001
    assert sign_test(500, 383) <= 0.001


@pytest.mark.parametrize("difference", [[1, 1, 1, 1, 1, 1], [2, -1, 0, 3, 1, -2, 1], [5, 0, 0], [0, 0], []])
def test_randomization_is_close_to_all_exchanges(difference):
    seen = abs(sum(difference))
    sums = [
        abs(sum(s * d for s, d in zip(signs, difference, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(difference))
    ]
    exact = np.mean([s >= seen for s in sums])
    assert randomization_test(difference, samples=20_000) == pytest.approx(exact, abs=0.015)


def test_randomization_is_seeded_and_independent_of_zeros():
    difference = np.random.default_rng(0).integers(-2, 4, 200)
    assert randomization_test(difference, 500, seed=3) == randomization_test([*difference, 0, 0], 500, seed=3)
    assert 0 < randomization_test(np.full(5000, 3), 300) == 1 / 301


def test_compare_counts_sentences():
    a = [Scores(2, 0, 0, 3, 3, 1, 0), Scores(1, 0, 0, 2, 2, 1, 0), Scores(4, 0, 0, 4, 5, 1, 1)]
    b = [Scores(3, 0, 0, 3, 3, 1, 1), Scores(1, 0, 0, 2, 2, 1, 0), Scores(2, 0, 0, 4, 5, 1, 0)]
    found = compare(a, b)
    assert (found.improved, found.worsened, found.sentences) == (1, 1, 3)
    assert found.uas_a == pytest.approx(700 / 9)
    assert found.uas_b == pytest.approx(600 / 9)
    assert found.p_sign == 1.0
    with pytest.raises(ValueError, match="not scored on the same sentences"):
        compare(a, b[:2])


GOLD = "".join(f"1\ta\t_\tN\tN\t_\t2\tx\t_\t_\n2\tb{i}\t_\tV\tV\t_\t0\tr\t_\t_\n\n" for i in range(12))


def test_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold").write_text(GOLD)
    (tmp_path / "a").write_text(GOLD.replace("\t2\tx", "\t0\tx"))
    (tmp_path / "b").write_text(GOLD)
    result = CliRunner().invoke(main, ["compare", "gold", "a", "b"])
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "  UAS A: 50.00 %   UAS B: 100.00 %   B - A: +50.00",
        "  Tokens scored: 24 of 24",
        "  Sentences that B improves: 12, worsens: 0, of 12",
        "  Sign test on sentences:            p = 0.000488",
        result.stdout.splitlines()[4],
    ]
    found = json.loads(CliRunner().invoke(main, ["compare", "gold", "b", "a", "--json"]).stdout)
    assert (found["improved"], found["worsened"]) == (0, 12)
    assert (found["scored"], found["words"]) == (24, 24)
    (tmp_path / "short").write_text(GOLD[: GOLD.index("b5")].rsplit("1\ta", 1)[0])
    result = CliRunner().invoke(main, ["compare", "gold", "a", "short"])
    assert result.exit_code == 1
    assert "ends" in result.stderr


def test_what_is_left_out_and_equal_outputs_are_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold").write_text(GOLD.replace("\ta\t", "\t,\t"))
    lines = CliRunner().invoke(main, ["compare", "gold", "gold", "gold"]).stdout.splitlines()
    assert lines[1] == "  Tokens scored: 12 of 24 (the others are punctuation)"
    assert lines[3] == "  A and B have equally many right heads in every sentence"
    lines = CliRunner().invoke(main, ["compare", "gold", "gold", "gold", "--all-tokens"]).stdout.splitlines()
    assert lines[1] == "  Tokens scored: 24 of 24"


def test_nothing_to_compare_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("gold", "a", "b"):
        (tmp_path / name).write_text("1\t.\t_\tP\tP\t_\t0\tx\t_\t_\n\n")
    result = CliRunner().invoke(main, ["compare", "gold", "a", "b"])
    assert result.exit_code == 0
    assert "nan" not in result.stdout
    assert "UAS: n/a, nothing was scored" in result.stdout
    assert "with --all-tokens punctuation counts too" in result.stderr
    assert (
        json.loads(CliRunner().invoke(main, ["compare", "gold", "a", "b", "--json"]).stdout)["uas_a"] is None
    )
