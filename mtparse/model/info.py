"""What a model is, for people and for programs: how it was trained, on what, and what it knows."""

from __future__ import annotations

import os
import time
from typing import Any

from mtparse.model.model_file import load_model, model_path
from mtparse.treebank.inventory import Inventory, describe


def model_info(path: str | os.PathLike) -> dict[str, Any]:
    """Everything about a model but its weights.

    Parameters
    ----------
    path
        A model file, or a run directory.

    Returns
    -------
    dict
        ``file``, ``bytes`` and ``written`` (the file's time of change, UTC); ``root``, ``decoder``,
        ``templates``, ``bases`` and ``features`` (those with a weight that matters; ``features_in_training``
        are all that were trained); and what was kept of the training:
        ``trainer``, ``trees``, ``C``, ``passes``, ``refit``, ``seed``, ``valid`` (scores on validation data,
        percent), ``words``, ``files`` with their ``sha256``, ``versions``, ``inventory`` (see
        `mtparse.treebank.inventory.Inventory`), and more. Models of older versions lack some.

    Raises
    ------
    ModelError, OSError
        As `mtparse.model.model_file.load_model`.
    """
    model = load_model(path)
    file = model_path(path)
    status = os.stat(file)
    return {
        **model.info,
        "file": file,
        "bytes": status.st_size,
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(status.st_mtime)),
        "root": model.root,
        "decoder": model.decoder,
        "templates": model.templates,
        "bases": len(model.keys),
        "features": len(model.weights),
        "features_in_training": model.info.get("features"),
    }


def format_info(info: dict[str, Any]) -> str:
    """What `model_info` gives, as aligned lines."""
    total = info.get("features_in_training")
    some = total not in (None, info["features"])
    trained = f" (of {total} in training; the weights of the others are negligible)" if some else ""
    lines = {
        "file": f"{info['file']} ({info['bytes'] / 1e6:.1f} MB, written {info['written']})",
        "trees": f"{info.get('trees', 'unknown')}, {info['root']}-root; decoder {info['decoder']}",
        "trainer": _trainer(info),
        "features": f"{info['features']} with a weight{trained}, {len(info['templates'])} templates",
    }
    for key, name in (("words", "words"), ("files", "files"), ("versions", "versions")):
        if isinstance(info.get(key), dict):
            hashes = info.get("sha256", {}) if key == "files" else {}
            parts = [
                f"{part} {value}" + (f" (SHA-256 {hashes[part][:16]}...)" if part in hashes else "")
                for part, value in info[key].items()
            ]
            lines[name] = ", ".join(parts)
    if isinstance(info.get("valid"), dict):
        shown = {k: "n/a" if v is None else f"{v:.2f} %" for k, v in info["valid"].items()}
        lines["validation"] = (
            f"UAS {shown['all_tokens']} of all tokens, {shown['without_punctuation']} without punctuation"
            + (", before the refit" if info.get("refit") else "")
        )
    inventory = Inventory.from_dict(info.get("inventory"))
    if inventory is None:
        lines["columns"] = "not recorded (a model of an older version)"
    else:
        lines |= describe(inventory)
    width = max(map(len, lines)) + 2
    return "\n".join(f"{name + ':':{width}}{text}" for name, text in lines.items())


def _trainer(info: dict[str, Any]) -> str:
    parts = [info.get("trainer", "unknown")]
    if info.get("C") is not None:
        parts.append(f"C = {info['C']:g}")
    if "passes" in info:
        parts.append(f"{info['passes']} passes")
    if info.get("refit"):
        parts.append("refitted on all training data")
    return ", ".join(parts)
