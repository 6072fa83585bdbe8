"""Settings of the command line, ``dotted.key=value``, put over what a file says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mtparse.config.checks import VALID_KINDS
from mtparse.config.strict_yaml import parse_yaml, printable
from mtparse.errors import ConfigError


class Override(NamedTuple):
    """One setting; ``given`` is False where nothing stands after ``=`` and the key returns to its default."""

    sections: list[str]
    key: str
    value: Any
    given: bool
    source: str

    @property
    def dotted(self) -> str:
        """The key with its sections."""
        return ".".join([*self.sections, self.key])


def parse_override(text: str) -> Override:
    """Read a setting. Its value is YAML and means what it would mean in the file.

    ``data.valid.words=500`` replaces the whole of ``data.valid``.

    Raises
    ------
    ConfigError
        If there is no ``=``, or no YAML after it.
    """
    dotted, equals, value_text = text.partition("=")
    source = f"--set {printable(text)}"
    if not equals:
        raise ConfigError(f"{source}: must have the form KEY=VALUE")
    value = parse_yaml(value_text, source)
    *sections, key = dotted.strip().split(".")
    if sections and sections[-1] == "valid" and key in VALID_KINDS:
        *sections, key, value = *sections, {key: value}
    return Override(sections, key, value, bool(value_text.strip()), source)


def put_over(values: dict, override: Override) -> None:
    """Put a setting over a mapping; the sections on its way are copied, others are shared.

    Raises
    ------
    ConfigError
        If what should be a section is none.
    """
    for section in override.sections:
        below = values.get(section)
        if below is not None and not isinstance(below, Mapping):
            raise ConfigError(f"{override.source}: {section} has no keys, it is {printable(str(below))}")
        values[section] = dict(below or {})
        values = values[section]
    if override.given:
        values[override.key] = override.value
    else:
        values.pop(override.key, None)
