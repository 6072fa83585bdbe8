"""Config keys: what is read, what is refused and in which words."""

from __future__ import annotations

import dataclasses
import os

import pytest
from helpers.configs import MINIMAL, load, message
from helpers.project import ROOT

from mtparse.config.run import (
    FeaturesConfig,
    ValidPart,
    load_config,
)
from mtparse.errors import ConfigError
from mtparse.experiment.plan import load_plan
from mtparse.training.trainers import LogLinear

pytestmark = pytest.mark.nojit


# What is read.


def test_defaults(tmp_path):
    """A file with data.train alone gives the documented defaults; the name is the file's stem."""
    config = load(tmp_path, MINIMAL)

    assert config.name == "run"
    assert config.data.root == os.path.realpath(tmp_path)
    assert config.data.train_paths[0] == os.path.join(os.path.realpath(tmp_path), "a.conll")
    assert config.data.valid == ValidPart("fraction", 0.1)
    assert (config.data.test, config.data.test_path, config.data.valid_path) == (None, None, None)
    assert (config.data.format, config.data.encoding) == ("auto", "utf-8")
    assert (config.trees, config.root, config.decoder) == ("nonprojective", "auto", "auto")
    assert (config.labels, config.refit, config.seed, config.threads) == (False, False, 1, 0)
    assert config.trainer == LogLinear()
    assert config.trainer.C == (0.01, 0.03, 0.1, 0.3, 1.0)
    assert config.features == FeaturesConfig("default", "gold", 1, True, ())


