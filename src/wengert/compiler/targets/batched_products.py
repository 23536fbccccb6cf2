"""Batches of products of matrices by cuBLAS, wherever their elements are: CuPy would copy those that are transposed.

cuBLAS's matrices have neighbours along columns, so that the transposed product, y' x', is computed. Matrices that are
evenly apart are given by the first one and their distance, others (the heads of attention, next to each other in each
row of a token) by all of their addresses, which the device computes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np


class MatrixLayout(NamedTuple):
    """How a matrix is in memory: row by row, or column by column if it `is_transposed`, so far from each other."""

    is_transposed: bool
    distance: int


class BatchLayout(NamedTuple):
    """Where the matrices of a batch are: its shape, and the strides of its axes, in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def step(self) -> int | None:
        """The distance of matrices that are evenly apart.

        >>> BatchLayout((2, 3), (15, 5)).step, BatchLayout((2, 3), (5, 10)).step, BatchLayout((1,), (7,)).step
        (5, None, 0)
        """
        axes = [(n, step) for n, step in zip(self.shape, self.strides, strict=True) if n > 1]
        is_even = all(outer == n * inner for (_, outer), (n, inner) in zip(axes, axes[1:], strict=False))
        return (axes[-1][1] if axes else 0) if is_even else None

    def offsets(self) -> np.ndarray:
        """Where each matrix is, in elements, one after the other."""
        indices = np.indices(self.shape).reshape(len(self.shape), -1)
        return np.array(self.strides, np.int64) @ indices


class BatchPlan(NamedTuple):
    """Both operands and the result: layouts of matrices, where they are, and the distances if they are evenly apart."""

    layouts: tuple[MatrixLayout, MatrixLayout, MatrixLayout]
    batches: tuple[BatchLayout, BatchLayout, BatchLayout]
    steps: tuple[int, int, int] | None


def find_layout(shape: Sequence[int], strides: Sequence[int]) -> MatrixLayout | None:
    """The layout of a matrix, by its strides in elements; None if neither rows nor columns are neighbours."""
    (rows, columns), (down, across) = shape, strides
    if across == 1 and down >= columns:
        return MatrixLayout(False, down)
    return MatrixLayout(True, across) if down == 1 and across >= rows else None


@lru_cache(1024)
def plan_batch(shapes: tuple[tuple[int, ...], ...], strides: tuple[tuple[int, ...], ...]) -> BatchPlan | None:
    """How x @ y = out is computed, by the shapes and strides of all three; None if CuPy must do it."""
    batch = shapes[2][:-2]
    if not batch or 0 in (*shapes[0], *shapes[1]) or any(shape[:-2] != batch for shape in shapes):
        return None
    x, y, out = [find_layout(shape[-2:], steps[-2:]) for shape, steps in zip(shapes, strides, strict=True)]
    if x is None or y is None or out is None or out.is_transposed:
        return None
    batches = tuple([BatchLayout(batch, steps[:-2]) for steps in strides])
    even = tuple([part.step for part in batches])
    return BatchPlan((x, y, out), batches, None if None in even else even)  # type: ignore[arg-type]  # three of each


def multiply(arrays: Any, x: Any, y: Any, out: Any) -> None:
    """Write x @ y to an array; `arrays` is CuPy."""
    operands = x, y, out
    is_real = x.dtype == y.dtype == out.dtype and out.dtype in (np.float32, np.float64)
    strides = [tuple([step // a.itemsize for step in a.strides]) for a in operands]
    plan = plan_batch(tuple([a.shape for a in operands]), tuple(strides)) if is_real else None
    if plan is None:
        arrays.matmul(x, y, out=out)
    else:
        call_cublas(arrays, plan, x, y, out)


def call_cublas(arrays: Any, plan: BatchPlan, x: Any, y: Any, out: Any) -> None:
    """Compute the products of a batch on the current stream."""
    blas, letter = arrays.cuda.cublas, "s" if out.dtype == np.float32 else "d"
    numbers = np.array([1.0, 0.0], out.dtype)
    one, zero = numbers.ctypes.data, numbers[1:].ctypes.data
    of_x, of_y, of_out = plan.layouts
    kind = lambda layout: blas.CUBLAS_OP_T if layout.is_transposed else blas.CUBLAS_OP_N
    sizes = kind(of_y), kind(of_x), y.shape[-1], *x.shape[-2:]
    handle, count = arrays.cuda.get_cublas_handle(), math.prod(out.shape[:-2])
    if plan.steps is not None:
        step_x, step_y, step = plan.steps
        getattr(blas, f"{letter}gemmStridedBatched")(
            handle, *sizes, one, y.data.ptr, of_y.distance, step_y, x.data.ptr, of_x.distance, step_x,
            zero, out.data.ptr, of_out.distance, step, count,
        )  # fmt: skip
        return
    device = arrays.cuda.runtime.getDevice()
    at_x, at_y, at = [
        offsets_on_device(arrays, device, batch, out.itemsize) + a.data.ptr
        for batch, a in zip(plan.batches, (x, y, out), strict=True)
    ]
    getattr(blas, f"{letter}gemmBatched")(
        handle, *sizes, one, at_y.data.ptr, of_y.distance, at_x.data.ptr, of_x.distance,
        zero, at.data.ptr, of_out.distance, count,
    )  # fmt: skip


@lru_cache(1024)
def offsets_on_device(arrays: Any, _device: int, batch: BatchLayout, itemsize: int) -> Any:
    """Where the matrices of a batch are, in bytes, on the current device, where all streams find it."""
    found = arrays.asarray(batch.offsets() * itemsize)
    arrays.cuda.get_current_stream().synchronize()
    return found
