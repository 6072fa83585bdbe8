"""Templates, the index and the rows of arcs, against a plain version with strings."""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
import pytest
from helpers import naive
from helpers.made_up import TEMPLATES, arcs, columns_of_arcs, columns_of_rows, made_up, row
from hypothesis import given, settings
from hypothesis import strategies as st

from mtparse.features.extraction import arc_rows, word_rows
from mtparse.features.feature_keys import distance_bin
from mtparse.features.index import FeatureIndex, present_attributes
from mtparse.features.lexicon import MAX_ATTRIBUTES, Lexicon, attributes
from mtparse.features.scorer import Scorer
from mtparse.features.templates import ATTRIBUTES, FEATURE_SETS, Template, resolve
from mtparse.features.word_hashes import hash_words
from mtparse.runtime.threads import Workers
from mtparse.training.build_design import extract_training, extract_validation

pytestmark = pytest.mark.nojit

def naive_columns(templates, sentences, heads, source="gold", min_count=1):
    """Feature string to the set of arcs on which it fires, for the known features."""
    seen, counts, arc = {}, Counter(), 0
    for rows, tree in zip(sentences, heads, strict=True):
        for h, m in arcs(len(rows)):
            features = naive.arc_features(templates, rows, h, m)
            if source == "all" or tree[m] == h:
                counts.update(features)
            for f in features:
                seen.setdefault(f, set()).add(arc)
            arc += 1
    return {f: frozenset(a) for f, a in seen.items() if counts[f] >= min_count}


def products(rows, w):
    """X w by a plain loop over all arcs."""
    return np.array([w[c].sum() for s in range(rows.sentences) for c in columns_of_rows(rows, s)])


def split(ids, ends):
    return np.split(ids[: ends[-1]], ends[:-1])


def index_columns(index, sentences, lexicon=None):
    columns, arc = {}, 0
    table, encoded = (lexicon or Lexicon()).encode_all(sentences)
    for types in encoded:
        n = len(types) - 1
        ids, ends = np.empty(40000, np.int32), np.empty(n * n, np.int64)
        word_ids, word_ends = np.empty(40000, np.int32), np.empty(2 * n + 1, np.int64)
        forms = np.empty(40000, np.uint8)
        words = hash_words(index.program, table, types)
        assert arc_rows(index.program, index.table, words, ids, ends) == ends[-1]
        assert word_rows(index.program, index.table, words, word_ids, forms, word_ends) == word_ends[-1]
        word_columns = [
            list(zip(*pair, strict=True))
            for pair in zip(split(word_ids, word_ends), split(forms, word_ends), strict=True)
        ]
        for row_ids in columns_of_arcs(n, split(ids, ends), word_columns):
            assert len(set(row_ids)) == len(row_ids)
            for f in row_ids:
                columns.setdefault(int(f), set()).add(arc)
            arc += 1
    return columns


@pytest.mark.parametrize(("source", "min_count"), [("gold", 1), ("gold", 2), ("all", 1), ("all", 3)])
def test_rows_are_those_of_the_plain_version(source, min_count):
    sentences, heads = made_up()
    index = FeatureIndex.build(sentences, heads, TEMPLATES, source=source, min_count=min_count)
    expected = naive_columns(index.templates, sentences, heads, source, min_count)
    found = index_columns(index, sentences)

    assert len(index) == len(expected) > 100
    assert Counter(map(frozenset, found.values())) == Counter(expected.values())


def test_rows_of_long_sentences_and_of_words_without_morphology():
    """All bins of distance; endings in the place of morphology."""
    sentences, heads = made_up(11, size=12, longest=30, morphology=False)
    index = FeatureIndex.build(sentences, heads, TEMPLATES)
    assert {"He1", "He2"} <= {str(t) for t in index.templates}
    expected = naive_columns(index.templates, sentences, heads)
    assert Counter(map(frozenset, index_columns(index, sentences).values())) == Counter(expected.values())


