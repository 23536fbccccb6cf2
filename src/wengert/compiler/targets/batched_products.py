"""Batches of products of matrices by cuBLAS, wherever their elements are: CuPy would copy those that are transposed.

cuBLAS's matrices have neighbours along columns, so that the transposed product, y' x', is computed. A batch has one
distance between its matrices; where batches have several axes that are not evenly apart (the heads of attention,
next to each other in each row), there is a call for each index of the outer ones, if each has enough to do.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

MOST_CALLS, BUSY = 16, 1 << 23
"""The most calls for one batch of products, and the fewest elements of each, where there are several."""


class MatrixLayout(NamedTuple):
    """How a matrix is in memory: row by row, or column by column if it `is_transposed`, so far from each other."""

    is_transposed: bool
    distance: int


class ProductCall(NamedTuple):
    """A call of cuBLAS's `gemmStridedBatched`: the offsets of both operands and the result, in elements."""

    x: int
    y: int
    out: int


class BatchPlan(NamedTuple):
    """The calls of a batch; `steps` are the distances between matrices of `length` products in each of them."""

    layouts: tuple[MatrixLayout, MatrixLayout, MatrixLayout]
    steps: tuple[int, int, int]
    length: int
    calls: list[ProductCall]


def find_layout(shape: Sequence[int], strides: Sequence[int]) -> MatrixLayout | None:
    """The layout of a matrix, by its strides in elements; None if neither rows nor columns are neighbours."""
    (rows, columns), (down, across) = shape, strides
    if across == 1 and down >= columns:
        return MatrixLayout(False, down)
    return MatrixLayout(True, across) if down == 1 and across >= rows else None


def plan_batch(shapes: Sequence[Sequence[int]], strides: Sequence[Sequence[int]]) -> BatchPlan | None:
    """The calls for x @ y = out, by the shapes and strides of all three; None if CuPy must do it."""
    batch = tuple(shapes[2][:-2])
    if not batch or 0 in (*shapes[0], *shapes[1]) or any(tuple(shape[:-2]) != batch for shape in shapes):
        return None
    layouts = [find_layout(shape[-2:], steps[-2:]) for shape, steps in zip(shapes, strides, strict=True)]
    x, y, out = layouts
    if x is None or y is None or out is None or out.is_transposed:
        return None
    outer = len(batch) - 1
    while outer and all(steps[outer - 1] == steps[outer] * batch[outer] for steps in strides):
        outer -= 1
    number = math.prod(batch[:outer])
    if number > MOST_CALLS or (number > 1 and math.prod(shapes[2]) < BUSY * number):
        return None
    offset = lambda steps, index: sum(i * step for i, step in zip(index, steps, strict=False))
    calls = [
        ProductCall(*[offset(steps, index) for steps in strides])
        for index in itertools.product(*map(range, batch[:outer]))
    ]
    step_x, step_y, step = [steps[len(batch) - 1] for steps in strides]
    return BatchPlan((x, y, out), (step_x, step_y, step), math.prod(batch[outer:]), calls)


def multiply(arrays: Any, x: Any, y: Any, out: Any) -> None:
    """Write x @ y to an array; `arrays` is CuPy."""
    is_real = x.dtype == y.dtype == out.dtype and out.dtype in (np.float32, np.float64)
    strides = [[step // a.itemsize for step in a.strides] for a in (x, y, out)]
    plan = plan_batch([x.shape, y.shape, out.shape], strides) if is_real else None
    if plan is None:
        arrays.matmul(x, y, out=out)
    else:
        run_batch(arrays, plan, x, y, out)


def run_batch(arrays: Any, plan: BatchPlan, x: Any, y: Any, out: Any) -> None:
    """Run the calls of a plan on the current stream."""
    blas = arrays.cuda.cublas
    run: Callable[..., None] = blas.sgemmStridedBatched if out.dtype == np.float32 else blas.dgemmStridedBatched
    numbers = np.array([1.0, 0.0], out.dtype)
    one, zero, size = numbers.ctypes.data, numbers[1:].ctypes.data, out.itemsize
    (rows, terms), columns = x.shape[-2:], y.shape[-1]
    (of_x, of_y, of_out), (step_x, step_y, step) = plan.layouts, plan.steps
    kind = lambda layout: blas.CUBLAS_OP_T if layout.is_transposed else blas.CUBLAS_OP_N
    handle = arrays.cuda.get_cublas_handle()
    for call in plan.calls:
        at_x, at_y, at = [a.data.ptr + offset * size for a, offset in zip((x, y, out), call, strict=True)]
        run(
            handle, kind(of_y), kind(of_x), columns, rows, terms, one, at_y, of_y.distance, step_y,
            at_x, of_x.distance, step_x, zero, at, of_out.distance, step, plan.length,
        )  # fmt: skip
