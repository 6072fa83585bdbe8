"""Whether one parser is better than another on the same sentences, or only seems so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mtparse.evaluation.attachment import Scores

SAMPLES = 10_000
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Comparison:
    """System B against system A on one gold standard.

    Attributes
    ----------
    uas_a, uas_b : float
        Unlabelled attachment scores in percent.
    improved, worsened, sentences : int
        Sentences in which B has more, or fewer, right heads than A; all sentences.
    p_sign : float
        Two-sided sign test on the sentences that differ (the paper, section 6.2, note 7).
    p_randomization : float
        Two-sided paired randomization test on the number of right heads (Noreen 1989; Yeh 2000).
    scored, words : int
        Tokens that were scored, and all tokens.
    """

    uas_a: float
    uas_b: float
    improved: int
    worsened: int
    sentences: int
    p_sign: float
    p_randomization: float
    scored: int
    words: int

    @property
    def same(self) -> bool:
        """Whether no sentence differs in its number of right heads."""
        return not (self.improved or self.worsened)

    def as_dict(self) -> dict[str, float | int | None]:
        """The figures of ``mtparse compare --json``; None stands for an undefined score."""
        return {k: None if v != v else v for k, v in self.__dict__.items()}


def compare(a: Iterable[Scores], b: Iterable[Scores], *, samples: int = SAMPLES, seed: int = 1) -> Comparison:
    """Compare two systems by their scores of the same sentences.

    Parameters
    ----------
    a, b
        Scores of each sentence against the same gold sentences, as from ``evaluate_sentences``.
    samples
        Random exchanges of the randomization test.
    seed
        Of the randomization test.

    Raises
    ------
    ValueError
        If the two do not have the same sentences.

    Notes
    -----
    The randomization test exchanges the two outputs of each sentence with probability 1/2 and asks how
    often the difference in right heads is at least as large as the one seen. Its unit is the sentence, as
    the heads of a sentence depend on one another; its statistic counts words. Cost: samples x sentences.
    """
    a, b = list(a), list(b)
    if [s.words for s in a] != [s.words for s in b]:
        raise ValueError("the two systems were not scored on the same sentences")
    difference = np.array([y.correct_heads - x.correct_heads for x, y in zip(a, b, strict=True)], np.int64)
    improved, worsened = int((difference > 0).sum()), int((difference < 0).sum())
    total_a, total_b = sum(a, Scores()), sum(b, Scores())
    return Comparison(
        total_a.UAS,
        total_b.UAS,
        improved,
        worsened,
        len(a),
        sign_test(improved, worsened),
        randomization_test(difference, samples, seed),
        total_a.scored,
        total_a.words,
    )


def sign_test(improved: int, worsened: int) -> float:
    """Two-sided p of the sign test: of ``improved + worsened`` fair coins, so uneven an outcome."""
    from scipy.special import bdtr  # scipy.stats takes a third of a second to import

    return min(1.0, 2.0 * float(bdtr(min(improved, worsened), improved + worsened, 0.5)))


def randomization_test(difference: np.ndarray, samples: int = SAMPLES, seed: int = 1) -> float:
    """Two-sided p of the paired randomization test on the sum of ``difference``.

    The outcome seen counts as one of the samples, so p is never 0.
    """
    difference = np.asarray(difference, np.int64)
    difference = difference[difference != 0]
    if not len(difference):
        return 1.0
    seen = abs(int(difference.sum()))
    random = np.random.default_rng(seed)
    extreme, left = 0, samples
    while left:
        rows = min(left, max(1, _CHUNK // max(1, len(difference))))
        signs = 2 * random.integers(0, 2, (rows, len(difference)), dtype=np.int8) - 1
        extreme += int((np.abs(signs @ difference) >= seen).sum())
        left -= rows
    return (1 + extreme) / (1 + samples)


def format_comparison(found: Comparison) -> str:
    """The comparison for people."""
    gain = found.uas_b - found.uas_a
    scores = f"UAS A: {found.uas_a:.2f} %   UAS B: {found.uas_b:.2f} %   B - A: {gain:+.2f}"
    left_out = " (the others are punctuation)" if found.scored < found.words else ""
    same = "\n  A and B have equally many right heads in every sentence" if found.same else ""
    return (
        f"  {scores if gain == gain else 'UAS: n/a, nothing was scored'}\n"
        f"  Tokens scored: {found.scored} of {found.words}{left_out}\n"
        f"  Sentences that B improves: {found.improved}, worsens: {found.worsened}, of "
        f"{found.sentences}{same}\n  Sign test on sentences:            p = {found.p_sign:.3g}\n"
        f"  Randomization test on right heads: p = {found.p_randomization:.3g}"
    )
