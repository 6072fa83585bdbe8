"""The config of a whole experiment: several treebanks, trainers and tree families in the terms of one run.

A plan is a mapping like a run's config, with ``languages`` in the place of the files, a list of ``trees``,
and ``trainers`` by name. Each combination is a run; its config is made and checked by `mtparse.config`.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mtparse.config import TRAINERS, Config, config_from_dict, config_to_dict, default_name, require_files
from mtparse.config_checks import VALID_KINDS, run_name
from mtparse.config_yaml import parse_yaml, printable, read_yaml
from mtparse.errors import ConfigError
from mtparse.paper import COUNTS

TREES = ("projective", "nonprojective")

_SHARED = ("root", "decoder", "punctuation", "refit", "features", "seed", "threads")
_KEYS = ("name", "shared_task", "data", "languages", "trees", "trainers", *_SHARED)
SHARED_TASKS = ("conllx",)


@dataclass(frozen=True, order=True)
class Cell:
    """One run of an experiment: a cell of the table of results."""

    language: str
    trainer: str
    trees: str

    def __str__(self) -> str:
        return f"{self.language}-{self.trainer}-{self.trees}"


@dataclass(frozen=True)
class Plan:
    """An experiment: the config of every cell, languages in the plan's order.

    ``shared_task`` is ``conllx`` where the files are those of the paper, so that its figures are comparable.
    """

    name: str
    cells: dict[Cell, Config]
    shared_task: str | None = None

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
        """Refuse to start while a treebank is missing or empty; the error names every one."""
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
    values = _overridden(dict(values), overrides)
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
            raise ConfigError(f"{source}: trainers.{printable(str(name))}.name: the section is the name")
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
    shared = {key: values[key] for key in _SHARED if key in values}
    cells = {}
    for language, files in languages.items():
        if not isinstance(files, Mapping):
            raise ConfigError(
                f"{source}: languages.{printable(str(language))} must name train and test files"
            )
        for trainer, settings in trainers.items():
            for family in trees:
                cell = Cell(language, trainer, family)
                run = {
                    **shared,
                    "name": str(cell),
                    "trees": family,
                    "data": {**data, **files},
                    "trainer": {"name": trainer, **(settings or {})},
                }
                cells[cell] = config_from_dict(run, Path(path).parent, f"{source} ({cell})")
                if cells[cell].data.test is None or cells[cell].data.valid is None:
                    raise ConfigError(f"{source}: languages.{language} needs a test file and validation data")
    return Plan(name, cells, shared_task)


def _section(values: Mapping, key: str, source: str) -> Mapping[str, Any]:
    section = values.get(key)
    if not isinstance(section, Mapping) or not section:
        raise ConfigError(f"{source}: {key} must be a section with at least one entry")
    return section


def _overridden(values: dict, overrides: Iterable[str]) -> dict:
    for override in overrides:
        key, equals, text = override.partition("=")
        source = f"--set {printable(override)}"
        if not equals:
            raise ConfigError(f"{source}: must have the form KEY=VALUE")
        *sections, last = key.strip().split(".")
        inner = values
        if sections and last in VALID_KINDS and sections[-1] == "valid":
            sections, last, text = sections[:-1], "valid", f"{{{last}: {text}}}"
        for section in sections:
            below = inner.get(section)
            if below is not None and not isinstance(below, Mapping):
                raise ConfigError(f"{source}: {section} has no keys in the plan")
            inner[section] = dict(below or {})
            inner = inner[section]
        if text.strip():
            inner[last] = parse_yaml(text, source)
        else:
            inner.pop(last, None)
    return values
