"""Config files: YAML that is refused, overrides, the way back to YAML, the configs of the project."""

from __future__ import annotations

import dataclasses
import os
import re

import pytest
from helpers.configs import MINIMAL, load, message
from helpers.project import ROOT
from hypothesis import given
from hypothesis import strategies as st

from mtparse.config.run import (
    ValidPart,
    apply_overrides,
    config_from_dict,
    config_keys,
    config_to_dict,
    dump_config,
    load_config,
)
from mtparse.config.strict_yaml import dump_yaml, parse_yaml, read_yaml
from mtparse.errors import ConfigError
from mtparse.experiment.run_checks import require_files
from mtparse.training.trainers import TRAINERS, LogLinear

pytestmark = pytest.mark.nojit

CONFIGS = ROOT / "configs"
PLANS = {CONFIGS / name for name in ("demo.yaml", "six-treebanks.yaml", "conllx.yaml")}


# What is refused: YAML.


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "run.yaml: the file is empty: data.train at least must be given"),
        ("# nothing\n", "run.yaml: the file is empty"),
        ("- a\n- b\n", 'run.yaml: must be a mapping of keys to values, found ["a", "b"]'),
        ("text", 'run.yaml: must be a mapping of keys to values, found "text"'),
        ("data:\n  train: a\n  train: b\n", "run.yaml:3: the key train is given twice (first on line 2)"),
        ("seed: 1\n'seed': 2\n", "run.yaml:2: the key seed is given twice (first on line 1)"),
        ("a: {<<: {b: 1}, <<: {c: 1}}", "run.yaml:1: the key << is given twice"),
        ("seed: 1\ntrainer:\n\tC: 1\n", "run.yaml:3: while scanning for the next token, found"),
        ("data: {train: a\nseed: 1", "run.yaml:2: "),
        ("seed: 1\nname: a: b", "run.yaml:2: mapping values are not allowed here; put a text"),
        ("data: *nothing", "run.yaml:1: found undefined alias 'nothing'"),
        ("seed: 1\n--- \nseed: 2", "run.yaml:2: expected a single document in the stream"),
        ("? [a]\n: b", "run.yaml:1: a key must be a plain word"),
        ("data: &a [*a]", "run.yaml:1: *a contains itself"),
        ("data: &a {x: *a}", "run.yaml:1: *a contains itself"),
        ("seed: !!python/object/apply:os.getcwd []", "run.yaml:1: tags (!...) are not used in config files"),
        ("seed: ! 1", "run.yaml:1: tags (!...) are not used in config files"),
        ("a: " + "[" * 100_000, "run.yaml:1: nested more than 20 levels deep"),
        ("a:\n" + "".join(" " * level + "- \n" for level in range(1, 300)), "run.yaml:"),
        (BOMB, "run.yaml:5: more than 10000 values"),
        (f"seed: {'1' * 5000}", "run.yaml:1: a number of too many digits"),
        ('name: "\\ud800"', "run.yaml:1: a character that is no text"),
        ('name: "\\0"', "run.yaml:1: a character that is no text"),
        ("seed: 1\nname: \x07", "run.yaml:2: a character that is no text (#x0007)"),
        (b"seed: 1\nname: \xe9\n", "run.yaml:2: not UTF-8 text"),
        (b"#" * (1 << 20) + b"\n", "run.yaml: larger than 1048576 bytes: not a config file"),
        ("date: 2006-01-01", "run.yaml: unknown key date; did you mean data?"),
    ],
)  # fmt: skip
def test_files_that_are_no_config(tmp_path, text, expected):
    """Each is one clean line, with the line number where there is one; none costs time or memory."""
    assert message(tmp_path, text).startswith(expected)


def test_tabs_get_advice(tmp_path):
    """The usual slip of indenting with a tab is named."""
    assert message(tmp_path, "data:\n\ttrain: a").endswith("; indent with spaces, not with tabs")


@pytest.mark.parametrize(
    ("name", "reason"),
    [("none.yaml", "No such file or directory"), (".", "Is a directory"), ("a\0b", "embedded null byte")],
)
def test_files_that_cannot_be_read(tmp_path, name, reason):
    """The system's reason stands after the file's name."""
    with pytest.raises(ConfigError, match=f"cannot read the config: {reason}$"):
        load_config(f"{tmp_path}/{name}")


