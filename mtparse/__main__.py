"""``python -m mtparse`` is the same as the ``mtparse`` command."""

from mtparse.cli import main

if __name__ == "__main__":
    main()
