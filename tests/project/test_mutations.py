"""The list of scripts/check/mutate fits the code, and what it says of compiled code is so."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import SourceFileLoader

import pytest
from helpers.project import ROOT

pytestmark = pytest.mark.nojit

PACKAGE = ROOT / "mtparse"


@pytest.fixture(scope="module")
def mutate():
    loader = SourceFileLoader("mutate", str(ROOT / "scripts" / "check" / "mutate"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
    sys.modules["mutate"] = module  # where dataclasses look for it
    try:
        loader.exec_module(module)
        yield module
    finally:
        del sys.modules["mutate"]


def test_every_change_can_be_made_and_names_tests(mutate):
    changes, areas = mutate.load()
    assert len(changes) >= 60
    assert len(areas) >= 7
    assert list(mutate.problems(ROOT, changes, areas)) == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"old": "import numpy as np"}, "x: the old text stands in "),
        ({"old": "no such line"}, "x: the old text stands in 0 places"),
        ({"new": "def broken(:"}, "x: invalid syntax"),
        ({"new": "BINS = 1 + 2 * len(DISTANCE_BINS)"}, "x: nothing is changed"),
        ({"tests": []}, "x: nothing is changed, or no test is named"),
        ({"tests": ["test_none"]}, "no such test: test_none"),
        ({"tests": ["test_head_column::test_none"]}, "no such test: test_head_column::test_none"),
    ],
)
def test_a_list_that_does_not_fit_is_refused(fields, message, mutate):
    good = {"area": "features", "name": "x", "what": "", "new": "BINS = 1"}
    good |= {
        "old": "BINS = 1 + 2 * len(DISTANCE_BINS)",
        "tests": ["test_features", "test_head_column::test_all_faults_of_a_sentence"],
    }
    areas = {"features": ["test_features"]}
    assert not list(mutate.problems(ROOT, [mutate.Change(**good)], areas))
    (found,) = mutate.problems(ROOT, [mutate.Change(**{**good, **fields})], areas)
    assert found.startswith(message)


@pytest.mark.parametrize(
    ("text", "compiled"),
    [
        ("FLOOR_SINGLE = 280.0", True),  # a constant of a kernel
        ("total0 = out0 + s01 * out1", True),  # a piece of one
        ("DISTANCE_BINS = (1, 2, 3, 4, 5, 6, 11)", True),  # another constant is made of it
        ("def _compile(", True),  # makes kernels
        ("OUTSIDE = 0, 1", True),  # used in another file
        ("spent = so_far.records[-1]", False),
        ("if chosen + length / 2 <=", False),
        ("NEGLIGIBLE = 1e-9", False),
        ("projective = (self.model.decoder", False),  # a method, in a file with kernels
        ("rank = np.lexsort(", False),  # in such a file too
        ("with objmode(log_z=\"float64\"):\n        log_z = extended_marginals", True),
        ("extended = extended_projective_marginals if projective", True),  # what that calls
        ("return (u / self.multiplicity)[self.column_of]", False),
        ("from mtparse.treebank.heads import Heads, integers", True),  # an import: who knows
    ],
)
def test_what_compiled_code_may_see(text, compiled, mutate):
    change = mutate.Change("", "", "", text, "", [])
    assert change.compiled(PACKAGE) == compiled
