"""Kernels are compiled once, and call each other by address."""

import subprocess
import sys

import numba
import numpy as np
import pytest
from numba import boolean, float64

from mtparse.runtime import jit, source_digest
from mtparse.runtime.jit import address, calling, kernel

pytestmark = pytest.mark.nojit

compiles = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")


def test_the_store_is_that_of_the_sources():
    assert all(f.name == f"kernels-{source_digest.DIGEST}" for f in jit.STORE.folders())


SIGNATURE = float64(float64[::1], boolean, float64)
call = calling(SIGNATURE)


@kernel
def _weighted_sum(values, half, weight):
    if weight < 0.0:
        raise ValueError("negative weight")
    total = 0.0
    for value in values:
        total += weight * value
    return 0.5 * total if half else total


@kernel
def _largest(values, half, weight):
    return values.max()


@kernel
def _called(at, values, weight):
    return call(at, values, True, weight), call(at, values, False, weight)


def test_a_kernel_is_called_at_its_address():
    values = np.array([1.0, 2.5])
    assert _called(address(_weighted_sum, SIGNATURE), values, 2.0) == (3.5, 7.0)
    assert _called(address(_largest, SIGNATURE), values, 2.0) == (2.5, 2.5)


def test_errors_pass_through_such_a_call():
    with pytest.raises(ValueError, match="negative weight"):
        _called(address(_weighted_sum, SIGNATURE), np.ones(2), -1.0)


@compiles
def test_an_address_of_another_signature_is_refused():
    @kernel
    def count(values, half, weight):
        return len(values)

    with pytest.raises(TypeError, match="count returns int64"):
        address(count, SIGNATURE)


@compiles
def test_arithmetic_of_unlimited_range_is_compiled_when_a_sentence_needs_it():
    code = """
import numpy as np
from mtparse.inference.family import FAMILIES
from mtparse.inference.projective import inside_outside_wide as one
from mtparse.inference.nonprojective import matrix_tree_wide as two

mild, wide = np.zeros((4, 4)), np.zeros((4, 4))
wide[0] = -1e4  # no root arc is worth having, but one must be had
compiled = [
    one.extended_projective_marginals, two.extended_matrix_tree_marginals,
    one.extended_projective_log_partition, two.extended_matrix_tree_log_partition,
]
for scores in (mild, wide):
    for (trees, root), family in FAMILIES.items():
        marginals, log_z = family.marginals_and_log_partition(scores)
        assert abs(marginals[:, 1:].sum(axis=0) - 1.0).max() < 1e-12
        assert abs(log_z - family.log_partition(scores)) < 1e-12 * max(1.0, abs(log_z))
    print([len(kernel.overloads) for kernel in compiled])
wide[0] = -np.inf
try:
    FAMILIES["projective", "multi"].marginals(wide)
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    none, all_, error = done.stdout.splitlines()
    assert (none, all_) == ("[0, 0, 0, 0]", "[1, 1, 1, 1]")
    assert error == "no projective multi-root tree over 3 words: all arcs from the root are forbidden"
