"""Batches of products by cuBLAS, whose calls NumPy does here; on a GPU they are called."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from tests.compiler.targets.devices import DEVICE, on_gpu

from wengert.compiler.targets.batched_products import plan_batch

rng = np.random.default_rng(0)


def plan_of(*arrays):
    strides = [tuple(step // a.itemsize for step in a.strides) for a in arrays]
    return plan_batch(tuple(a.shape for a in arrays), tuple(strides))


def run_plan(plan, x, y, out):
    """What cuBLAS computes, by the layout and the offset of each matrix."""
    base = lambda a: a if a.base is None else base(a.base)
    flat = [base(a).reshape(-1) for a in (x, y, out)]

    def matrix(k, index, rows, columns):
        layout = plan.layouts[k]
        strides = (8, 8 * layout.distance) if layout.is_transposed else (8 * layout.distance, 8)
        offset = plan.offsets[k][index] if plan.steps is None else index * plan.steps[k]
        return as_strided(flat[k][offset:], (rows, columns), strides)

    (rows, terms), columns = x.shape[-2:], y.shape[-1]
    for index in range(len(plan.offsets[0])):
        matrix(2, index, rows, columns)[...] = matrix(0, index, rows, terms) @ matrix(1, index, terms, columns)


def make(shape, order):
    """An array whose axes are in another order in memory."""
    return rng.normal(size=[shape[i] for i in order]).transpose(np.argsort(order))


@pytest.mark.parametrize("x_order", [(0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 1, 3), (1, 0, 2, 3)])
@pytest.mark.parametrize("y_order", [(0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 1, 3), (0, 3, 1, 2)])
def test_the_plan_gives_the_product(x_order, y_order):
    x, y, out = make((3, 4, 5, 6), x_order), make((3, 4, 6, 7), y_order), np.empty((3, 4, 5, 7))
    plan = plan_of(x, y, out)
    assert plan is not None
    assert (plan.steps is not None) == all(order[:2] == (0, 1) for order in (x_order, y_order))
    run_plan(plan, x, y, out)
    np.testing.assert_allclose(out, x @ y, rtol=1e-13, atol=1e-13)


def test_what_cupy_does():
    arrays = lambda *shapes: [np.ones(shape) for shape in shapes]
    assert plan_of(*arrays((5, 6), (6, 7), (5, 7))) is None
    assert plan_of(*arrays((0, 5, 6), (0, 6, 7), (0, 5, 7))) is None
    assert plan_of(*arrays((1, 5, 6), (2, 6, 7), (2, 5, 7))) is None
    x, y, out = arrays((2, 5, 12), (2, 6, 7), (2, 5, 7))
    assert plan_of(x[:, :, ::2], y, out) is None


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_products_of_heads_in_a_program(dtype):
    x = rng.normal(size=(3, 20, 3, 2, 8)).astype(dtype)

    def scores(x):
        query, key, value = [x[:, :, i].transpose(0, 2, 1, 3) for i in range(3)]
        weights = query @ key.swapaxes(-1, -2)
        return weights @ value, weights.swapaxes(-1, -2) @ query

    tolerance = 1e-3 if dtype == "f4" else 1e-11
    for found, expected in zip(on_gpu(scores)(x), scores(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.skipif(DEVICE is None, reason="needs a GPU")
def test_calls_of_cublas():
    import cupy  # type: ignore[import-not-found]  # an extra

    from wengert.compiler.targets.batched_products import multiply

    for order in ((0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 1, 3)):
        x, y = cupy.asarray(make((3, 4, 5, 6), (0, 1, 2, 3))), make((3, 4, 6, 7), order)
        y = cupy.asarray(np.ascontiguousarray(y.transpose(order))).transpose(tuple(np.argsort(order).tolist()))
        out = cupy.empty((3, 4, 5, 7))
        multiply(cupy, x, y, out)
        cupy.testing.assert_allclose(out, x @ y, rtol=1e-12)
