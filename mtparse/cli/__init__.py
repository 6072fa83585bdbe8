"""The ``mtparse`` command."""
