"""Objectives and trainers against plain versions: enumeration, finite differences, naive averaging."""

from __future__ import annotations

import itertools

import numba
import numpy as np
import pytest
from helpers import oracles
from helpers.made_up import TEMPLATES, arcs, columns_of_rows, made_up
from helpers.training import FAMILIES, TRAINERS, collect, prepared

from mtparse.features.index import FeatureIndex
from mtparse.inference.dispatch import BEST_TREE
from mtparse.inference.parts import Structure
from mtparse.runtime.threads import Workers
from mtparse.training.build_design import extract_training
from mtparse.training.design import Design
from mtparse.training.objectives import (
    attachment,
    log_linear_loss,
    max_margin_loss,
    squared_norm,
)
from mtparse.training.trainers.log_linear import train_log_linear
from mtparse.training.trainers.max_margin import train_max_margin
from mtparse.training.trainers.perceptron import train_perceptron

pytestmark = pytest.mark.nojit

def scores_of(rows: Design, s: int, u):
    """Scores of sentence s by a plain loop."""
    n = int(rows.lengths[s])
    scores = np.zeros((n + 1, n + 1))
    for (h, m), found in zip(arcs(n), columns_of_rows(rows, s), strict=True):
        scores[h, m] = u[found].sum()
    return scores


def trees_of(n, family):
    return oracles.all_trees(n, family.projective, family.single)


def enumerated(scores, projective, single):
    """Marginals and the best trees, from all trees."""
    _, marginals, _, best = oracles.enumerate_family(scores, projective, single)
    return marginals, best


def naive_log_linear(rows, family, u, heads):
    total = 0.0
    for s, gold in enumerate(heads):
        scores = scores_of(rows, s, u)
        values = [scores[t[1:], np.arange(1, len(t))].sum() for t in trees_of(len(gold) - 1, family)]
        total += np.logaddexp.reduce(values) - scores[gold[1:], np.arange(1, len(gold))].sum()
    return total


def naive_max_margin(rows, family, u, heads):
    total = 0.0
    for s, gold in enumerate(heads):
        scores = scores_of(rows, s, u)
        right = scores[gold[1:], np.arange(1, len(gold))].sum()
        total += max(
            (t[1:] != gold[1:]).sum() - right + scores[t[1:], np.arange(1, len(t))].sum()
            for t in trees_of(len(gold) - 1, family)
        )
    return total


