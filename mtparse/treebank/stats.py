"""Statistics of a treebank: sizes, and how far its trees are from projective, single-root ones."""

from __future__ import annotations

import math

from mtparse.errors import ConllError
from mtparse.treebank.byte_source import Source, source_name
from mtparse.treebank.conll import read_conll
from mtparse.treebank.trees import check_tree, crossing_arcs, head_array, nonprojective_arcs, roots


def treebank_stats(source: Source, *, encoding: str = "utf-8") -> dict[str, str | int | float | None]:
    """Count the sentences, words and kinds of arcs of a treebank.

    Parameters
    ----------
    source : str, path or binary stream
        As for `mtparse.treebank.conll.read_conll`.
    encoding : str
        Encoding of the text.

    Returns
    -------
    dict
        ``file``, ``sentences``, ``words``, ``mean_length`` and ``longest`` (words in a sentence), and
        in percent ``nonprojective_arcs``, ``crossing_arcs`` (of all arcs, see `mtparse.treebank.trees`),
        ``crossing_sentences`` (with at least one crossing arc) and ``multi_root_sentences``. What is
        undefined is None: percentages where the file has no heads, all but counts where it is empty.

    Raises
    ------
    ConllError
        If the file is faulty, has a cycle, or has heads in some places but not in others.
    OSError
        If the file cannot be read.
    """
    sentences = words = longest = nonprojective = crossing = crossing_sentences = multi_root = 0
    annotated = None
    for sentence in read_conll(source, encoding=encoding):
        sentences += 1
        words += len(sentence)
        longest = max(longest, len(sentence))
        if annotated is None:
            annotated = any(head >= 0 for head in sentence.heads)
        if not annotated:
            _check_blind(sentence)
            continue
        check_tree(sentence)
        heads = head_array(sentence.heads)
        multi_root += len(roots(heads)) > 1
        crossed = len(crossing_arcs(heads))
        if crossed:
            crossing += crossed
            crossing_sentences += 1
            nonprojective += len(nonprojective_arcs(heads))
    arcs, trees = (words, sentences) if annotated else (0, 0)
    return {
        "file": source_name(source),
        "sentences": sentences,
        "words": words,
        "mean_length": words / sentences if sentences else None,
        "longest": longest if sentences else None,
        "nonprojective_arcs": _percent(nonprojective, arcs),
        "crossing_arcs": _percent(crossing, arcs),
        "crossing_sentences": _percent(crossing_sentences, trees),
        "multi_root_sentences": _percent(multi_root, trees),
    }


_TITLES = {
    "file": "file",
    "sentences": "sentences",
    "words": "words",
    "mean_length": "mean length",
    "longest": "longest",
    "nonprojective_arcs": "non-proj. arcs %",
    "crossing_arcs": "crossing arcs %",
    "crossing_sentences": "crossing sent. %",
    "multi_root_sentences": "multi-root sent. %",
}


def format_stats(rows: list[dict[str, str | int | float | None]]) -> str:
    """Return the statistics of some files as an aligned table, without a line end after the last row."""
    table = [list(_TITLES.values())]
    table += [[_cell(row[name]) for name in _TITLES] for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for name, *figures in table:
        cells = [name.ljust(widths[0])]
        cells += [figure.rjust(width) for figure, width in zip(figures, widths[1:], strict=True)]
        lines.append("  ".join(cells))
    return "\n".join(lines)


def _check_blind(sentence) -> None:
    for head, line in zip(sentence.heads, sentence.lines, strict=True):
        if head >= 0:
            message = f"sentence {sentence.number}: this word has a HEAD, the sentences before have none"
            raise ConllError(sentence.path, line, message)


def _percent(part: int, total: int) -> float | None:
    return 100 * part / total if total else None


def _cell(value: str | int | float | None) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "n/a"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
