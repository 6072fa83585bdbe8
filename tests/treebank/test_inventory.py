"""Input that is unlike the training data is told of, with figures; what a model is can be read."""

from __future__ import annotations

import io
import json
import os
import warnings

import pytest
from click.testing import CliRunner

from mtparse import Parser, Sentence, read_conll
from mtparse.cli.main import main
from mtparse.errors import InputWarning
from mtparse.model.info import format_info, model_info
from mtparse.model.model_file import load_model, save_model
from mtparse.model.parser import LOOKED_AT
from mtparse.treebank.inventory import Comparison, Inventory

pytestmark = pytest.mark.nojit

WORDS = [
    ["1", "a", "l", "N", "n", "Case=Nom|Num=1", "_", "_", "_", "_"],
    ["2", "b", "_", "V", "v", "_", "_", "_", "_", "_"],
]


EMPTY = "column {} ({}) is empty in 100 % of the words, the model was trained with it filled in {} %"


def inventory() -> Inventory:
    return Inventory.of([WORDS] * 10)


def differences(change, sentences=50) -> list[str]:
    """What is found where a function of a word's row, by column, changes the training data."""
    compared = Comparison(inventory())
    compared.see([[change(list(row)) for row in WORDS]] * sentences)
    return compared.differences()


def put(column, value):
    def change(row):
        row[column] = value(row[column]) if callable(value) else value
        return row

    return change


def test_what_stands_in_a_treebank():
    found = inventory()
    assert found.words == 20
    assert found.filled == {"LEMMA": 0.5, "CPOSTAG": 1.0, "POSTAG": 1.0, "FEATS": 0.5}
    assert found.values == {"CPOSTAG": ["N", "V"], "POSTAG": ["n", "v"], "FEATS": ["Case=Nom", "Num=1"]}
    assert Inventory.from_dict(json.loads(json.dumps(found.as_dict()))) == found
    for nothing in (None, {}, [], {"words": "x", "filled": {}, "values": {}}):
        assert Inventory.from_dict(nothing) is None


def test_the_same_data_are_like_themselves():
    assert differences(lambda row: row) == []
    assert differences(put(1, "another form")) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put(2, "_"), EMPTY.format(3, "LEMMA", 50)),
        (put(3, "_"), EMPTY.format(4, "CPOSTAG", 100)),
        (put(4, "_"), EMPTY.format(5, "POSTAG", 100)),
        (put(5, "_"), EMPTY.format(6, "FEATS", 50)),
        (put(3, str.lower), "CPOSTAG: 2 of 2 tags are unknown to the model (n, v), on 100 % of the words"),
        (
            put(4, lambda tag: "x" if tag == "v" else tag),
            "POSTAG: 1 of 2 tags are unknown to the model (x), on 50 % of the words",
        ),
        (
            put(5, lambda feats: feats.replace("=", ":")),
            "FEATS: 2 of 2 attributes are unknown to the model (Case:Nom, Num:1), on 50 % of the words",
        ),
        (
            put(5, lambda feats: feats.replace("Num=1", "Num=2")),
            "FEATS: 1 of 2 attributes are unknown to the model (Num=2), on 50 % of the words",
        ),
    ],
)  # fmt: skip
def test_what_is_unlike(change, message):
    assert differences(change) == [message]


def test_chance_is_not_told():
    """A short input may lack what is rare; a tag in a hundred may be new."""
    assert differences(put(2, "_"), sentences=4) == []
    assert len(differences(put(2, "_"), sentences=5)) == 1
    compared = Comparison(inventory())
    compared.see([WORDS] * 100)
    compared.see([[put(4, "new")(list(WORDS[0]))]] * 10)
    assert compared.differences() == []
    compared.see([[put(4, "new")(list(WORDS[0]))]])
    (found,) = compared.differences()
    assert found == "POSTAG: 1 of 3 tags are unknown to the model (new), on 5 % of the words"


