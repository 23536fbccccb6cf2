"""Layers and functions against PyTorch: its stored values, and PyTorch itself where it is installed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tests.nn.torch_cases import FunctionCase, compare, stored_values

FILES = sorted(path.stem.removeprefix("cases_") for path in Path(__file__).parent.glob("cases_*.py"))
CASES = {(file, name): case for file in FILES for name, case in import_module(f"tests.nn.cases_{file}").CASES.items()}


@cache
def stored(file: str):
    return stored_values(Path(__file__).parent / "stored" / f"{file}.npz")


@pytest.mark.parametrize(("file", "name"), CASES, ids=lambda part: part)
def test_stored_values(file, name):
    case = CASES[file, name]
    compare(case.wengert_values(), stored(file)[name], case.tolerance)


@pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("file", FILES)
def test_stored_values_are_those_of_pytorch(file):
    assert stored(file).keys() == import_module(f"tests.nn.cases_{file}").CASES.keys()
    for name, case in import_module(f"tests.nn.cases_{file}").CASES.items():
        compare(case.torch_values(), stored(file)[name], 1e-10)


def test_the_comparison_can_fail():
    with pytest.raises(AssertionError):
        compare({"out0": np.ones(2)}, {"out0": np.array([1.0, 1.0 + 1e-8])}, 1e-10)
    with pytest.raises(AssertionError):
        compare({}, {"out0": np.ones(2)}, 1e-10)
    values = FunctionCase("relu", "relu", ((3,),)).wengert_values()
    with pytest.raises(AssertionError):
        compare(values, {**values, "input0.grad": values["input0.grad"] + 1e-6}, 1e-10)
