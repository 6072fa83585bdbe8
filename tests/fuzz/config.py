"""Any text as a config or a plan, with any overrides: a config that survives a round trip, or ConfigError."""

from __future__ import annotations

import os
import sys
import tempfile

from common import ROOT, fuzz, instrumented

with instrumented("mtparse", "yaml"):
    from mtparse.config.run import config_keys, dump_config, load_config
    from mtparse.errors import ConfigError
    from mtparse.experiment.plan import load_plan
    from mtparse.training.trainers import TRAINERS

_folder = tempfile.TemporaryDirectory()
PATH = os.path.join(_folder.name, "run.yaml")

WORDS = [
    *config_keys(), *(f"{name.rpartition('.')[2]}: " for name in config_keys()), *TRAINERS,
    "trainer: ", "trainers: ", "languages: ", "shared_task: ", "data: ", "features: ", "fraction: ",
    "null", "true", "yes", ".inf", "1e-3", "- ", "{", "}", "[", "]", "&a ", "*a", "<<: *a", "|", ">", "? ",
    "! ", "'", "$HOME", "~/", "$$", "Hw Mp", "Bp#", "..", "=", "---",
]  # fmt: skip

SEPARATOR = b"\0"
"""Between the text of the file and each override."""


def check(data: bytes) -> None:
    """Load the data as a config and as a plan."""
    text, *parts = data.split(SEPARATOR)
    overrides = [part.decode("utf-8", "surrogateescape") for part in parts]
    write(text)
    try:
        if b"languages" in text:
            load_plan(PATH, overrides)
            return
        config = load_config(PATH, overrides)
    except ConfigError as error:
        message = str(error)
        assert message.splitlines() == [message]
        message.encode("utf-8", "surrogateescape")
        return
    write(dump_config(config).encode())
    assert load_config(PATH) == config


def write(text: bytes) -> None:
    """Put a text where it is loaded from."""
    with open(PATH, "wb") as file:
        file.write(text)


def seeds():
    """Configs of the project, and short ones with what configs can have."""
    for path in sorted((ROOT / "configs").glob("*.yaml")):
        lines = path.read_text(encoding="utf-8").splitlines()
        yield "\n".join(line.partition(" #")[0] for line in lines if not line.startswith("#")).encode()
    for text in (
        "data: {train: a, valid: {words: 5}, test: b, encoding: latin-1}\ntrainer: {C: [1, 2e-3]}",
        "data: {train: $HOME/a, valid: null}\ntrainer: {name: perceptron, shuffle: yes}\nname: x",
        "a: &a {train: x}\ndata: *a\n",
        "data:\n  <<: {train: x}\n  valid: b\nfeatures: {templates: ['Hw Mp+1', 'Ha Ma']}\n",
        "languages: {x: {train: a, test: b}}\ntrainers: {perceptron: , log-linear: {C: 1}}\n",
        "languages: {arabic: {train: a, test: b}}\ntrainers: {max-margin: {}}\nshared_task: conllx\n",
    ):
        for override in ("trainer.C=[1,2]", "data.valid.fraction=0.5", "seed=", "trainers.perceptron={}"):
            yield f"{text}\0{override}".encode()


if __name__ == "__main__":
    sys.exit(fuzz(check, seeds(), WORDS))
