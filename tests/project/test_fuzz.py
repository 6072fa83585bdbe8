"""Fuzz targets: their seeds pass, and so do the first inputs that atheris makes of them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest
from helpers.project import ROOT

FOLDER = ROOT / "tests" / "fuzz"
TARGETS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "common")


def test_there_are_targets():
    assert TARGETS == ["config", "model", "reader"]


@pytest.mark.parametrize("target", TARGETS)
def test_a_short_run_finds_nothing(target, tmp_path):
    """The seeds, and with atheris a fixed number of inputs; scripts/check/fuzz looks for new ones."""
    command = [os.fspath(FOLDER / f"{target}.py"), "-seed=1", "-runs=1500", "-timeout=20", "-max_len=2048"]
    if importlib.util.find_spec("atheris") is None:
        code = f"import {target}\nfor seed in {target}.seeds(): {target}.check(seed); print('Done')"
        command = ["-c", f"import sys; sys.path.insert(0, {os.fspath(FOLDER)!r})\n{code}"]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, env=environment, timeout=120,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Done" in done.stdout
