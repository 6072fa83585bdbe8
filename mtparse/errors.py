"""The few exceptions of mtparse; the command line turns each into one line on stderr."""

from __future__ import annotations


class MtparseError(Exception):
    """Base class of every error that is the input's or the environment's fault, not a bug."""


class ConfigError(MtparseError):
    """A config file, an override or a combination of settings that cannot be run."""


class ConllError(MtparseError, ValueError):
    """A fault in a treebank file.

    Attributes
    ----------
    path : str
        The file as the user named it (``<stdin>`` for standard input).
    line : int
        Physical line, counted by LF from 1; 0 where the file as a whole is at fault.
    """

    def __init__(self, path: str, line: int, message: str) -> None:
        self.path = str(path)
        self.line = line
        self.message = message
        place = f"{self.path}:{line}" if line else self.path
        super().__init__(f"{place}: {message}")

    def __reduce__(self) -> tuple:
        # by default an exception is made again of its text alone; a pool of processes would wait for ever
        return type(self), (self.path, self.line, self.message), self.__dict__


class ModelError(MtparseError):
    """A model file that is damaged, truncated, of another version, or no model file at all."""


class InputWarning(UserWarning):
    """Input that can be worked on, but is unlike what a model was trained with, or in part left out."""


class NumericsError(MtparseError):
    """Training met a number that is not finite, or a loss below its bound.

    Attributes
    ----------
    sentence : int
        Place of the sentence in the training set, from 0.
    number : int
        The pass.
    """

    def __init__(self, sentence: int, number: int) -> None:
        self.sentence = sentence
        self.number = number
        super().__init__(
            f"training sentence {sentence + 1}, pass {number}: a score is not finite, or the loss is below 0 "
            "(the gold tree is not in the tree family); training stops, as nothing later could be trusted"
        )

    def __reduce__(self) -> tuple:
        return type(self), (self.sentence, self.number), self.__dict__  # see ConllError


class NoTreeError(MtparseError, ValueError):
    """The scores forbid every tree of the family (all arcs into a word are -inf, ...)."""


def missing_package(error: ImportError) -> str | None:
    """What to say of a dependency that is missing or does not work; None for a fault of mtparse itself."""
    package = (error.name or "").partition(".")[0]
    if package == "mtparse":
        return None
    text = f"{package or 'a dependency'} is missing or broken ({error}); "
    return text + "install mtparse with its dependencies again: pip install ."
