"""The ``mtparse`` command, which is also ``python -m mtparse``.

Hardly anything is imported before signals are seen to. The first milliseconds of a process, in which Python
itself starts, are beyond reach: an interrupt then ends it with Python's own message.
"""

import os
import sys


def main() -> None:
    """Run the command line of this process."""
    _read_names_as_utf8()
    try:
        from mtparse.cli import signals, streams

        signals.install()
        streams.make_safe()
        from mtparse.cli.main import main as command
    except KeyboardInterrupt:
        os.write(2, b"mtparse: error: interrupted\n")
        os._exit(130)
    except ImportError as error:
        from mtparse.errors import missing_package

        if (text := missing_package(error)) is None:
            raise
        raise SystemExit(f"mtparse: error: {text}") from None
    try:
        command()
    except SystemExit as ended:
        signals.leave(ended.code)
        raise


def _read_names_as_utf8() -> None:
    """Begin the process anew in Python's UTF-8 mode where it takes the names of files for ASCII.

    Python does so in the locale C with PYTHONUTF8=0, and can then open no file that a config names beyond
    ASCII. Names are bytes there as everywhere; that they are UTF-8 is the only sensible guess.
    """
    if sys.getfilesystemencoding() == "ascii" and "utf8" not in sys._xoptions and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


if __name__ == "__main__":
    main()
