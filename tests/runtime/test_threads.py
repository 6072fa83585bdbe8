"""One parser, several callers: threads, forked and spawned processes get what a single caller gets."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from mtparse.features.lexicon import Lexicon
from mtparse.model.model_file import Model
from mtparse.model.parser import Parser
from mtparse.treebank.conll import read_conll

CALLERS = 6


@pytest.fixture(scope="module")
def sentences(small):
    return [s for part in ("train", "test") for s in read_conll(small / f"{part}.conll")]


@pytest.fixture(scope="module")
def parser(run):
    return Parser.load(run)


@pytest.fixture(scope="module")
def opposite(parser):
    """Another model: the same features, every weight turned round."""
    model = parser.model
    kept = (model.templates, model.keys, model.masks)
    return Parser(Model(*kept, -model.weights, model.root, "mst", model.info))


def heads(parser, sentences, **options):
    return [s.heads for s in parser.parse(sentences, **options)]


def together(calls):
    """The results of functions that begin at the same moment, each in a thread of its own."""
    start = threading.Barrier(len(calls))

    def run(call):
        start.wait(60)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def rotated(sentences, k):
    """The same sentences in another order, in which their words get other numbers."""
    return sentences[k:] + sentences[:k]


def test_threads_share_a_parser(parser, sentences):
    orders = [rotated(sentences, 5 * k) for k in range(CALLERS)]
    expected = [heads(parser, order) for order in orders]
    got = together([lambda order=order: heads(parser, order, threads=2) for order in orders])
    assert got == expected


def test_threads_with_models_of_their_own(parser, opposite, sentences):
    expected = [heads(one, sentences) for one in (parser, opposite)]
    assert expected[0] != expected[1]
    got = together([lambda one=one: heads(one, sentences) for one in (parser, opposite) * (CALLERS // 2)])
    assert got == expected * (CALLERS // 2)


def test_scores_while_others_parse(parser, sentences):
    expected = [parser.scores(s) for s in sentences]
    calls = [lambda: [parser.scores(s) for s in sentences], lambda: heads(parser, sentences)] * 2
    for got in together(calls)[::2]:
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_calls_that_take_turns(parser, sentences):
    """Two iterators of one parser, drawn from alternately, and a third that is dropped."""
    next(parser.parse(sentences))
    pairs = zip(parser.parse(sentences), parser.parse(sentences[::-1]), strict=True)
    one, other = zip(*((a.heads, b.heads) for a, b in pairs), strict=True)
    assert list(one) == list(other)[::-1] == heads(parser, sentences)


def test_parsing_leaves_a_parser_as_it_was(parser, sentences):
    before = pickle.dumps(parser)
    heads(parser, sentences)
    assert pickle.dumps(parser) == before


def test_a_pickle_holds_the_model_file(parser, sentences, run):
    """And no array: those of numpy 2 cannot be unpickled under numpy 1."""
    data = pickle.dumps(parser)
    assert (run / "model.mtparse").read_bytes() in data
    assert b"numpy" not in data.replace((run / "model.mtparse").read_bytes(), b"")
    assert heads(pickle.loads(data), sentences) == heads(parser, sentences)


_inherited: list = []


def _in_fork(part):
    return heads(_inherited[0], _inherited[1][part::2])


def test_forked_processes_go_on_with_the_parser(parser, sentences):
    """While other threads of the parent parse with it."""
    expected = heads(parser, sentences)
    _inherited[:] = parser, sentences
    done = threading.Event()

    def keep_parsing():
        while not done.is_set():
            heads(parser, sentences[:5])

    busy = [threading.Thread(target=keep_parsing) for _ in range(2)]
    for thread in busy:
        thread.start()
    try:
        with get_context("fork").Pool(2) as pool:
            halves = pool.map_async(_in_fork, range(2)).get(timeout=120)
    finally:
        done.set()
        for thread in busy:
            thread.join()
    assert halves == [expected[0::2], expected[1::2]]


def test_spawned_processes_get_the_parser(parser, sentences):
    """Sent as a pickle by multiprocessing itself; the file has none."""
    with get_context("spawn").Pool(1) as pool:
        got = pool.apply_async(heads, (parser, sentences[:10])).get(timeout=300)
    assert got == heads(parser, sentences[:10])


@pytest.mark.parametrize("at", [1, 7, 40])
def test_an_interrupt_while_words_are_numbered_spoils_nothing(at, run, sentences, monkeypatch):
    expected = heads(Parser.load(run), sentences)
    parser = Parser.load(run)
    heads(parser, sentences[:2])
    add, added = Lexicon._add, []

    def interrupted(self, *args):
        number = add(self, *args)
        added.append(number)
        if len(added) == at:
            raise KeyboardInterrupt
        return number

    with monkeypatch.context() as patch:
        patch.setattr(Lexicon, "_add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            heads(parser, sentences)
    assert heads(parser, sentences) == expected
