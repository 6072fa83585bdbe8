"""Config files written and loaded in one step, for the tests of the config."""

from __future__ import annotations

import pytest

from mtparse.config.run import Config, load_config
from mtparse.errors import ConfigError

MINIMAL = "data: {train: a.conll}\n"


def load(folder, text: str | bytes, *overrides: str) -> Config:
    """Write a text to run.yaml in a folder and load it."""
    path = folder / "run.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_config(path, overrides)


def message(folder, text: str | bytes, *overrides: str) -> str:
    """The error that a text gives, without the folder's name; it must be one line."""
    with pytest.raises(ConfigError) as caught:
        load(folder, text, *overrides)
    assert str(caught.value).isprintable()
    return str(caught.value).replace(f"{folder}/", "")
