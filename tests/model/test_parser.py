"""Parsing with a model: what is filled, what stays, and that nothing depends on how it is run."""

from __future__ import annotations

import dataclasses
import gzip
import io

import numba
import numpy as np
import pytest

from mtparse.errors import InputWarning
from mtparse.inference.family import TreeFamily
from mtparse.model.parser import Parser
from mtparse.treebank.conll import format_sentence, read_conll
from mtparse.treebank.trees import head_array, is_projective, is_tree

pytestmark = pytest.mark.nojit


@pytest.fixture(scope="module")
def parser(run):
    return Parser.load(run)


def read(text: str, **options):
    return list(read_conll(io.BytesIO(text.encode()), **options))


UNTIDY = (
    "#\tid = 1\n"
    "# text = ab c\n"
    "1-2\tab\t_\t_\t_\t_\t_\t_\t_\tX=1|X=1\n"
    "1\ta\tla\tN\tNx\tA=b\t0\troot\t0:root\tM=1\n"
    "2\tb\t_\tV\t_\t_\t1\tobj\t_\tSpaceAfter=No\n"
    "2.1\te\t_\tV\t_\t_\t_\t_\t1:x\t_\n"
    "3\tc#\t_\tQQ\tnew\t_\t_\tsubj\t_\t_\n"
    "\n"
)


def test_only_heads_and_labels_change(parser):
    (parsed,) = parser.parse(read(UNTIDY, heads="ignore"))
    before, after = UNTIDY.splitlines(), format_sentence(parsed).splitlines()
    assert len(after) == len(before)
    for old, new in zip(before, after, strict=True):
        a, b = old.split("\t"), new.split("\t")
        if a[0].isdigit():
            assert b[7] == "_"
            assert b[6] in {"0", "1", "2", "3"} - {a[0]}
            a[6:9], b[6:9] = [], b[8:9]
            assert b.pop(6) == "_"
        assert a == b


@pytest.mark.parametrize("decoder", ["auto", "eisner", "mst"])
def test_trees_are_best_trees_of_the_scores(parser, small, decoder):
    projective = (parser.model.decoder if decoder == "auto" else decoder) == "eisner"
    family = TreeFamily("projective" if projective else "nonprojective", parser.model.root)
    sentences = list(read_conll(small / "test.conll"))
    for sentence, parsed in zip(sentences, parser.parse(sentences, decoder=decoder), strict=True):
        heads = np.array([-1, *parsed.heads])
        assert is_tree(heads)
        assert is_projective(heads) or not projective
        np.testing.assert_array_equal(heads, family.best_tree(parser.scores(sentence)))


@pytest.mark.parametrize("decoder", ["eisner", "mst"])
def test_trees_have_one_root_just_where_the_model_says_so(parser, small, decoder):
    sentences = list(read_conll(small / "test.conll"))
    found = {}
    for root in ("single", "multi"):
        model = dataclasses.replace(parser.model, root=root)
        parsed = Parser(model).parse(sentences, decoder=decoder)
        family = TreeFamily("projective" if decoder == "eisner" else "nonprojective", root)
        found[root] = [s.heads for s in parsed]
        for sentence, heads in zip(sentences, found[root], strict=True):
            assert heads == family.best_tree(parser.scores(sentence))[1:].tolist()
    assert all(heads.count(0) == 1 for heads in found["single"])
    assert any(heads.count(0) > 1 for heads in found["multi"])


@pytest.mark.parametrize("chosen", ["eisner", "mst"])
def test_auto_is_the_decoder_that_validation_chose(parser, small, chosen):
    sentences = list(read_conll(small / "test.conll"))
    heads = {d: [s.heads for s in parser.parse(sentences, decoder=d)] for d in ("eisner", "mst")}
    assert heads["eisner"] != heads["mst"]
    other = Parser(dataclasses.replace(parser.model, decoder=chosen))
    assert [s.heads for s in other.parse(sentences)] == heads[chosen]


def test_gold_heads_play_no_part(parser, small):
    gold = list(read_conll(small / "test.conll"))
    blind = [s.with_heads([-1] * len(s)) for s in gold]
    assert [s.heads for s in parser.parse(gold)] == [s.heads for s in parser.parse(blind)]


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_do_not_matter(parser, small, threads):
    gold = list(read_conll(small / "train.conll")) * 3
    assert [s.heads for s in parser.parse(gold, threads=threads)] == [s.heads for s in parser.parse(gold)]


def test_parsing_is_lazy(parser, small):
    taken = []

    def endless():
        while True:
            for sentence in read_conll(small / "test.conll"):
                taken.append(sentence)
                yield sentence

    stream = parser.parse(endless(), threads=2)
    assert len([next(stream) for _ in range(20)]) == 20
    assert len(taken) < 1000


def test_one_word(parser):
    (parsed,) = parser.parse(read("1\tGo\t_\tV\tV\t_\t_\t_\t_\t_\n"))
    assert parsed.heads == [0]


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="so many words need compiled kernels")
@pytest.mark.parametrize("decoder", ["eisner", "mst"])
def test_many_identical_words(parser, decoder):
    """Ties all along, and a square of arcs: neither recursion nor memory for the features of each."""
    n = 1200
    words = read("".join(f"{i}\tla\t_\tX\tX\t_\t_\t_\t_\t_\n" for i in range(1, n + 1)))
    with pytest.warns(InputWarning):
        (parsed,) = parser.parse(words, decoder=decoder)
    assert is_tree(head_array(parsed.heads))


def test_one_sentence_in_the_place_of_many(parser):
    with pytest.raises(TypeError, match=r"sentences is one Sentence; give a list"):
        parser.parse(read(UNTIDY)[0])


def test_wrong_decoder(parser):
    with pytest.raises(ValueError, match="decoder is 'eisnr'; it can be auto, eisner, mst"):
        parser.parse([], decoder="eisnr")


def test_gzip_is_the_same(parser, small, tmp_path):
    path = tmp_path / "test.conll"
    path.write_bytes(gzip.compress((small / "test.conll").read_bytes()))
    plain = [s.heads for s in parser.parse(read_conll(small / "test.conll"))]
    assert [s.heads for s in parser.parse(read_conll(path))] == plain