def test_config_is_frozen(tmp_path):
    """A run cannot change its own settings on the way."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        load(tmp_path, MINIMAL).seed = 2


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("C: 1e-3", (0.001,)),
        ("C: 1.0e-3", (0.001,)),
        ("C: 3", (3.0,)),
        ("C: [1e-2, 1E+1, 1]", (0.01, 10.0, 1.0)),
    ],
)
def test_numbers_as_people_write_them(tmp_path, text, values):
    """1e-3 is a number, with or without a dot; one number counts as a list of one."""
    found = load(tmp_path, MINIMAL + f"trainer: {{{text}}}").trainer.C

    assert found == values
    assert all(type(value) is float for value in found)


@pytest.mark.parametrize(
    ("word", "truth"),
    [("yes", True), ("On", True), ("true", True), ("no", False), ("OFF", False), ("false", False)],
)
def test_truth_words_without_quotes(tmp_path, word, truth):
    """The YAML words for a truth value are accepted where one is expected."""
    assert load(tmp_path, MINIMAL + f"refit: {word}").refit is truth


def test_truth_words_are_text_where_text_is_expected(tmp_path):
    """A run for Norwegian may be named no; leading zeros do not make a number octal."""
    config = load(tmp_path, MINIMAL + "name: no\nseed: 010\nfeatures: {templates: [Hw Mp, Ma]}")

    assert (config.name, type(config.name)) == ("no", str)
    assert config.seed == 10
    assert config.features.templates == ("Hw Mp", "Ma")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{fraction: 0.25}", ValidPart("fraction", 0.25)),
        ("{words: 500}", ValidPart("words", 500)),
        ("{sentences: 20}", ValidPart("sentences", 20)),
        ("dev/b.conll", ValidPart("path", "dev/b.conll")),
        ("null", None),
    ],
)
def test_forms_of_the_validation_part(tmp_path, text, part):
    """Every documented form of data.valid, and the path where there is one."""
    config = load(tmp_path, f"data: {{train: a, valid: {text}}}\ntrainer: {{C: 1}}")

    assert config.data.valid == part
    expected = os.path.join(config.data.root, "dev/b.conll") if part and part.kind == "path" else None
    assert config.data.valid_path == expected


def test_paths(tmp_path, monkeypatch):
    """The root is relative to the config; home, variables and $$ are replaced; absolute paths stay."""
    monkeypatch.setenv("HOME", "/somewhere")
    monkeypatch.setenv("BANK", "banks")

    config = load(tmp_path, "data: {root: ../$BANK/x, train: ~/a.conll, valid: '${BANK}/v', test: 'c$$d'}")

    assert config.data.root == os.path.realpath(tmp_path / ".." / "banks" / "x")
    assert config.data.train_paths[0] == "/somewhere/a.conll"
    assert config.data.valid_path == os.path.join(config.data.root, "banks/v")
    assert config.data.test_path == os.path.join(config.data.root, "c$d")


def test_anchors_and_merging(tmp_path):
    """Aliases and << work, and a merged key that is given again is no repeated key."""
    config = load(
        tmp_path,
        "data: {train: &file a.conll, test: *file}\n"
        "trainer: {name: log-linear, <<: {passes: 3, patience: 1}, passes: 4}\n",
    )

    assert config.data.test == "a.conll"
    assert (config.trainer.passes, config.trainer.patience) == (4, 1)


def test_byte_order_mark_and_empty_sections(tmp_path):
    """A BOM is skipped; a section whose keys are all commented out has its defaults."""
    assert load(tmp_path, "\ufeffdata:\n  train: a.conll\ntrainer:\n  # C: 1\n") == load(tmp_path, MINIMAL)


# What is refused: values.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("trainer: {C: 0}", "trainer.C = 0: must be a number from 1e-12 to 1e+12, or a list of such numbers"),
        ("trainer: {C: -1}", "trainer.C = -1: must be a number from"),
        ("trainer: {C: .nan}", "trainer.C = .nan: must be a number from"),
        ("trainer: {C: .inf}", "trainer.C = .inf: must be a number from"),
        ("trainer: {C: -.inf}", "trainer.C = -.inf: must be a number from"),
        ("trainer: {C: true}", "trainer.C = true: must be a number from"),
        ("trainer: {C: '1e-3'}", 'trainer.C = "1e-3": must be a number from 1e-12 to 1e+12, without quotes'),
        ("trainer: {C: [1, 0]}", "trainer.C = [1, 0]: must be a number from"),
        ("trainer: {C: [1, 1.0]}", "trainer.C = [1, 1.0]: must be a list without repeats"),
        ("trainer: {C: []}", "trainer.C = []: must be a number or a list of at least one"),
        ("trainer: {C: }", "trainer.C = null: must be a number from"),
        ("trainer: {name: svm}", 'trainer.name = "svm": must be one of log-linear, perceptron, max-margin'),
        ("trainer: {optimizer: sgd}", 'trainer.optimizer = "sgd": must be one of lbfgs, cg'),
        ("trainer: {passes: 0}", "trainer.passes = 0: must be a whole number from 1 to 1000000"),
        ("trainer: {passes: 2.5}", "trainer.passes = 2.5: must be a whole number from 1"),
        ("trainer: {passes: true}", "trainer.passes = true: must be a whole number from 1"),
        ("trainer: {patience: -1}", "trainer.patience = -1: must be a whole number from 0"),
        ("trainer: {tolerance: -1}", "trainer.tolerance = -1: must be a number from 0 to 1"),
        ("trainer: {name: max-margin, step: 0}", "trainer.step = 0: must be one of adaptive, paper"),
        ("trainer: {name: max-margin, beta: -1}", "trainer.beta = -1: must be a number from 0 to 1000"),
        ("trainer: {name: perceptron, shuffle: 1}", "trainer.shuffle = 1: must be true or false"),
        ("trees: planar", 'trees = "planar": must be one of nonprojective, projective'),
        ("root: both", 'root = "both": must be one of auto, single, multi'),
        ("decoder: eisnr", 'decoder = "eisnr": must be one of auto, eisner, mst'),
        ("decoder: [mst]", 'decoder = ["mst"]: must be one of auto, eisner, mst'),
        ("labels: true", "labels = true: must be false: only unlabelled models exist"),
        ("labels: yes", "labels = yes: must be false: only unlabelled models exist"),
        ('refit: "no"', 'refit = "no": must be true or false, without quotes'),
        ("refit: 0", "refit = 0: must be true or false"),
        ("seed: -1", "seed = -1: must be a whole number from 0 to 4294967295"),
        ("seed: 4294967296", "seed = 4294967296: must be a whole number from 0 to 4294967295"),
        ("threads: -3", "threads = -3: must be a whole number from 0 to 1024"),
        ("name: 2006", "name = 2006: must be text that can name a folder"),
        ("name: a/b", 'name = "a/b": must be text that can name a folder'),
        ("name: ..", 'name = "..": must be text that can name a folder'),
        ('name: "a\\nb"', 'name = "a\\nb": must be text that can name a folder'),
        ("features: {set: mine}", 'features.set = "mine": must be one of default, mcdonald, none'),
        ("features: {set: null}", "features.set = null: must be one of default, mcdonald, none"),
        ("features: {from: some}", 'features.from = "some": must be one of gold, all'),
        ("features: {min_count: 0}", "features.min_count = 0: must be a whole number from 1"),
        ("features: {merge: 1}", "features.merge = 1: must be true or false"),
        ("features: {templates: Hw}", 'features.templates = "Hw": must be a list of strings'),
        ("features: {templates: [1]}", "features.templates = [1]: must be a list of strings"),
        ("features: {templates: [Hq]}", 'features.templates = ["Hq"]: must be a list of feature templates; '),
        ("features: {templates: ['']}", 'features.templates = [""]: must be a list of feature templates, no'),
        ("features: {templates: [Hw, ' ']}", 'features.templates = ["Hw", " "]: must be a list of feature'),
        ("features: {templates: [no]}", 'features.templates = ["no"]: must be a list of feature templates; '),
        ("punctuation: some", 'punctuation = "some": must be true or false, without quotes'),
        ("trainer: perceptron", 'trainer = "perceptron": must be a section with keys of its own (name, pass'),
        ("features: [a]", 'features = ["a"]: must be a section with keys of its own (set, from'),
    ],
)
def test_wrong_values(tmp_path, text, expected):
    """One line: file, dotted key, the value as found, and what is allowed."""
    assert message(tmp_path, MINIMAL + text).startswith(f"run.yaml: {expected}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", "data.train is missing"),
        ("{train: }", "data.train = null: must be a path"),
        ("{train: ' '}", 'data.train = " ": must be a path'),
        ("{train: []}", "data.train = []: must be a path, or a list of different paths"),
        ("{train: [a, a]}", 'data.train = ["a", "a"]: must be a path, or a list of different paths'),
        ("{train: [a, 3]}", 'data.train = ["a", 3]: must be a path'),
        ("{train: $NO_SUCH/a}", 'data.train = "$NO_SUCH/a": the environment variable NO_SUCH is not set'),
        ("{train: a, test: 3}", "data.test = 3: must be a path"),
        ("{train: a, format: csv}", 'data.format = "csv": must be one of auto, conllx, conllu'),
        ("{train: a, encoding: utf-9}", 'data.encoding = "utf-9": must be an encoding that can be read; '),
        ("{train: a, encoding: base64}", 'data.encoding = "base64": must be an encoding that can be read; '),
        ("{train: a, encoding: utf-16}", 'data.encoding = "utf-16": must be an encoding that can be read; '),
        ("{train: a, encoding: 8}", "data.encoding = 8: must be the name of a text encoding, such as utf-8"),
        ("{train: a, valid: 3}", "data.valid = 3: must be one of {fraction: F}, {words: N}, {sentences: N}"),
        ("{train: a, valid: {fraction: 1}}", 'data.valid = {"fraction": 1}: must be a number between 0'),
        ("{train: a, valid: {words: 0}}", 'data.valid = {"words": 0}: must be a whole number from 1'),
        ("{train: a, valid: {lines: 9}}", 'data.valid = {"lines": 9}: must be one of {fraction: F}'),
        ("{train: a, valid: {words: 9, fraction: 0.1}}", 'data.valid = {"words": 9, "fraction": 0.1}: '),
    ],
)  # fmt: skip
def test_wrong_data_values(tmp_path, monkeypatch, text, expected):
    """The same for the section that names files."""
    monkeypatch.delenv("NO_SUCH", raising=False)

    assert message(tmp_path, f"data: {text}").startswith(f"run.yaml: {expected}")


def test_long_values_are_cut(tmp_path):
    """An error stays on a line that can be read."""
    assert message(tmp_path, MINIMAL + f"trees: {'x' * 500}") == (
        f'run.yaml: trees = "{"x" * 56}...: must be one of nonprojective, projective'
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("trainr: {}", "unknown key trainr; did you mean trainer?"),
        ("trainer: {pases: 3}", "unknown key trainer.pases; did you mean trainer.passes?"),
        ("C: 3", "unknown key C; did you mean trainer.C?"),
        ("train: a", "unknown key train; did you mean data.train?"),
        ("trainer: {epochs: 3}", "unknown key trainer.epochs; did you mean trainer.passes?"),
        ("features: {source: all}", "unknown key features.source; known here: set, from, min_count"),
        ("iteratons: 5", "unknown key iteratons; known here: name, data, trees, root,"),
        ("1: 2", "unknown key 1; known here: name,"),
        ('"a\\nb": 2', "unknown key a\\nb; known here: name,"),
    ],
)  # fmt: skip
def test_unknown_keys(tmp_path, text, expected):
    """An unknown key is an error with its full name, and the nearest right one where there is one."""
    assert message(tmp_path, MINIMAL + text).startswith(f"run.yaml: {expected}")


# What is refused: combinations.


@pytest.mark.parametrize(
    ("trainer", "setting", "owners"),
    [
        ("perceptron", "optimizer: cg", "log-linear"),
        ("perceptron", "C: 1", "log-linear and max-margin"),
        ("perceptron", "step: paper", "max-margin"),
        ("perceptron", "beta: 9", "max-margin"),
        ("perceptron", "tolerance: 0", "log-linear and max-margin"),
        ("log-linear", "step: paper", "max-margin"),
        ("log-linear", "beta: 9", "max-margin"),
        ("log-linear", "shuffle: true", "perceptron and max-margin"),
        ("max-margin", "optimizer: lbfgs", "log-linear"),
    ],
)
def test_settings_of_another_trainer(tmp_path, trainer, setting, owners):
    """They are refused with both trainers named; without them the trainer has no such setting."""
    key = setting.partition(":")[0]

    found = message(tmp_path, MINIMAL + f"trainer: {{name: {trainer}, {setting}}}")

    reason = f"{key} has no meaning for the {trainer} trainer (only for {owners}); leave it out"
    assert found.startswith(f"run.yaml: trainer.{key} = ")
    assert found.endswith(f": {reason}")
    assert not getattr(load(tmp_path, MINIMAL + f"trainer: {{name: {trainer}}}").trainer, key, None)


def test_projective_models_are_not_decoded_with_mst(tmp_path):
    """mst goes with non-projective training only; eisner goes with both."""
    assert message(tmp_path, MINIMAL + "trees: projective\ndecoder: mst") == (
        'run.yaml: decoder = "mst": must be auto or eisner with trees: projective, '
        "whose models decode with Eisner"
    )
    assert load(tmp_path, MINIMAL + "trees: projective\ndecoder: eisner").decoder == "eisner"
    assert load(tmp_path, MINIMAL + "decoder: eisner").decoder == "eisner"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("trainer: {C: [1, 2]}", "where trainer.C lists several values to choose from"),
        ("trainer: {C: 1, patience: 2}", "where trainer.patience watches its score"),
        ("trainer: {C: 1}\nrefit: true", "where refit adds it to the training data"),
    ],
)
def test_validation_is_required_where_something_depends_on_it(tmp_path, text, reason):
    """Without a validation part there is nothing to choose by."""
    found = message(tmp_path, "data: {train: a, valid: null}\n" + text)

    assert found == f"run.yaml: data.valid = null: must be given {reason}"


def test_without_a_named_set_there_must_be_templates(tmp_path):
    """features.set: none leaves the templates of the config alone, at least one."""
    for text in ("{set: none}", "{set: none, templates: []}"):
        assert message(tmp_path, MINIMAL + f"features: {text}") == (
            "run.yaml: features.templates = []: must name at least one template with features.set: none"
        )
    found = load(tmp_path, MINIMAL, "features.set=none", "features.templates=[Hw Mp+1]").features
    assert (found.set, found.templates) == ("none", ("Hw Mp+1",))


@pytest.mark.parametrize("trainer", ["{C: 1}", "{name: perceptron}", "{name: max-margin, C: 1}"])
def test_validation_may_be_absent(tmp_path, trainer):
    """With nothing to tune, the last pass is the model."""
    assert load(tmp_path, f"data: {{train: a, valid: null}}\ntrainer: {trainer}").data.valid is None


def test_a_plan_is_told_from_a_config():
    with pytest.raises(ConfigError, match=r"the plan of an experiment .*; mtparse reproduce .*demo.yaml"):
        load_config(ROOT / "configs" / "demo.yaml")
    name = "demo-perceptron-projective.yaml"
    with pytest.raises(ConfigError, match=rf"the config of one run .*; mtparse train .*{name} runs it"):
        load_plan(ROOT / "configs" / name)


def test_names_of_other_tools(tmp_path):
    """Keys whose meaning is clear lead to ours, however little they look alike."""
    expected = "run.yaml: unknown key data.dev; did you mean data.valid?"
    assert message(tmp_path, "data: {train: a, dev: b}") == expected


def test_overrides_are_a_list_of_strings(tmp_path):
    with pytest.raises(TypeError, match=r"overrides is one string; give a list of settings: \['seed=3'\]"):
        load_config(tmp_path / "run.yaml", "seed=3")
    with pytest.raises(TypeError, match="an override is 3; it must be a string KEY=VALUE"):
        load_config(tmp_path / "run.yaml", [3])