@pytest.mark.parametrize("family", FAMILIES)
def test_losses_equal_enumeration(family):
    rows, columns, _, heads = prepared(projective=family.projective)
    u = np.random.default_rng(1).normal(size=len(columns))
    with Workers() as workers:
        loss, _ = log_linear_loss(rows, family, u, workers)
        margin = max_margin_loss(rows, family, u, workers)
    assert loss == pytest.approx(naive_log_linear(rows, family, u, heads), abs=1e-9)
    assert margin == pytest.approx(naive_max_margin(rows, family, u, heads), abs=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("scale", [0.1, 3.0])
def test_log_linear_gradient_equals_finite_differences(family, scale):
    rows, columns, _, _ = prepared(2, projective=family.projective)
    random = np.random.default_rng(2)
    u = scale * random.normal(size=len(columns))
    with Workers() as workers:
        _, gradient = log_linear_loss(rows, family, u, workers)
        for _ in range(8):
            direction = random.normal(size=len(u)) * (random.random(len(u)) < 0.3)
            step = 1e-6
            up, _ = log_linear_loss(rows, family, u + step * direction, workers)
            down, _ = log_linear_loss(rows, family, u - step * direction, workers)
            assert (up - down) / (2 * step) == pytest.approx(direction @ gradient, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_max_margin_subgradient_equals_finite_differences(family):
    rows, columns, _, heads = prepared(16, projective=family.projective)
    random = np.random.default_rng(5)
    u = 0.3 * random.normal(size=len(columns))
    gradient = np.zeros(len(columns))
    for s, gold in enumerate(heads):
        augmented = scores_of(rows, s, u) + 1.0
        augmented[gold[1:], np.arange(1, len(gold))] -= 1.0
        (best,) = enumerated(augmented, family.projective, family.single)[1]
        for (h, m), found in zip(arcs(len(gold) - 1), columns_of_rows(rows, s), strict=True):
            gradient[found] += int(best[m] == h) - int(gold[m] == h)
    with Workers() as workers:
        for _ in range(5):
            direction = random.normal(size=len(u))
            up = max_margin_loss(rows, family, u + 1e-7 * direction, workers)
            down = max_margin_loss(rows, family, u - 1e-7 * direction, workers)
            assert (up - down) / 2e-7 == pytest.approx(direction @ gradient, rel=1e-5, abs=1e-5)


def test_a_sentence_listed_twice_equals_weight_two():
    sentences, heads = made_up(3, 4, 6)
    index = FeatureIndex.build(sentences, heads, TEMPLATES)
    once, columns = extract_training(index, sentences, heads, merge=False)
    twice, again = extract_training(index, [*sentences, sentences[1]], [*heads, heads[1]], merge=False)
    alone, only = extract_training(index, sentences[1:2], heads[1:2], merge=False)
    w = np.random.default_rng(3).normal(size=len(index))
    family = Structure(False, False)

    def value(rows, mapping):
        u = np.empty(len(index))
        u[mapping.column_of] = w
        with Workers() as workers:
            loss, gradient = log_linear_loss(rows, family, u, workers)
        return loss, gradient[mapping.column_of]

    (a, ga), (b, gb), (c, gc) = value(once, columns), value(alone, only), value(twice, again)
    assert c == pytest.approx(a + b)
    np.testing.assert_allclose(gc, ga + gb, atol=1e-12)


@pytest.mark.parametrize("name", TRAINERS)
@pytest.mark.parametrize("projective", [False, True])
def test_merged_columns_give_the_same_weights(name, projective):
    train, options = TRAINERS[name]
    family = Structure(projective, True)
    merged = collect(train, *prepared(4, projective=projective)[:2], family, **options)
    plain = collect(train, *prepared(4, projective=projective, merge=False)[:2], family, **options)
    for a, b in zip(merged[1], plain[1], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)
    assert np.abs(merged[1][-1]).max() > 0.005


@pytest.mark.parametrize("name", ["lbfgs", "cg"])
def test_log_linear_reaches_the_minimum(name):
    train, options = TRAINERS[name]
    rows, columns, _, heads = prepared(5)
    family = Structure(False, True)
    passes, weights, result = collect(
        train, rows, columns, family, **{**options, "passes": 500, "tolerance": 1e-6}
    )
    assert result.converged
    assert passes[-1].gradient_norm <= 1e-6
    objectives = [p.objective for p in passes]
    assert all(b <= a for a, b in itertools.pairwise(objectives))
    value = 0.7 * naive_log_linear(rows, family, result.u, heads) + 0.5 * (weights[-1] ** 2).sum()
    assert objectives[-1] == pytest.approx(value, rel=1e-9)
    random = np.random.default_rng(0)
    with Workers() as workers:
        for _ in range(5):
            other = result.u + 0.01 * random.normal(size=len(columns))
            there = 0.7 * log_linear_loss(rows, family, other, workers)[0] + 0.5 * squared_norm(
                columns, other
            )
            assert there > value


def test_optimizers_agree():
    rows, columns, _, _ = prepared(6)
    options = {"passes": 500, "C": 0.7, "tolerance": 1e-6}
    _, _, a = collect(train_log_linear, rows, columns, FAMILIES[0], optimizer="lbfgs", **options)
    _, _, b = collect(train_log_linear, rows, columns, FAMILIES[0], optimizer="cg", **options)
    np.testing.assert_allclose(a.u, b.u, atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("step", ["adaptive", "paper"])
def test_max_margin_gap_closes_around_recomputed_values(family, step):
    rows, columns, _, heads = prepared(7, projective=family.projective)
    C = 0.03
    passes, weights, result = collect(
        train_max_margin, rows, columns, family, C=C, passes=400, step=step, tolerance=0.02
    )
    assert result.converged, passes[-1]
    for record in passes:
        assert record.dual <= record.objective + 1e-9
    penalty = 0.5 * (weights[-1] ** 2).sum()
    primal = C * naive_max_margin(rows, family, result.u, heads) + penalty
    assert passes[-1].objective == pytest.approx(primal, rel=1e-9)
    duals = [p.dual for p in passes]
    if step == "adaptive":
        assert all(b >= a - 1e-9 for a, b in itertools.pairwise(duals))


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="thousands of passes need compiled kernels")
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_adaptive_steps_never_get_stuck(C):
    rows, columns, _, _ = prepared(17)
    options = {"C": C, "passes": 1500, "tolerance": 1e-3}
    passes, _, result = collect(train_max_margin, rows, columns, Structure(False, True), **options)
    gaps = [p.gap for p in passes]
    assert np.isfinite(result.u).all()
    assert gaps[-1] < 0.05, gaps[-1]
    assert passes[-1].step <= 1e6 / C


def test_max_margin_weights_are_those_of_its_marginals():
    rows, columns, _, heads = prepared(8)
    family, C = Structure(False, True), 0.5
    passes, _, result = collect(train_max_margin, rows, columns, family, C=C, passes=1, step="paper")
    # the first pass by hand, one sentence after the other
    u = np.zeros(len(columns))
    thetas, errors = [], 0.0

    def add(s, gold, delta):
        for (h, m), found in zip(arcs(len(gold) - 1), columns_of_rows(rows, s), strict=True):
            for c in found:
                u[c] += C * columns.multiplicity[c] * delta[h, m]

    def marginals(theta):
        return enumerated(theta, family.projective, family.single)[0]

    def gold_matrix(gold):
        tree = np.zeros((len(gold), len(gold)))
        tree[gold[1:], np.arange(1, len(gold))] = 1.0
        return tree

    for s, gold in enumerate(heads):
        tree = gold_matrix(gold)
        thetas.append(9.0 * tree)
        add(s, gold, tree - marginals(thetas[s]))
    for s, gold in enumerate(heads):
        loss = 1.0 - gold_matrix(gold)
        after = thetas[s] + (1.0 / C) * C * (loss + scores_of(rows, s, u))
        add(s, gold, marginals(thetas[s]) - marginals(after))
        errors += (loss * marginals(after))[:, 1:].sum()
    np.testing.assert_allclose(result.u, u, atol=1e-9)
    dual = C * errors - 0.5 * squared_norm(columns, u)
    assert passes[0].dual == pytest.approx(dual, abs=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_lazy_average_equals_the_naive_mean(family):
    rows, columns, _, heads = prepared(9, projective=family.projective)
    passes, weights, _result = collect(train_perceptron, rows, columns, family, passes=3)
    w, total, steps, wrong = np.zeros(len(columns)), np.zeros(len(columns)), 0, []
    for number in range(3):
        wrong.append(0)
        for s, gold in enumerate(heads):
            n = len(gold) - 1
            scores = scores_of(rows, s, w * columns.multiplicity)
            best = np.empty(n + 1, np.int64)
            BEST_TREE[family.projective](scores, family.single, best)
            assert tuple(best) in enumerated(scores, family.projective, family.single)[1]
            for (h, m), found in zip(arcs(n), columns_of_rows(rows, s), strict=True):
                w[found] += int(gold[m] == h) - int(best[m] == h)
            wrong[number] += int((best[1:] != gold[1:]).sum())
            total += w
            steps += 1
        if number < len(passes):
            assert passes[number].wrong == wrong[number]
            np.testing.assert_allclose(weights[number], (total / steps)[columns.column_of], atol=1e-9)
    assert len(passes) >= 2


def test_perceptron_stops_after_a_pass_without_a_mistake():
    """And not after one with a single mistake."""
    seen = set()
    for seed, family in ((10, FAMILIES[2]), (8, FAMILIES[3]), (18, FAMILIES[0])):
        rows, columns, _, _ = prepared(seed, projective=family.projective)
        passes, _, result = collect(train_perceptron, rows, columns, family, passes=100)
        wrong = [record.wrong for record in passes]
        assert result.converged
        assert wrong.index(0) == len(wrong) - 1 == result.passes - 1 < 99
        seen.update(wrong)
    assert 1 in seen


def test_two_opposite_trees_are_optimal_at_zero():
    row = [[str(i), "x", "_", "X", "X", "_", "_", "_", "_", "_"] for i in (1, 2)]
    heads = [np.array([-1, 0, 1]), np.array([-1, 2, 0])]
    index = FeatureIndex.build([row, row], heads, ["", "Hw Mw"])
    rows, columns = extract_training(index, [row, row], heads)
    passes, _, result = collect(train_log_linear, rows, columns, Structure(False, True), C=1.0, passes=10)

    assert result.converged
    assert result.passes == 0
    assert [p.number for p in passes] == [0]
    assert passes[0].objective == pytest.approx(2 * np.log(2))


@pytest.mark.parametrize("C", [1e-8, 1e-3, 1e3])
def test_convergence_does_not_depend_on_the_scale_of_c(C):
    rows, columns, _, _ = prepared(18)
    passes, _, result = collect(train_log_linear, rows, columns, FAMILIES[0], C=C, passes=400)
    assert result.converged
    assert result.passes >= 1
    assert passes[-1].gradient_norm <= 1e-4
    with Workers() as workers:
        _, gradient = log_linear_loss(rows, FAMILIES[0], result.u, workers)
    # at the optimum w = -C * gradient of the loss
    np.testing.assert_allclose(
        result.u, -C * gradient * columns.multiplicity, atol=1e-3 * np.abs(result.u).max()
    )


def test_separable_data_with_little_regularisation_ends_in_good_order():
    rows, columns, _, _ = prepared(15)
    passes, _, result = collect(
        train_log_linear, rows, columns, FAMILIES[1], C=1e8, passes=300, tolerance=0.0
    )
    losses = [p.objective for p in passes]
    assert all(b <= a for a, b in itertools.pairwise(losses))
    assert losses[-1] >= 0.0
    assert np.isfinite(result.u).all()
    assert not result.converged
    assert "trainer.passes" in result.reason or "line search" in result.reason


@pytest.mark.parametrize("name", TRAINERS)
def test_threads_do_not_change_the_weights(name):
    train, options = TRAINERS[name]
    rows, columns, _, _ = prepared(11, size=40)
    results = []
    for threads in (1, 2, 3):
        with Workers(threads) as workers:
            results.append(
                train(rows, columns, FAMILIES[1], on_pass=lambda p, u: False, workers=workers, **options).u
            )
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


@pytest.mark.parametrize("name", TRAINERS)
def test_a_run_can_be_stopped_after_any_pass(name):
    train, options = TRAINERS[name]
    rows, columns, _, _ = prepared(12)
    with Workers() as workers:
        result = train(
            rows, columns, FAMILIES[1], on_pass=lambda p, u: p.number == 2, workers=workers, **options
        )
    assert result.passes == 2
    assert not result.converged
    assert "trainer.patience" in result.reason


@pytest.mark.parametrize("name", ["perceptron", "adaptive"])
def test_shuffling_is_seeded(name):
    train, options = TRAINERS[name]
    rows, columns, _, _ = prepared(13, size=12)

    def run(seed):
        return collect(train, rows, columns, FAMILIES[1], shuffle=True, seed=seed, **options)[2].u

    np.testing.assert_array_equal(run(1), run(1))
    assert not np.array_equal(run(1), run(2))


@pytest.mark.parametrize("single", [False, True])
def test_attachment_counts_by_decoder(single):
    rows, columns, sentences, heads = prepared(14, size=8)
    u = np.random.default_rng(4).normal(size=len(columns))
    counted = np.array([c for s in sentences for c in (False, *(r[1] != "12" for r in s))])
    with Workers() as workers:
        found = attachment(rows, counted, single, u, ("mst", "eisner"), workers)
    for decoder, score in found.items():
        right = right_counted = 0
        for s, gold in enumerate(heads):
            (best,) = enumerated(scores_of(rows, s, u), decoder == "eisner", single)[1]
            for m in range(1, len(gold)):
                right += best[m] == gold[m]
                right_counted += best[m] == gold[m] and sentences[s][m - 1][1] != "12"
        assert (score.right, score.right_counted) == (right, right_counted)
        assert score.words == sum(map(len, sentences))
        assert score.counted == counted.sum() < score.words
