"""Arguments that are no treebanks, and no places for one: named, with what to give."""

from __future__ import annotations

import io

import pytest

from mtparse import Sentence, parse_conll, read_conll, write_conll

pytestmark = pytest.mark.nojit

FILES = "give a file's name, a path or a stream"


@pytest.mark.parametrize("source", [None, 5, ["a.conll"]])
def test_sources(source):
    with pytest.raises(TypeError, match=f"source is .*; {FILES}"):
        read_conll(source)


@pytest.mark.parametrize("text", [None, b"1\ta", 5])
def test_texts(text):
    with pytest.raises(TypeError, match=r"text is .*, no string; read_conll reads files and streams"):
        parse_conll(text)


@pytest.mark.parametrize("target", [None, 5, []])
def test_targets(target):
    with pytest.raises(TypeError, match=f"target is .*; {FILES}"):
        write_conll([Sentence.from_words(["a"])], target)


@pytest.mark.parametrize("sentences", [["a"], "a.conll"])
def test_sentences(sentences, tmp_path):
    for target in (io.StringIO(), io.BytesIO(), tmp_path / "out"):
        with pytest.raises(TypeError, match=r"a Sentence is needed, not a str; Sentence.from_words makes"):
            write_conll(sentences, target)
    assert not list(tmp_path.iterdir())
