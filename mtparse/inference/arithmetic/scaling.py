"""What the linear-domain algorithms take out of the scores before they exponentiate.

A tree has one arc into every word, so that a constant taken out of a column changes log Z by that constant
and the marginals not at all; a single-root tree has one root arc, so that the same holds for the root row.
"""

from __future__ import annotations

import numpy as np

from mtparse.runtime.jit import kernel


@kernel
def _difference(a, b):
    """``a - b`` and its rounding error (Knuth's two-sum), for finite a and b."""
    value = a - b
    virtual = value - a
    return value, (a - (value - virtual)) - (b + virtual)


@kernel
def column_peaks(scores, single):
    """What is taken out of each column, and out of the root row after that.

    Returns ``(peaks, root_peak)``. Multi-root: the largest score of each column, and 0. Single-root: the
    largest over word heads (0 where there is none), and the largest root score that is then left.
    """
    size = scores.shape[0]
    peaks = np.full(size, -np.inf)
    for h in range(1 if single else 0, size):
        for m in range(1, size):
            if h != m and scores[h, m] > peaks[m]:
                peaks[m] = scores[h, m]
    root_peak = 0.0
    if single:
        root_peak = -np.inf
        for m in range(1, size):
            if peaks[m] == -np.inf:
                peaks[m] = 0.0
            root_peak = max(root_peak, scores[0, m] - peaks[m])
    return peaks, root_peak


@kernel
def relative_root(score, peak, root_peak):
    """``score - peak - root_peak``, rounded once where it matters."""
    if score == -np.inf:
        return -np.inf
    value, error = _difference(score, peak)
    return (value - root_peak) + error
