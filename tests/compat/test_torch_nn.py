"""Layers, losses, optimisers and schedules of the layer for PyTorch have PyTorch's numbers.

The cases are those of `wg.nn` and `wg.optim`, run as PyTorch code; the numbers are those that PyTorch has.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.nn.torch_cases import compare, stored_values

import wengert.compat.torch as torch

TESTS = Path(__file__).parent.parent
FILES = ("nn.layers", "nn.losses", "nn.sequences", "optim.torch")
NOT_IN_TORCH = {"lion"}


def cases_of(file: str) -> dict[str, Any]:
    folder, name = file.split(".")
    return import_module(f"tests.{folder}.cases_{name}").CASES


CASES = [(file, name) for file in FILES for name in cases_of(file) if name not in NOT_IN_TORCH]


@cache
def stored(file: str) -> dict[str, Any]:
    folder, name = file.split(".")
    return stored_values(TESTS / folder / "stored" / f"{name}.npz")


@pytest.mark.parametrize(("file", "name"), CASES, ids=lambda part: part)
def test_numbers(file, name):
    case = cases_of(file)[name]
    compare(case.torch_values(torch), stored(file)[name], getattr(case, "tolerance", 1e-10))
