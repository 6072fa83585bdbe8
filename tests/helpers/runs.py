"""Runs and experiments on the small treebank of ``conftest.py``."""

from __future__ import annotations

import json
import os

from mtparse.config.run import load_config
from mtparse.experiment.run import train

SETTINGS = {
    "perceptron": ["trainer.name=perceptron", "trainer.C="],
    "log-linear": [],
    "cg": ["trainer.optimizer=cg"],
    "max-margin": ["trainer.name=max-margin", "trainer.C=0.05"],
    "paper": ["trainer.name=max-margin", "trainer.C=0.02", "trainer.step=paper"],
}

PLAN = """\
data: {{root: {root}}}
languages:
  one: {{train: train.conll, valid: valid.conll, test: test.conll}}
  two: {{train: valid.conll, valid: {{fraction: 0.3}}, test: test.conll}}
trainers:
  perceptron: {{passes: 2}}
  log-linear: {{C: [0.1, 0.02], passes: 3}}
features: {{set: mcdonald}}
{more}
"""


def train_small(small, out, *overrides, jobs=1):
    return train(load_config(small / "run.yaml", overrides), os.fspath(out), jobs=jobs)


def log_of(out):
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


def model(out, cell):
    return (out / "runs" / cell / "model.mtparse").read_bytes()
