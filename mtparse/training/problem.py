"""What a trainer is given: the training matrix, which trees there are, and validation data in its terms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mtparse.inference.parts import Structure
from mtparse.training.design import Columns, Design


@dataclass(frozen=True)
class TrainingProblem:
    """A training set, and the validation set in terms of its columns.

    Attributes
    ----------
    origins
        Where each training sentence stands, for messages.
    valid
        The rows of the validation set, if there is one.
    scored_words : bool array
        Laid out like ``valid.gold``: the words that are no punctuation.
    """

    design: Design
    columns: Columns
    structure: Structure
    origins: list[str]
    valid: Design | None = None
    scored_words: np.ndarray | None = None
