"""From treebanks to what trainers see: trees made projective, features scored_words, all arcs' rows made."""

from __future__ import annotations

import numpy as np

from mtparse.config.run import Config
from mtparse.errors import ConfigError, MtparseError
from mtparse.evaluation.attachment import is_punctuation
from mtparse.features.index import FeatureIndex
from mtparse.features.templates import FEATURE_SETS, Template
from mtparse.inference.parts import Structure
from mtparse.runtime.progress import Progress
from mtparse.runtime.threads import Workers
from mtparse.training.build_design import extract_training, extract_validation
from mtparse.training.design_cache import Training, cached, fingerprint
from mtparse.training.problem import TrainingProblem
from mtparse.treebank.gold import Treebank
from mtparse.treebank.projectivize import projectivize
from mtparse.treebank.trees import is_projective


def prepare(
    config: Config,
    training: Treebank,
    valid: Treebank | None,
    single: bool,
    workers: Workers,
    progress: Progress,
    cache: str | None = None,
) -> tuple[FeatureIndex, TrainingProblem]:
    """Count features and extract the rows of all arcs, or take them from the directory ``cache``."""
    heads = training.heads
    if config.trees == "projective":
        root = "single" if single else "multi"
        heads = [h if is_projective(h) else projectivize(h, root) for h in heads]
        changed = sum(a is not b for a, b in zip(heads, training.heads, strict=True))
        progress.say(f"projectivized {changed} of {len(heads)} training sentences")

    def make(folder: str | None = None) -> Training:
        return _extract(config, training, heads, workers, progress, folder)

    if cache is None:
        index, design, columns = make()
    else:
        name = fingerprint(training.rows, heads, config.features)
        index, design, columns = cached(cache, name, make)
    progress.say(
        f"{len(heads)} sentences, {training.words} words, {len(index.templates)} templates, "
        f"{len(index)} features in {len(columns)} columns"
    )
    structure = Structure(config.trees == "projective", single)
    origins = [f"{s.path}:{s.line}" for s in training.sentences]
    if valid is None:
        return index, TrainingProblem(design, columns, structure, origins)
    scored_words = np.array(
        [c for s in valid.sentences for c in (False, *(not is_punctuation(form) for form in s.forms))]
    )
    if not config.punctuation and not scored_words.any():
        raise ConfigError("punctuation = false: the validation data holds nothing but punctuation")
    held_out = extract_validation(index, columns, valid.rows, valid.heads, workers=workers)
    return index, TrainingProblem(design, columns, structure, origins, held_out, scored_words)


def _extract(
    config: Config,
    training: Treebank,
    heads: list[np.ndarray],
    workers: Workers,
    progress: Progress,
    folder: str | None,
) -> Training:
    settings = config.features
    templates = [*FEATURE_SETS[settings.set], *settings.templates]
    parsed = [Template.parse(template) for template in templates]
    for place in range(len(FEATURE_SETS[settings.set]), len(parsed)):
        if parsed[place] in parsed[:place]:
            progress.warn(f"features.templates: {templates[place]!r} changes nothing, it is there already")
    index = FeatureIndex.build(
        training.rows, heads, templates, source=settings.source, min_count=settings.min_count
    )
    if not index.templates:
        raise MtparseError(
            "no feature template can be used: each one in features.templates reads a column that is empty in "
            "the training data (lemmas, FEATS)"
        )
    if not len(index):
        raise MtparseError(
            f"no feature is seen on {settings.min_count} arcs of the training data: lower features.min_count"
        )
    task = progress.task("extracting features", len(heads))
    design, columns = extract_training(
        index,
        training.rows,
        heads,
        merge=settings.merge,
        workers=workers,
        progress=task.update,
        folder=folder,
    )
    task.close()
    return index, design, columns
