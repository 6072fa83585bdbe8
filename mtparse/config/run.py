"""From a YAML file to frozen dataclasses; whatever cannot be run is refused before any data is read.

Each key is one dataclass field that carries its own check, so that a section is read, documented and
written back by the same few lines. ``configs/reference.yaml`` explains every key.
"""

# ruff: noqa: RUF009 - _key and _section below make a dataclasses.field

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtparse.config import checks
from mtparse.config.checks import Check, Fold, ValidPart
from mtparse.config.overrides import parse_override, put_over
from mtparse.config.strict_yaml import BareWord, dump_yaml, printable, read_yaml
from mtparse.errors import ConfigError
from mtparse.features.templates import FEATURE_SETS
from mtparse.training.trainers import TRAINERS, Trainer

# Sections.


def _key(check: Check, default: Any = dataclasses.MISSING, *, key: str | None = None) -> Any:
    """A field that knows how it is checked and what it is called in YAML."""
    return dataclasses.field(default=default, metadata={"check": check, "key": key})


def _section(cls: type) -> Any:
    return dataclasses.field(default_factory=cls, metadata={"section": cls, "key": None})


def _default_trainer() -> Trainer:
    return next(iter(TRAINERS.values()))()


def _trainer_name() -> dataclasses.Field:
    """The key ``trainer.name``, which says what the others of the section are."""
    field: dataclasses.Field = _key(checks.one_of(*TRAINERS), _default_trainer().name)
    field.name = "name"
    return field


def _trainer_fields(cls: type[Trainer]) -> dict[str, dataclasses.Field]:
    """The keys of one trainer, each with its check."""
    made = {}
    for setting in dataclasses.fields(cls):
        made[setting.name] = _key(_check_of(setting), setting.default)
        made[setting.name].name = setting.name
    return made


def _check_of(setting: dataclasses.Field) -> Check:
    """The check of a trainer's setting, see `mtparse.training.trainers.base.setting`."""
    default, allowed = setting.default, setting.metadata
    if isinstance(default, tuple):
        return checks.cost
    if isinstance(default, bool):
        return checks.truth
    if isinstance(default, str):
        return checks.one_of(*allowed["choices"])
    kind = checks.whole if isinstance(default, int) else checks.number
    return kind(allowed["low"], allowed["high"])


def _fields(cls: type) -> dict[str, dataclasses.Field]:
    """The keys of a section by their names in YAML; of the trainers those of all."""
    if cls is Trainer:
        kinds = reversed(TRAINERS.values())  # where several have a key, the first has its say
        return {"name": _trainer_name(), **{k: f for kind in kinds for k, f in _trainer_fields(kind).items()}}
    return {_yaml_name(field): field for field in dataclasses.fields(cls)}


@dataclass(frozen=True)
class DataConfig:
    """Where the treebanks are and how to read them; ``root`` is absolute, the others relative to it."""

    train: str | tuple[str, ...] = _key(checks.paths)
    root: str = _key(checks.path, ".")
    valid: ValidPart | None = _key(checks.valid_part, ValidPart())
    test: str | Fold | None = _key(checks.test_part, None)
    format: str = _key(checks.one_of("auto", "conllx", "conllu"), "auto")
    encoding: str = _key(checks.encoding, "utf-8")
    on_bad_tree: str = _key(checks.one_of("refuse", "skip"), "refuse")

    @property
    def train_paths(self) -> tuple[str, ...]:
        """The training files."""
        names = (self.train,) if isinstance(self.train, str) else self.train
        return tuple(os.path.join(self.root, name) for name in names)

    @property
    def valid_path(self) -> str | None:
        """The validation file; None where validation has no file of its own."""
        if self.valid is None or self.valid.kind != "path":
            return None
        return os.path.join(self.root, str(self.valid.value))

    @property
    def test_path(self) -> str | None:
        """The test file; None if there is none, or if a fold of the training file is tested."""
        return os.path.join(self.root, self.test) if isinstance(self.test, str) else None

    @property
    def paths(self) -> dict[str, tuple[str, ...]]:
        """The files there are, by part: ``train``, ``valid``, ``test``."""
        found = {"valid": self.valid_path, "test": self.test_path}
        return {"train": self.train_paths, **{k: (path,) for k, path in found.items() if path is not None}}