def test_mapping_that_is_none(tmp_path):
    """config_from_dict checks what it is given, whoever made it."""
    with pytest.raises(
        ConfigError, match=re.escape("lang: must be a section with keys of its own (name, data")
    ):
        config_from_dict([1], tmp_path, "lang")
    with pytest.raises(ConfigError, match=r"^config: name is missing$"):
        config_from_dict({"data": {"train": "a"}}, tmp_path)


# Overrides.


def test_overrides(tmp_path):
    """They take the file's place, last one first, in sections that the file has or lacks."""
    config = load(
        tmp_path,
        MINIMAL + "seed: 3\n",
        "seed=4",
        "seed=5",
        "trainer.C=[1e-2, 1]",
        "data.valid.words=50",
        "name=no",
    )

    assert (config.seed, config.name) == (5, "no")
    assert config.trainer.C == (0.01, 1.0)
    assert config.data.valid == ValidPart("words", 50)
    assert config.data.train == "a.conll"


def test_override_with_nothing_restores_the_default(tmp_path):
    """So that a file's trainer can be exchanged for one without some of its settings."""
    text = MINIMAL + "trainer: {C: 1, tolerance: 0.1}"

    config = load(
        tmp_path, text, "trainer.name=perceptron", "trainer.C=", "trainer.tolerance=", "trainer.beta="
    )

    assert config.trainer.name == "perceptron"
    assert load(tmp_path, text, "trainer.C=").trainer.C == LogLinear().C


def test_overrides_leave_their_input_alone():
    """The mapping that was read may serve for the next run."""
    values = {"trainer": {"C": 1}}

    assert apply_overrides(values, ["trainer.C=2", "seed=3"]) == {"trainer": {"C": 2}, "seed": 3}
    assert values == {"trainer": {"C": 1}}


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("seed", "--set seed: must have the form KEY=VALUE"),
        ("seed=x", "--set seed=x: must be a whole number from 0 to 4294967295"),
        ("data.valid.words=0", "--set data.valid.words=0: must be a whole number from 1"),
        ("seed=[1", "--set seed=[1:1: while parsing a flow sequence"),
        ("trainer=perceptron", "--set trainer=perceptron: trainer is a section; set one of its keys"),
        ("trainer.pases=3", "--set trainer.pases=3: unknown key trainer.pases; did you mean trainer.passes?"),
        ("passes=3", "--set passes=3: unknown key passes; did you mean trainer.passes?"),
        ("seed.x=3", "--set seed.x=3: unknown key seed.x; did you mean seed?"),
        ("=3", "--set =3: unknown key ; known here: name, data,"),
        ("features.set=mcdonald", "--set features.set=mcdonald: features has no keys, it is 3"),
    ],
)
def test_wrong_overrides(tmp_path, override, expected):
    """The override is quoted, since the fault is on the command line and not in the file."""
    assert message(tmp_path, MINIMAL + "features: 3", override).startswith(expected)


# The way back.


@pytest.mark.parametrize(
    "text",
    [
        "data: {train: a.conll}",
        "data: {train: a, root: /x, valid: 'v$$w', test: ~/t, format: conllu, encoding: latin-1}\nname: 'no'",
        "data: {train: a, valid: {words: 9}}\ntrainer: {name: max-margin, C: 1e-7, step: paper, beta: 0}",
        "data: {train: 'é\u2028x', valid: null}\ntrainer: {name: perceptron, shuffle: true}\nthreads: 2",
        "data: {train: '1e-3', valid: {fraction: 1e-5}}\nfeatures: {from: all, templates: ['Hw Mw', 'Ma']}",
    ],
)
def test_resolved_config_loads_back(tmp_path, text):
    """The resolved config gives an equal one from another folder under another name, and is a fixed point."""
    config = load(tmp_path, text)
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "elsewhere" / "config.yaml"
    path.write_text(dump_config(config), encoding="utf-8")

    again = load_config(path)

    assert again == config
    assert dump_config(again) == dump_config(config)


