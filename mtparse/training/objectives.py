"""Values of the training objectives, by code that knows no trainer.

Both are minimised: ``C * sum of losses + 0.5 * ||w||²`` (the paper, sections 4.1 and 4.2). With merged
columns (see :mod:`mtparse.training.design`) ``||w||² = Σ u²/K``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mtparse.inference.dispatch import best_tree_address, marginals_address
from mtparse.inference.parts import Structure
from mtparse.runtime.threads import Workers
from mtparse.training.design import SHARDS, Columns, Design
from mtparse.training.loop import require_good
from mtparse.training.losses import LOG_LINEAR, MARGIN, count_right, shard_loss
from mtparse.training.products import add_shards


def squared_norm(columns: Columns, u: np.ndarray) -> float:
    """||w||² of the features' weights."""
    return float(np.sum(u * u / columns.multiplicity))


def log_linear_loss(
    design: Design, structure: Structure, u: np.ndarray, workers: Workers, number: int = 0
) -> tuple[float, np.ndarray]:
    """-Σ log P(y_i|x_i) and its gradient with respect to u (columns,).

    Raises
    ------
    NumericsError
        A sentence whose loss is not finite or negative; ``number`` is the pass that it names.
    """
    shards = design.shards()
    at = marginals_address(structure.projective)
    sums = np.zeros((len(shards), len(u)))

    def one(b: int) -> tuple[float, int]:
        return shard_loss(LOG_LINEAR, at, structure.single, design, *shards[b], u, sums[b])

    loss = _sum(workers.map(one, range(len(shards)), ahead=SHARDS), number)
    gradient = np.empty(len(u))
    add_shards(sums, gradient)
    return loss, gradient


def max_margin_loss(
    design: Design, structure: Structure, u: np.ndarray, workers: Workers, number: int = 0
) -> float:
    """Σ_i max_y (E(y) - margin(y)), E the number of wrong heads: the paper's section 4.2.

    Raises
    ------
    NumericsError
        As :func:`log_linear_loss`.
    """
    at = best_tree_address(structure.projective)

    def one(shard: tuple[int, int]) -> tuple[float, int]:
        return shard_loss(MARGIN, at, structure.single, design, *shard, u, None)

    return _sum(workers.map(one, design.shards(), ahead=SHARDS), number)


def _sum(shards: Iterable[tuple[float, int]], number: int) -> float:
    """The sum of the shards' losses; each comes with its first bad sentence or -1."""
    loss = 0.0
    for here, bad in shards:
        require_good(bad, number)
        loss += here
    return loss


@dataclass(frozen=True)
class Attachment:
    """Right heads by one decoder, of all words and of those that are no punctuation."""

    right: int
    words: int
    right_counted: int
    counted: int


def attachment(
    design: Design,
    counted: np.ndarray,
    single: bool,
    weights: np.ndarray,
    decoders: tuple[str, ...],
    workers: Workers,
) -> dict[str, Attachment]:
    """Score best trees against gold ones.

    Parameters
    ----------
    counted
        bool, laid out like ``design.gold``: the words that are no punctuation.
    weights
        float64 (columns,): the weight of each feature of a column.
    decoders
        Some of ``eisner`` and ``mst``.
    """
    eisner = best_tree_address(True) if "eisner" in decoders else 0
    mst = best_tree_address(False) if "mst" in decoders else 0

    def one(shard: tuple[int, int]) -> np.ndarray:
        out = np.zeros((2, 2), np.int64)
        count_right(design, *shard, single, weights, eisner, mst, counted, out)
        return out

    total = sum(workers.map(one, design.shards(), ahead=SHARDS), np.zeros((2, 2), np.int64))
    words, scored = int(design.lengths.sum()), int(counted.sum())
    return {
        name: Attachment(int(total[d, 0]), words, int(total[d, 1]), scored)
        for d, name in enumerate(("eisner", "mst"))
        if name in decoders
    }