def test_distances_are_binned():
    """1, 2, 3, 4, 5, 6-10, more than 10, to the left and to the right."""
    ends = [[1], [2], [3], [4], [5], list(range(6, 11)), list(range(11, 200))]
    right = [{int(distance_bin(0, d)) for d in distances} for distances in ends]
    left = [{int(distance_bin(d, 0)) for d in distances} for distances in ends]
    assert [len(bins) for bins in right + left] == [1] * 14
    assert len(set.union(*right, *left)) == 14


def test_rows_of_other_sentences_contain_known_features_only():
    sentences, heads = made_up(1)
    others, _ = made_up(2, size=3)
    index = FeatureIndex.build(sentences, heads, TEMPLATES)
    known = set(naive_columns(index.templates, sentences, heads))
    expected = naive_columns(index.templates, others, [np.zeros(len(s) + 1) for s in others], "all")

    found = index_columns(index, others)

    assert Counter(map(frozenset, found.values())) == Counter(v for f, v in expected.items() if f in known)


def test_default_set_is_all_extracted():
    sentences, heads = made_up(3, size=3, longest=6)
    for name in FEATURE_SETS:
        index = FeatureIndex.build(sentences, heads, FEATURE_SETS[name])
        expected = naive_columns(index.templates, sentences, heads)
        assert Counter(map(frozenset, index_columns(index, sentences).values())) == Counter(expected.values())


def test_hot_columns_come_first_and_the_others_as_they_are_met(monkeypatch):
    monkeypatch.setattr("mtparse.training.build_design.HOT", 50)
    sentences, heads = made_up(4)
    index = FeatureIndex.build(sentences, heads, TEMPLATES)
    rows, columns = extract_training(index, sentences, heads)
    counts = np.bincount(rows.arcs.indices, minlength=len(columns))
    counts += np.bincount(rows.words.indices, minlength=len(columns))
    assert (np.diff(counts[:50]) <= 0).all()
    assert counts[50:].max() <= counts[49]
    assert counts.min() > 0
    met = {}
    for s in range(rows.sentences):
        for c in np.concatenate(columns_of_rows(rows, s)):
            met.setdefault(int(c), s)
    assert (np.diff([met[c] for c in range(50, len(columns))]) >= 0).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_merging_joins_identical_columns_and_only_those(threads):
    sentences, heads = made_up(5, size=70)
    index = FeatureIndex.build(sentences, heads, TEMPLATES)
    with Workers(threads) as workers:
        plain, single = extract_training(index, sentences, heads, merge=False, workers=workers)
        rows, columns = extract_training(index, sentences, heads, workers=workers)
    expected = Counter(naive_columns(index.templates, sentences, heads).values())

    assert len(single) == len(index) == columns.multiplicity.sum()
    assert len(columns) == len(expected) < len(index)
    merged = [set() for _ in range(len(columns))]
    of_arcs = [c for s in range(rows.sentences) for c in columns_of_rows(rows, s)]
    for a, found in enumerate(of_arcs):
        assert len(set(found)) == len(found)
        for c in found:
            merged[c].add(a)
    assert {frozenset(m): k for m, k in zip(merged, columns.multiplicity, strict=True)} == expected
    entries = sum(len(c) for s in range(plain.sentences) for c in columns_of_rows(plain, s))
    assert entries == sum(len(arcs) * k for arcs, k in expected.items())


def test_scores_are_the_same_merged_or_not():
    sentences, heads = made_up(6)
    others, _ = made_up(7)
    trees = [np.full(len(s) + 1, -1) for s in others]
    index = FeatureIndex.build(sentences, heads, TEMPLATES)
    rows, columns = extract_training(index, sentences, heads)
    u = np.random.default_rng(0).normal(size=len(columns))
    weights = columns.feature_weights(u)
    plain, single = extract_training(index, sentences, heads, merge=False)

    order = np.empty(len(index))
    order[single.column_of] = weights
    np.testing.assert_allclose(products(rows, u), products(plain, order), atol=1e-12)
    held_out = extract_validation(index, columns, others, trees)
    held_out_plain = extract_validation(index, single, others, trees)
    np.testing.assert_allclose(
        products(held_out, u / columns.multiplicity), products(held_out_plain, order), atol=1e-12
    )


