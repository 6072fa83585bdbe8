"""The log of a run and its curves as tables, the sentences with their names: what programs read."""

from __future__ import annotations

import csv
import json
from io import BytesIO

import pytest
from click.testing import CliRunner
from helpers.runs import SETTINGS, log_of, train_small

from mtparse.cli.main import main
from mtparse.errors import MtparseError
from mtparse.evaluation.attachment import Scores, evaluate_sentences, read_sentence_counts
from mtparse.experiment.curves import COLUMNS, read_passes
from mtparse.treebank.conll import read_conll
from mtparse.treebank.sentence import Sentence

nojit = pytest.mark.nojit

COUNTS = ["words", "right", "scored_without_punctuation", "right_without_punctuation"]


def table(path) -> list[dict]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("trees", ["projective", "nonprojective"])
@pytest.mark.parametrize("name", ["perceptron", "log-linear", "max-margin"])
def test_every_event_has_one_flat_schema(name, trees, small, tmp_path):
    """For every trainer, decoder and refit the same: a line is a row of a table."""
    overrides = [*SETTINGS[name], f"trees={trees}", "trainer.passes=2", "refit=true"]
    if name == "log-linear":
        overrides.append("trainer.C=[0.02, 0.1]")
    train_small(small, tmp_path / "r", *overrides)
    records = log_of(tmp_path / "r")
    schemas = {record["event"]: [] for record in records}
    for record in records:
        assert all(isinstance(value, str | int | float | None) for value in record.values())
        schemas[record["event"]].append(list(record))
    assert set(schemas) == {"pass", "end"}
    assert all(keys == ["event", "refit", *COLUMNS] for keys in schemas["pass"])
    assert all(keys == ["event", "refit", "C", "passes", "converged", "reason"] for keys in schemas["end"])
    for record in records:
        if record["event"] == "pass":
            validated = {key for key in record if key.startswith("valid_uas_") and record[key] is not None}
            decoders = [] if record["refit"] else ["eisner"] if trees == "projective" else ["mst", "eisner"]
            assert validated == {f"valid_uas_{d}{ending}" for d in decoders
                                 for ending in ("", "_without_punctuation")}  # fmt: skip
            has = {key for key in ("objective", "gap", "gradient_norm", "wrong") if record[key] is not None}
            assert has == {
                "perceptron": {"wrong"},
                "log-linear": {"objective", "gradient_norm"},
                "max-margin": {"objective", "gap"},
            }[name]
    assert sum(record["refit"] for record in records) >= 2


def test_curves_are_the_passes_of_the_log(small, tmp_path):
    train_small(small, tmp_path / "r", "trainer.C=[0.1, 0.02]", "trainer.passes=3", "refit=true", jobs=2)
    logged = [r for r in log_of(tmp_path / "r") if r["event"] == "pass" and not r["refit"]]
    rows = table(tmp_path / "r" / "curves.csv")
    places = [(float(row["C"]), int(row["pass"])) for row in rows]
    assert places == [(C, number) for C in (0.02, 0.1) for number in (1, 2, 3)]
    by_place = {(record["C"], record["pass"]): record for record in logged}
    assert len(by_place) == len(rows) == 6
    for row in rows:
        record = by_place[float(row["C"]), int(row["pass"])]
        assert list(row) == list(COLUMNS)
        assert {key: "" if record[key] is None else str(record[key]) for key in COLUMNS} == row


