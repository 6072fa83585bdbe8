"""Gold trees: which sentences can be trained on, and what is done about the others."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers.project import DEMO, first_sentences

from mtparse.config.run import load_config
from mtparse.errors import ConfigError, ConllError
from mtparse.experiment.run import train
from mtparse.model.model_file import load_model
from mtparse.treebank import gold
from mtparse.treebank.gold import (
    files_sha256,
    is_single,
    read_treebank,
    read_treebanks,
    validation_mask,
)

pytestmark = pytest.mark.nojit

GOOD = "1\ta\t_\tX\tX\t_\t2\tx\t_\t_\n2\tb\t_\tX\tX\t_\t0\tx\t_\t_\n\n"
FAULTS = {
    "is its own HEAD": GOOD.replace("\t2\tx", "\t1\tx"),
    "cycle, 1 -> 2 -> 1": GOOD.replace("\t0\tx", "\t1\tx"),
    "is out of range": GOOD.replace("\t0\tx", "\t7\tx"),
    "HEAD missing": GOOD.replace("\t0\tx", "\t_\tx"),
    "is negative": GOOD.replace("\t0\tx", "\t-1\tx"),
    "is not an integer": GOOD.replace("\t0\tx", "\t2.0\tx"),
}
TWO_ROOTS = GOOD.replace("\t2\tx", "\t0\tx")


def read(tmp_path, text, *, root="multi", on_bad_tree="refuse", **options):
    path = tmp_path / "t.conll"
    path.write_text(text, encoding="utf-8")
    return read_treebank(str(path), root=root, on_bad_tree=on_bad_tree, **options)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_sentence_that_is_no_tree_is_refused_or_left_out(fault, tmp_path):
    text = GOOD + FAULTS[fault] + GOOD
    message = rf"t.conll:[45]: sentence 2: .*{fault}.*; data.on_bad_tree: skip leaves such sentences out"
    with pytest.raises(ConllError, match=message):
        read(tmp_path, text)
    found = read(tmp_path, text, on_bad_tree="skip")
    assert [s.number for s in found.sentences] == [1, 3]
    assert [h.tolist() for h in found.heads] == [[-1, 2, 0]] * 2
    assert found.left_out == 1
    assert "1 of 3 sentences are left out: sentence 2: " in found.why
    assert fault in found.why


def test_all_of_them_are_listed(tmp_path):
    text = GOOD + "".join(FAULTS.values())
    with pytest.raises(
        ConllError, match=r"sentence 2: .*; 5 more cannot be trained on, lines 7, 11, 14, 17, 20 "
    ):
        read(tmp_path, text)
    assert read(tmp_path, text, on_bad_tree="skip").left_out == 6
    with pytest.raises(ConllError, match=r"lines 7, .*, \.\.\. \(mtparse validate"):
        read(tmp_path, text + 20 * FAULTS["HEAD missing"])


def test_several_roots_are_a_fault_where_one_is_asked_for(tmp_path):
    text = GOOD + TWO_ROOTS
    assert not is_single(read(tmp_path, text), "auto")
    assert is_single(read(tmp_path, GOOD), "auto")
    assert len(read(tmp_path, text, root="multi").sentences) == 2
    with pytest.raises(ConllError, match=r"t.conll:5: sentence 2: 2 words have HEAD 0 \(1, 2\)"):
        read(tmp_path, text, root="single")
    assert len(read(tmp_path, text, root="single", on_bad_tree="skip").sentences) == 1


def test_nothing_left_is_an_error(tmp_path):
    with pytest.raises(ConllError, match=r"t.conll:2: sentence 1: .*; no sentence is left"):
        read(tmp_path, FAULTS["HEAD missing"], on_bad_tree="skip")


def test_a_malformed_row_is_never_skipped(tmp_path):
    with pytest.raises(ConllError, match=r"t.conll:7: sentence 3: 2 columns found"):
        read(tmp_path, GOOD + FAULTS["HEAD missing"] + "1\ta\n", on_bad_tree="skip")


def test_long_sentences_are_no_surprise(tmp_path, monkeypatch):
    monkeypatch.setattr(gold, "MAX_TRAINED", 1)
    with pytest.raises(ConllError, match=r"t.conll:1: sentence 1: 2 words; at most 1 can be"):
        read(tmp_path, GOOD)


def test_what_is_only_scored_need_not_be_trees(tmp_path):
    assert len(read(tmp_path, GOOD + FAULTS["cycle, 1 -> 2 -> 1"], trees=False).sentences) == 2
    with pytest.raises(ConllError, match="HEAD missing"):
        read(tmp_path, GOOD + FAULTS["HEAD missing"], trees=False)


class TestSeveralFiles:
    """A list of training files is one treebank: the same model as of one file that holds them all."""

    @pytest.fixture
    def folder(self, tmp_path):
        texts = first_sentences(DEMO / "dunta" / "train.conll", 24).split("\n\n")[:-1]
        for name, part in (("a", texts[:10]), ("b", texts[10:]), ("whole", texts)):
            (tmp_path / f"{name}.conll").write_text("\n\n".join(part) + "\n\n", encoding="utf-8")
        (tmp_path / "run.yaml").write_text(
            "name: run\ndata: {train: [a.conll, b.conll], valid: {fraction: 0.25}}\n"
            "trainer: {name: perceptron, passes: 2}\n"
        )
        return tmp_path

    def test_the_same_weights(self, folder):
        found = {}
        for name, override in (("several", ()), ("one", ["data.train=whole.conll"])):
            train(load_config(folder / "run.yaml", override), str(folder / name))
            found[name] = load_model(folder / name)
        several, one = found["several"], found["one"]
        assert np.array_equal(several.keys, one.keys)
        assert np.array_equal(several.weights, one.weights)
        assert several.info["words"] == one.info["words"]
        assert load_config(folder / "several" / "config.yaml").data.train == ("a.conll", "b.conll")

    def test_each_counts(self, folder):
        config = load_config(folder / "run.yaml")
        paths = config.data.train_paths
        before = files_sha256(paths)
        assert read_treebanks(paths).sha256 == before
        assert files_sha256(paths[:1]) == read_treebank(paths[0]).sha256
        (folder / "b.conll").write_text((folder / "a.conll").read_text())
        assert files_sha256(paths) != before

    def test_faults_name_the_file(self, folder):
        with open(folder / "b.conll", "a") as file:
            file.write("junk\n")
        with pytest.raises(ConllError, match=r"b\.conll:\d+: sentence 15: 1 column found"):
            train(load_config(folder / "run.yaml"), str(folder / "out"))
        (folder / "b.conll").unlink()
        with pytest.raises(ConfigError, match=r"b\.conll is missing"):
            train(load_config(folder / "run.yaml"), str(folder / "out"))


@pytest.mark.parametrize("size", [2, 3, 7, 10, 49, 98, 103, 200])
def test_a_validation_part_has_as_many_sentences_as_asked_for(size):
    """Whatever N divided by the size is rounded to; 1 / 49 is a little too small."""
    for asked in range(1, size):
        mask = validation_mask([3] * size, "sentences", asked)
        assert mask.sum() == asked
        places = np.flatnonzero(mask) + 1
        assert places.tolist() == [-(-k * size // asked) for k in range(1, asked + 1)]
        if asked in (1, size // 2, size - 1):
            np.testing.assert_array_equal(validation_mask([3] * size, "fraction", asked / size), mask)


@pytest.mark.parametrize("seed", range(5))
def test_a_validation_part_by_words_is_never_off_by_more_than_half_a_sentence(seed):
    """At no place in the file: it takes a sentence if that brings it nearer to its due number of words."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 40, 80).tolist()
    total = sum(lengths)
    for asked in random.integers(20, total - 40, 10).tolist():
        mask = validation_mask(lengths, "words", asked)
        part = read = 0
        for length, taken in zip(lengths, mask, strict=True):
            read += length
            due = Fraction(read * asked, total)
            assert taken == (abs(part + length - due) <= abs(part - due))
            part += length if taken else 0
            assert abs(part - due) <= Fraction(max(lengths), 2)
        assert abs(part - asked) <= max(lengths) / 2
