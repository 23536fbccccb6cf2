"""Where the tests of GPUs run: on the emulator, or, with WENGERT_TEST_DEVICE=cuda, on a GPU (`make test-gpu`)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.compiler.targets.emulator import Emulated

import wengert as wg
from wengert.core.tree import flatten, unflatten

DEVICE = os.environ.get("WENGERT_TEST_DEVICE")


class OnDevice:
    """A function that runs on a GPU, called with arrays of NumPy."""

    def __init__(self, f: Callable):
        self.compiled = wg.compile(f)

    def __call__(self, *args: Any) -> Any:
        import cupy  # type: ignore[import-not-found]  # an extra

        leaves, structure = flatten(args)
        outs = self.compiled(*unflatten(structure, [cupy.asarray(x) for x in leaves]))
        found, result = flatten(outs)
        assert all(isinstance(y, cupy.ndarray) for y in found)
        return unflatten(result, [y.get() if y.ndim else y.get()[()] for y in found])


def on_gpu(f: Callable) -> Callable:
    """The function on the emulator, or on a GPU."""
    return OnDevice(f) if DEVICE else Emulated(f)


def assert_as_compiled(f, *args, tolerance: float = 1e-12) -> None:
    """The same results as on the processor, up to a tolerance relative to the largest element."""
    found, expected = flatten(on_gpu(f)(*args))[0], flatten(wg.compile(f)(*args))[0]
    for y, z in zip(found, expected, strict=True):
        assert (np.shape(y), y.dtype) == (np.shape(z), z.dtype)
        scale = max(np.max(np.abs(z), initial=0.0), 1.0)
        np.testing.assert_allclose(y, z, rtol=tolerance, atol=tolerance * scale)


def assert_same_bits(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    """Equal in shape, dtype and every bit, except those of NaN."""
    assert (np.shape(found), found.dtype) == (np.shape(expected), expected.dtype), what
    np.testing.assert_array_equal(found, expected, err_msg=what)
    if found.dtype.kind == "f":
        same = np.signbit(found) == np.signbit(expected)
        np.testing.assert_array_equal(same | np.isnan(found), True, err_msg=what)
