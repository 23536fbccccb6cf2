"""Commands in a test: fixtures that run them, and functions in a file that they are given."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from wengert.cli import main

ROOT = Path(__file__).parents[2]
RUNNING = ["ln(x1) + x1*x2 - sin(x2)", "x1=2", "x2=5"]
MODEL = """
import numpy as np

def loss(w, b=0.0, *, n: int = 2, verbose=False):
    total = 0.0
    for k in range(n):
        total = total + (w**2).sum() * np.sin(b + k)
    return total

def tree(params):
    return (params["w"] * 2.0).sum() + params["b"]

def broken(x):
    return x + np.ones(3) @ np.ones(4)

def tagged(x, **options):
    return x * options["rate"]

class Model:
    @staticmethod
    def energy(x):
        return x * x

constant = 2.0
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model_of_test.py"
    path.write_text(MODEL)
    yield path
    for name in [name for name in sys.modules if name.startswith("model_of_test")]:
        del sys.modules[name]


@pytest.fixture
def command(capsys, monkeypatch, tmp_path):
    """Runs a command in an empty folder: its exit status, what it printed, what it complained about."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        code = main([str(word) for word in words])
        done = capsys.readouterr()
        return code, done.out, done.err

    return run


def run_process(*words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "wengert", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env=os.environ | environment,
    )
