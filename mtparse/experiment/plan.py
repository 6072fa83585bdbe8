"""The config of a whole experiment: several treebanks, trainers and tree families in the terms of one run.

A plan is a mapping like a run's config, with ``languages`` in the place of the files, a list of ``trees``,
and ``trainers`` by name. Each combination is a run; its config is made and checked by `mtparse.config.run`.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mtparse.config.checks import Fold, run_name, whole
from mtparse.config.overrides import parse_override, put_over
from mtparse.config.run import (
    Config,
    config_from_dict,
    config_keys,
    config_to_dict,
    default_name,
)
from mtparse.config.strict_yaml import printable, read_yaml
from mtparse.errors import ConfigError
from mtparse.experiment.paper import COUNTS
from mtparse.experiment.run_checks import require_files
from mtparse.training.trainers import TRAINERS

TREES = ("projective", "nonprojective")

_SHARED = ("root", "decoder", "punctuation", "refit", "features", "seed", "threads")
_KEYS = ("name", "shared_task", "data", "languages", "trees", "trainers", "seeds", "folds", *_SHARED)
SHARED_TASKS = ("conllx",)


@dataclass(frozen=True)
class Cell:
    """One run of an experiment.

    ``seed`` is None where the plan has one seed or the trainer draws nothing at random, ``fold``, from 1 on,
    where there is no cross-validation.
    """

    language: str
    trainer: str
    trees: str
    seed: int | None = None
    fold: int | None = None

    def __str__(self) -> str:
        seed = "" if self.seed is None else f"-seed{self.seed}"
        fold = "" if self.fold is None else f"-fold{self.fold}"
        return f"{self.language}-{self.trainer}-{self.trees}{seed}{fold}"

    @classmethod
    def parse(cls, name: str) -> Cell:
        """The cell of a name; raises ValueError if it is none."""
        trainers, trees = ("|".join(map(re.escape, names)) for names in (TRAINERS, TREES))
        pattern = rf"(.+)-({trainers})-({trees})(?:-seed(\d+))?(?:-fold(\d+))?"
        found = re.fullmatch(pattern, name, re.DOTALL)
        if found is None:
            raise ValueError(f"{name!r} names no run of an experiment")
        language, trainer, family, seed, fold = found.groups()
        return cls(language, trainer, family, seed and int(seed), fold and int(fold))


@dataclass(frozen=True)
class Plan:
    """An experiment: the config of every cell, languages in the plan's order.

    ``shared_task`` is ``conllx`` where the files are those of the paper, so that its figures are comparable;
    ``seeds`` are those that were asked for, whether or not they make a difference.
    """

    name: str
    cells: dict[Cell, Config]
    shared_task: str | None = None
    seeds: tuple[int, ...] = ()

    @property
    def languages(self) -> list[str]:
        """The languages, in order."""
        return list(dict.fromkeys(cell.language for cell in self.cells))

    @property
    def trainers(self) -> list[str]:
        """The trainers, in order."""
        return list(dict.fromkeys(cell.trainer for cell in self.cells))

    @property
    def trees(self) -> list[str]:
        """The tree families, in order."""
        return list(dict.fromkeys(cell.trees for cell in self.cells))

    @property
    def folds(self) -> int:
        """Into how many parts the training files are cut for cross-validation; 0: into none."""
        return max((cell.fold or 0 for cell in self.cells), default=0)

    @property
    def counted(self) -> str:
        """The score that counts: ``all_tokens`` or ``without_punctuation``."""
        punctuation = next(iter(self.cells.values())).punctuation
        return "all_tokens" if punctuation else "without_punctuation"

    def only(self, languages: Iterable[str]) -> Plan:
        """The part of the plan that is about some languages.

        Raises
        ------
        ConfigError
            If one of them is not in the plan.
        """
        wanted = list(languages)
        if not wanted:
            raise ConfigError(f"--only names no language; the plan has {', '.join(self.languages)}")
        for language in wanted:
            if language not in self.languages:
                raise ConfigError(f"--only {printable(language)}: the plan has {', '.join(self.languages)}")
        left = {cell: config for cell, config in self.cells.items() if cell.language in wanted}
        return replace(self, cells=left)

    def require_files(self) -> None:
        """Refuse to start while a treebank is missing or empty."""
        require_files(self.cells.values())

    def as_dict(self) -> dict[Cell, dict]:
        """The resolved config of every cell in the terms of a config file."""
        return {cell: config_to_dict(config) for cell, config in self.cells.items()}


def load_plan(path: str | os.PathLike, overrides: Iterable[str] = ()) -> Plan:
    """Read a plan from a YAML file.

    Parameters
    ----------
    path
        Its folder is what a relative ``data.root`` is relative to, its stem the default name.
    overrides
        Settings ``dotted.key=value``, as in ``trainers.log-linear.C=0.1``.

    Raises
    ------
    ConfigError
        The first fault, on one line.
    """
    path = os.fspath(path)
    source = printable(path)
    values = read_yaml(path)
    if not isinstance(values, Mapping):
        raise ConfigError(f"{source}: must be a mapping with the keys {', '.join(_KEYS)}")
    if "languages" not in values and isinstance(values.get("data"), Mapping) and "train" in values["data"]:
        raise ConfigError(
            f"{source}: the config of one run (it has data.train and no languages), not the plan of an "
            f"experiment; mtparse train {source} runs it"
        )
    values = dict(values)
    for override in overrides:
        put_over(values, parse_override(override))
    for key in values:
        if key not in _KEYS:
            near = difflib.get_close_matches(str(key), _KEYS, 1)
            advice = f"did you mean {near[0]}?" if near else f"known here: {', '.join(_KEYS)}"
            raise ConfigError(f"{source}: unknown key {printable(str(key))}; {advice}")
    languages = _section(values, "languages", source)
    trainers = _section(values, "trainers", source)
    for name, settings in trainers.items():
        if settings is not None and not isinstance(settings, Mapping):
            raise ConfigError(f"{source}: trainers.{printable(str(name))} must be a section, or empty")
        if settings and "name" in settings:
            raise ConfigError(
                f"{source}: trainers.{printable(str(name))}.name: leave it out, the section's name is the "
                "trainer's"
            )
        if name not in TRAINERS:
            raise ConfigError(
                f"{source}: trainers.{printable(str(name))}: must be one of {', '.join(TRAINERS)}"
            )
    trees = values.get("trees", list(TREES))
    if not isinstance(trees, list) or not trees or any(family not in TREES for family in trees):
        raise ConfigError(f"{source}: trees must be a list of {' and '.join(TREES)}")
    data = {} if values.get("data") is None else values["data"]
    if not isinstance(data, Mapping):
        raise ConfigError(f"{source}: data must be a section with keys of its own")
    try:
        name = run_name(values.get("name", default_name(path)))
    except ValueError as error:
        raise ConfigError(f"{source}: name: {error}") from None
    for language in languages:
        if not isinstance(language, str) or not language or "," in language or len(language.encode()) > 100:
            shown = printable(str(language))
            raise ConfigError(
                f"{source}: languages.{shown}: a language must be text without a comma, of at most 100 bytes"
            )
    shared_task = values.get("shared_task")
    if shared_task is not None:
        if shared_task not in SHARED_TASKS:
            raise ConfigError(f"{source}: shared_task must be one of {', '.join(SHARED_TASKS)}, or null")
        for language in languages:
            if language not in COUNTS:
                known = ", ".join(COUNTS)
                raise ConfigError(
                    f"{source}: languages.{printable(language)}: with shared_task the languages are {known}"
                )
    seeds, folds = _seeds(values, source), _folds(values, source)
    if folds and shared_task is not None:
        raise ConfigError(f"{source}: folds: not with shared_task, whose test files are used")
    shared = {key: values[key] for key in _SHARED if key in values}
    cells = {}
    for language, files in languages.items():
        if not isinstance(files, Mapping):
            raise ConfigError(
                f"{source}: languages.{printable(str(language))} must name train and test files"
            )
        if folds and {**data, **files}.get("test") is not None:
            raise ConfigError(
                f"{source}: languages.{printable(language)}: with folds the parts of the training file are "
                "tested; leave test out"
            )
        for trainer, settings in trainers.items():
            for family in trees:
                run = {
                    **shared,
                    "name": str(Cell(language, trainer, family)),
                    "trees": family,
                    "data": {**data, **files},
                    "trainer": {"name": trainer, **(settings or {})},
                }
                cells |= _runs(run, Cell(language, trainer, family), seeds, folds, Path(path).parent, source)
    return Plan(name, cells, shared_task, tuple(seeds) or (next(iter(cells.values())).seed,))


def _runs(
    run: dict, cell: Cell, seeds: list[int], folds: int, folder: Path, source: str
) -> dict[Cell, Config]:
    """The runs of one setting: with every seed, if it makes a difference, and every fold."""
    if folds:
        run["data"]["test"] = {"fold": 1, "of": folds}
    config = config_from_dict(run, folder, f"{source} ({cell})")
    if config.data.test is None or config.data.valid is None:
        need = "validation data" if folds else "a test file and validation data"
        raise ConfigError(f"{source}: languages.{printable(cell.language)} needs {need}")
    several = len(seeds) > 1 and config.trainer.uses_seed
    made = {}
    for seed in (seeds if several else seeds[:1]) or [config.seed]:
        for fold in range(1, folds + 1) if folds else [None]:
            one = replace(cell, seed=seed if several else None, fold=fold)
            test = config.data.test if fold is None else Fold(fold, folds)
            made[one] = replace(config, name=str(one), seed=seed, data=replace(config.data, test=test))
    return made


def _seeds(values: Mapping, source: str) -> list[int]:
    """The seeds of a plan; empty where ``seed`` gives the only one."""
    if values.get("seeds") is None:
        return []
    if "seed" in values:
        raise ConfigError(f"{source}: seed and seeds: give only one of the two")
    seeds = values["seeds"]
    if not isinstance(seeds, list) or not seeds or len(set(map(str, seeds))) < len(seeds):
        raise ConfigError(f"{source}: seeds must be a list of whole numbers without repeats")
    check = config_keys()["seed"].metadata["check"]
    try:
        return [check(seed) for seed in seeds]
    except ValueError as error:
        raise ConfigError(f"{source}: seeds: each {error}") from None


def _folds(values: Mapping, source: str) -> int:
    """The number of folds of a plan; 0: no cross-validation."""
    try:
        return 0 if values.get("folds") is None else whole(2, 1000)(values["folds"])
    except ValueError as error:
        raise ConfigError(f"{source}: folds: {error}") from None


def _section(values: Mapping, key: str, source: str) -> Mapping[str, Any]:
    section = values.get(key)
    if not isinstance(section, Mapping) or not section:
        raise ConfigError(f"{source}: {key} must be a section with at least one entry")
    return section
