"""Attachment scores by the rules of the CoNLL-X shared task's script.

Scores are counts that add; percentages are formed once, at the end. The system's heads need not form
a tree: every token is scored for itself.
"""

from __future__ import annotations

import csv
import io
import math
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import compress, zip_longest
from operator import and_, eq
from typing import NamedTuple, NoReturn

from mtparse.errors import ConllError
from mtparse.treebank.head_column import word_fault
from mtparse.treebank.sentence import Sentence, line_of, require_sentences, require_well_formed


@lru_cache(maxsize=1 << 16)
def is_punctuation(form: str) -> bool:
    """Whether every character of a non-empty form is in a Unicode punctuation category (P*).

    Symbols such as ``$``, ``+`` or the grave accent are no punctuation; ``_`` and ``%`` are.
    """
    return form != "" and all(unicodedata.category(character)[0] == "P" for character in form)


@dataclass(frozen=True, slots=True)
class Scores:
    """Counts of one or more sentences; ``+`` joins them.

    Attributes
    ----------
    correct_heads, correct_labels, correct_both : int
        Scored tokens with the right HEAD, the right DEPREL, and both.
    scored : int
        Tokens that count: all but punctuation, unless that was asked for.
    words : int
        All tokens.
    sentences : int
        All sentences.
    complete : int
        Sentences in which no scored token has a wrong HEAD; one without scored tokens is among them.
    labelled : int
        Tokens to which the system gave a DEPREL other than ``_``.
    """

    correct_heads: int = 0
    correct_labels: int = 0
    correct_both: int = 0
    scored: int = 0
    words: int = 0
    sentences: int = 0
    complete: int = 0
    labelled: int = field(default=0, compare=False)

    def __add__(self, other: Scores) -> Scores:
        if not isinstance(other, Scores):
            return NotImplemented
        return Scores(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    @property
    def UAS(self) -> float:
        """Unlabelled attachment score in percent; NaN where nothing is scored."""
        return percent(self.correct_heads, self.scored)

    @property
    def LAS(self) -> float:
        """Labelled attachment score in percent; NaN where nothing is scored."""
        return percent(self.correct_both, self.scored)

    @property
    def label_accuracy(self) -> float:
        """Tokens with the right label in percent, whatever their head; NaN where nothing is scored."""
        return percent(self.correct_labels, self.scored)

    @property
    def has_labels(self) -> bool:
        """Whether the system gave labels; also of files without words."""
        return bool(self.labelled) or not self.words

    @property
    def complete_rate(self) -> float:
        """Complete sentences in percent of all sentences; NaN where there is none."""
        return percent(self.complete, self.sentences)

    def as_dict(self, *, labels: bool = True) -> dict[str, float | int | None]:
        """Return the figures of ``mtparse eval --json``; None stands for an undefined score.

        Without ``labels``, the scores of labels are undefined: the system gives none.
        """
        percentages = {"UAS": self.UAS, "LAS": self.LAS, "label_accuracy": self.label_accuracy}
        if not labels:
            percentages |= {"LAS": math.nan, "label_accuracy": math.nan}
        return {
            **{name: None if math.isnan(value) else value for name, value in percentages.items()},
            "scored": self.scored,
            "words": self.words,
            "sentences": self.sentences,
            "complete": self.complete,
        }


class Compared(NamedTuple):
    """What is compared in a sentence, an entry a word, after it was checked.

    ``tags`` are the gold CPOSTAGs; labels are those that count, without subtypes where these are ignored;
    ``counted`` is whether a word is scored. A head of the system may be any integer from 0.
    """

    tags: list[str]
    gold_heads: list[int]
    system_heads: list[int]
    gold_labels: list[str]
    system_labels: list[str]
    counted: list[bool]


def evaluate(
    gold: Iterable[Sentence],
    system: Iterable[Sentence],
    *,
    punctuation: bool = False,
    ignore_subtypes: bool = False,
) -> Scores:
    """Score the heads and labels of one treebank against another.

    Parameters
    ----------
    gold, system : iterable of Sentence
        The same words in the same sentences; comments, multi-word lines and empty nodes play no part.
    punctuation : bool
        Score tokens that consist of punctuation only as well.
    ignore_subtypes : bool
        Compare labels up to their first colon, on both sides: ``nsubj:pass`` is ``nsubj``.

    Returns
    -------
    Scores
        Counts over the whole treebank.

    Raises
    ------
    ConllError
        If the two differ in a form or a sentence boundary, if one ends early, if a head is missing on either
        side or one of ``gold`` is beyond its sentence, or at a sentence made by hand that could not be
        written and read back. The heads need not form a tree on either side.
    TypeError
        If a side holds anything but sentences, such as the name of a file.
    """
    rows = evaluate_sentences(gold, system, punctuation=punctuation, ignore_subtypes=ignore_subtypes)
    return sum(rows, Scores())


def evaluate_sentences(
    gold: Iterable[Sentence],
    system: Iterable[Sentence],
    *,
    punctuation: bool = False,
    ignore_subtypes: bool = False,
    system_name: str = "system",
    also: Callable[[Compared, Scores], object] | None = None,
) -> Iterator[Scores]:
    """Yield the scores of each sentence in turn; parameters and errors are those of `evaluate`.

    ``system_name`` is what errors call the system's file. ``also`` is called with what was compared in each
    sentence and its scores, before they are yielded.
    """
    require_sentences("gold", gold)
    require_sentences("system", system)
    last_gold = last_system = None
    for right, guess in zip_longest(gold, system):
        if guess is None and isinstance(right, Sentence):
            _fail_early_end(right, system_name, last_system)
        if right is None and isinstance(guess, Sentence):
            _fail_early_end(guess, "gold", last_gold)
        words = _compare(right, guess, punctuation, ignore_subtypes)
        scores = _score(words)
        if also:
            also(words, scores)
        yield scores
        last_gold, last_system = right, guess


def format_scores(scores: Scores, *, labels: bool = True) -> str:
    """Return the three lines of the CoNLL-X script, without a line end after the last.

    Without ``labels``, the scores of labels are ``n/a``: the system gives none.
    """
    rows = (
        ("Labeled   attachment score:", scores.correct_both, scores.LAS, labels),
        ("Unlabeled attachment score:", scores.correct_heads, scores.UAS, True),
        ("Label accuracy score:      ", scores.correct_labels, scores.label_accuracy, labels),
    )
    return "\n".join(
        f"  {name} {count} / {scores.scored} * 100 = {_two_decimals(value)} %" if known
        else f"  {name} n/a, SYSTEM has no labels"
        for name, count, value, known in rows
    )  # fmt: skip


def format_report(scores: Scores) -> str:
    """Return the three lines of the script, then the counts and the rate of complete sentences."""
    return (
        f"{format_scores(scores, labels=scores.has_labels)}\n"
        f"  Complete sentences:         {scores.complete} / {scores.sentences} * 100 = "
        f"{_two_decimals(scores.complete_rate)} %\n"
        f"  Sentences: {scores.sentences}, tokens: {scores.words}, scored: {scores.scored}"
    )


def format_sentences(rows: Iterable[Scores], *, labels: bool = True) -> str:
    """Return a table with one row a sentence in the form of the CoNLL-X script's option ``-b``.

    Without ``labels``, the scores of labels are ``n/a``: the system gives none. The columns without a name
    are those of the script that it fills with zeros.
    """
    lines = [
        "     Sent.          Attachment      Correct        Scoring          ",
        "    ID Tokens  -   Unlab. Lab.   HEAD HEAD+DEPREL   tokens   - - - -",
        "  " + "=" * 76,
    ]
    for number, row in enumerate(rows, 1):
        unlabelled, labelled = _two_decimals(row.UAS), _two_decimals(row.LAS) if labels else "n/a"
        both = row.correct_both if labels else "n/a"
        lines.append(
            f"{number:6}{row.words:5}    0  {unlabelled:>6} {labelled:>6}"
            f"{row.correct_heads:6}{both:>8}{row.scored:12}    0 0 0 0"
        )
    return "\n".join(lines) + "\n\n"


def sentence_records(gold: Iterable[Sentence], rows: Iterable[Scores], *, labels: bool) -> Iterator[dict]:
    """The scores of each sentence and the counts that add, for ``mtparse eval --per-sentence --json``.

    ``labels`` is whether the system gives any, in some sentence.
    """
    for number, (sentence, row) in enumerate(zip(gold, rows, strict=True), 1):
        figures = row.as_dict(labels=labels)
        yield {
            "sentence": number,
            "sent_id": sentence.sent_id,
            "text": sentence.text,
            **{name: figures[name] for name in ("UAS", "LAS", "label_accuracy", "scored", "words")},
            "correct_heads": row.correct_heads,
            "correct_labels": row.correct_labels,
            "correct_both": row.correct_both,
            "complete": bool(row.complete),
        }


SENTENCE_COUNTS = ("words", "right", "scored_without_punctuation", "right_without_punctuation")
"""The columns of ``sentences.csv`` that are counts; before the texts, which a copy may leave out."""


def format_sentence_counts(
    sentences: Iterable[Sentence], all_tokens: Iterable[Scores], without_punctuation: Iterable[Scores]
) -> str:
    """A CSV table with a row for each test sentence: counts that add, then ``sent_id`` and ``text``."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*SENTENCE_COUNTS, "sent_id", "text"])
    for sentence, a, b in zip(sentences, all_tokens, without_punctuation, strict=True):
        counts = (a.words, a.correct_heads, b.scored, b.correct_heads)
        writer.writerow([*counts, sentence.sent_id, sentence.text])
    return out.getvalue()


def read_sentence_counts(path: str, key: str) -> list[Scores]:
    """The scores of each test sentence of a finished run, by ``all_tokens`` or ``without_punctuation``.

    Raises
    ------
    ValueError
        If the table does not begin with these columns, or if one of them holds no whole number.
    """
    with open(path, encoding="utf-8", newline="") as file:
        header, *lines = file.read().removesuffix("\n").split("\n")
    width = len(SENTENCE_COUNTS)
    if tuple(header.split(",")[:width]) != SENTENCE_COUNTS:
        raise ValueError(f"{path}: its columns are not {', '.join(SENTENCE_COUNTS)}")
    # no field holds a line end, and no count a comma or quote: texts of any length need not be looked at
    found = []
    for line in lines:
        words, right, scored, right_scored = map(int, line.split(",", width)[:width])
        if key == "all_tokens":
            scored, right_scored = words, right
        found.append(Scores(correct_heads=right_scored, scored=scored, words=words, sentences=1))
    return found


def percent(correct: int, total: int) -> float:
    # from the errors, as in the script: so that the last printed digit is the same
    return 100 - (total - correct) * 100 / total if total else math.nan


def _two_decimals(value: float) -> str:
    return "NaN" if math.isnan(value) else f"{value:.2f}"


def without_subtype(label: str) -> str:
    """The label up to its first colon; one that begins with a colon as it stands."""
    return label.partition(":")[0] or label


def _compare(gold: Sentence, system: Sentence, punctuation: bool, ignore_subtypes: bool) -> Compared:
    """What is compared in a sentence; raises what `evaluate` raises."""
    if not (isinstance(gold, Sentence) and isinstance(system, Sentence)):
        other = system if isinstance(gold, Sentence) else gold
        raise TypeError(
            f"each side must be an iterable of Sentence, and this holds a {type(other).__name__}; "
            "read_conll reads a file"
        )
    require_well_formed(gold)
    require_well_formed(system)
    forms = gold.forms
    if forms != system.forms:
        _fail_difference(gold, system)
    rights, guesses = list(gold.heads), list(system.heads)
    if min(rights) < 0 or max(rights) > len(rights) or -1 in guesses:
        _refuse_heads(gold, len(gold))
        _refuse_heads(system, math.inf)
    labels, guessed_labels = gold.deprels, system.deprels
    if ignore_subtypes:
        labels, guessed_labels = (list(map(without_subtype, side)) for side in (labels, guessed_labels))
    counted = [True] * len(forms) if punctuation else [not found for found in map(is_punctuation, forms)]
    return Compared(gold.cpostags, rights, guesses, labels, guessed_labels, counted)


def _score(words: Compared) -> Scores:
    counted, size = words.counted, len(words.counted)
    right_heads = list(map(eq, words.gold_heads, words.system_heads))
    right_labels = list(map(eq, words.gold_labels, words.system_labels))
    scored, heads = sum(counted), sum(compress(right_heads, counted))
    labels = sum(compress(right_labels, counted))
    both = sum(compress(map(and_, right_heads, right_labels), counted))
    labelled = size - words.system_labels.count("_")
    return Scores(heads, labels, both, scored, size, 1, int(heads == scored), labelled)


def _refuse_heads(sentence: Sentence, size: float) -> None:
    """Refuse the first head that is missing, no integer, or beyond so many words."""
    for word, (head, row) in enumerate(zip(sentence.heads, sentence.rows, strict=True), 1):
        if row[6] == "_":
            fault = f"HEAD missing (_) for word {word}; nothing to score there"
        elif head == -1 or (size < math.inf and not 0 <= head <= size):
            fault = word_fault(word, row[6], size, loops=True)
        else:
            continue
        raise ConllError(sentence.path, line_of(sentence, word), f"sentence {sentence.number}: {fault}")


def _fail_difference(gold: Sentence, system: Sentence) -> NoReturn:
    """Raise the error that names the first word in which two sentences differ."""
    words = enumerate(zip(gold.forms, system.forms, strict=False))
    index = next((i for i, (right, guess) in words if right != guess), min(len(gold), len(system)))
    where, line = f"sentence {system.number}", line_of(system, min(index + 1, len(system)))
    if index == len(gold):
        end = f"in {gold.path} it ends at line {line_of(gold, len(gold))} after {len(gold)} words"
        message = f"{where} has {_word(system, index)}, but {end}"
    elif index == len(system):
        place = f"{gold.path}:{line_of(gold, index + 1)}"
        more = f"{place} has {_word(gold, index)}"
        message = f"{where} ends after {len(system)} words, but {more}"
    else:
        place = f"{gold.path}:{line_of(gold, index + 1)}"
        message = f"{where}: this file has {_word(system, index)}, but {place} has {_word(gold, index)}"
    raise ConllError(system.path, line, message)


def _fail_early_end(rest: Sentence, role: str, last: Sentence | None) -> NoReturn:
    """Raise the error for the file of the given role, which ends where `rest` begins in the other."""
    end = "is empty"
    if last:
        end = f"{last.path} ends after sentence {last.number}, line {line_of(last, len(last))}"
    raise ConllError(rest.path, rest.line, f"sentence {rest.number} begins here, but the {role} file {end}")


def _word(sentence: Sentence, index: int) -> str:
    form = sentence.rows[index][1]
    return f"word {index + 1}, {(form if len(form) <= 40 else form[:40] + '...')!r}"
