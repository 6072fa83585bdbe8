"""The ``mtparse`` command, which is also ``python -m mtparse``.

Hardly anything is imported before signals are seen to. The first milliseconds of a process, in which Python
itself starts, are beyond reach: an interrupt then ends it with Python's own message.
"""

import os


def main() -> None:
    """Run the command line of this process."""
    try:
        from mtparse import interrupts

        interrupts.install()
        from mtparse.cli import main as command
    except KeyboardInterrupt:
        os.write(2, b"mtparse: error: interrupted\n")
        os._exit(130)
    except ImportError as error:
        from mtparse.errors import missing_package

        if (text := missing_package(error)) is None:
            raise
        raise SystemExit(f"mtparse: error: {text}") from None
    command()


if __name__ == "__main__":
    main()
