"""The words of a sentence, hashed: what the features of its arcs are sums of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtparse.features.compiled_templates import Program
from mtparse.features.lexicon import OUTSIDE, TypeTable
from mtparse.runtime.jit import kernel

_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_SEED_HEAD = np.uint64(0x9E3779B97F4A7C15)
_SEED_MODIFIER = np.uint64(0xC2B2AE3D27D4EB4F)
_SEED_BETWEEN = np.uint64(0x165667B19E3779F9)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)


class Words(NamedTuple):
    """The words of one sentence, hashed."""

    head_keys: np.ndarray
    """uint64 (n+1, T): the head's share of a template's key, its salt included, with the word as head; 0
    where an attribute is absent (such a key is never counted, hence in no table)."""
    modifier_keys: np.ndarray
    """uint64 (n+1, T): the modifier's share."""
    between: np.ndarray
    """uint64 (n+1, number of between attributes)"""
    representative: np.ndarray
    """int64 (n+1, number of between attributes): the first word with the same value."""
    multi_start: np.ndarray
    """int64 (n+2,): FEATS attributes of word i are multi_start[i]:multi_start[i+1] in the next two."""
    multi_head: np.ndarray
    multi_modifier: np.ndarray


@kernel
def mix(x):
    """A bijective scramble of 64 bits (the finaliser of splitmix64)."""
    x = (x ^ (x >> _S30)) * _MIX_1
    x = (x ^ (x >> _S27)) * _MIX_2
    return x ^ (x >> _S31)


@kernel
def hash_words(program: Program, table: TypeTable, types) -> Words:
    """Hash the parts of every word of a sentence. ``types`` as from ``Lexicon.encode``."""
    size = types.shape[0]
    n_parts = program.part_start.shape[0] - 1
    n_templates = program.salt.shape[0]
    head_keys = np.empty((size, n_templates), np.uint64)
    modifier_keys = np.empty((size, n_templates), np.uint64)
    head_parts = np.empty(n_parts, np.uint64)
    modifier_parts = np.empty(n_parts, np.uint64)
    for i in range(size):
        for q in range(n_parts):
            value = _ONE
            for a in range(program.part_start[q], program.part_start[q + 1]):
                j = i + program.part_offset[a]
                kind = types[j] if 0 <= j < size else OUTSIDE
                x = table.values[kind, program.part_attribute[a]]
                if x == _ZERO:
                    value = _ZERO
                    break
                value = mix(value * _MIX_2 + x)
            head_parts[q] = _ZERO if value == _ZERO else mix(value ^ _SEED_HEAD)
            modifier_parts[q] = _ZERO if value == _ZERO else mix(value ^ _SEED_MODIFIER)
        for t in range(n_templates):
            part = head_parts[program.head_part[t]]
            head_keys[i, t] = _ZERO if part == _ZERO else program.salt[t] + part
            modifier_keys[i, t] = modifier_parts[program.modifier_part[t]]
    n_between = program.between_attribute.shape[0]
    between = np.empty((size, n_between), np.uint64)
    representative = np.empty((size, n_between), np.int64)
    for b in range(n_between):
        for i in range(size):
            x = table.values[types[i], program.between_attribute[b]]
            between[i, b] = _ZERO if x == _ZERO else mix(x ^ _SEED_BETWEEN)
            representative[i, b] = i
            for j in range(1, i):
                if between[j, b] == between[i, b]:
                    representative[i, b] = j
                    break
    start = np.zeros(size + 1, np.int64)
    for i in range(size):
        start[i + 1] = start[i] + table.multi_start[types[i] + 1] - table.multi_start[types[i]]
    multi_head = np.empty(start[size], np.uint64)
    multi_modifier = np.empty(start[size], np.uint64)
    for i in range(size):
        for k in range(start[i + 1] - start[i]):
            x = table.multi_value[table.multi_start[types[i]] + k]
            multi_head[start[i] + k] = mix(x ^ _SEED_HEAD)
            multi_modifier[start[i] + k] = mix(x ^ _SEED_MODIFIER)
    return Words(head_keys, modifier_keys, between, representative, start, multi_head, multi_modifier)
