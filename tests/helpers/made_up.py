"""Made-up treebanks, and what fires on their arcs by plain loops."""

from __future__ import annotations

import numpy as np

from mtparse.features.compiled_templates import HEAD, MODIFIER
from mtparse.features.extraction import word_row
from mtparse.features.feature_keys import distance_bin
from mtparse.inference.parts import arc_number

TEMPLATES = [
    "", "Hw", "Mw", "Hp Mp", "Hw Mw", "Hw Hp Mw Mp", "Hp Hp+1 Mp-1 Mp", "Hl Ml", "Hc Mc", "Hf Mp",
    "Hp Bp Mp", "Bc Mc", "Hc Bc# Mc", "Ha Ma", "Ha Mp", "Ma Hp", "Ha Ma Hp Mp", "Hx Mx", "Hs2 Ms2",
    "Hp-2 Mp+3", "Hs1", "Hs3", "He1", "He2",
]  # fmt: skip


def row(i, form, lemma="_", coarse="N", fine="n", feats="_"):
    return [str(i), form, lemma, coarse, fine, feats, "_", "_", "_", "_"]

FORMS = [
    "house", "houses", "housed", "housing", "muse", "phase", "tie", "12", "3,5", "ran", "a", "über", "x_y",
]  # fmt: skip
"""Words that share 4 letters at their beginning, or 5; 1, 2 or 3 at their end; and no more."""


def made_up(seed=0, size=6, longest=9, morphology=True):
    """A few sentences of few words, so that features recur, with random trees."""
    random = np.random.default_rng(seed)
    sentences, heads = [], []
    for _ in range(size):
        n = int(random.integers(1, longest))
        rows = []
        for i in range(1, n + 1):
            form = FORMS[random.integers(len(FORMS))]
            coarse, fine = [("N", "n1"), ("N", "n2"), ("V", "v"), ("D", "_")][random.integers(4)]
            feats = ["_", "Case=Nom|Num=Sg", "Case=Acc", "Num=Pl|Case=Nom|Num=Pl"][random.integers(4)]
            lemma = ["_", "run", form][random.integers(3)]
            rows.append(row(i, form, lemma, coarse, fine, feats) if morphology else row(i, form))
        tree = np.full(n + 1, -1)
        order = random.permutation(n) + 1
        for k, m in enumerate(order):
            tree[m] = 0 if k == 0 else order[random.integers(k)]
        sentences.append(rows)
        heads.append(tree)
    return sentences, heads


def arcs(n):
    return [(h, m) for m in range(1, n + 1) for h in [*range(m - 1, -1, -1), *range(m + 1, n + 1)]]


def columns_of_arcs(n, arc_columns, word_columns):
    """What fires on each arc of a sentence, in their order, from its arc rows and its word rows.

    ``arc_columns`` is a list of numbers for each arc, ``word_columns`` of pairs (number, form) for each row.
    """
    for a, (h, m) in enumerate(arcs(n)):
        assert arc_number(h, m, n) == a
        form = distance_bin(h, m)
        shared = [*word_columns[word_row(HEAD, h, n)], *word_columns[word_row(MODIFIER, m, n)]]
        yield [*arc_columns[a], *(c for c, f in shared if f in (0, form))]


def columns_of_rows(rows, s):
    """Columns of the arcs of a sentence of the training matrix."""
    n = int(rows.lengths[s])
    first = int(rows.first_arc[s])
    block = rows.arcs
    arc_columns = [block.indices[block.starts[a] : block.starts[a + 1]] for a in range(first, first + n * n)]
    first = int(2 * rows.first_word[s] - s)
    word_columns = []
    for row in range(first, first + 2 * n + 1):
        entries = slice(rows.words.starts[row], rows.words.starts[row + 1])
        word_columns.append(list(zip(rows.words.indices[entries], rows.words.variants[entries], strict=True)))
    return list(columns_of_arcs(n, arc_columns, word_columns))