@pytest.mark.parametrize("trainer", ["log-linear", "perceptron", "max-margin"])
def test_resolved_config_has_every_applicable_key(tmp_path, trainer):
    """Every key is written, but for those that the trainer does not have."""

    def dotted(values, prefix=""):
        for key, value in values.items():
            if isinstance(value, dict) and key != "valid":
                yield from dotted(value, f"{prefix}{key}.")
            else:
                yield prefix + key

    found = set(dotted(config_to_dict(load(tmp_path, MINIMAL + f"trainer: {{name: {trainer}}}"))))

    others = {key for key in config_keys() if not key.startswith("trainer.")}
    own = {f"trainer.{field.name}" for field in dataclasses.fields(TRAINERS[trainer])}
    assert found == others | own | {"trainer.name"}
    assert own < set(config_keys())


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
tricky = st.sampled_from(
    ["no", "Yes", "1e-3", "010", "1_0", "1:30", "0x1f", "~", "null", "2006-01-01", "=", "<<"]
)
scalars = (
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.floats(allow_nan=False) | texts | tricky
)


@given(st.dictionaries(texts, scalars | st.lists(scalars, max_size=4)))
def test_yaml_round_trip(values):
    """What is written is read back as the same values of the same types."""
    found = parse_yaml(dump_yaml(values), "x")

    assert repr(found) == repr(values)


@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!|>'\"%@#?, \n\t<~0.\\"), max_size=40))
def test_any_text_is_read_or_refused_cleanly(text):
    """No text makes the reader fail in another way than by a ConfigError on one line."""
    error = None
    try:
        config_from_dict(parse_yaml(text, "x"), ".", "x", name="x")
    except ConfigError as caught:
        error = str(caught)

    assert error is not None
    assert error.startswith("x")
    assert error.isprintable()


# Files.


def test_require_files_names_every_fault(tmp_path):
    """Missing and empty treebanks of all runs are listed at once; each is named once."""
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "good").write_text("1\n")
    configs = [
        load(tmp_path, "data: {train: good, valid: empty, test: none}"),
        load(tmp_path, "data: {train: folder, test: none}"),
        load(tmp_path, "data: {train: good}"),
    ]

    with pytest.raises(ConfigError) as caught:
        require_files(configs)

    root = os.path.realpath(tmp_path)
    expected = f"{root}/empty is empty; {root}/none is missing; {root}/folder is a folder"
    expected += " (relative paths start at data.root)"
    assert str(caught.value) == expected
    require_files(configs[2:])


@pytest.mark.parametrize("path", sorted(set(CONFIGS.glob("*.yaml")) - PLANS), ids=lambda path: path.stem)
def test_every_committed_config_loads(path):
    """Each loads under its own name; those of the demo data find their files."""
    config = load_config(path)

    assert config.name == path.stem
    if path.stem.startswith("demo-") or path.stem == "reference":
        require_files([config])
    if path.stem.startswith("demo-"):
        assert path.stem == f"demo-{config.trainer.name}-{config.trees}"


def test_committed_configs_are_all_there():
    """Three trainers times two families of trees on demo data, six languages, the reference."""
    assert len(list(CONFIGS.glob("demo-*.yaml"))) == 6
    assert len(set(CONFIGS.glob("*.yaml")) - PLANS) == 13


def test_reference_names_every_key_with_its_default(tmp_path):
    """Keys in comments (settings of other trainers) count; values are the dataclasses' own."""
    text = re.sub(r"(?m)^( {0,2})# (\w+: )", r"\1\2", (CONFIGS / "reference.yaml").read_text())
    found = parse_yaml(text, "reference")
    fields = config_keys()

    for key, field in fields.items():
        value = found
        for name in key.split("."):
            value = value[name]
        if key not in ("name", "data.root", "data.train"):
            assert field.metadata["check"](value) == field.default, key

    defaults = config_from_dict({"data": {"train": "train.conll"}}, tmp_path, name="reference")
    reference = load_config(CONFIGS / "reference.yaml")
    assert dataclasses.replace(reference, data=dataclasses.replace(reference.data, root="")) == (
        dataclasses.replace(defaults, data=dataclasses.replace(defaults.data, root=""))
    )


@pytest.mark.parametrize("size", [1, 100_000])
def test_a_treebank_in_the_place_of_a_config(size, tmp_path):
    """What somebody tries first; a large one is not called too large."""
    path = tmp_path / "small.conllu"
    path.write_text("# text = a\n" + ("1\ta\t_\tN\tN\t_\t0\tr\t_\t_\n\n" * size))
    with pytest.raises(ConfigError, match=r"small.conllu: this is a treebank, not a config; .* data.train"):
        read_yaml(str(path))
