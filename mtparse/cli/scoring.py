"""Commands that score: ``eval`` and ``compare``."""

from __future__ import annotations

import click

from mtparse.cli.options import encoding_option, require_one_stdin
from mtparse.cli.signals import importing
from mtparse.cli.terminal import warn, write


@click.command("eval", short_help="Score a parsed file like the CoNLL-X shared task.")
@click.argument("gold")
@click.argument("system")
@click.option("--all-tokens", is_flag=True, help="Score punctuation too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, percentages unrounded.")
@click.option(
    "--per-sentence",
    is_flag=True,
    help="Print a row for each sentence first; with --json an object for each sentence, nothing else.",
)
@click.option(
    "--by",
    type=click.Choice(["label", "tag", "distance", "direction", "length"]),
    multiple=True,
    help="Add a table by label, coarse tag, distance or direction of the head, or length of the sentence. "
    "May be given several times.",
)
@click.option(
    "--ignore-subtypes",
    is_flag=True,
    help="Compare labels up to their first colon: nsubj:pass is nsubj.",
)
@encoding_option
def evaluate_command(
    gold: str,
    system: str,
    all_tokens: bool,
    as_json: bool,
    per_sentence: bool,
    by: tuple[str, ...],
    ignore_subtypes: bool,
    encoding: str,
) -> None:
    """Score the heads and labels of SYSTEM against GOLD like the CoNLL-X shared task.

    Both are CoNLL-X or CoNLL-U files with the same words, plain or compressed (gzip, xz, bzip2); - is
    standard input. SYSTEM may lack the last two columns. The figures are those of the shared task's script,
    eval.pl 1.9, to the last digit: tokens of punctuation characters only are left out, unless --all-tokens
    is given. "Complete" sentences have no wrong head among the scored tokens. Unless --ignore-subtypes is
    given, labels are compared whole. Where SYSTEM has no labels, scores of labels are n/a (null with
    --json). Files that differ in a word or in a sentence boundary are refused, with both lines.

    The tables of --by stand below the scores, with --json under the key "by", and count the same tokens:

    \b
      label      precision and recall of each label (DEPREL), of labels on right
                 heads (DEPREL + ATTACHMENT), and which are taken for which
      tag        right heads and labels by the coarse tag (CPOSTAG) of GOLD
      distance   precision and recall of heads 1, 2, 3-6, 7-... words away on
                 either side, and of the root symbol (to_root)
      direction  the same of heads left of the word, right of it, to_root, and
                 of words that are their own head (self), if there are any
      length     scores of sentences of 1-10 words, 11-20, and so on

    By distance and direction a head is right where it falls into the class of the head in GOLD. Lengths, and
    which labels are taken for which, are no tables of eval.pl; the others have its figures.

    \b
    Examples:
      mtparse eval test.conll parsed.conll
      mtparse eval test.conll parsed.conll --by tag --by label
    """
    with importing():
        import json

        from mtparse.evaluation import attachment
        from mtparse.evaluation.breakdown import Breakdown
        from mtparse.treebank.conll import read_conll

    require_one_stdin(gold, system)
    if by and as_json and per_sentence:
        raise click.UsageError("--by goes with --json or with --per-sentence, not with both.")
    tables = Breakdown(by)
    right = read_conll(gold, encoding=encoding, heads="required")
    guess = read_conll(system, encoding=encoding, short_rows=True)
    as_lines = per_sentence and as_json
    if as_lines:
        right = list(right)
    rows = attachment.evaluate_sentences(
        right, guess, punctuation=all_tokens, ignore_subtypes=ignore_subtypes, also=tables.add if by else None
    )
    if per_sentence:
        rows = list(rows)
    scores = sum(rows, attachment.Scores())
    if per_sentence and not as_json:
        write(attachment.format_sentences(rows, labels=scores.has_labels))
    if as_lines:
        for record in attachment.sentence_records(right, rows, labels=scores.has_labels):
            write(json.dumps(record))
    elif as_json:
        found = scores.as_dict(labels=scores.has_labels)
        write(json.dumps(found | {"by": tables.as_dict(labels=scores.has_labels)} if by else found))
    else:
        write(attachment.format_report(scores))
        if by:
            write(f"\n{tables.format(labels=scores.has_labels)}")
    _warn_of_nothing(scores.scored, scores.words)


@click.command("compare", short_help="Test whether one output is better than another.")
@click.argument("gold")
@click.argument("system_a")
@click.argument("system_b")
@click.option("--all-tokens", is_flag=True, help="Score punctuation too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--samples",
    type=click.IntRange(1, 10**7),
    default=10_000,
    show_default=True,
    help="Shuffles in the randomization test.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=1,
    show_default=True,
    help="Seed of these shuffles.",
)
@encoding_option
def compare_command(
    gold: str,
    system_a: str,
    system_b: str,
    all_tokens: bool,
    as_json: bool,
    samples: int,
    seed: int,
    encoding: str,
) -> None:
    """Test whether SYSTEM_B is better than SYSTEM_A on GOLD.

    Counts the sentences in which B has more right heads than A, and fewer, with a two-sided sign test (as
    in the paper), and tests the difference in right heads by a paired randomization test: in every shuffle
    the two outputs of each sentence change places with probability 1/2. Tokens of punctuation characters
    only are left out, unless --all-tokens is given. Each file is read once, so that pipes will do; - is
    standard input.

    \b
    Example:
      mtparse compare test.conll a.conll b.conll
    """
    with importing():
        import json
        from itertools import tee

        from mtparse.evaluation import significance
        from mtparse.evaluation.attachment import evaluate_sentences
        from mtparse.treebank.conll import read_conll

    require_one_stdin(gold, system_a, system_b)
    golds = tee(read_conll(gold, encoding=encoding, heads="required"))
    systems = [read_conll(system, encoding=encoding, short_rows=True) for system in (system_a, system_b)]
    scored = [
        evaluate_sentences(right, guess, punctuation=all_tokens, system_name=name)
        for right, guess, name in zip(golds, systems, ("first system", "second system"), strict=True)
    ]
    pairs = list(zip(*scored, strict=True))  # side by side: each file is read once, a sentence at a time
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    found = significance.compare(first, second, samples=samples, seed=seed)
    write(json.dumps(found.as_dict()) if as_json else significance.format_comparison(found))
    _warn_of_nothing(found.scored, found.words)


def _warn_of_nothing(scored: int, words: int) -> None:
    if not scored:
        hint = "; with --all-tokens punctuation counts too" if words else ", the files are empty"
        warn(f"nothing was scored{hint}")
