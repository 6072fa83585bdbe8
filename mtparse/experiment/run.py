"""One training run from config to run directory: read, split, extract, tune, refit, save, test."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable

import numpy as np

from mtparse.config.run import Config
from mtparse.evaluation.attachment import Scores, evaluate_sentences, format_sentence_counts
from mtparse.experiment.curves import CURVES_NAME, best_uas, format_curves, read_passes
from mtparse.experiment.prepare import prepare
from mtparse.experiment.run_checks import require_files
from mtparse.experiment.run_directory import (
    LOG_NAME,
    PARSED_NAME,
    SCORES_NAME,
    SENTENCES_NAME,
    RunDirectory,
    finished,
    require_free,
    require_unused,
    tidy,
    versions,
)
from mtparse.experiment.split import Split, read_split, read_test, shared_data
from mtparse.experiment.tuning import Trained, chains, choose, run_trainer, train_chain
from mtparse.features.index import FeatureIndex
from mtparse.model.model_file import MODEL_NAME, Model, save_model, without_negligible
from mtparse.model.parser import Parser
from mtparse.runtime.progress import Progress
from mtparse.runtime.threads import Cancelled, Threads, Workers, thread_count
from mtparse.training.checkpoints import Candidate, Trial
from mtparse.training.design_cache import require_cache
from mtparse.training.loop import TrainResult
from mtparse.training.problem import TrainingProblem
from mtparse.treebank.conll import write_conll
from mtparse.treebank.inventory import Inventory


def train(
    config: Config,
    out: str,
    *,
    jobs: int = 0,
    progress: Progress | None = None,
    cache: str | None = None,
    resume: bool = False,
) -> dict:
    """Run a config and fill a run directory.

    Parameters
    ----------
    out
        The run directory: made here, or empty; with ``resume`` that of a run of the same config.
    jobs
        Threads to use in all (0: as the config says). The model does not depend on it.
    cache
        A directory that keeps the extracted features in files, for other processes and later runs.
    resume
        Go on where an interruption left the run: the model is the same, byte for byte, as without it.

    Returns
    -------
    dict
        What ``scores.json`` holds.

    Raises
    ------
    MtparseError
        Whatever is wrong with the config, the data or the directory.
    KeyboardInterrupt
        With the way to go on, where there is one.
    TypeError
        If ``config`` is none, but the name of its file, say.
    """
    if not isinstance(config, Config):
        raise TypeError(f"a Config is needed, not a {type(config).__name__}; load_config reads one")
    progress = progress or Progress(quiet=True)
    threads = thread_count(jobs or config.threads)
    if not resume:
        require_files([config])
        require_unused(out)
        require_free(out)
    elif (summary := finished(out, config)) is not None:
        tidy(out)
        progress.say(f"{out}: this run is finished, nothing to resume")
        return summary
    else:
        require_files([config])
    if cache is not None:
        require_cache(cache, out)  # before anything is written
    began = time.monotonic()
    parts = read_split(config)
    test = read_test(config, parts)  # a fault in it is found now; to be parsed, it is read again at the end
    for text in (*parts.notes, *shared_data(config, parts, test)):
        progress.warn(text)
    if all(row[3] == row[4] == "_" for rows in parts.training.rows for row in rows):
        names = ", ".join(config.data.train_paths)
        progress.warn(f"{names}: no word has a tag (columns 4 and 5 are _); trees need tags")
    del test
    directory = RunDirectory(out, config, parts.hashes, resume=resume)
    try:
        with Workers(threads) as workers:
            index, data = prepare(config, parts.training, parts.valid, parts.single, workers, progress, cache)
            trials = tune(config, data, threads, directory, progress)
            choice = choose(config, trials)
            u = choice.u
            if config.refit and parts.valid is not None:
                del index, data  # two training matrices side by side would double the memory
                index, data = prepare(
                    config, parts.training + parts.valid, None, parts.single, workers, progress, cache
                )
                u = refit(config, data, trials, choice, workers, directory, progress)
            weights = data.columns.feature_weights(u)
            summary = finish(
                config, directory, parts, trials, choice, index, weights, threads, began, resumed=resume
            )
            directory.complete()
            return summary
    except BaseException as error:
        discarded = directory.discard_if_unused()
        if isinstance(error, KeyboardInterrupt) and directory.resumable:
            raise KeyboardInterrupt(f"resume with: mtparse train --resume {out}") from None
        if isinstance(error, KeyboardInterrupt) and discarded:
            raise KeyboardInterrupt("before the first pass ended; nothing was stored, start again") from None
        raise
    finally:
        directory.close()


def refit(
    config: Config,
    data: TrainingProblem,
    trials: list[Trial],
    choice: Candidate,
    workers: Workers,
    directory: RunDirectory,
    progress: Progress,
) -> np.ndarray:
    """Train again with the chosen C and number of passes; the columns' summed weights.

    Where ``trials``, in the order of C, were warm starts, all up to the chosen one are gone through again.
    """
    todo = [(choice.C, choice.passes)]
    if config.trainer.warm_start:
        before = trials[: [trial.C for trial in trials].index(choice.C)]
        todo = [(trial.C, trial.result.passes) for trial in before] + todo
    last = None
    for C, passes in todo:
        trial, _ = train_once(config, data, C, workers, directory, progress, passes=passes, start=last)
        last = trial.result
    assert last is not None
    return last.u


def finish(
    config: Config,
    directory: RunDirectory,
    parts: Split,
    trials: list[Trial],
    choice: Candidate,
    index: FeatureIndex,
    weights: np.ndarray,
    threads: int,
    began: float,
    *,
    resumed: bool = False,
) -> dict:
    """Save the model, then, if there are test data, score on them; a test file is read again for it.

    Parameters
    ----------
    weights
        float64 (F,), the weight of each feature of ``index``.
    began
        When the run began, by ``time.monotonic``.
    resumed
        Whether the time since ``began`` is only that since an interruption.

    Returns
    -------
    dict
        What ``scores.json`` holds.
    """
    summary = {
        "name": config.name,
        "model": MODEL_NAME,
        "trainer": config.trainer.name,
        "trees": config.trees,
        "root": "single" if parts.single else "multi",
        "decoder": choice.decoder,
        "C": choice.C,
        "passes": choice.passes,
        "refit": config.refit and parts.valid is not None,
        "valid": choice.scores,
        "words": {"training": parts.training.words, "validation": parts.valid.words if parts.valid else 0},
        "treebank": parts.counts,
        "left_out": parts.left_out,
        "features": len(index),
        "ended": [{"C": r.C, "passes": r.result.passes, "converged": r.result.converged,
                   "reason": r.result.reason} for r in trials],
        "seed": config.seed,
        "sha256": dict(parts.hashes),
        "versions": versions(),
    }  # fmt: skip
    trained = parts.training + parts.valid if summary["refit"] and parts.valid else parts.training
    inventory = Inventory.of(trained.rows)
    files = {
        part: ", ".join(map(os.path.basename, paths))
        for part, paths in config.data.paths.items()
        if part != "test"
    }
    model = make_model(index, weights, {**summary, "files": files, "inventory": inventory.as_dict()})
    save_model(model, directory.file(MODEL_NAME))

    def report() -> None:
        summary["seconds"] = round(time.monotonic() - began, 1)
        if resumed:
            summary["resumed"] = True
        directory.write(SCORES_NAME, json.dumps(summary, indent=2, ensure_ascii=False) + "\n")

    if config.data.test is not None:
        report()  # should the test file be faulty, nothing else is lost
        test = read_test(config, parts)
        assert test is not None
        parsed = list(Parser(model).parse(test.sentences, threads=threads))
        write_conll(parsed, directory.file(PARSED_NAME), encoding=config.data.encoding)
        rows = {key: list(evaluate_sentences(test.sentences, parsed, punctuation=key == "all_tokens"))
                for key in ("all_tokens", "without_punctuation")}  # fmt: skip
        directory.write(SENTENCES_NAME, format_sentence_counts(test.sentences, **rows))
        totals = {key: sum(scores, Scores()) for key, scores in rows.items()}
        summary["test"] = {key: total.as_dict()["UAS"] for key, total in totals.items()}
        summary["test"] |= {"sentences": len(test.sentences), "words": test.words}
        if test.sha256:  # of a fold that of the training file says all
            summary["sha256"]["test"] = test.sha256
    directory.settle()
    directory.write(CURVES_NAME, format_curves(read_passes(directory.file(LOG_NAME))))
    report()
    return summary


def tune(
    config: Config, data: TrainingProblem, threads: int, directory: RunDirectory, progress: Progress
) -> list[Trial]:
    """Train with every C, side by side where there are threads for it; results in the order of C."""
    independent = chains(config)
    each = max(1, threads // min(threads, len(independent)))

    def task(chain: list[float | None]) -> Callable[[Cancelled], list[Trained]]:
        def run(cancelled: Cancelled) -> list[Trained]:
            with Workers(each) as workers:

                def train(C: float | None, start: TrainResult | None) -> Trained:
                    return train_once(
                        config, data, C, workers, directory, progress, start=start, cancelled=cancelled
                    )

                return train_chain(chain, train)

        return run

    chained = Threads(threads).run_all([task(chain) for chain in independent])
    return [trial for trained in chained for trial, _ in trained]


def make_model(index: FeatureIndex, weights: np.ndarray, info: dict) -> Model:
    """A model of trained weights (F,), without the features whose weight is negligible."""
    kept = without_negligible(index.keys, index.masks, weights)
    return Model([str(t) for t in index.templates], *kept, info["root"], info["decoder"], dict(info))


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


def train_once(
    config: Config,
    data: TrainingProblem,
    C: float | None,
    workers: Workers,
    directory: RunDirectory,
    progress: Progress,
    *,
    passes: int | None = None,
    start: TrainResult | None = None,
    cancelled: Cancelled = lambda: False,
) -> Trained:
    """Train with one C, with progress, or resume it; ``passes`` are those of a refit."""
    total = config.trainer.passes if passes is None else passes
    name = config.trainer.name if C is None else f"{config.trainer.name} C={C:g}"
    task = progress.task(name, total)

    counted = "all_tokens" if config.punctuation else "without_punctuation"

    def both(record: dict) -> None:
        directory.log(record)
        if record["event"] == "pass":
            score = best_uas(record, counted)
            task.update(record["pass"], "" if score is None else f"valid {score:.2f}")

    checkpoint = directory.checkpoint(C, refit=passes is not None)
    try:
        trial, records = run_trainer(
            config, data, C, workers, both,
            passes=passes, start=start, cancelled=cancelled, checkpoint=checkpoint,
            on_resume=lambda done: progress.say(f"{name}: resumes after pass {done}"),
        )  # fmt: skip
    finally:
        task.close()
    if passes is not None:
        progress.say(f"{name}: trained again on all training data, {trial.result.passes} passes")
    elif trial.best:
        best = choose(config, [trial])
        score = best.scores[counted]
        progress.say(f"{name}: {trial.result.reason}; best on validation: {score:.2f} at pass {best.passes}")
    else:
        progress.say(f"{name}: {trial.result.reason}")
    return trial, records
