"""YAML as config files need it: strict, small, and with errors that fit on one line.

Differences from ``yaml.safe_load``: a repeated key is an error; ``1e-3`` is a number and ``010`` is ten;
``yes``, ``no``, ``on`` and ``off`` are text that a truth value may be made of, never a surprise; dates are
text; tags are refused; nesting and the expansion of aliases are bounded.
"""

from __future__ import annotations

import re

import yaml

from mtparse.errors import ConfigError
from mtparse.treebank.byte_source import is_packed

MAX_BYTES = 1 << 20
MAX_DEPTH = 20
MAX_NODES = 10_000
MAX_DIGITS = 400

_WORD_TAG = "tag:mtparse:word"
_SCALARS = (
    ("tag:yaml.org,2002:null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    (_WORD_TAG, r"yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF", list("yYnNoO")),
    ("tag:yaml.org,2002:int", r"[-+]?[0-9]+", list("-+0123456789")),
    (
        "tag:yaml.org,2002:float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
    ("tag:yaml.org,2002:merge", r"<<", ["<"]),
)


class BareWord(str):
    """A ``yes``, ``no``, ``on`` or ``off`` without quotes: a truth value if one is wanted, else text."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return self.lower() in ("yes", "on")


class _Loader(yaml.SafeLoader):
    """SafeLoader with the rules of this module; its errors are yaml's own, with marks."""

    yaml_implicit_resolvers: dict = {}  # noqa: RUF012 - yaml's class-level table, filled below

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent, index):
        event = self.peek_event()
        mark = event.start_mark
        if getattr(event, "tag", None) is not None:
            raise yaml.composer.ComposerError(None, None, "tags (!...) are not used in config files", mark)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise yaml.composer.ComposerError(None, None, f"nested more than {MAX_DEPTH} levels deep", mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if isinstance(event, yaml.AliasEvent):
            if id(node) not in self._sizes:
                raise yaml.composer.ComposerError(None, None, f"*{event.anchor} contains itself", mark)
        else:
            self._sizes[id(node)] = self._size(node)
        if self._sizes[id(node)] > MAX_NODES:
            raise yaml.composer.ComposerError(None, None, f"more than {MAX_NODES} values", mark)
        return node

    def _size(self, node: yaml.Node) -> int:
        """Nodes at and below this one, those behind an alias counted at each use."""
        if isinstance(node, yaml.MappingNode):
            return 1 + sum(self._sizes[id(part)] for pair in node.value for part in pair)
        if isinstance(node, yaml.SequenceNode):
            return 1 + sum(self._sizes[id(part)] for part in node.value)
        if "\0" in node.value or any("\ud800" <= char <= "\udfff" for char in node.value):
            raise yaml.composer.ComposerError(None, None, "a character that is no text", node.start_mark)
        return 1

    def compose_mapping_node(self, anchor):
        # Here, not at construction: merging (<<) rewrites a node's pairs, so repeats would be false there.
        node = super().compose_mapping_node(anchor)
        first: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.composer.ComposerError(None, None, "a key must be a plain word", key.start_mark)
            if key.value in first:
                problem = f"the key {printable(key.value)} is given twice (first on line {first[key.value]})"
                raise yaml.composer.ComposerError(None, None, problem, key.start_mark)
            first[key.value] = key.start_mark.line + 1
        return node


class _Dumper(yaml.SafeDumper):
    """SafeDumper that also quotes text which ``_Loader`` would not read back as text."""

    def ignore_aliases(self, data) -> bool:
        return True

    def represent_text(self, data: str) -> yaml.ScalarNode:
        # Only between double quotes does yaml escape U+0085 and its like, which elsewhere end a line.
        style = None if data.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.represent_text)


def _whole_number(loader: _Loader, node: yaml.ScalarNode) -> int:
    if len(node.value) > MAX_DIGITS:  # Python itself refuses from 4300 digits on
        raise yaml.constructor.ConstructorError(None, None, "a number of too many digits", node.start_mark)
    return int(node.value)


for _tag, _pattern, _first in _SCALARS:
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(_tag, re.compile(rf"(?:{_pattern})\Z"), _first)

_Loader.add_constructor(_WORD_TAG, lambda loader, node: BareWord(node.value))
_Loader.add_constructor("tag:yaml.org,2002:int", _whole_number)


def printable(text: str) -> str:
    """Text with line ends and other characters that do not print replaced by escapes."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def parse_yaml(text: str, source: str) -> object:
    """Read one YAML document.

    Parameters
    ----------
    text : str
        The document.
    source : str
        What to call it in errors, as a rule the file's name.

    Returns
    -------
    object
        dict, list, str, int, float, bool, None or `BareWord`; None for an empty document.

    Raises
    ------
    ConfigError
        Not YAML, or YAML that this module refuses; one line with source and line number.
    """
    try:
        loader = _Loader(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{source}:{mark.line + 1}" if mark else source
        what = ", ".join(filter(None, (error.context, error.problem)))
        if "\\t" in what or "\t" in what:
            what += "; indent with spaces, not with tabs"
        elif "mapping values are not allowed" in what:
            what += "; put a text that contains ': ' in quotes"
        raise ConfigError(f"{place}: {printable(what)}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(
            f"{source}:{line}: a character that is no text (#x{error.character:04x})"
        ) from error


def read_yaml(path: str) -> object:
    """Read the YAML document in a file; the path is named in errors as it was given.

    Raises
    ------
    ConfigError
        The file cannot be read, is not UTF-8 text, is too large for a config, or is not strict YAML.
    """
    source = printable(path)
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"{source}: cannot read the config: {reason}") from error
    if any(line.count(b"\t") >= 7 for line in data[:10_000].split(b"\n") if not line.startswith(b"#")):
        raise ConfigError(
            f"{source}: this is a treebank, not a config; write its path into a YAML file, as data.train"
        )
    if is_packed(data):
        raise ConfigError(f"{source}: this is a compressed file, not a config, which names treebanks' paths")
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{source}: larger than {MAX_BYTES} bytes: not a config file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{source}:{line}: not UTF-8 text") from error
    return parse_yaml(text, source)


def dump_yaml(value: object) -> str:
    """YAML text that `parse_yaml` reads back as an equal value; keys keep their order."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1000)
