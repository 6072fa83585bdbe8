"""The trainers, by the names that configs give them."""

from __future__ import annotations

from mtparse.training.trainers.log_linear import train_log_linear
from mtparse.training.trainers.max_margin import train_max_margin
from mtparse.training.trainers.perceptron import train_perceptron

TRAINERS = {
    "perceptron": (train_perceptron, ("passes", "shuffle")),
    "log-linear": (train_log_linear, ("passes", "optimizer", "tolerance")),
    "max-margin": (train_max_margin, ("passes", "step", "beta", "tolerance", "shuffle")),
}
"""Each trainer's function and the settings it takes from the config."""
