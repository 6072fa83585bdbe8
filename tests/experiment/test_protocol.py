"""The protocol of an experiment: which sentences train, validate and test, and what validation chooses.

Every published figure rests on it. Trainers and scores are scripted where only the choice matters, so that
each value of C, each decoder and each pass wins in some test.
"""

from __future__ import annotations

import itertools
import os

import numpy as np
import pytest

from mtparse.config.run import Config, config_from_dict
from mtparse.experiment import run as experiment
from mtparse.experiment import tuning
from mtparse.model.parser import Parser
from mtparse.training.checkpoints import Candidate, Trial
from mtparse.training.loop import STOPPED, Pass, TrainResult, out_of_passes
from mtparse.training.objectives import Attachment
from mtparse.training.trainers import LogLinear
from mtparse.treebank.projectivize import projectivize

pytestmark = pytest.mark.nojit


def sentence(forms: str, heads: list[int] | None = None, tags: str = "") -> str:
    """The lines of a sentence; a chain from right to left where no heads are given."""
    words = forms.split()
    heads = heads or [*range(2, len(words) + 1), 0]
    rows = zip(words, tags or "N" * len(words), heads, strict=True)
    return "".join(f"{i}\t{w}\t_\t{t}\t{t}\t_\t{h}\t_\t_\t_\n" for i, (w, t, h) in enumerate(rows, 1)) + "\n"


def config_of(folder, *, data=None, **settings) -> Config:
    data = {"train": "train.conll", "root": str(folder), **(data or {})}
    return config_from_dict({"data": data, **settings}, folder, name="t")


def forms(treebank) -> list[str]:
    return [" ".join(s.forms) for s in treebank.sentences]


# Which sentences


@pytest.fixture
def files(tmp_path):
    """Three files in which no two sentences are the same."""
    for part, size in (("train", 12), ("valid", 3), ("test", 4)):
        text = "".join(sentence(f"{part}{i} b c") for i in range(size))
        (tmp_path / f"{part}.conll").write_text(text)
    return tmp_path


TRAIN, VALID = ([f"{part}{i} b c" for i in range(size)] for part, size in (("train", 12), ("valid", 3)))
SPLITS = {
    "fraction": ({"valid": {"fraction": 0.25}}, [3, 7, 11]),
    "sentences": ({"valid": {"sentences": 2}}, [5, 11]),
    "words": ({"valid": {"words": 9}}, [1, 5, 9]),
    "file": ({"valid": "valid.conll"}, None),
    "none": ({"valid": None}, None),
}


@pytest.mark.parametrize("split", SPLITS)
def test_no_sentence_is_in_two_parts_or_in_none(split, files):
    """The validation part is taken out of the training file, and nothing comes in from another."""
    data, held_out = SPLITS[split]
    parts = experiment.read_split(config_of(files, data={**data, "test": "test.conll"}, trainer={"C": 1}))
    if held_out is None:
        assert forms(parts.training) == TRAIN
        assert (parts.valid and forms(parts.valid)) == (VALID if split == "file" else None)
    else:
        assert forms(parts.valid) == [TRAIN[i] for i in held_out]
        assert forms(parts.training) == [s for i, s in enumerate(TRAIN) if i not in held_out]
    for part in filter(None, (parts.training, parts.valid)):
        assert [h[1:].tolist() for h in part.heads] == [s.heads for s in part.sentences]


@pytest.mark.parametrize("valid", [{"fraction": 0.25}, "valid.conll"])
def test_a_run_trains_on_its_parts_and_refits_on_both(valid, files, monkeypatch):
    seen = []
    prepare = experiment.prepare

    def watched(config, training, valid, *others):
        seen.append((forms(training), valid and forms(valid)))
        return prepare(config, training, valid, *others)

    monkeypatch.setattr(experiment, "prepare", watched)
    config = config_of(
        files,
        data={"valid": valid, "test": "test.conll"},
        trainer={"name": "perceptron", "passes": 1},
        refit=True,
    )
    experiment.train(config, os.fspath(files / "run"), jobs=1)
    held_out = VALID if valid == "valid.conll" else [TRAIN[i] for i in (3, 7, 11)]
    rest = [s for s in TRAIN if s not in held_out]
    assert seen == [(rest, held_out), (rest + held_out, None)]


# What is chosen


