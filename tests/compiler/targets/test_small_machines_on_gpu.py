"""Programs for GPUs on shrunken machines: all fields of the record that decide about threads of a GPU are small."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from tests.compiler.targets.devices import DEVICE, on_gpu

import wengert as wg
from wengert.core import machine
from wengert.core.machine.devices import DeviceFields
from wengert.core.machine.order_devices import DeviceOrderFields

pytestmark = pytest.mark.skipif(DEVICE is not None, reason="the same code runs on the emulator, in less time")
rng = np.random.default_rng(4)
X, Y, INDICES = rng.normal(size=(37, 9)), rng.normal(size=(2, 300, 5)), rng.integers(0, 37, 500)

PROGRAMS = {
    "sums": (lambda x, y: (np.sin(x).sum(0), (y * y).sum((1, 2)), y.sum(), np.var(y, 1)), (X, Y)),
    "softmax": (lambda x: wg.nn.functional.softmax(x, -1) @ x.T, (X,)),
    "gradient": (wg.grad(lambda x, y: (np.tanh(x) ** 2).sum() + np.log(np.exp(y).sum(1)).sum(), (0, 1)), (X, Y)),
    "scatter": (lambda x, i: (wg.zeros((37, 9)).at[i].add(x[i] ** 2), wg.zeros(3000).at[i].add(1.0)), (X, INDICES)),
    "loop": (lambda x: wg.fori_loop(0, 7, lambda _, s: np.cos(s) + x, x), (X,)),
    "transpose": (lambda x, y: (x.T.copy() + 1.0, np.transpose(y, (2, 0, 1)) * 2.0), (X, Y)),
}


def draw(seed: int) -> dict[str, int]:
    """Small numbers for the fields of GPUs; those of the order only if the seed is even."""
    drawn, groups = np.random.default_rng(seed), (DeviceFields, DeviceOrderFields)[: 1 + (seed + 1) % 2]
    names = [f.name for group in groups for f in fields(group) if isinstance(f.default, int)]
    return {name: int(drawn.integers(1, drawn.choice([2, 9, 65]))) for name in names}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_on_small_machines(name, seed):
    f, args = PROGRAMS[name]
    expected = on_gpu(f)(*args)
    with machine.using(**draw(seed)):
        found = on_gpu(f)(*args)
    for y, z in zip(wg.tree.leaves(found), wg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-12, atol=1e-12)
        assert seed % 2 == 0 or y.tobytes() == z.tobytes()
