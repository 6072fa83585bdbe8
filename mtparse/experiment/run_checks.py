"""What is looked at before a run or an experiment begins: files that can be read, settings without effect."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import chain

from mtparse.config.run import Config
from mtparse.config.strict_yaml import printable
from mtparse.errors import ConfigError
from mtparse.training.trainers import Trainer


def require_files(configs: Iterable[Config]) -> None:
    """Refuse to start while a treebank is missing, empty, named twice, or cannot be read again.

    Raises
    ------
    ConfigError
        One line that lists the files; of more than four the first three.
    """
    faults: dict[str, str] = {}
    once: list[str] = []
    for config in configs:
        files = [os.path.realpath(path) for path in config.data.train_paths]
        if twice := [path for k, path in enumerate(files) if path in files[:k]]:
            raise ConfigError(f"{printable(twice[0])}: data.train names this file twice")
        for path in chain.from_iterable(config.data.paths.values()):
            if os.path.isdir(path):
                faults[path] = "is a folder"
            elif not os.path.exists(path):
                faults[path] = "is missing"
            elif not os.path.isfile(path):
                once.append(path)
            elif os.path.getsize(path) == 0:
                faults[path] = "is empty"
    if once:
        listed = ", ".join(map(printable, dict.fromkeys(once)))
        raise ConfigError(
            f"{listed}: a pipe or device can be read only once, and treebanks are read more than once; "
            "save it to a file first and name that file"
        )
    if faults:
        shown = [f"{printable(path)} {fault}" for path, fault in faults.items()]
        more = f"; and {len(shown) - 3} more files" if len(shown) > 4 else ""
        listed = "; ".join(shown[:3] if more else shown)
        raise ConfigError(f"{listed}{more} (relative paths start at data.root)")


def useless_seed(trainers: Iterable[Trainer], overrides: Iterable[str], *seeds: int) -> str | None:
    """What to warn of where a seed other than the default, or one on the command line, changes nothing.

    Parameters
    ----------
    trainers
        Those that get the seed.
    overrides
        The settings of the command line.
    seeds
        The resolved ones.
    """
    trainers = list(trainers)
    given = any(override.partition("=")[0].strip() in ("seed", "seeds") for override in overrides)
    if any(trainer.uses_seed for trainer in trainers) or not (given or seeds != (Config.seed,)):
        return None
    names = (t.name if t.shuffle is None else f"{t.name} (shuffle: false)" for t in trainers)
    return f"seed: no effect with {', '.join(dict.fromkeys(names))}: nothing is drawn at random"
