"""Batches of products by cuBLAS, whose calls NumPy does here; on a GPU they are called."""

from __future__ import annotations

import ctypes
import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from tests.compiler.targets.devices import DEVICE, on_gpu

from wengert.compiler.targets.batched_products import BatchLayout, multiply, offsets_on_device, plan_batch

rng = np.random.default_rng(0)


def plan_of(*arrays):
    strides = [tuple(step // a.itemsize for step in a.strides) for a in arrays]
    return plan_batch(tuple(a.shape for a in arrays), tuple(strides))


def run_plan(plan, x, y, out):
    """What cuBLAS computes, by the layout and the offset of each matrix."""
    base = lambda a: a if a.base is None else base(a.base)
    flat, offsets = [base(a).reshape(-1) for a in (x, y, out)], [batch.offsets() for batch in plan.batches]

    def matrix(k, index, rows, columns):
        layout = plan.layouts[k]
        strides = (8, 8 * layout.distance) if layout.is_transposed else (8 * layout.distance, 8)
        offset = offsets[k][index] if plan.steps is None else index * plan.steps[k]
        return as_strided(flat[k][offset:], (rows, columns), strides)

    (rows, terms), columns = x.shape[-2:], y.shape[-1]
    for index in range(len(offsets[0])):
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


@pytest.mark.parametrize("shape", [(1,), (6,), (2, 3), (2, 1, 3), (1, 4), (4, 1), (2, 2, 2)])
def test_the_step_of_a_batch_is_that_of_its_offsets(shape):
    for strides in itertools.product((0, 1, 2, 3, 4, 6), repeat=len(shape)):
        batch = BatchLayout(shape, strides)
        steps = set(np.diff(batch.offsets()).tolist())
        expected = None if len(steps) > 1 else next(iter(steps), 0)
        assert batch.step == expected


def test_a_plan_is_as_small_for_many_matrices():
    """Neither plans nor what devices keep for them grow without limit."""
    shapes, strides = ((10**9, 2, 3), (10**9, 3, 2), (10**9, 2, 2)), ((6, 3, 1), (6, 2, 1), (4, 2, 1))
    plan = plan_batch(shapes, strides)
    assert plan is not None
    assert plan.steps == (6, 6, 4)
    assert offsets_on_device.cache_info().maxsize is not None


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


class DeviceArray(np.ndarray):
    """An array with an address, as CuPy's."""

    data = property(lambda self: SimpleNamespace(ptr=self.ctypes.data))


class CublasInNumpy:
    """The functions of cuBLAS for doubles: matrices have neighbours along columns, and are given by addresses."""

    CUBLAS_OP_N, CUBLAS_OP_T = 0, 1

    def dgemmBatched(self, _, op_x, op_y, m, n, k, one, xs, x_step, ys, y_step, zero, outs, step, count):
        table = lambda address: np.ctypeslib.as_array((ctypes.c_int64 * count).from_address(address)).tolist()
        assert matrix_at(one, 1, 1, 1) == 1.0
        assert matrix_at(zero, 1, 1, 1) == 0.0
        for x, y, out in zip(table(xs), table(ys), table(outs), strict=True):
            left = matrix_at(x, k, m, x_step).T if op_x else matrix_at(x, m, k, x_step)
            right = matrix_at(y, n, k, y_step).T if op_y else matrix_at(y, k, n, y_step)
            matrix_at(out, m, n, step)[...] = left @ right

    def dgemmStridedBatched(
        self, _, op_x, op_y, m, n, k, one, x, x_step, next_x, y, y_step, next_y, zero, out, step, next_out, count
    ):
        tables = [at + 8 * next * np.arange(count) for at, next in ((x, next_x), (y, next_y), (out, next_out))]
        xs, ys, outs = [table.ctypes.data for table in tables]
        self.dgemmBatched(_, op_x, op_y, m, n, k, one, xs, x_step, ys, y_step, zero, outs, step, count)


def matrix_at(address, rows, columns, distance):
    """The matrix at an address, whose columns are so far from each other."""
    elements = (ctypes.c_double * (distance * (columns - 1) + rows)).from_address(address)
    return as_strided(np.ctypeslib.as_array(elements), (rows, columns), (8, 8 * distance))


class Arrays:
    """CuPy, as far as products need it."""

    asarray, matmul = staticmethod(lambda x: np.asarray(x).view(DeviceArray)), np.matmul
    cuda = SimpleNamespace(
        cublas=CublasInNumpy(),
        get_cublas_handle=lambda: None,
        get_current_stream=lambda: SimpleNamespace(synchronize=lambda: None),
        runtime=SimpleNamespace(getDevice=lambda: 0),
    )


@pytest.mark.parametrize("x_order", [(0, 1, 2, 3), (0, 2, 1, 3)])
@pytest.mark.parametrize("y_order", [(0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 1, 3)])
def test_calls_of_cublas(x_order, y_order):
    arrays = Arrays if DEVICE is None else pytest.importorskip("cupy")
    place = lambda a, order: arrays.asarray(a.transpose(order).copy()).transpose(tuple(np.argsort(order).tolist()))
    x, y = rng.normal(size=(3, 4, 5, 6)), rng.normal(size=(3, 4, 6, 7))
    out = arrays.asarray(np.zeros((3, 4, 5, 7)))
    multiply(arrays, place(x, x_order), place(y, y_order), out)
    np.testing.assert_allclose(out.get() if DEVICE else out, x @ y, rtol=1e-12, atol=1e-12)
