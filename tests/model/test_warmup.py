"""After `warmup` nothing is left to compile."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numba
import pytest
from click.testing import CliRunner

import mtparse
from mtparse.cli.main import main
from mtparse.errors import MtparseError
from mtparse.model import warmup
from mtparse.runtime.jit import STORE
from mtparse.runtime.kernel_store import KernelStore

pytestmark = pytest.mark.nojit

WATCHED = """
import atexit, json, sys
from numba.core import event
from numba.core.dispatcher import ObjModeLiftedWith
from mtparse.runtime import jit
from mtparse.runtime.kernel_store import KernelStore

class Compiled(event.Listener):
    def on_start(self, event):
        dispatcher = event.data["dispatcher"]
        # Blocks of Python within kernels are compiled, in milliseconds, in every process.
        if not isinstance(dispatcher, ObjModeLiftedWith):
            compiled.append(str(dispatcher))
    def on_end(self, event):
        pass

compiled, needed, load = [], set(), KernelStore.load
KernelStore.load = lambda store, name: needed.add(name) or load(store, name)
event.register("numba:compile", Compiled())
atexit.register(lambda: print(json.dumps({"needed": sorted(needed), "compiled": compiled})))
"""

WARMUP = "import mtparse\nmtparse.warmup()\n"

USES = """
import numpy as np
import mtparse
from mtparse.config.run import load_config
from mtparse.experiment.run import train
from mtparse.training.trainers import TRAINERS

small, out = sys.argv[1:]
with open(f"{out}/run.yaml", "w") as file:
    file.write("data: {train: train.conll, valid: valid.conll, test: test.conll}\\n")
wide = np.zeros((4, 4))
wide[0] = -1e4
for trees in ("nonprojective", "projective"):
    for root in ("single", "multi"):
        family = mtparse.TreeFamily(trees, root)
        for scores in (wide, np.zeros((4, 4)), np.zeros((4, 4), np.float32, order="F"), np.eye(4).tolist()):
            family.log_partition(scores), family.marginals(scores), family.best_tree(scores)
    for number, name in enumerate(TRAINERS):
        options = {"shuffle": "true"} if name != "log-linear" else {"optimizer": "cg"}
        if name != "perceptron":
            options |= {"C": "[1, 2]", "warm_start": "true"}
        settings = [f"trainer.{key}={value}" for key, value in options.items()]
        settings += [f"data.root={small}", f"trainer.name={name}", "trainer.passes=3", f"trees={trees}"]
        settings += ["refit=true", f"features.merge={str(number > 0).lower()}"]
        config = load_config(f"{out}/run.yaml", settings)
        run = f"{out}/{trees}-{name}"
        cache = f"{out}/cache" if number else None
        train(config, run, jobs=1 + number, cache=cache)
        parser = mtparse.Parser.load(run)
        test = list(mtparse.read_conll(f"{small}/test.conll"))
        for decoder in ("eisner", "mst"):
            assert len(list(parser.parse(test, decoder=decoder, threads=2))) == len(test)
        parser.scores(test[0])
"""


def watched(code: str, *arguments: object) -> dict[str, list[str]]:
    """Run code in a process of its own; the kernels that it needed, and those that it compiled."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED + code, *map(str, arguments)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_nothing_is_compiled_after_a_warm_up(small, tmp_path):
    """Nor is there a kernel, compiled by another test before, that the warm-up does not know."""
    warmed = watched(WARMUP)
    used = watched(USES, small, tmp_path)
    assert used["compiled"] == []
    assert set(used["needed"]) <= set(warmed["needed"])
    assert len(used["needed"]) > 30
    command = CliRunner().invoke(main, ["warmup"])
    assert (command.exit_code, command.stderr) == (0, "")
    assert command.stdout == "all kernels are there already, none was compiled\n"


def test_a_second_warm_up_in_a_process_compiles_nothing():
    mtparse.warmup()
    assert mtparse.warmup() == 0


@pytest.fixture
def one_step(monkeypatch):
    """A warm-up of one kernel, which is missing."""
    monkeypatch.setattr(warmup, "_steps", lambda: iter([("some", STORE.missing)]))


def test_the_command_says_where_kernels_are_stored(one_step):
    result = CliRunner().invoke(main, ["warmup"])
    assert result.exit_code == 0
    assert result.stdout == f"kernels compiled: 1, in 0 seconds; they are stored in {STORE.folder()}\n"
    assert result.stderr == ""


def test_progress_of_a_warm_up(one_step, monkeypatch):
    monkeypatch.setattr("mtparse.runtime.progress.SECONDS_BETWEEN_LINES", 0.0)
    result = CliRunner().invoke(main, ["warmup"])
    assert result.stderr.splitlines() == ["compiling kernels: 0 of 1, some", "compiling kernels: 1 of 1"]
    assert CliRunner().invoke(main, ["warmup", "--quiet"]).stderr == ""


def test_a_warm_up_that_cannot_store_fails_at_once(one_step, monkeypatch):
    monkeypatch.setattr(KernelStore, "_refusal", lambda store, folder: "read-only")
    monkeypatch.setattr(STORE, "_folder", None)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/asked")
    said = "kernels must be compiled, but they cannot be stored in /asked (read-only)"
    with pytest.raises(MtparseError, match="^" + re.escape(said)):
        mtparse.warmup()
    result = CliRunner().invoke(main, ["warmup"])
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"mtparse: error: {said}")


def test_a_warm_up_on_a_full_disk_fails(monkeypatch):
    monkeypatch.setattr(STORE, "not_stored", os.strerror(28))
    monkeypatch.setattr(warmup, "_steps", lambda: iter([]))
    with pytest.raises(MtparseError, match="could not be stored: No space left on device"):
        mtparse.warmup()