def lower(small) -> str:
    rows = [line.split("\t") for line in (small / "test.conll").read_text().splitlines()]
    return "\n".join("\t".join([*r[:3], *map(str.lower, r[3:5]), *r[5:]]) for r in rows) + "\n\n"


def test_parsing_warns_once(run, small):
    parser = Parser.load(run)
    with warnings.catch_warnings():
        warnings.simplefilter("error", InputWarning)
        list(parser.parse(read_conll(small / "train.conll")))
    text = lower(small) * 12  # more than the words that are looked at
    assert text.count("\n\n") < text.count("\n") - LOOKED_AT
    for threads in (1, 2):
        with pytest.warns(InputWarning, match="unlike the training data.*POSTAG: .* unknown to") as caught:
            list(parser.parse(read_conll(io.BytesIO(text.encode())), threads=threads))
        warned = [warning for warning in caught if issubclass(warning.category, InputWarning)]
        assert [warning.filename for warning in warned] == [__file__]  # the caller's line, not one within


def test_one_sentence_is_enough(run):
    with pytest.warns(InputWarning, match=r"column 5 \(POSTAG\) is empty in 100 %"):
        list(Parser.load(run).parse([Sentence.from_words(list("abcde"))]))


def test_the_command_warns_in_one_line(run, small):
    done = CliRunner().invoke(main, ["parse", str(run)], input=lower(small))
    assert done.exit_code == 0
    assert done.stderr.startswith("mtparse: warning: the input is unlike the training data, trees may ")
    assert done.stderr.count("\n") == 1


def test_models_of_older_versions_have_none(run, small, tmp_path):
    model = load_model(run)
    del model.info["inventory"]
    save_model(model, tmp_path / "old")
    with warnings.catch_warnings():
        warnings.simplefilter("error", InputWarning)
        list(Parser.load(tmp_path / "old").parse(read_conll(io.BytesIO(lower(small).encode()))))
    done = CliRunner().invoke(main, ["info", str(tmp_path / "old")])
    assert "columns:    not recorded (a model of an older version)" in done.stdout


class TestInfo:
    def test_lines(self, run):
        done = CliRunner().invoke(main, ["info", str(run)])
        assert (done.exit_code, done.stderr) == (0, "")
        lines = dict(line.split(":", 1) for line in done.stdout.splitlines())
        lines = {name: text.strip() for name, text in lines.items()}
        model = load_model(run)
        assert lines["trees"] == f"nonprojective, {model.root}-root; decoder {model.decoder}"
        assert lines["trainer"].startswith("log-linear, C = 0.1, ")
        assert len(model.weights) == model.info["features"]
        assert lines["features"] == f"{len(model.weights)} with a weight, {len(model.templates)} templates"
        fewer = format_info({**model_info(run), "features": 9})
        assert f"9 with a weight (of {model.info['features']} in training; the weights of the others" in fewer
        sha256 = model.info["sha256"]["train"][:16]
        assert lines["files"].startswith(f"train train.conll (SHA-256 {sha256}...), valid valid.conll ")
        assert lines["POSTAG"].startswith("filled in 100.0 % of the words, ")
        assert "UAS" in lines["validation"]

    def test_json(self, run):
        found = json.loads(CliRunner().invoke(main, ["info", str(run), "--json"]).stdout)
        path = os.path.join(run, "model.mtparse")
        assert (found["file"], found["bytes"]) == (path, os.path.getsize(path))
        assert found["inventory"] == load_model(run).info["inventory"]

    def test_faults(self, tmp_path):
        (tmp_path / "junk").write_bytes(b"junk")
        for path, message in ((tmp_path, "no model.mtparse"), (tmp_path / "junk", "not a model file of")):
            done = CliRunner().invoke(main, ["info", str(path)])
            assert (done.exit_code, done.stdout) == (1, "")
            assert message in done.stderr
