"""The tool that runs tests as on other machines does turn this one down."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from tools.portability import LEVELS, V3, environment, minimum_versions

from wengert.compiler.machine.target import runnable_levels

CODE = """
import json, numpy as np
from wengert.compiler.machine import target
print(json.dumps([np.show_config(mode="dicts")["SIMD Extensions"].get("found", []), target.vector_bytes()]))
"""


@pytest.mark.parametrize(("level", "width"), [("x86-64-v2", 16), ("x86-64-v3", 32), ("x86-64-v4", 64)])
def test_levels(level, width):
    if level not in runnable_levels():
        pytest.skip(f"this machine is not of the level {level}")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE], env=os.environ | environment(level), capture_output=True, text=True
    )
    assert done.stderr == ""
    found, vectors = json.loads(done.stdout)
    assert set(found) <= LEVELS[level][0]
    assert vectors == width


def test_native_leaves_numpy_alone():
    assert environment("native") == {"WENGERT_TARGET": "native"}
    assert "X86_V4" not in V3


def test_minimum_versions():
    versions = dict(line.split("==") for line in minimum_versions())
    assert set(versions) == {"numpy", "scipy", "llvmlite", "rich"}
    assert [*map(int, versions["numpy"].split("."))] <= [*map(int, np.__version__.split(".")[:2])]
