"""The paths of docs/design/walks.md: the functions that run between a user's call and a rule, and back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import wengert as wg

PACKAGE = str(Path(wg.__file__).parent)
PROPERTIES = {"Array.dtype", "Array.shape", "Array.size"}
CONSTRUCTORS = {"Leaf.__init__", "TapeNode.__init__", "Tensor.__init__"}
GENERATED = "core/rule_calls.py", "<lambda>"
IMPLEMENTATION = "core/large_arrays.py"
"""Which runs NumPy's function."""


def functions_on_path(run: Callable[[], Any]) -> set[tuple[str, str]]:
    """File and name of each function that runs, but for properties, constructors of nodes and values, comprehensions,
    code that was generated at registration, and the implementations of operations.
    """
    found: set[tuple[str, str]] = set()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        file, name = code.co_filename[len(PACKAGE) + 1 :], code.co_qualname
        is_generated = file == GENERATED[0] and name.startswith(GENERATED[1])
        if not (is_generated or file == IMPLEMENTATION or "comp>" in name or name in PROPERTIES | CONSTRUCTORS):
            found.add((file, name))

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("x", [np.float64(0.5), np.array([0.5])], ids=["number", "array"])
def test_gradient_of_a_function(x):
    gradient = wg.grad(wg.sin)
    gradient(x)
    found = functions_on_path(lambda: gradient(x))
    assert len(found) <= 15
    assert len({file for file, _ in found}) <= 7


@pytest.mark.parametrize("x", [0.5, [0.5]], ids=["number", "array"])
def test_backward(x):
    leaf = wg.tensor(x, requires_grad=True)
    wg.sin(leaf).backward()
    y = wg.sin(leaf)
    found = functions_on_path(y.backward)
    assert len(found) <= 15
    assert len({file for file, _ in found}) <= 7


def test_compiled_gradient_again():
    compiled = wg.compile(wg.grad(wg.sin))
    compiled(0.5)
    compiled(0.5)  # makes the native entry
    assert functions_on_path(lambda: compiled(0.5)) == {("compiler/call/compiled.py", "Compiled.__call__")}
