"""Any bytes as a treebank, plain or packed, in several encodings: see ``tests/helpers/reading.py``."""

from __future__ import annotations

import gzip
import sys

from common import demo, fuzz, instrumented

with instrumented("mtparse"):
    from helpers.reading import ENCODINGS, check_reading, word

PACKED = 0x80
"""Bit of the first byte that says that the rest is to be packed; the other bits choose the encoding."""


def check(data: bytes) -> None:
    """Read the data after the first byte as this byte says."""
    how = data[0] if data else 0
    text = data[1:]
    if how & PACKED:
        text = gzip.compress(text, 1, mtime=0)
    check_reading(text, ENCODINGS[(how & ~PACKED) % len(ENCODINGS)])


def seeds():
    """Sentences of the toy languages, and short ones with all that a file can have."""
    for number in range(len(ENCODINGS)):
        for language in ("avelu", "dunta"):
            yield bytes([number]) + demo(language, 1)
        for text in SMALL:
            yield bytes([number]) + text
    yield bytes([PACKED]) + SMALL[0]
    yield bytes([0]) + gzip.compress(SMALL[0])


WORDS = [
    "\t_",
    "\n\n",
    "\r\n",
    "\t0\t",
    "1-2\t",
    "1.1\t",
    "0.1\t",
    "-1",
    "# ",
    word(1).decode(),
    word(2, 1).decode(),
]

SMALL = [
    b"\xef\xbb\xbf# c\n" + word("1-2") + word(1, 2) + word(2) + word("2.1", "_", "é") + b"\n" + word(1),
    word(1, 2) + word(2, 3) + word(3, 1) + b"\r\n" + word(1, "_") + word(2, -1) + word(3, 3),
    word(1, "0") + word(2, "02") + word(3, "01") + word(4, "-0") + b"\n",
    word(1, 0, "\u2028\x85") + word(2, 9) + word(4, 1) + b"x\n" + word(5, 1)[:-3] + b"\n\n#\n",
    word(1, "_").replace(b"\n", b"\r\n") + b"\r\n" + word(1, 0, "+ACE- ~{!! \\u0041 \x1b$B"),
]


if __name__ == "__main__":
    sys.exit(fuzz(check, seeds(), WORDS))
