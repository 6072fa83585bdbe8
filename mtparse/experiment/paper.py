"""What Koo, Globerson, Carreras, Collins (2007) report, to stand beside our own results on their data.

Section 6, table 2, UAS on the CoNLL-X test data by the official scorer; the counts are the shared task's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_SETTINGS = [
    (trainer, trees)
    for trainer in ("perceptron", "max-margin", "log-linear")
    for trees in ("projective", "nonprojective")
]

UAS: dict[str, dict[tuple[str, str], float]] = {
    language: dict(zip(_SETTINGS, figures, strict=True))
    for language, figures in {
        "arabic": (71.74, 71.84, 71.74, 72.99, 73.11, 73.67),
        "dutch": (77.17, 78.83, 76.53, 79.69, 76.23, 79.55),
        "japanese": (91.90, 91.78, 92.10, 92.18, 91.68, 91.49),
        "slovene": (78.02, 78.66, 79.78, 80.10, 78.24, 79.66),
        "spanish": (81.19, 80.02, 81.71, 81.93, 81.75, 81.57),
        "turkish": (71.22, 71.70, 72.83, 72.02, 72.26, 72.62),
    }.items()
}  # fmt: skip
"""By language, then by trainer and tree family: the paper's table 2."""


@dataclass(frozen=True)
class Counts:
    """Words and sentences of a treebank's training and test files."""

    training_words: int
    training_sentences: int
    test_words: int
    test_sentences: int


COUNTS: Mapping[str, Counts] = {
    "arabic": Counts(54_379, 1_460, 5_373, 146),
    "dutch": Counts(195_069, 13_349, 5_585, 386),
    "japanese": Counts(151_461, 17_044, 5_711, 709),
    "slovene": Counts(28_750, 1_534, 6_390, 402),
    "spanish": Counts(89_334, 3_306, 5_694, 206),
    "turkish": Counts(57_510, 4_997, 7_547, 623),
}
"""What the files of the CoNLL-X shared task hold."""
