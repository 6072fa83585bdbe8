"""The data of a run: its training, validation and test parts, and whether they are apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mtparse.config.checks import Fold
from mtparse.config.run import Config
from mtparse.errors import ConfigError
from mtparse.treebank.gold import Treebank, is_single, read_treebank, read_treebanks, validation_mask
from mtparse.treebank.trees import crossing_arcs, nonprojective_arcs

SHARED = 0.5
"""The share of test words, in sentences that are trained on too, above which something must be wrong. In six
real treebanks with short sentences among them it is at most 0.007."""


@dataclass(frozen=True)
class Files:
    """What is in the training files of a run, and in its validation file if there is one.

    All runs of one language have them in common: they are read once, and split for each run.
    """

    train: Treebank
    valid: Treebank | None


@dataclass(frozen=True)
class Split:
    """The training and validation data of a run, and the fold that it is tested on, if it is one.

    ``single`` is whether trees have one root, over the data that the model will be trained on at last;
    ``hashes`` are the SHA-256 of the files; ``left_out`` says how many of their sentences are not used, and
    ``notes`` which and why.
    """

    training: Treebank
    valid: Treebank | None
    fold: Treebank | None
    single: bool
    hashes: dict[str, str]
    left_out: dict[str, int]
    notes: list[str]

    @cached_property
    def counts(self) -> dict[str, int]:
        """Sentences, words, crossing and non-projective arcs of both parts together."""
        trees = self.training.heads + (self.valid.heads if self.valid else [])
        return {
            "sentences": len(trees),
            "words": sum(len(heads) - 1 for heads in trees),
            "crossing": sum(len(crossing_arcs(heads)) for heads in trees),
            "nonprojective": sum(len(nonprojective_arcs(heads)) for heads in trees),
        }


def _options(config: Config, *, trained: bool = True) -> dict[str, str]:
    """How a file is read; one that is not trained on may have several roots whatever ``root`` says."""
    root = "single" if trained and config.root == "single" else "multi"
    return {"format": config.data.format, "encoding": config.data.encoding, "root": root,
            "on_bad_tree": config.data.on_bad_tree}  # fmt: skip


def read_split(config: Config) -> Split:
    """Read the training files and the validation file, and split them into the parts of a run."""
    return split_files(config, read_files(config))


def read_files(config: Config) -> Files:
    """Read the training files and, if the validation data are a file of their own, that."""
    train = read_treebanks(config.data.train_paths, **_options(config))
    valid = None
    if config.data.valid_path is not None:
        valid = read_treebank(config.data.valid_path, **_options(config, trained=config.refit))
    return Files(train, valid)


def split_files(config: Config, files: Files) -> Split:
    """Take the fold that is tested out of the training data, then validation data that have no file."""
    training, valid, fold = files.train, files.valid, None
    if isinstance(config.data.test, Fold):
        tested = fold_mask(training, config.data.test)
        fold, training = training.take(tested), training.take(~tested)
    if valid is None and config.data.valid is not None:
        lengths = [len(s) for s in training.sentences]
        mask = validation_mask(lengths, config.data.valid.kind, config.data.valid.value)
        valid, training = training.take(mask), training.take(~mask)
    last = training + valid if config.refit and valid is not None else training
    read = {"train": files.train} if files.valid is None else {"train": files.train, "valid": files.valid}
    return Split(
        training,
        valid,
        fold,
        is_single(last, config.root),
        hashes={part: file.sha256 for part, file in read.items()},
        left_out={part: file.left_out for part, file in read.items()},
        notes=[file.why for file in read.values() if file.left_out],
    )


def read_test(config: Config, parts: Split) -> Treebank | None:
    """Read the test file, or take the fold that is tested; None if nothing is.

    A run does so before the work, so that a fault is found then, and again at the end, to parse it: a test
    file may be large, and nothing needs it in between.
    """
    if parts.fold is not None:
        return parts.fold
    if config.data.test_path is None:
        return None
    return read_treebank(config.data.test_path, **_options(config, trained=False), trees=False)


def fold_mask(training: Treebank, fold: Fold) -> np.ndarray:
    """Which sentences of a training file are in a fold: every ``of``-th, from sentence ``number`` on.

    So the folds are spread evenly over the file, and every sentence is in one of them.

    Raises
    ------
    ConfigError
        If there are fewer sentences than folds.
    """
    size = len(training.sentences)
    if size < fold.of:
        raise ConfigError(f"data.test: {fold.of} folds, but the training file has only {size} sentences")
    return np.arange(size) % fold.of == fold.number - 1


def shared_data(config: Config, parts: Split, test: Treebank | None) -> Iterator[str]:
    """Warn of validation and test data that are trained on, and of test data that are validation data too.

    Files are compared by their SHA-256, then by their sentences: two are the same if their forms are.

    Parameters
    ----------
    test
        As from :func:`read_test`.
    """
    data = config.data
    seen = [("training", parts.training, parts.hashes["train"])]
    names = ", ".join(data.train_paths)
    if parts.valid is not None:
        path = data.valid_path or names
        yield from _shared(path, "validation", parts.valid, seen)
    if test is not None:
        if parts.valid is not None:
            seen.append(("validation", parts.valid, parts.hashes.get("valid", "")))
        path = data.test_path or f"{names}, {data.test}"
        yield from _shared(path, "test", test, seen)


def _shared(path: str, part: str, treebank: Treebank, seen: list[tuple[str, Treebank, str]]) -> Iterator[str]:
    harm = "scores on it say little about other text"
    for name, _, sha256 in seen:
        if sha256 and treebank.sha256 == sha256:
            yield f"{path}: the {part} file is the {name} file: {harm}"
            return
    known = {tuple(s.forms) for _, other, _ in seen for s in other.sentences}
    words = sum(len(s) for s in treebank.sentences if tuple(s.forms) in known)
    if words > SHARED * treebank.words:
        names = " and ".join(name for name, _, _ in seen)
        yield (
            f"{path}: {100 * words / treebank.words:.0f} % of the words of the {part} data are in sentences "
            f"that the {names} data have too: {harm}"
        )