def test_scores_without_rows_are_those_of_the_rows():
    sentences, heads = made_up(9, 10)
    others, _ = made_up(10)
    index = FeatureIndex.build(sentences, heads, TEMPLATES)
    weights = np.random.default_rng(0).normal(size=len(index))
    scorer = Scorer(index.templates, index.keys, index.masks, weights)
    _, single = extract_training(index, sentences, heads, merge=False)
    rows = extract_validation(index, single, others, [np.zeros(len(s) + 1) for s in others])
    order = np.empty(len(index))
    order[single.column_of] = weights.astype(np.float32)
    scores = [scorer.scores(s)[h, m] for s in others for h, m in arcs(len(s))]
    np.testing.assert_allclose(scores, products(rows, order), atol=1e-12)
    assert np.count_nonzero(scores) > 50


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_any_treebank_gives_the_plain_columns(seed):
    sentences, heads = made_up(seed, size=2, longest=7)
    index = FeatureIndex.build(sentences, heads, TEMPLATES[::2])
    expected = naive_columns(index.templates, sentences, heads)
    assert Counter(map(frozenset, index_columns(index, sentences).values())) == Counter(expected.values())


def test_templates_are_left_out_where_the_treebank_lacks_the_attribute():
    sentences = [[row(1, "a", fine="N"), row(2, "b", fine="_")]]
    present = present_attributes(sentences)
    assert present == {"w", "p", "x", "s1", "s2", "s3", "e1", "e2"}
    kept = {str(t) for t in resolve(["Hw Mw", "Hl", "Hc Mc", "Hf", "Ha Ma", "Hp Mp", "Mp Hp"], present)}
    assert kept == {"Hw Mw", "Hp Mp"}


def test_fine_tags_stand_in_for_missing_coarse_ones():
    """Where fine and coarse tags never differ; where they do, both are kept."""
    names = ["Hc Bc Mc", "Hc Hc+1 Mp", "Hw Mc"]
    same = present_attributes([[row(1, "a", fine="N"), row(2, "b", fine="_")]])
    assert {str(t) for t in resolve(names, same)} == {"Bp Hp Mp", "Hp Hp+1 Mp", "Hw Mp"}
    other = present_attributes([[row(1, "a", fine="N"), row(2, "b", fine="n")]])
    assert {str(t) for t in resolve(names, other)} == {str(Template.parse(t)) for t in names}


def test_endings_stand_in_for_missing_morphology():
    assert {"e1", "e2", "s1"} <= present_attributes([[row(1, "abc")]])
    for columns in ({"feats": "A=1"}, {"lemma": "ab"}):
        present = present_attributes([[row(1, "abc", **columns)]])
        assert not {"e1", "e2"} & present
        assert {"s1", "s2", "s3"} <= present


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        # results/six-treebanks and results/features: chosen by scripts/experiments/choose_features. A change
        # makes their figures those of another set: choose again, train the tables again, pin the new set.
        ("default", "9a0690a950d7a26f"),
        # configs/conllx.yaml and the comparison with the paper: McDonald's table and MSTParser's extensions.
        ("mcdonald", "cdae409f8ac0630b"),
    ],
)
def test_sets_that_results_rest_on_stay_as_they_are(name, digest):
    texts = sorted({str(Template.parse(text)) for text in FEATURE_SETS[name]})
    assert hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16] == digest


