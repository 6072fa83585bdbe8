"""One training run from config to run directory: read, split, extract, tune, refit, save, test."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from mtparse._jit import COMPILES
from mtparse.config import Config, dump_config, require_files
from mtparse.conll import read_conll
from mtparse.errors import ConfigError, ConllError, MtparseError
from mtparse.evaluation import evaluate, is_punctuation
from mtparse.features.index import FeatureIndex, form_counts
from mtparse.features.kernels import KNOWN_WITHOUT_FORM
from mtparse.features.templates import FEATURE_SETS
from mtparse.files import atomic_writer
from mtparse.model import MODEL_NAME, Model, save_model, without_zeros
from mtparse.parser import Parser
from mtparse.progress import Progress
from mtparse.sentence import Sentence
from mtparse.training.data import extract_training, extract_validation
from mtparse.training.objectives import Family
from mtparse.training.tuning import Prepared, Run, choose, run_trainer
from mtparse.trees import check_tree, head_array, is_projective, projectivize, roots
from mtparse.workers import Workers, thread_count

CONFIG_NAME, LOG_NAME, SCORES_NAME = "config.yaml", "log.jsonl", "scores.json"


@dataclass(frozen=True)
class Treebank:
    """Sentences with their gold head arrays, int64 (n+1,)."""

    sentences: list[Sentence]
    heads: list[np.ndarray]

    @property
    def rows(self) -> list[list[list[str]]]:
        """The CoNLL columns of every sentence."""
        return [s.rows for s in self.sentences]

    @property
    def words(self) -> int:
        """Number of words."""
        return sum(map(len, self.sentences))

    def __add__(self, other: Treebank) -> Treebank:
        return Treebank(self.sentences + other.sentences, self.heads + other.heads)


def read_treebank(path: str, config: Config) -> Treebank:
    """Read a file of gold trees.

    Raises
    ------
    ConllError
        If it is malformed or empty, if a head is missing, or if the heads of a sentence are no tree.
    """
    sentences = list(
        read_conll(path, format=config.data.format, encoding=config.data.encoding, heads="required")
    )
    if not sentences:
        raise ConllError(path, 0, "the file holds no sentence")
    heads = [head_array(s.heads) for s in sentences]
    for sentence in sentences:
        check_tree(sentence)
    return Treebank(sentences, heads)


def validation_mask(lengths: Sequence[int], kind: str, value: float) -> np.ndarray:
    """Which sentences of a training file are its validation part: spread evenly over the file.

    A sentence belongs to it where the part's due size passes the next whole sentence (``fraction``,
    ``sentences``) or where the part, counted in words, is behind its due size by more than half of the
    sentence (``words``). No randomness: the same file gives the same part.

    Parameters
    ----------
    kind, value
        ``fraction`` of the sentences, a number of ``sentences``, or a number of ``words``.

    Returns
    -------
    bool array of the length of ``lengths``

    Raises
    ------
    ConfigError
        If this leaves nothing to train on or nothing to validate with.
    """
    size = len(lengths)
    if kind == "words":
        words = np.cumsum(lengths)
        mask = np.zeros(size, bool)
        chosen = 0
        for i, length in enumerate(lengths):
            if chosen + length / 2 <= words[i] * value / words[-1]:
                mask[i] = True
                chosen += length
    else:
        share = value if kind == "fraction" else value / size
        due = np.floor(np.arange(size + 1) * share + 1e-9)
        mask = np.diff(due) > 0
    if mask.all() or not mask.any():
        what = "training" if mask.all() else "validation"
        raise ConfigError(f"data.valid: {kind}: {value:g} of {size} sentences leaves none for {what}")
    return mask


def require_free(path: str) -> None:
    """Refuse a run directory that holds anything.

    Raises
    ------
    MtparseError
        If the path is a file or a directory that is not empty.
    """
    if os.path.exists(path) and (not os.path.isdir(path) or os.listdir(path)):
        raise MtparseError(f"{path}: exists and is not empty; name another directory with --out or remove it")


class RunDirectory:
    """A directory that one training run fills; refuses one that holds anything."""

    def __init__(self, path: str) -> None:
        self.path = path
        require_free(path)
        os.makedirs(path, exist_ok=True)
        self._lock = threading.Lock()
        self._log = open(self.file(LOG_NAME), "w", encoding="utf-8")  # noqa: SIM115 - closed by close()

    def file(self, name: str) -> str:
        """Path of a file in the directory."""
        return os.path.join(self.path, name)

    def log(self, record: dict) -> None:
        """Append a line to the log."""
        with self._lock:
            self._log.write(json.dumps(record) + "\n")
            self._log.flush()

    def write(self, name: str, text: str) -> None:
        """Write a text file whole."""
        with atomic_writer(self.file(name), "w") as file:
            file.write(text)

    def close(self) -> None:
        """Close the log."""
        self._log.close()


def train(config: Config, out: str, *, jobs: int = 0, progress: Progress | None = None) -> dict:
    """Run a config and fill a run directory.

    Parameters
    ----------
    out
        The run directory: made here, or empty.
    jobs
        Threads to use in all (0: as the config says). The model does not depend on it.

    Returns
    -------
    dict
        What ``scores.json`` holds.

    Raises
    ------
    MtparseError
        Whatever is wrong with the config, the data or the directory.
    """
    progress = progress or Progress(quiet=True)
    threads = thread_count(jobs or config.threads)
    paths = {"train": config.data.train_path, "valid": config.data.valid_path, "test": config.data.test_path}
    paths = {part: path for part, path in paths.items() if path is not None}
    require_files([config])
    require_free(out)
    began = time.monotonic()
    if COMPILES:
        progress.say("compiling kernels as they are needed: about half a minute, once after an installation")
    training = read_treebank(paths["train"], config)
    valid = None
    if "valid" in paths:
        valid = read_treebank(paths["valid"], config)
    elif config.data.valid is not None:
        lengths = [len(s) for s in training.sentences]
        mask = validation_mask(lengths, config.data.valid.kind, config.data.valid.value)
        valid, training = _take(training, mask), _take(training, ~mask)
    single = is_single(training, config.root)
    directory = RunDirectory(out)
    try:
        directory.write(CONFIG_NAME, dump_config(config))
        with Workers(threads) as workers:
            index, data = prepare(config, training, valid, single, workers, progress)
            runs = tune(config, data, threads, directory.log, progress)
            choice = choose(config, runs)
            sizes = {"training": training.words, "validation": valid.words if valid else 0}
            if config.refit and valid is not None:
                index, data = prepare(config, training + valid, None, single, workers, progress)
                again = _train_one(
                    config, data, choice.C, workers, directory.log, progress, passes=choice.passes
                )
                u = again.result.u
            else:
                u = choice.u
        summary = {
            "name": config.name,
            "model": MODEL_NAME,
            "trainer": config.trainer.name,
            "trees": config.trees,
            "root": "single" if single else "multi",
            "decoder": choice.decoder,
            "C": choice.C,
            "passes": choice.passes,
            "refit": config.refit and valid is not None,
            "valid": choice.scores,
            "words": sizes,
            "features": len(index),
            "columns": len(data.columns),
            "ended": [{"C": r.C, "passes": r.result.passes, "converged": r.result.converged,
                       "reason": r.result.reason} for r in runs],
            "seed": config.seed,
            "sha256": {part: _sha256(path) for part, path in paths.items() if part != "test"},
        }  # fmt: skip
        model = make_model(index, data.columns.feature_weights(u), summary)
        save_model(model, directory.file(MODEL_NAME))
        summary["versions"] = versions()

        def report() -> None:
            summary["seconds"] = round(time.monotonic() - began, 1)
            directory.write(SCORES_NAME, json.dumps(summary, indent=2, ensure_ascii=False) + "\n")

        report()
        if "test" in paths:
            # Read once, here: nothing above this line has seen it. Should it be faulty, the model is safe.
            summary["test"] = score_file(Parser(model), paths["test"], config, threads)
            summary["sha256"]["test"] = _sha256(paths["test"])
            report()
    finally:
        directory.close()
    return summary


def is_single(training: Treebank, root: str) -> bool:
    """Whether trees have one root: as ``root`` says, for ``auto`` as all training trees have it.

    Raises
    ------
    ConllError
        The first tree with several roots where ``root`` is ``single``.
    """
    for sentence, heads in zip(training.sentences, training.heads, strict=True):
        found = roots(heads)
        if len(found) > 1 and root != "multi":
            if root == "auto":
                return False
            words = ", ".join(map(str, found))
            raise ConllError(
                sentence.path, sentence.line,
                f"sentence {sentence.number}: several roots (words {words}); set root: multi or auto",
            )  # fmt: skip
    return root != "multi"


def prepare(
    config: Config,
    training: Treebank,
    valid: Treebank | None,
    single: bool,
    workers: Workers,
    progress: Progress,
) -> tuple[FeatureIndex, Prepared]:
    """Count features and extract the rows of all arcs."""
    heads = training.heads
    if config.trees == "projective":
        root = "single" if single else "multi"
        heads = [h if is_projective(h) else projectivize(h, root) for h in heads]
        changed = sum(a is not b for a, b in zip(heads, training.heads, strict=True))
        progress.say(f"projectivized {changed} of {len(heads)} training sentences")
    settings = config.features
    templates = [*FEATURE_SETS[settings.set], *settings.templates]
    index = FeatureIndex.build(
        training.rows, heads, templates, source=settings.source, min_count=settings.min_count
    )
    task = progress.task("extracting features", len(heads))
    rows, columns = extract_training(
        index, training.rows, heads, merge=settings.merge, workers=workers, progress=task.update
    )
    task.close()
    progress.say(
        f"{len(heads)} sentences, {training.words} words, {len(index.templates)} templates, "
        f"{len(index)} features in {len(columns)} columns"
    )
    family = Family(config.trees == "projective", single)
    if valid is None:
        return index, Prepared(rows, columns, family)
    counted = np.array(
        [c for s in valid.sentences for c in (False, *(not is_punctuation(form) for form in s.forms))]
    )
    held_out = extract_validation(index, columns, valid.rows, valid.heads, workers=workers)
    return index, Prepared(rows, columns, family, held_out, counted)


def tune(config: Config, data: Prepared, threads: int, log, progress: Progress) -> list[Run]:
    """Train with every C, side by side where there are threads for it; results in the order of C."""
    costs: list[float | None] = [None] if config.trainer.C is None else sorted(config.trainer.C)
    outer = min(threads, len(costs))
    cancel = threading.Event()

    def one(C: float | None) -> Run:
        with Workers(max(1, threads // outer)) as workers:
            return _train_one(config, data, C, workers, log, progress, cancelled=cancel.is_set)

    if outer == 1:
        return [one(C) for C in costs]
    with ThreadPoolExecutor(outer) as pool:
        try:
            return list(pool.map(one, costs))
        except BaseException:
            cancel.set()
            pool.shutdown(cancel_futures=True)
            raise


def make_model(index: FeatureIndex, weights: np.ndarray, info: dict) -> Model:
    """A model of trained weights (F,), without the features whose weight is 0."""
    masks, left = without_zeros(index.masks, weights, form_counts(index.masks), KNOWN_WITHOUT_FORM)
    return Model(
        [str(t) for t in index.templates], index.keys, masks, left, info["root"], info["decoder"], dict(info)
    )


def score_file(parser: Parser, path: str, config: Config, threads: int) -> dict:
    """UAS of a parser on a gold file, by the CoNLL-X rule and of all tokens."""
    options = {"format": config.data.format, "encoding": config.data.encoding}
    gold = list(read_conll(path, heads="required", **options))
    parsed = list(parser.parse(gold, threads=threads))
    return {
        "all_tokens": evaluate(gold, parsed, punctuation=True).UAS,
        "without_punctuation": evaluate(gold, parsed).UAS,
        "sentences": len(gold),
        "words": sum(map(len, gold)),
    }


def versions() -> dict[str, str]:
    """Versions of all that a result may depend on."""
    packages = ("mtparse", "numpy", "scipy", "numba")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def format_summary(summary: dict) -> str:
    """What a run chose and how it scored, for people."""
    chosen = [f"{summary['passes']} passes", f"decoder {summary['decoder']}", f"{summary['root']}-root"]
    if summary["C"] is not None:
        chosen.insert(0, f"C = {summary['C']:g}")
    lines = [f"chosen: {', '.join(chosen)}{', refitted on all training data' if summary['refit'] else ''}"]
    for part in ("valid", "test"):
        scores = summary.get(part)
        if scores:
            before = " (before the refit)" if part == "valid" and summary["refit"] else ""
            lines.append(
                f"{part}{before}: UAS {scores['all_tokens']:.2f} % of all tokens, "
                f"{scores['without_punctuation']:.2f} % without punctuation"
            )
    return "\n".join(lines)


def _train_one(config, data, C, workers, log, progress, *, passes=None, cancelled=lambda: False) -> Run:
    total = passes or config.trainer.passes
    name = config.trainer.name if C is None else f"{config.trainer.name} C={C:g}"
    task = progress.task(name, total)

    def both(record: dict) -> None:
        log({"refit": True, **record} if passes else record)
        if "pass" in record:
            scores = [v["all_tokens"] for k, v in record.items() if k.startswith("valid_")]
            task.update(record["pass"], f"valid {max(scores):.2f}" if scores else "")

    try:
        run = run_trainer(config, data, C, workers, both, passes=passes, cancelled=cancelled)
    finally:
        task.close()
    if passes:
        progress.say(f"{name}: trained again on all training data, {run.result.passes} passes")
    elif run.best:
        best = choose(config, [run])
        score = best.scores["all_tokens" if config.punctuation else "without_punctuation"]
        progress.say(f"{name}: {run.result.reason}; best on validation: {score:.2f} at pass {best.passes}")
    else:
        progress.say(f"{name}: {run.result.reason}")
    return run


def _take(treebank: Treebank, mask: np.ndarray) -> Treebank:
    chosen = np.flatnonzero(mask)
    return Treebank([treebank.sentences[i] for i in chosen], [treebank.heads[i] for i in chosen])


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return (
            hashlib.file_digest(file, "sha256").hexdigest()
            if hasattr(hashlib, "file_digest")
            else (hashlib.sha256(file.read()).hexdigest())
        )
