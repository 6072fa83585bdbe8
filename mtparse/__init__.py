"""mtparse: train dependency parsers with exact inference over projective and non-projective trees.

After Koo, Globerson, Carreras, Collins (2007), "Structured Prediction Models via the Matrix-Tree
Theorem". The public names are those in ``__all__``; all are loaded when first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own would take longer to import than all the rest
if TYPE_CHECKING:
    from typing import Any

    from mtparse.errors import ConfigError, ConllError, ModelError, MtparseError, NoTreeError
    from mtparse.evaluation.attachment import Scores, evaluate
    from mtparse.inference.family import TreeFamily
    from mtparse.model.parser import Parser
    from mtparse.model.warmup import warmup
    from mtparse.treebank.conll import read_conll, write_conll
    from mtparse.treebank.sentence import Sentence

__version__ = "0.2.0.dev0"

_HOME = {
    "read_conll": "mtparse.treebank.conll",
    "write_conll": "mtparse.treebank.conll",
    "Sentence": "mtparse.treebank.sentence",
    "Parser": "mtparse.model.parser",
    "evaluate": "mtparse.evaluation.attachment",
    "Scores": "mtparse.evaluation.attachment",
    "TreeFamily": "mtparse.inference.family",
    "MtparseError": "mtparse.errors",
    "ConfigError": "mtparse.errors",
    "ConllError": "mtparse.errors",
    "ModelError": "mtparse.errors",
    "NoTreeError": "mtparse.errors",
    "warmup": "mtparse.model.warmup",
}

__all__ = [
    "ConfigError",
    "ConllError",
    "ModelError",
    "MtparseError",
    "NoTreeError",
    "Parser",
    "Scores",
    "Sentence",
    "TreeFamily",
    "evaluate",
    "read_conll",
    "warmup",
    "write_conll",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'mtparse' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