class Script:
    """A trainer that learns nothing, and validation that says the right heads it is told.

    Parameters
    ----------
    rights
        For each C the right heads after each pass: of ``mst`` and ``eisner``, or one number for both.
    """

    def __init__(self, monkeypatch, rights: dict) -> None:
        self.rights = rights
        self.calls: list[tuple[float, int]] = []
        """C and the passes that each training was given."""
        self.starts: list[float | None] = []
        """The C where each began."""
        monkeypatch.setattr(LogLinear, "train", lambda trainer, *arguments: self.train(trainer, *arguments))
        monkeypatch.setattr(tuning, "attachment", self.attachment)

    def train(self, trainer, problem, C, loop):
        passes, columns = trainer.passes_of(loop), problem.columns
        self.calls.append((C, passes))
        self.starts.append(loop.start and float(loop.start["C"][0]))
        u, state = np.empty(len(columns)), {"C": np.array([C])}
        for number in range(1, passes + 1):
            u[:] = number * columns.multiplicity  # in place, as some trainers do
            if loop.on_pass(Pass(number), u):
                return TrainResult(u, number, False, STOPPED, state)
        return TrainResult(u, passes, False, out_of_passes(passes), state)

    def attachment(self, rows, counted, single, weights, decoders, workers):
        right = self.rights[self.calls[-1][0]][int(weights[0]) - 1]
        mst, eisner = right if isinstance(right, tuple) else (right, right)
        found = {"mst": mst, "eisner": eisner}
        # The words without punctuation tell the opposite.
        return {d: Attachment(found[d], 100, 50 - found[d], 50) for d in decoders}

    def run(self, folder, **settings):
        passes = len(next(iter(self.rights.values())))
        trainer = {"C": list(self.rights), "passes": passes, **settings.pop("trainer", {})}
        config = config_of(folder, data={"valid": "valid.conll"}, trainer=trainer, **settings)
        return experiment.train(config, os.fspath(folder / "run"), jobs=1)


@pytest.mark.parametrize("punctuation", [True, False])
@pytest.mark.parametrize(
    ("rights", "C", "passes", "decoder"),
    [
        ({0.1: [1, 2, 3], 1.0: [4, 9, 5], 10.0: [6, 7, 8]}, 1.0, 2, "mst"),
        ({0.1: [9, 2, 3], 1.0: [4, 8, 5], 10.0: [6, 7, 8]}, 0.1, 1, "mst"),
        ({0.1: [8, 2, 3], 1.0: [4, 8, 5], 10.0: [6, 7, 9]}, 10.0, 3, "mst"),
        ({1.0: [(4, 5), (6, 9), (8, 7)]}, 1.0, 2, "eisner"),
        ({1.0: [(4, 9), (6, 7), (10, 8)]}, 1.0, 3, "mst"),
        ({0.1: [(5, 1)], 1.0: [(2, 6)], 10.0: [(3, 4)]}, 1.0, 1, "eisner"),
        # Equals: the family's own decoder, then the smaller C, then the earlier pass.
        ({0.1: [(1, 7)], 1.0: [(7, 1)]}, 1.0, 1, "mst"),
        ({1.0: [5, 7, 7], 0.1: [5, 6, 7]}, 0.1, 3, "mst"),
        ({1.0: [5, 7, 6, 7]}, 1.0, 2, "mst"),
        ({1.0: [3, 3]}, 1.0, 1, "mst"),
    ],
)
def test_validation_chooses(rights, C, passes, decoder, punctuation, files, monkeypatch):
    """C, pass and decoder with the most right heads among the words that ``punctuation`` counts."""
    script = Script(monkeypatch, rights)
    if not punctuation:
        turned = {c: [tuple(50 - r for r in (x if isinstance(x, tuple) else (x, x))) for x in found]
                  for c, found in rights.items()}  # fmt: skip
        script.rights = turned
    summary = script.run(files, punctuation=punctuation)
    assert (summary["C"], summary["passes"], summary["decoder"]) == (C, passes, decoder)
    assert script.calls == [(c, len(rights[C])) for c in sorted(rights)]
    model = Parser.load(files / "run").model
    assert model.decoder == decoder
    assert set(model.weights) == {float(passes)}


@pytest.mark.parametrize(
    ("rights", "patience", "done", "best"),
    [
        ([3, 5, 5, 5, 5, 9], 3, 5, 2),
        ([3, 5, 5, 4, 6, 6, 6, 6, 9], 3, 8, 5),
        ([9, 1, 2, 3], 1, 2, 1),
        ([9, 1, 2, 10], 2, 3, 1),
        ([9, 1, 2, 10], 3, 4, 4),
        ([9, 1, 1, 1, 1], 0, 5, 1),
        ([(5, 1), (4, 2), (4, 3), (4, 3), (4, 3), (9, 9)], 2, 5, 1),  # the other decoder got better till 3
    ],
)
def test_patience_ends_a_run_after_so_many_passes_without_a_better_one(
    rights, patience, done, best, files, monkeypatch
):
    summary = Script(monkeypatch, {1.0: rights}).run(files, trainer={"patience": patience})
    assert (summary["ended"][0]["passes"], summary["passes"]) == (done, best)
    assert ("trainer.patience" in summary["ended"][0]["reason"]) == (done < len(rights))