@dataclass(frozen=True)
class FeaturesConfig:
    """Which features arcs have and which of them get a weight."""

    set: str = _key(checks.one_of(*FEATURE_SETS), "default")
    source: str = _key(checks.one_of("gold", "all"), "gold", key="from")
    min_count: int = _key(checks.whole(1, 10**9), 1)
    merge: bool = _key(checks.truth, True)
    templates: tuple[str, ...] = _key(checks.templates, ())


@dataclass(frozen=True)
class Config:
    """One training run."""

    name: str = _key(checks.run_name)
    data: DataConfig = _section(DataConfig)
    trees: str = _key(checks.one_of("nonprojective", "projective"), "nonprojective")
    root: str = _key(checks.one_of("auto", "single", "multi"), "auto")
    labels: bool = _key(checks.unlabelled, False)
    decoder: str = _key(checks.one_of("auto", "eisner", "mst"), "auto")
    punctuation: bool = _key(checks.truth, True)
    trainer: Trainer = dataclasses.field(
        default_factory=_default_trainer, metadata={"section": Trainer, "key": None}
    )
    refit: bool = _key(checks.truth, False)
    features: FeaturesConfig = _section(FeaturesConfig)
    seed: int = _key(checks.whole(0, 2**32 - 1), 1)
    threads: int = _key(checks.whole(0, 1024), 0)
    checkpoint: int | str = _key(checks.checkpoint, "auto")


def _yaml_name(field: dataclasses.Field) -> str:
    return field.metadata["key"] or field.name


def config_keys(cls: type = Config, prefix: str = "") -> dict[str, dataclasses.Field]:
    """Every dotted key below a section with its field; the sections themselves are not keys."""
    keys: dict[str, dataclasses.Field] = {}
    for own, field in _fields(cls).items():
        name = prefix + own
        if "section" in field.metadata:
            keys |= config_keys(field.metadata["section"], name + ".")
        else:
            keys[name] = field
    return keys


# Reading.


def _show(value: Any) -> str:
    if isinstance(value, float):
        return {math.inf: ".inf", -math.inf: "-.inf"}.get(value, ".nan" if value != value else repr(value))
    text = value if isinstance(value, BareWord) else json.dumps(value, ensure_ascii=False, default=str)
    text = printable(text)
    return text if len(text) <= 60 else text[:57] + "..."


_OTHER_NAMES = {
    "dev": "valid", "development": "valid", "validation": "valid", "training": "train", "testing": "test",
    "epochs": "passes", "iterations": "passes", "max_iter": "passes", "regularization": "c", "cost": "c",
    "early_stopping": "patience", "random_seed": "seed", "jobs": "threads", "workers": "threads",
}  # fmt: skip
"""What other tools call a key, in lower case, and the last part of its name here."""


def _unknown_key(key: str) -> str:
    """Say that a dotted key is unknown, with the nearest known one, or else those of its section."""
    cls, prefix, rest = Config, "", key
    while True:
        siblings = _fields(cls)
        section, dot, below = rest.partition(".")
        if not dot or section not in siblings or "section" not in siblings[section].metadata:
            break
        cls, prefix, rest = siblings[section].metadata["section"], f"{prefix}{section}.", below
    meant = _OTHER_NAMES.get(rest.rpartition(".")[2].lower(), rest.lower())
    elsewhere = [name for name in config_keys() if name.rpartition(".")[2].lower() == meant]
    near = elsewhere + [prefix + name for name in difflib.get_close_matches(rest, siblings, 1, 0.7)]
    advice = f"did you mean {near[0]}?" if near else f"known here: {', '.join(siblings)}"
    return f"unknown key {printable(key)}; {advice}"


def _checked(field: dataclasses.Field, value: Any, place: str) -> Any:
    try:
        return field.metadata["check"](value)
    except ValueError as error:
        raise ConfigError(f"{place}{error}") from None


