"""The script that chooses the default features: what it may see, what it decides, where it resumes."""

from __future__ import annotations

import importlib.util
import json
import sys
from importlib.machinery import SourceFileLoader

import numpy as np
import pytest
from helpers.project import ROOT

from mtparse.config.run import config_from_dict
from mtparse.errors import MtparseError
from mtparse.experiment.run import read_split
from mtparse.features.index import FeatureIndex
from mtparse.features.templates import FEATURE_SETS, Template
from mtparse.runtime.threads import Workers
from mtparse.training.build_design import extract_training, extract_validation
from mtparse.training.objectives import attachment
from mtparse.training.trainers.perceptron import train_perceptron

TREEBANKS = str(ROOT / "data" / "demo")


@pytest.fixture
def script(monkeypatch):
    """The script as a module, with few groups and passes."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "experiments"))
    loader = SourceFileLoader("choose_features", str(ROOT / "scripts" / "experiments" / "choose_features"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    monkeypatch.setitem(sys.modules, loader.name, module)
    loader.exec_module(module)
    base = {"tags": ["Hp Mp", "Hc Mc", "Hp Bp Mp"], "words": ["Hw", "Mw", "Hw Mw"], "lemmas": ["Hl Ml"]}
    candidates = {"more tags": ["Hc Mc", "Hc Hc+1 Mc"], "morphology": ["Ha Ma"]}
    for name, value in {
        "BASE": base, "CANDIDATES": candidates, "GROUPS": base | candidates,
        "PASSES": 2, "MEAN_OF": 1, "MARGIN_PASSES": 2, "ORDERS": 1,
    }.items():  # fmt: skip
        monkeypatch.setattr(module, name, value)
    return module


def choose(script, monkeypatch, log, *arguments):
    """Run it; the lines of its log, without times."""
    words = ["choose_features", "--root", TREEBANKS, "--log", str(log), *arguments, "avelu", "dunta"]
    monkeypatch.setattr(sys, "argv", words)
    script.main()
    lines = list(map(json.loads, log.read_text(encoding="utf-8").splitlines()))
    return [{k: v for k, v in line.items() if k != "seconds"} for line in lines]


def texts(names):
    return {str(Template.parse(text)) for text in names}


def test_tuning_does_not_see_what_it_scores_on_nor_training(script):
    """Held-out parts are of the training part of `data.valid: {fraction: 0.1}`, and not trained on."""
    data = {"root": TREEBANKS, "train": "dunta/train.conll"}
    parts = read_split(config_from_dict({"name": "x", "data": data}, TREEBANKS))
    tuned_on = {s.line for s in parts.valid.sentences}
    treebank = script.read("dunta", TREEBANKS, 10**9)
    assert {s.line for s in treebank.sentences} == {s.line for s in parts.training.sentences}
    seen = []
    with Workers(1) as workers:
        for remainder in script.HELD_OUT:
            part = script.Part(treebank, remainder, workers)
            trained, held_out = ({s.line for s in p.sentences} for p in (part.training, part.held_out))
            assert trained | held_out == {s.line for s in treebank.sentences}
            assert not trained & held_out
            assert not held_out & tuned_on
            assert not held_out & set().union(*seen)
            seen.append(held_out)
    few = script.read("dunta", TREEBANKS, 500)
    assert abs(few.words - 500) < 40
    assert {s.line for s in few.sentences} < {s.line for s in treebank.sentences}


def test_rows_put_together_of_groups_are_those_of_all_templates(script):
    """Groups share a template, and one has none here; the scores are those of one extraction."""
    treebank = script.read("avelu", TREEBANKS, 10**9)
    groups = frozenset(script.GROUPS)
    with Workers(1) as workers:
        part = script.Part(treebank, 1, workers)
        found, entries = part.score(groups, 1)
        templates = part.templates(groups)
        assert templates == texts(str(t) for t in part.owners)
        training, held_out = part.training, part.held_out
        index = FeatureIndex.build(training.rows, training.heads, sorted(templates))
        rows, columns = extract_training(index, training.rows, training.heads, merge=False)
        others = extract_validation(index, columns, held_out.rows, held_out.heads)
        u = train_perceptron(
            rows, columns, part.structure, passes=2, on_pass=lambda *_: False, workers=workers, shuffle=True
        ).u
        every = np.ones(len(others.gold), bool)
        score = attachment(others, every, part.structure.single, u, (part.decoder,), workers)[part.decoder]
    assert found == pytest.approx(100 * score.right / score.words)
    assert 0 < entries <= (len(rows.arcs.indices) + len(rows.words.indices)) / rows.parts


def test_an_interrupted_choice_resumes(script, monkeypatch, tmp_path):
    whole = choose(script, monkeypatch, tmp_path / "a" / "log.jsonl")
    steps = [(line["step"], line["change"]) for line in whole[1:]]
    alone = ["-tags", "-words", "-lemmas", "+more tags", "+morphology"]
    assert steps[0] == ("base", "")
    assert [change for step, change in steps if step == "alone"] == alone
    assert steps[-1] == ("chosen", "")
    assert "| -words |" in (tmp_path / "a" / "tables.md").read_text(encoding="utf-8")
    log = tmp_path / "b.jsonl"
    text = (tmp_path / "a" / "log.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    log.write_text("".join(text[:5]), encoding="utf-8")
    scored = []
    plain = script.Part.score
    monkeypatch.setattr(script.Part, "score", lambda *args: scored.append(args[1:]) or plain(*args))
    assert choose(script, monkeypatch, log) == whole
    assert (frozenset(script.BASE), 1) not in scored
    with pytest.raises(MtparseError, match="made with other settings or files"):
        choose(script, monkeypatch, log, "--words", "500")


@pytest.mark.parametrize(
    ("change", "gain", "added", "expected"),
    [
        ("+g", 0.2, 0.1, True),
        ("+g", 0.2, 0.5, False),  # too dear
        ("+g", 0.1, 0.0, False),  # not more than the noise
        ("-g", 0.0, -0.1, True),
        ("-g", -0.04, -0.1, True),  # less than the price of what it saves
        ("-g", -0.06, -0.1, False),
        ("-g", 0.2, -0.005, False),  # saves too little to be worth a decision
    ],
)
def test_what_pays(script, change, gain, added, expected):
    assert script.pays(change, gain, added, 0.1) is expected


def test_noise_is_how_far_held_out_parts_disagree(script):
    a, b = frozenset("a"), frozenset("b")
    old = script.Result(np.array([[80.0, 81.0], [70.0, 70.0], [60.0, 60.0]]), [a, a, b], 1)
    new = script.Result(np.array([[80.5, 81.5], [70.0, 70.4], [60.3, 60.9]]), [b, b, b], 1)
    gain, variances = script.gain_and_variances(new, old)
    assert gain == pytest.approx((0.5 + 0.2) / 3)
    assert variances == pytest.approx([0, 0.04, np.nan], nan_ok=True)
    assert script.standard_error(variances) == pytest.approx(0.2 / 3)


def test_groups_are_of_one_base_and_of_nothing_in_it(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "experiments"))
    from feature_groups import BASE, CANDIDATES

    base = [str(Template.parse(text)) for names in BASE.values() for text in names]
    assert len(base) == len(set(base))
    for name, names in CANDIDATES.items():
        assert name not in BASE
        assert names
        assert not texts(names) & set(base), name


def test_default_set_is_what_was_chosen(monkeypatch):
    """By the log in results: the set that it began with, without and with some groups."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "experiments"))
    from feature_groups import BASE, CANDIDATES

    log = (ROOT / "results" / "features" / "log.jsonl").read_text(encoding="utf-8")
    chosen = json.loads(log.splitlines()[-1])
    assert chosen["step"] == "chosen"
    names = [text for group, names in BASE.items() if group not in chosen["without"] for text in names]
    names += [text for group in chosen["with"] for text in CANDIDATES[group]]
    assert texts(FEATURE_SETS["default"]) == texts(names)
