"""The trainers, by the names that configs give them. A new one is a module, and a place in this list."""

from __future__ import annotations

from mtparse.training.trainers.base import Trainer
from mtparse.training.trainers.log_linear import LogLinear
from mtparse.training.trainers.max_margin import MaxMargin
from mtparse.training.trainers.perceptron import Perceptron

__all__ = ["TRAINERS", "LogLinear", "MaxMargin", "Perceptron", "Trainer"]

TRAINERS: dict[str, type[Trainer]] = {kind.name: kind for kind in (LogLinear, Perceptron, MaxMargin)}
"""The only list of them. The first is the default of a config."""