@pytest.mark.parametrize("best", [1, 2, 3])
def test_a_refit_takes_as_many_passes_as_validation_chose(best, files, monkeypatch):
    rights = [9 if number == best else number for number in range(1, 6)]
    script = Script(monkeypatch, {0.1: [1] * 5, 1.0: rights, 10.0: [2] * 5})
    summary = script.run(files, refit=True)
    assert (summary["C"], summary["passes"]) == (1.0, best)
    assert script.calls == [(0.1, 5), (1.0, 5), (10.0, 5), (1.0, best)]
    assert set(Parser.load(files / "run").model.weights) == {float(best)}


@pytest.mark.parametrize("warm", [True, False])
def test_a_refit_begins_where_the_chosen_run_began(warm, files, monkeypatch):
    """With warm starts, where the next smaller C ends on all the data."""
    script = Script(monkeypatch, {0.1: [1, 2, 3], 1.0: [4, 9, 5], 10.0: [6, 7, 8]})
    script.run(files, refit=True, trainer={"warm_start": warm})
    tuned, refitted = script.starts[:3], script.starts[3:]
    assert tuned == ([None, 0.1, 1.0] if warm else [None] * 3)
    assert refitted == ([None, 0.1] if warm else [None])
    assert script.calls[3:] == [(0.1, 3), (1.0, 2)][not warm :]


@pytest.mark.parametrize("given", ["mst", "eisner"])
def test_a_decoder_that_is_given_is_the_one_that_chooses(given, files, monkeypatch):
    script = Script(monkeypatch, {1.0: [(9, 2), (8, 3)]})
    summary = script.run(files, decoder=given)
    assert (summary["decoder"], summary["passes"]) == (given, 1 if given == "mst" else 2)


def test_choose_looks_at_nothing_but_validation(tmp_path):
    """Of points made by hand, whatever the runs' ends say."""
    config = config_of(tmp_path, trainer={"C": [0.1, 1]})
    u = np.zeros(1)

    def run(C, **rights):
        best = {d: Candidate(C, 3, d, right, {}, u) for d, right in rights.items()}
        return Trial(C, TrainResult(u, 100, True, "converged"), best)

    for low, high in itertools.permutations((4, 6)):
        for mst, eisner in ((0, 1), (1, 0)):
            first = run(0.1, mst=low + mst, eisner=low + eisner)
            second = run(1, mst=high + mst, eisner=high + eisner)
            choice = tuning.choose(config, [first, second])
            expected = (0.1 if low > high else 1, "mst" if mst else "eisner", 7)
            assert (choice.C, choice.decoder, choice.right) == expected


# The same with real trainers


def made_up(seed: int, size: int, crossing: bool) -> str:
    """Sentences of a few words with random single-root trees: on noise any setting may turn out best."""
    random = np.random.default_rng(seed)
    texts = []
    for _ in range(size):
        n = int(random.integers(4, 8))
        tags = "".join("NVDP"[t] for t in random.integers(0, 4, n))
        order = random.permutation(n) + 1
        heads = np.full(n + 1, -1)
        for k, m in enumerate(order):
            heads[m] = order[random.integers(k)] if k else 0
        if not crossing:
            heads = projectivize(heads, "single")
        texts.append(sentence(" ".join(tags.lower()), heads[1:].tolist(), tags))
    return "".join(texts)


@pytest.mark.parametrize(
    ("seed", "crossing", "C", "decoder"),
    [(1, False, 0.3, "eisner"), (3, False, 0.3, "mst"), (3, True, 10.0, "mst")],
)
def test_the_choice_is_the_best_of_all_runs_alone(seed, crossing, C, decoder, tmp_path):
    """One run over everything ends where the best of one run for each C and decoder does."""
    (tmp_path / "train.conll").write_text(made_up(seed, 12, crossing))
    (tmp_path / "valid.conll").write_text(made_up(1000 + seed, 8, crossing))
    Cs = [0.01, 0.3, 10.0]

    def train(name, **settings):
        config = config_of(
            tmp_path,
            data={"valid": "valid.conll"},
            features={"set": "mcdonald"},
            trainer={"C": settings.pop("C", Cs), "passes": 4},
            **settings,
        )
        return experiment.train(config, os.fspath(tmp_path / name), jobs=1)

    alone = {(c, d): train(f"{c}-{d}", C=c, decoder=d) for c in Cs for d in ("mst", "eisner")}
    scores = {key: summary["valid"]["all_tokens"] for key, summary in alone.items()}
    best = max(scores.values())
    assert [key for key, score in scores.items() if score == best] == [(C, decoder)]  # the fixture's winner
    summary = train("whole")
    assert (summary["C"], summary["decoder"]) == (C, decoder)
    assert summary["passes"] == alone[C, decoder]["passes"]
    assert summary["valid"]["all_tokens"] == best
    one, other = (Parser.load(tmp_path / name).model for name in ("whole", f"{C}-{decoder}"))
    np.testing.assert_array_equal(one.weights, other.weights)
