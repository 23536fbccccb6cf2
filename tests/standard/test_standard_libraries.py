"""Libraries that are written for the array API standard run on tensors, and gradients flow through them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import array_api_compat
import einops.array_api as einops
import numpy as np
import pytest

import wengert as wg


def test_scipy():
    program = Path(__file__).with_name("scipy_functions.py")
    run = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, env={**os.environ, "SCIPY_ARRAY_API": "1"}
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert len(run.stdout.split()) == 20


def test_array_api_compat_takes_the_package_as_it_is():
    x = wg.tensor([1.0, 2.0])
    assert array_api_compat.array_namespace(x) is wg
    assert array_api_compat.is_array_api_obj(x)
    assert array_api_compat.device(x) == "cpu"
    assert array_api_compat.to_device(x, "cpu") is x
    assert array_api_compat.size(x) == 2


@pytest.mark.parametrize("transform", [wg.grad, lambda f: wg.compile(wg.grad(f)), lambda f: lambda x: wg.jacfwd(f)(x)])
def test_einops(transform):
    weights = np.arange(12.0).reshape(3, 2, 2)

    def f(x):
        turned = einops.rearrange(x, "a b -> b a")
        return (einops.repeat(turned * turned, "b a -> b a c", c=2) * weights).sum() + einops.reduce(
            x, "a b -> a", "mean"
        ).sum()

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(transform(f)(x), 2 * x * weights.sum(-1).T + 1 / 3)
