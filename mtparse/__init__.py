"""mtparse: train dependency parsers with exact inference over projective and non-projective trees.

After Koo, Globerson, Carreras, Collins (2007), "Structured Prediction Models via the Matrix-Tree
Theorem". The public names are those in ``__all__``; each is loaded when first used.
"""

__version__ = "0.2.0.dev0"


def _homes() -> dict:
    """The public names with the modules that they are from: what ``__init__.pyi`` imports, the only list."""
    with open(__file__.rpartition(".py")[0] + ".pyi", encoding="utf-8") as file:
        words = [line.split() for line in file if line.startswith("from ")]
    return {name: module for _, module, _, name, *_ in words}


_HOMES = _homes()

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'mtparse' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list:
    return __all__