def _read_section(cls: type, values: Any, source: str, prefix: str = "") -> Any:
    """Make a section's dataclass of a mapping; missing keys get their defaults."""
    fields = _fields(cls)
    if values is None:
        values = {}
    if not isinstance(values, Mapping):
        where = f"{prefix[:-1]} = {_show(values)}: " if prefix else ""
        raise ConfigError(f"{source}: {where}must be a section with keys of its own ({', '.join(fields)})")
    for name in values:
        if name not in fields:
            shown = name if isinstance(name, str) else _show(name)
            raise ConfigError(f"{source}: {_unknown_key(prefix + shown)}")
    if cls is Trainer:
        cls, fields = _chosen_trainer(values, source)
    made = {}
    for name, field in fields.items():
        if "section" in field.metadata:
            made[field.name] = _read_section(
                field.metadata["section"], values.get(name), source, f"{prefix}{name}."
            )
        elif name in values:
            made[field.name] = _checked(
                field, values[name], f"{source}: {prefix}{name} = {_show(values[name])}: "
            )
        elif field.default is dataclasses.MISSING:
            raise ConfigError(f"{source}: {prefix}{name} is missing")
    return cls(**made)


def _chosen_trainer(given: Mapping, source: str) -> tuple[type[Trainer], dict[str, dataclasses.Field]]:
    """The trainer that a section names, and its keys; settings of other trainers must not be given."""
    field = _trainer_name()
    name: str = _default_trainer().name
    if "name" in given:
        name = _checked(field, given["name"], f"{source}: trainer.name = {_show(given['name'])}: ")
    fields = _trainer_fields(TRAINERS[name])
    for key in given:
        if key != "name" and key not in fields:
            owners = " and ".join(other for other, kind in TRAINERS.items() if key in _trainer_fields(kind))
            raise ConfigError(
                f"{source}: trainer.{key} = {_show(given[key])}: {key} has no meaning for the {name} trainer "
                f"(only for {owners}); leave it out"
            )
    return TRAINERS[name], fields


def _check_together(config: Config, source: str) -> None:
    """Refuse settings that are right one by one and cannot be run together."""

    def refuse(key: str, value: Any, reason: str) -> None:
        raise ConfigError(f"{source}: {key} = {_show(value)}: {reason}")

    trainer = config.trainer
    if config.trees == "projective" and config.decoder == "mst":
        refuse(
            "decoder", "mst", "must be auto or eisner with trees: projective, whose models decode with Eisner"
        )
    if config.features.set == "none" and not config.features.templates:
        refuse("features.templates", [], "must name at least one template with features.set: none")
    if config.data.valid is None:
        if trainer.C and len(trainer.C) > 1:
            refuse("data.valid", None, "must be given where trainer.C lists several values to choose from")
        if trainer.patience:
            refuse("data.valid", None, "must be given where trainer.patience watches its score")
        if config.refit:
            refuse("data.valid", None, "must be given where refit adds it to the training data")


def config_from_dict(
    values: Any, base_dir: str | os.PathLike, source: str = "config", name: str | None = None
) -> Config:
    """Check a mapping and make a `Config` of it.

    Parameters
    ----------
    values : mapping
        Sections and keys as in a config file.
    base_dir : path
        What a relative ``data.root`` is relative to.
    source : str
        What to call the mapping in errors.
    name : str, optional
        The run's name where the mapping gives none.

    Raises
    ------
    ConfigError
        The first fault, with its dotted key, the value and what is allowed.
    """
    if isinstance(values, Mapping) and name is not None:
        values = {"name": name, **values}
    config: Config = _read_section(Config, values, source)
    _check_together(config, source)
    root = os.path.realpath(os.path.join(base_dir, config.data.root))
    return dataclasses.replace(config, data=dataclasses.replace(config.data, root=root))