def test_template_text_round_trip():
    for text in [t for names in FEATURE_SETS.values() for t in names] + TEMPLATES:
        template = Template.parse(text)
        assert Template.parse(str(template)) == template


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Hw Mq", "'Mq' is not an attribute"),
        ("hw", "'hw' is not an attribute"),
        ("Hw+", "'Hw\\+' is not an attribute"),
        ("Hw+9", "'Hw\\+9': an offset is from -3 to \\+3, without 0"),
        ("Mp Mp-11", "'Mp-11': an offset is from -3 to \\+3"),
        ("Hp+0", "'Hp\\+0': an offset is from -3 to \\+3"),
        ("Hp+4" + "0" * 5000, "an offset is from -3 to \\+3"),
        ("Hp#", "# goes with B only"),
        ("Bp+1", "B takes no offset"),
        ("Ba", "B takes no offset and no 'a'"),
        ("Bp Bc", "at most one B"),
        ("Bp Ha", "at most one B, and not together with 'a'"),
        ("Ha+1 Ma", "no offset"),
    ],
)
def test_wrong_templates_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        Template.parse(text)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("abcdefgh", {"x": "abcde", "s1": "h", "s2": "gh", "s3": "fgh", "e1": "h", "e2": "gh"}),
        ("abcdef", {"x": "abcde", "s3": "def"}),
        ("abcde", {"x": None, "s3": "cde"}),
        ("ab", {"x": None, "s1": "b", "s2": "ab", "s3": "ab", "e2": "ab"}),
    ],
)
def test_parts_of_words(form, expected):
    found = dict(zip(ATTRIBUTES, attributes(form, "_", "N", "n", "_"), strict=True))
    assert {name: found[name] for name in expected} == expected


def test_numbers_are_one_symbol():
    assert attributes("1,234.5", "12", "N", "n", "_")[0] == attributes("7", "7", "N", "n", "_")[0]
    assert attributes("7", "12", "N", "n", "_")[3] == attributes("7", "7", "N", "n", "_")[3]
    assert attributes(".", ",", "N", "n", "_")[0] == "."
    assert attributes("7th", "_", "N", "n", "_")[0] == "7th"


def test_lexicon_table_stays_valid_when_types_are_added():
    lexicon = Lexicon()
    first = lexicon.encode([row(1, "a", feats="A=1|B=2")])
    table = lexicon.table()
    before = table.values[first].copy(), table.multi_value.copy()
    for i in range(2000):
        lexicon.encode([row(1, f"w{i}", feats=f"C={i}|D={i}")])
    np.testing.assert_array_equal(table.values[first], before[0])
    np.testing.assert_array_equal(table.multi_value, before[1])
    later = lexicon.table()
    np.testing.assert_array_equal(later.values[first], before[0])
    assert later.multi_start[-1] == len(later.multi_value) == 4002


def test_a_full_lexicon_starts_anew_and_features_stay(monkeypatch):
    monkeypatch.setattr("mtparse.features.lexicon.MAX_TYPES", 5)
    sentences, heads = made_up(8)
    index = FeatureIndex.build(sentences, heads, TEMPLATES)
    expected = naive_columns(index.templates, sentences, heads)
    found = Counter()
    lexicon = Lexicon()
    for number, rows in enumerate(sentences):
        for arcs_of in index_columns(index, [rows], lexicon).values():
            found[number, frozenset(arcs_of)] += 1
    assert sum(found.values()) == sum(_sentences_of(arcs_of, sentences) for arcs_of in expected.values())
    assert len(lexicon) < 40


def _sentences_of(arcs_of, sentences):
    bounds = np.cumsum([len(s) ** 2 for s in sentences])
    return len(set(np.searchsorted(bounds, sorted(arcs_of), side="right").tolist()))


def test_a_long_list_of_feats_is_bounded():
    """Pairs of its attributes would take memory with its square."""
    lexicon = Lexicon()
    words = [["1", "w", "_", "N", "N", "|".join(map(str, order)), "0", "x", "_", "_"]
             for order in (range(10_000), range(9_999, -1, -1))]  # fmt: skip
    lexicon.encode(words)
    table = lexicon.table()
    one, other = (
        table.multi_value[table.multi_start[i] : table.multi_start[i + 1]].tolist() for i in (-3, -2)
    )
    assert one == other
    assert len(set(one)) == MAX_ATTRIBUTES
