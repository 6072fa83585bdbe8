"""One training run from config to run directory: read, split, extract, tune, refit, save, test."""

from __future__ import annotations

import json
import os
import platform
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

import numpy as np

from mtparse._jit import COMPILES
from mtparse.config import Config, dump_config, require_files
from mtparse.errors import ConfigError, MtparseError
from mtparse.evaluation import evaluate, is_punctuation
from mtparse.features.index import FeatureIndex
from mtparse.features.program import KNOWN_WITHOUT_FORM, form_counts
from mtparse.features.templates import FEATURE_SETS
from mtparse.files import atomic_writer
from mtparse.model import MODEL_NAME, Model, save_model, without_zeros
from mtparse.parser import Parser
from mtparse.progress import Progress
from mtparse.training.data import extract_training, extract_validation
from mtparse.training.objectives import Family
from mtparse.training.tuning import Prepared, Run, choose, run_trainer
from mtparse.treebank import Treebank, is_single, read_treebank, validation_mask
from mtparse.trees import is_projective, projectivize
from mtparse.workers import Workers, thread_count

CONFIG_NAME, LOG_NAME, SCORES_NAME = "config.yaml", "log.jsonl", "scores.json"


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
    used = versions()
    if COMPILES:
        progress.say("compiling kernels as they are needed: about half a minute, once after an installation")
    training = read_treebank(paths["train"], config)
    hashes = {"train": training.sha256}
    valid = None
    if "valid" in paths:
        valid = read_treebank(paths["valid"], config)
        hashes["valid"] = valid.sha256
    elif config.data.valid is not None:
        lengths = [len(s) for s in training.sentences]
        mask = validation_mask(lengths, config.data.valid.kind, config.data.valid.value)
        valid, training = training.take(mask), training.take(~mask)
    refit = config.refit and valid is not None
    single = is_single(training + valid if refit else training, config.root)
    directory = RunDirectory(out)
    try:
        directory.write(CONFIG_NAME, dump_config(config))
        with Workers(threads) as workers:
            index, data = prepare(config, training, valid, single, workers, progress)
            runs = tune(config, data, threads, directory.log, progress)
            choice = choose(config, runs)
            sizes = {"training": training.words, "validation": valid.words if valid else 0}
            if refit:
                del index, data  # two training matrices side by side would double the memory
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
            "refit": refit,
            "valid": choice.scores,
            "words": sizes,
            "features": len(index),
            "columns": len(data.columns),
            "ended": [{"C": r.C, "passes": r.result.passes, "converged": r.result.converged,
                       "reason": r.result.reason} for r in runs],
            "seed": config.seed,
            "sha256": hashes,
        }  # fmt: skip
        summary["versions"] = used
        model = make_model(index, data.columns.feature_weights(u), summary)
        save_model(model, directory.file(MODEL_NAME))

        def report() -> None:
            summary["seconds"] = round(time.monotonic() - began, 1)
            directory.write(SCORES_NAME, json.dumps(summary, indent=2, ensure_ascii=False) + "\n")

        report()
        if "test" in paths:
            # Read once, here: nothing above this line has seen it. Should it be faulty, the model is safe.
            summary["test"], hashes["test"] = score_file(Parser(model), paths["test"], config, threads)
            report()
    finally:
        directory.close()
    return summary


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
    if not config.punctuation and not counted.any():
        raise ConfigError("punctuation = false: the validation data holds nothing but punctuation")
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


def score_file(parser: Parser, path: str, config: Config, threads: int) -> tuple[dict, str]:
    """UAS of a parser on a gold file, of all tokens and by the CoNLL-X rule; the file's SHA-256."""
    gold = read_treebank(path, config)
    parsed = list(parser.parse(gold.sentences, threads=threads))
    scores = {
        "all_tokens": evaluate(gold.sentences, parsed, punctuation=True).as_dict()["UAS"],
        "without_punctuation": evaluate(gold.sentences, parsed).as_dict()["UAS"],
        "sentences": len(gold.sentences),
        "words": gold.words,
    }
    return scores, gold.sha256


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
            shown = {k: "n/a" if v is None else f"{v:.2f} %" for k, v in scores.items()}
            lines.append(
                f"{part}{before}: UAS {shown['all_tokens']} of all tokens, "
                f"{shown['without_punctuation']} without punctuation"
            )
    return "\n".join(lines)


def _train_one(config, data, C, workers, log, progress, *, passes=None, cancelled=lambda: False) -> Run:
    total = config.trainer.passes if passes is None else passes
    name = config.trainer.name if C is None else f"{config.trainer.name} C={C:g}"
    task = progress.task(name, total)

    counted = "all_tokens" if config.punctuation else "without_punctuation"

    def both(record: dict) -> None:
        log(record if passes is None else {"refit": True, **record})
        if "pass" in record:
            scores = [v[counted] for k, v in record.items() if k.startswith("valid_")]
            task.update(record["pass"], f"valid {max(scores):.2f}" if scores else "")

    try:
        run = run_trainer(config, data, C, workers, both, passes=passes, cancelled=cancelled)
    finally:
        task.close()
    if passes is not None:
        progress.say(f"{name}: trained again on all training data, {run.result.passes} passes")
    elif run.best:
        best = choose(config, [run])
        score = best.scores[counted]
        progress.say(f"{name}: {run.result.reason}; best on validation: {score:.2f} at pass {best.passes}")
    else:
        progress.say(f"{name}: {run.result.reason}")
    return run
