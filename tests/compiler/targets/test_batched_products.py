"""Batches of products by cuBLAS, whose calls NumPy does here; on a GPU they are called."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from tests.compiler.targets.devices import DEVICE, on_gpu

from wengert.compiler.targets import batched_products
from wengert.compiler.targets.batched_products import MOST_CALLS, plan_batch

rng = np.random.default_rng(0)


def steps_of(a):
    return [step // a.itemsize for step in a.strides]


def run_calls(plan, x, y, out):
    """What cuBLAS does: columns are neighbours, and the result is y' x'."""
    (of_x, of_y, of_out), (step_x, step_y, step) = plan.layouts, plan.steps
    base = lambda a: a if a.base is None else base(a.base)
    flat = [base(a).reshape(-1) for a in (x, y, out)]

    def matrices(k, offset, rows, columns, layout, step):
        shape, strides = (plan.length, rows, columns), (step, layout.distance, 1)
        if layout.is_transposed:
            strides = step, 1, layout.distance
        return as_strided(flat[k][offset:], shape, [8 * s for s in strides])

    (rows, terms), columns = x.shape[-2:], y.shape[-1]
    for call in plan.calls:
        left = matrices(0, call.x, rows, terms, of_x, step_x)
        right = matrices(1, call.y, terms, columns, of_y, step_y)
        matrices(2, call.out, rows, columns, of_out, step)[...] = left @ right


def make(shape, order):
    """An array whose axes are in another order in memory."""
    return rng.normal(size=[shape[i] for i in order]).transpose(np.argsort(order))


@pytest.mark.parametrize("x_order", [(0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 1, 3), (1, 0, 2, 3)])
@pytest.mark.parametrize("y_order", [(0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 1, 3), (0, 3, 1, 2)])
def test_the_calls_are_the_product(x_order, y_order, monkeypatch):
    monkeypatch.setattr(batched_products, "BUSY", 1)
    x, y, out = make((3, 4, 5, 6), x_order), make((3, 4, 6, 7), y_order), np.empty((3, 4, 5, 7))
    plan = plan_batch([x.shape, y.shape, out.shape], [steps_of(x), steps_of(y), steps_of(out)])
    assert plan is not None
    run_calls(plan, x, y, out)
    np.testing.assert_allclose(out, x @ y, rtol=1e-13, atol=1e-13)


def test_contiguous_batches_are_one_call():
    x, y, out = np.ones((3, 4, 5, 6)), np.ones((3, 4, 6, 7)), np.empty((3, 4, 5, 7))
    plan = plan_batch([x.shape, y.shape, out.shape], [steps_of(x), steps_of(y), steps_of(out)])
    assert plan is not None
    assert (plan.length, plan.calls) == (12, [(0, 0, 0)])


def test_what_cupy_does(monkeypatch):
    monkeypatch.setattr(batched_products, "BUSY", 1)
    arrays = lambda *shapes: [np.ones(shape) for shape in shapes]
    plan = lambda x, y, out: plan_batch([x.shape, y.shape, out.shape], [steps_of(x), steps_of(y), steps_of(out)])
    assert plan(*arrays((5, 6), (6, 7), (5, 7))) is None
    assert plan(*arrays((0, 5, 6), (0, 6, 7), (0, 5, 7))) is None
    assert plan(*arrays((1, 5, 6), (2, 6, 7), (2, 5, 7))) is None
    x, y, out = arrays((2, 5, 12), (2, 6, 7), (2, 5, 7))
    assert plan(x[:, :, ::2], y, out) is None
    many = make((MOST_CALLS + 1, 2, 3, 4), (0, 2, 1, 3))
    assert plan(many, np.ones((MOST_CALLS + 1, 2, 4, 5)), np.ones((MOST_CALLS + 1, 2, 3, 5))) is None
    fewer = many[:2], np.ones((2, 2, 4, 5)), np.ones((2, 2, 3, 5))
    assert plan(*fewer) is not None
    monkeypatch.setattr(batched_products, "BUSY", 1000)  # small products fill the device together, not one by one
    assert plan(*fewer) is None


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
