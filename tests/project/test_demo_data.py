"""The demo treebanks are what the generator writes, and what data/README.md says of them is true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.project import ROOT

pytestmark = pytest.mark.nojit

LANGUAGES = ("avelu", "borim", "cadro", "dunta", "estol", "felno")
PARTS = {"train": 340, "valid": 90, "test": 100}


def sentences(language: str, part: str) -> list[list[list[str]]]:
    """Sentences of a part as rows of columns, read by the plainest means."""
    text = (ROOT / "data" / "demo" / language / f"{part}.conll").read_text("utf-8")
    return [[line.split("\t") for line in block.split("\n")] for block in text[:-2].split("\n\n")]


def heads_of(sentence: list[list[str]]) -> list[int]:
    return [-1] + [int(row[6]) for row in sentence]


def ancestors(heads: list[int], word: int) -> list[int]:
    """The words above a word, nearest first, 0 last; a list longer than the sentence means a cycle."""
    found = []
    while word != 0 and len(found) <= len(heads):
        word = heads[word]
        found.append(word)
    return found


def count_crossing(heads: list[int]) -> int:
    return sum(
        any(
            heads[word] not in ancestors(heads, between)
            for between in range(min(word, heads[word]) + 1, max(word, heads[word]))
        )
        for word in range(1, len(heads))
    )


def generator(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, str(ROOT / "scripts" / "demo_data" / "make"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


def test_generator_writes_the_committed_bytes(tmp_path):
    """A fresh run equals the files in data/demo byte for byte, and there are no others."""
    done = generator("--out", str(tmp_path / "new"), cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    committed = {
        path.relative_to(ROOT / "data" / "demo") for path in (ROOT / "data" / "demo").rglob("*.conll")
    }
    assert committed == {path.relative_to(tmp_path / "new") for path in (tmp_path / "new").rglob("*.conll")}
    assert len(committed) == len(LANGUAGES) * len(PARTS)
    for path in committed:
        assert (ROOT / "data" / "demo" / path).read_bytes() == (tmp_path / "new" / path).read_bytes(), path


def test_check_finds_a_changed_file(tmp_path):
    """--check names a file that differs or is missing, writes nothing, and fails."""
    generator("--out", str(tmp_path), cwd=tmp_path)
    changed, missing = tmp_path / "avelu" / "test.conll", tmp_path / "felno" / "train.conll"
    changed.write_bytes(changed.read_bytes() + b"\n")
    missing.unlink()

    done = generator("--check", "--out", str(tmp_path), cwd=tmp_path)

    assert done.returncode == 1
    assert [line.split(" ")[0] for line in done.stderr.splitlines()] == [str(changed), str(missing)]
    assert not missing.exists()


def test_check_passes_on_the_committed_files_and_prints_the_documented_table(tmp_path):
    """The rows that the generator prints stand in data/README.md."""
    done = generator("--check", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    rows = [
        line
        for line in (ROOT / "data" / "README.md").read_text().splitlines()
        if re.match(r"\| \w+ \| \S+ \| \d", line)
    ]
    assert rows == done.stdout.splitlines()
    assert len(rows) == len(LANGUAGES)


def test_the_documented_figures_are_those_of_the_files():
    """Words, mean length, crossing arcs and several roots, counted by other code than the generator's."""
    readme = (ROOT / "data" / "README.md").read_text()
    several_roots = {}
    for language in LANGUAGES:
        all_heads = [heads_of(sentence) for part in PARTS for sentence in sentences(language, part)]
        words = sum(len(heads) - 1 for heads in all_heads)
        crossing = 100 * sum(map(count_crossing, all_heads)) / words
        several = 100 * sum(heads.count(0) > 1 for heads in all_heads) / len(all_heads)
        mean = words / len(all_heads)

        row = next(line for line in readme.splitlines() if line.startswith(f"| {language} |"))
        assert row.split("|", 3)[3] == f" {words} | {mean:.1f} | {crossing:.2f} % | {several:.1f} % |"
        several_roots[language] = several

    assert [language for language, rate in several_roots.items() if rate == 0] == ["borim"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_is_a_tree_in_ten_columns(language):
    """Numbers run from 1, no column is empty, heads form a tree, parts have their sizes."""
    for part, size in PARTS.items():
        found = sentences(language, part)
        assert len(found) == size
        for sentence in found:
            assert [row[0] for row in sentence] == [str(number) for number in range(1, len(sentence) + 1)]
            assert all(len(row) == 10 and all(row) for row in sentence)
            heads = heads_of(sentence)
            assert all(ancestors(heads, word)[-1] == 0 for word in range(1, len(heads)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_sentence_occurs_twice(language):
    """Above all, none of the test part was seen in training."""
    texts = [
        " ".join(row[1] for row in sentence).lower()
        for part in PARTS
        for sentence in sentences(language, part)
    ]

    assert len(texts) == sum(PARTS.values())
    assert len(set(texts)) == len(texts)


def test_the_files_are_small():
    """A clone stays quick: less than 2 MB in all."""
    assert sum(path.stat().st_size for path in (ROOT / "data").rglob("*.conll")) < 2_000_000


def test_morphology_differs_as_documented():
    """avelu has no FEATS at all; estol and felno mark case and number."""
    feats = {
        language: {row[5] for sentence in sentences(language, "train") for row in sentence}
        for language in LANGUAGES
    }

    assert feats["avelu"] == {"_"}
    for language in ("estol", "felno"):
        assert {value for value in feats[language] if re.fullmatch(r"case=\w+\|num=(sg|pl)", value)}
