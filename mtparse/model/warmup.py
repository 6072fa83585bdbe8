"""Compiling all kernels at once, for images and servers: by doing a little of everything that needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from mtparse.errors import MtparseError
from mtparse.features.index import FeatureIndex
from mtparse.features.templates import FEATURE_SETS
from mtparse.inference.dispatch import extended_log_partition, extended_marginals
from mtparse.inference.family import TREES, TreeFamily
from mtparse.inference.parts import Structure
from mtparse.model.model_file import Model
from mtparse.model.parser import Parser
from mtparse.runtime.jit import STORE
from mtparse.runtime.progress import Progress
from mtparse.runtime.threads import Workers
from mtparse.training.build_design import extract_training, extract_validation
from mtparse.training.design import Columns, Design
from mtparse.training.loop import Loop
from mtparse.training.objectives import attachment
from mtparse.training.problem import TrainingProblem
from mtparse.training.trainers import TRAINERS, Trainer
from mtparse.treebank.sentence import Sentence


def warmup(progress: Progress | None = None) -> int:
    """Compile and store all kernels, so that no later process waits for any.

    Parameters
    ----------
    progress
        Shows the steps; nothing is shown by default.

    Returns
    -------
    int
        How many had to be compiled: 0 where all were there.

    Raises
    ------
    MtparseError
        If some are not there and cannot be stored, or were compiled by this process before and not stored.

    Notes
    -----
    40 seconds of one core where none is there, else a second. They are stored in the first folder that can be
    written of NUMBA_CACHE_DIR, the package's own and the user's cache folder, for this kind of processor and
    these versions of Python and numba, and found in any of the three.
    """
    steps = list(_steps())
    before = STORE.compiled
    task = (progress or Progress(quiet=True)).task("compiling kernels", len(steps))
    try:
        with STORE.said_by(_require_folder):
            for number, (name, step) in enumerate(steps):
                task.update(number, name)
                step()
            task.update(len(steps))
    finally:
        task.close()
    if STORE.not_stored is not None:
        raise MtparseError(f"compiled kernels could not be stored: {STORE.not_stored}")
    return STORE.compiled - before


def _require_folder(said: str) -> None:
    if STORE.folder() is None:
        raise MtparseError(f"kernels must be compiled, but {STORE.where()}")


def _steps() -> Iterator[tuple[str, Callable[[], object]]]:
    """Names and functions that between them need every kernel, with arguments of all types that occur."""
    scores, mu = np.zeros((3, 3)), np.empty((3, 3))
    for trees in TREES:
        family = TreeFamily(trees, "single")  # with several roots it is the same code
        kind = family.projective, family.single
        yield f"best trees, {trees}", partial(family.best_tree, scores)
        yield f"marginals, {trees}", partial(family.marginals, scores)
        yield f"log-partitions, {trees}", partial(family.log_partition, scores)
        yield f"wide marginals, {trees}", partial(extended_marginals, scores, *kind, mu)
        yield f"wide log-partitions, {trees}", partial(extended_log_partition, scores, *kind)
    family, labelled = TreeFamily(), np.zeros((3, 3, 2))
    yield "labelled trees", lambda: (family.marginals(labelled), family.best_labelled_tree(labelled))
    data = _Training()
    yield "features", data.extract
    for name, kind in TRAINERS.items():
        yield name, partial(data.train, kind())
    yield "decoding", data.decode
    yield "parsing", data.parse


class _Training:
    """A treebank of one sentence, and what training makes of it."""

    index: FeatureIndex
    design: Design
    columns: Columns

    def __init__(self) -> None:
        rows = [
            ["1", "a", "a", "D", "DT", "x=1|y=2", "2", "d", "_", "_"],
            ["2", "b", "b", "N", "NN", "x=2", "0", "r", "_", "_"],
        ]
        self.sentence = Sentence(rows)
        self.words, self.heads = [rows], [np.array([-1, 2, 0])]

    def extract(self) -> None:
        self.index = FeatureIndex.build(self.words, self.heads, FEATURE_SETS["default"])
        self.design, self.columns = extract_training(self.index, self.words, self.heads)
        extract_validation(self.index, self.columns, self.words, self.heads)

    def train(self, trainer: Trainer) -> None:
        problem = TrainingProblem(self.design, self.columns, Structure(projective=False, single=True), ["1"])
        loop = Loop(on_pass=lambda record, u: False, workers=Workers(), passes=1)
        trainer.train(problem, 1.0 if trainer.C else None, loop)

    def decode(self) -> None:
        weights = np.zeros(len(self.columns))
        scored = np.ones(len(self.design.gold), bool)
        attachment(self.design, scored, True, weights, ("eisner", "mst"), Workers())

    def parse(self) -> None:
        templates = [str(template) for template in self.index.templates]
        model = Model(
            templates, self.index.keys, self.index.masks, np.zeros(len(self.index)), "single", "mst", {}
        )
        parser = Parser(model)
        parser.scores(self.sentence)
        list(parser.parse([self.sentence]))