def apply_overrides(values: dict, overrides: Iterable[str]) -> dict:
    """A copy of a config's mapping with ``dotted.key=value`` settings put over it.

    The value is YAML and means what it would mean in the file; with nothing after ``=`` the key returns
    to its default. ``data.valid.words=500`` replaces the whole of ``data.valid``.

    Raises
    ------
    ConfigError
        The first fault.
    TypeError
        If ``overrides`` is a single string, or holds what is none.
    """
    overrides = _listed(overrides)
    values = dict(values)
    known = config_keys()
    for text in overrides:
        override = parse_override(text)
        key, source = override.dotted, override.source
        if any(name.startswith(key + ".") for name in known):
            raise ConfigError(f"{source}: {key} is a section; set one of its keys")
        if key not in known:
            raise ConfigError(f"{source}: {_unknown_key(key)}")
        if override.given:
            _checked(known[key], override.value, f"{source}: ")
        put_over(values, override)
    return values


def _listed(overrides: Iterable[str]) -> list[str]:
    """Overrides as a list; TypeError for a single string, and for one that is none."""
    if isinstance(overrides, str):
        raise TypeError(f"overrides is one string; give a list of settings: [{overrides!r}]")
    found = list(overrides)
    for text in found:
        if not isinstance(text, str):
            raise TypeError(f"an override is {text!r}; it must be a string KEY=VALUE")
    return found


def default_name(path: str | os.PathLike) -> str:
    """The name of a config that gives none: the file's without its ending, whatever the locale."""
    return os.fsencode(Path(path).stem).decode("utf-8", "replace")


def load_config(path: str | os.PathLike, overrides: Iterable[str] = ()) -> Config:
    """Read a config file.

    Parameters
    ----------
    path : path
        A YAML file. Its stem is the run's name unless the file gives one, and its folder is what a relative
        ``data.root`` is relative to.
    overrides : iterable of str
        Settings ``dotted.key=value`` that take the place of the file's.

    Raises
    ------
    ConfigError
        The first fault of the file or of an override, on one line.
    TypeError
        If ``overrides`` is a single string, or holds what is none.
    """
    overrides = _listed(overrides)  # a wrong call is said before a fault of the file
    path = os.fspath(path)
    source = printable(path)
    values = read_yaml(path)
    if values is None:
        raise ConfigError(f"{source}: the file is empty: data.train at least must be given")
    if not isinstance(values, Mapping):
        raise ConfigError(f"{source}: must be a mapping of keys to values, found {_show(values)}")
    if "languages" in values and "trainers" in values:
        raise ConfigError(
            f"{source}: the plan of an experiment (it has languages and trainers), not the config of one "
            f"run; mtparse reproduce {source} runs it"
        )
    values = apply_overrides(dict(values), overrides)
    return config_from_dict(values, Path(path).parent, source, name=default_name(path))


# Writing.


def config_to_dict(config: Any) -> dict:
    """Every applicable key with its value, in the terms of a config file; `config_from_dict` inverts it.

    ``data.root`` is absolute, so the result can be read from any folder.
    """
    if isinstance(config, Trainer):
        values = {name: getattr(config, name) for name in _trainer_fields(type(config))}
        shown = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return {"name": config.name, **shown}
    made: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if "section" in field.metadata:
            made[_yaml_name(field)] = config_to_dict(value)
        elif isinstance(value, ValidPart):
            made["valid"] = _escape(value.value) if value.kind == "path" else {value.kind: value.value}
        elif isinstance(value, Fold):
            made["test"] = {"fold": value.number, "of": value.of}
        elif field.metadata["check"] in (checks.path, checks.paths, checks.test_part):
            several = isinstance(value, tuple)
            made[_yaml_name(field)] = list(map(_escape, value)) if several else _escape(value)
        elif isinstance(value, tuple):
            made[_yaml_name(field)] = list(value)
        else:
            made[_yaml_name(field)] = value
    return made


def comparable(values: Any) -> Any:
    """A config's mapping without what no result depends on: files are known by their content."""
    if not isinstance(values, Mapping):
        return values
    data = values.get("data")
    shown = {k: v for k, v in data.items() if k != "root"} if isinstance(data, Mapping) else data
    return {**{k: v for k, v in values.items() if k not in ("threads", "checkpoint")}, "data": shown}


def _escape(path: Any) -> Any:
    return path.replace("$", "$$") if isinstance(path, str) else path


def dump_config(config: Config) -> str:
    """The resolved config as YAML text that `load_config` reads back as an equal `Config`."""
    return dump_yaml(config_to_dict(config))
