"""What the fuzz targets share: instrumentation where atheris is at work, seeds, and the run itself.

A target is a script: ``python tests/fuzz/TARGET.py [LIBFUZZER OPTION ...] [CORPUS]``. Without a corpus a
temporary one is used; the seeds are put into either. Without atheris its functions can still be imported.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable
from contextlib import nullcontext
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

sys.path.append(str(ROOT / "tests"))  # for what the tests share

# kernels are to be instrumented and to raise IndexError, not compiled
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")


def instrumented(*packages: str):
    """A context in which imports of these packages are instrumented, if a target is run as a script."""
    if Path(sys.argv[0]).resolve().parent != Path(__file__).resolve().parent:
        return nullcontext()
    import atheris

    return atheris.instrument_imports(include=list(packages))


def demo(language: str, sentences: int) -> bytes:
    """The first training sentences of a toy language."""
    text = (ROOT / "data" / "demo" / language / "train.conll").read_bytes()
    return b"\n\n".join(text.split(b"\n\n")[:sentences]) + b"\n\n"


def fuzz(
    target: Callable[[bytes], None],
    seeds: Iterable[bytes],
    words: Collection[str] = (),
    mutate: Callable[[bytes, int, int], bytes] | None = None,
) -> None:
    """Run libFuzzer on a target until its options say to stop; never returns.

    Mutations insert ``words``; ``mutate(data, most, seed)`` takes the place of libFuzzer's own mutations.
    """
    import atheris

    with tempfile.TemporaryDirectory() as temporary:
        options = [sys.argv[0]]
        if words:
            dictionary = Path(temporary, "words")
            escaped = ("".join(f"\\x{byte:02x}" for byte in word.encode()) for word in words)
            dictionary.write_text("".join(f'"{word}"\n' for word in escaped), encoding="ascii")
            options.append(f"-dict={dictionary}")
        options += sys.argv[1:]
        if len(sys.argv) == 1 or sys.argv[-1].startswith("-"):
            options.append(os.path.join(temporary, "corpus"))
        corpus = Path(options[-1])
        corpus.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(seeds):
            (corpus / f"seed-{number}").write_bytes(seed)
        atheris.Setup(options, target, custom_mutator=mutate)
        atheris.Fuzz()
