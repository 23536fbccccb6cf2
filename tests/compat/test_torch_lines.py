"""Each line of PyTorch code has the results and gradients on the layer that it has on PyTorch."""

from __future__ import annotations

import json
import math
import warnings
from typing import Any

import numpy as np
import pytest
from tests.compat import torch_lines
from tests.sampling import by_operation

import wengert.compat.torch as layer

EXPECTED: dict[str, Any] = json.loads(torch_lines.STORED.read_text())


def compare(ours: Any, theirs: Any, line: str, single: bool = False) -> None:
    tolerance: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-6} if single else {"rtol": 1e-9, "atol": 1e-10}
    if isinstance(theirs, list) and len(theirs) == 3 and isinstance(theirs[0], str):
        assert ours[:2] == theirs[:2], line
        narrow = theirs[0] in ("float32", "float16", "complex64")
        compare(ours[2], theirs[2], line, narrow)
    elif isinstance(theirs, list):
        np.testing.assert_allclose(ours, theirs, err_msg=line, **tolerance)
    elif isinstance(theirs, float) and not math.isnan(theirs):
        assert ours == pytest.approx(theirs, rel=1e-9), line
    else:
        assert ours == theirs or ours != ours, line  # NaN


@by_operation("line", torch_lines.LINES, ids=[f"{k // 32}-{line}" for k, line in enumerate(torch_lines.LINES)])
def test_line(line):
    with np.errstate(all="ignore"):
        ours, theirs = torch_lines.run_line(layer, line), EXPECTED[line]
    assert len(ours["value"]) == len(theirs["value"])
    for mine, wanted in zip(ours["value"], theirs["value"], strict=True):
        compare(mine, wanted, line)
    single = any(isinstance(v, list) and v[0] == "float32" for v in theirs["value"])
    mine, wanted = ours.get("grad", {}), theirs.get("grad", {})
    for name in mine.keys() | wanted.keys():
        zeros = [0.0] * len(mine.get(name) or wanted.get(name))
        compare(mine.get(name, zeros), wanted.get(name, zeros), f"{line}: gradient of {name}", single)


def test_stored_results_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    for line in torch_lines.LINES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's, for old names
            found = json.loads(json.dumps(torch_lines.run_line(torch, line)))
        for mine, wanted in zip(found["value"], EXPECTED[line]["value"], strict=True):
            compare(mine, wanted, line)
