"""The operands of an elementwise operation as rows, from which kernels take blocks.

Operands of one shape and layout are one long row. Where they are broadcast, axes that all operands have, or that the
same ones lack, are merged; what remains are at most two axes of rows, and along a row each operand has neighbouring
elements or one number: a bias, a mean of each row, all pairs of two lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler.call.block_program import Extents, block_of
from wengert.compiler.forms.lowering import FLOATS
from wengert.core import machine

DTYPES = frozenset(map(np.dtype, ("f8", "f4", "i8", "i4", "?")))
"""The dtypes of operands."""
NO_STRIDES = (0, 0)


class RowOperand(NamedTuple):
    """An operand: an array with rows, or with one number for each row; `strides` are the bytes between rows."""

    array: np.ndarray
    is_long: bool
    strides: tuple[int, int] = NO_STRIDES


class OperandRows(NamedTuple):
    """Operands as rows: how many there are and how long, the elements of a block, and the results' shape and layout."""

    operands: list[RowOperand]
    extents: Extents
    block: int
    shape: tuple[int, ...]
    order: Any


def find_rows(operands: Sequence[Any]) -> OperandRows | None:
    """Operands as rows; None if their layouts have none, or they have other dtypes than native code."""
    arrays = [x for x in operands if x.__class__ is np.ndarray and x.ndim and any(x.strides)]
    if not arrays:
        return None
    first = arrays[0]
    shape, order, is_broadcast = first.shape, "C" if first.flags.c_contiguous else "F", False
    for x in arrays:
        flags = x.flags
        is_whole = flags.c_contiguous if order == "C" else flags.f_contiguous
        if x.dtype not in DTYPES or not (is_whole and flags.aligned):
            return None
        is_broadcast = is_broadcast or x.shape != shape
    if len(arrays) == len(operands):
        numbers: Sequence[RowOperand | None] | None = [None] * len(arrays)
    else:
        numbers = number_operands(operands, arrays, shape)
    if numbers is None:
        return None
    if is_broadcast:
        return find_broadcast_rows(operands, numbers) if order == "C" else None
    given = [RowOperand(x, True) if number is None else number for x, number in zip(operands, numbers, strict=True)]
    block = min(machine.current.elements_of_block, first.size)
    return OperandRows(given, (1, 1, first.size), block, shape, order) if block else None


def number_operands(
    operands: Sequence[Any], arrays: Sequence[np.ndarray], shape: tuple[int, ...]
) -> list[RowOperand | None] | None:
    """The operands that are one number, as arrays without axes, and None for each array.

    A Python number has the dtype of the arrays, if these are floats. None if there is another kind of operand.
    """
    found: list[RowOperand | None] = []
    for x in operands:
        if any(x is array for array in arrays):
            found.append(None)
            continue
        if x.__class__ in (int, float):
            floats = {array.dtype for array in arrays if array.dtype in FLOATS}
            try:
                number = np.asarray(x, floats.pop()) if len(floats) == 1 else None
            except OverflowError:  # NumPy's to raise
                return None
        elif isinstance(x, np.ndarray | np.generic) and x.dtype in DTYPES and (not x.ndim or x.shape == shape):
            number = np.array(np.asarray(x)[(0,) * x.ndim], x.dtype)  # it may be broadcast from one number
        else:
            return None
        if number is None:
            return None
        found.append(RowOperand(number, False))
    return found


def find_broadcast_rows(operands: Sequence[Any], numbers: Sequence[RowOperand | None]) -> OperandRows | None:
    """C-contiguous operands of different shapes as rows; None if rows are short, or in more than two axes."""
    shapes = [x.shape if x.__class__ is np.ndarray else () for x in operands]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:  # NumPy's to raise
        return None
    arrays = [x for x, number in zip(operands, numbers, strict=True) if number is None]
    extents, strides = merge_axes(shape, [broadcast_strides(x, shape) for x in arrays])
    length = extents[-1] if extents else 0
    block = block_of(length)
    if block is None or len(extents) > 3:
        return None
    missing = 3 - len(extents)
    rows = iter(
        [
            RowOperand(x, s[-1] != 0, ((0,) * missing + s)[:2])  # type: ignore[arg-type]  # two of three
            for x, s in zip(arrays, strides, strict=True)
        ]
    )
    given = [next(rows) if number is None else number for number in numbers]
    whole: Any = (1,) * missing + extents
    return OperandRows(given, whole, block, shape, "C")


def broadcast_strides(x: np.ndarray, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of an array that is broadcast to a shape."""
    own = [0 if n == 1 else stride for n, stride in zip(x.shape, x.strides, strict=True)]
    return (0,) * (len(shape) - x.ndim) + tuple(own)


def merge_axes(
    shape: tuple[int, ...], strides: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """A shape and the strides of arrays without axes of length one, and with neighbouring axes merged where all can."""
    extents: list[int] = []
    merged: list[list[int]] = []  # the strides of all arrays, for each axis
    for n, steps in zip(shape, zip(*strides, strict=True), strict=True):
        if n == 1:
            continue
        if extents and all(before == n * step for before, step in zip(merged[-1], steps, strict=True)):
            extents[-1] *= n
            merged[-1] = list(steps)
        else:
            extents.append(n)
            merged.append(list(steps))
    return tuple(extents), [tuple(axis[k] for axis in merged) for k in range(len(strides))]
