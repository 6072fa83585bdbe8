"""The record of its plan that an experiment's directory keeps: the config of every run it may hold.

``plan.json`` has the plan's ``name`` and ``shared_task``, under ``cells`` the configs of its runs, and under
``earlier`` those of runs that no longer belong to it but may still be there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from mtparse.config.run import config_from_dict
from mtparse.errors import ConfigError, MtparseError
from mtparse.experiment.plan import SHARED_TASKS, Cell, Plan

PLAN_NAME = "plan.json"
_OLD_NAME = "plan.yaml"
TABLES = "tables"
"""The folder of the tables in an experiment's directory."""


def run_folder(directory: str, cell: Cell) -> str:
    """The run directory of a cell in an experiment's directory."""
    return os.path.join(directory, "runs", str(cell))


def read_record(directory: str) -> dict[str, Any]:
    """What ``plan.json`` holds.

    Raises
    ------
    MtparseError
        If it is missing or damaged, or if the experiment is one of a version before 0.2.
    """
    path = os.path.join(directory, PLAN_NAME)
    if not os.path.exists(path) and os.path.exists(os.path.join(directory, _OLD_NAME)):
        raise MtparseError(
            f"{directory}: an experiment of mtparse 0.1, which stored its runs in another way; use that "
            "version, or start again with another --out"
        )
    if not os.path.isdir(directory):
        raise MtparseError(f"{directory}: no such directory; name one that mtparse reproduce has made")
    if not os.path.exists(path):
        raise MtparseError(
            f"{directory}: not an experiment, as it has no {PLAN_NAME}; name a directory that mtparse "
            "reproduce has made"
        )
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        for name, config in {**record["cells"], **record["earlier"]}.items():
            if str(Cell.parse(name)) != name or not isinstance(config, dict):
                raise ValueError(name)
        if record["shared_task"] not in (None, *SHARED_TASKS) or not isinstance(record["name"], str):
            raise ValueError("shared_task")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise MtparseError(
            f"{path}: damaged: what this experiment began with cannot be read; start again with another --out"
        ) from error
    return record


def merged_record(before: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """The record of an experiment whose languages are now, for a part or in whole, those of ``plan``.

    Languages are in the plan's order if it has all of them; else new ones come last.
    """
    now = {str(cell): config for cell, config in plan.as_dict().items()}
    old = before.get("cells", {})
    languages = list(dict.fromkeys(Cell.parse(name).language for name in old))
    if set(languages) <= set(plan.languages):
        languages = plan.languages
    else:
        languages += [language for language in plan.languages if language not in languages]
    cells = {}
    for language in languages:
        source = now if language in plan.languages else old
        cells |= {name: config for name, config in source.items() if Cell.parse(name).language == language}
    earlier = {**before.get("earlier", {}), **old}
    return {
        "name": plan.name,
        "shared_task": plan.shared_task,
        "cells": cells,
        "earlier": {name: config for name, config in earlier.items() if name not in cells},
    }


def load_stored_plan(directory: str) -> Plan:
    """The plan of an experiment from what its directory keeps; where the treebanks are is forgotten.

    Raises
    ------
    MtparseError
        As :func:`read_record`; also if a config is none of this version.
    """
    path = os.path.join(directory, PLAN_NAME)
    record = read_record(directory)
    cells = {}
    for name, values in record["cells"].items():
        if isinstance(data := values.get("data"), dict):
            values = {**values, "data": {**data, "root": "."}}  # may name a variable that is not set here
        try:
            cells[Cell.parse(name)] = config_from_dict(values, directory, f"{path} ({name})")
        except ConfigError as error:
            raise MtparseError(str(error)) from error
    if not cells:
        raise MtparseError(f"{path}: holds no run")
    return Plan(record["name"], cells, record["shared_task"])