@nojit
@pytest.mark.parametrize(
    "line",
    [
        '{"C": 0.1, "pass": 1, "valid_mst": {"all_tokens": 50.0}, "seconds": 1.0}',
        "{",
        "[]",
        '{"event": "pass"}',
        '{"event": "pass", "refit": false, "C": 1}',
    ],
)
def test_logs_of_older_versions_are_refused(line, run, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text((run / "log.jsonl").read_text() + line + "\n")
    with pytest.raises(MtparseError, match=r"log\.jsonl:6: not a record of this version, or damaged"):
        read_passes(str(log))


CONLLU = """\
# newdoc id = d1
# sent_id = first, "one"
# text_en = something else
# text = Ha, ha!
1-2\tHaha\t_\t_\t_\t_\t_\t_\t_\t_
1\tHa\tha\tINTJ\t_\t_\t0\troot\t_\t_
2\tha\tha\tINTJ\t_\t_\t1\tdep\t_\t_
# sent_id = not above the words
3\t!\t!\tPUNCT\t_\t_\t1\tpunct\t_\t_

1\ta\u2028b\ta\tX\t_\t_\t0\troot\t_\t_
2\t"\t"\tPUNCT\t_\t_\t1\tpunct\t_\t_

"""


def named() -> list[Sentence]:
    return list(read_conll(BytesIO(CONLLU.encode())))


@nojit
def test_names_and_texts_of_sentences():
    first, second = named()
    assert (first.sent_id, first.text) == ('first, "one"', "Ha, ha!")
    assert (second.sent_id, second.text) == ("", 'a\u2028b "')
    extras = [(0, "#sent_id=x"), (0, "# text ="), (0, "#  sent_id  =  y ")]
    spaced = Sentence(first.rows, first.heads, extras=extras)
    assert (spaced.sent_id, spaced.text) == ("y", "")


@nojit
def test_sentences_csv_has_names_and_texts(small, tmp_path):
    (tmp_path / "test.conllu").write_text(CONLLU, encoding="utf-8")
    train_small(small, tmp_path / "r", "trainer.passes=1", f"data.test={tmp_path}/test.conllu")
    rows = table(tmp_path / "r" / "sentences.csv")
    assert list(rows[0]) == [*COUNTS, "sent_id", "text"]
    assert [(row["sent_id"], row["text"]) for row in rows] == [(s.sent_id, s.text) for s in named()]
    assert [(row["words"], row["scored_without_punctuation"]) for row in rows] == [("3", "2"), ("2", "1")]
    parsed = list(read_conll(tmp_path / "r" / "parsed.conll"))
    for key in ("all_tokens", "without_punctuation"):
        expected = list(evaluate_sentences(named(), parsed, punctuation=key == "all_tokens"))
        found = read_sentence_counts(str(tmp_path / "r" / "sentences.csv"), key)
        assert [(s.words, s.correct_heads, s.scored) for s in found] == [
            (s.words, s.correct_heads, s.scored) for s in expected
        ]


@nojit
def test_counts_are_read_without_texts_and_with_very_long_ones(tmp_path):
    path = tmp_path / "sentences.csv"
    header = ",".join(COUNTS)
    path.write_text(f"{header}\n5,4,3,2\n")
    assert read_sentence_counts(str(path), "without_punctuation") == [
        Scores(correct_heads=2, scored=3, words=5, sentences=1)
    ]
    path.write_text(f'{header},sent_id,text\n5,4,3,2,"a,b","{"long, " * 100_000}"\n')
    assert read_sentence_counts(str(path), "all_tokens") == [
        Scores(correct_heads=4, scored=5, words=5, sentences=1)
    ]
    for damaged in ("words,right\n5,4\n", f"{header}\n5,4,3\n", f"{header}\n5,4,x,2\n", f"{header}\n\n", ""):
        path.write_text(damaged)
        with pytest.raises(ValueError, match=r"columns are not|invalid literal|not enough values"):
            read_sentence_counts(str(path), "all_tokens")


@nojit
def test_eval_prints_json_lines_of_sentences(tmp_path):
    (tmp_path / "gold").write_text(CONLLU, encoding="utf-8")
    (tmp_path / "system").write_text(CONLLU.replace("\t1\tdep", "\t3\tdep"), encoding="utf-8")
    arguments = ["eval", str(tmp_path / "gold"), str(tmp_path / "system"), "--per-sentence", "--json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0
    first, second = map(json.loads, result.stdout.splitlines())
    assert first == {
        "sentence": 1, "sent_id": 'first, "one"', "text": "Ha, ha!", "UAS": 50.0, "LAS": 50.0,
        "label_accuracy": 100.0, "scored": 2, "words": 3, "correct_heads": 1, "correct_labels": 2,
        "correct_both": 1, "complete": False,
    }  # fmt: skip
    assert list(second) == list(first)
    assert (second["sent_id"], second["text"], second["UAS"]) == ("", 'a\u2028b "', 100.0)
    (tmp_path / "gold").write_text("")
    (tmp_path / "system").write_text("")
    result = CliRunner().invoke(main, arguments)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "nothing was scored" in result.stderr
