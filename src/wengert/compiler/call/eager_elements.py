"""Large eager calls of elementwise operations: one kernel on blocks for an operation and its dtypes.

NumPy's warnings and errors remain. A kernel notes for each block whether all results are finite; if some are not, and
the user wants to know, NumPy runs these blocks again, and warns or raises by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler import aspects as aspects  # fills in the native code of operations
from wengert.compiler.call.block_program import (
    BlockProgram,
    block_slice,
    block_spec,
    can_run_blocks,
    count_blocks,
)
from wengert.compiler.forms.lowering import FLOATS, Instructions, expansion, lowering
from wengert.core.aspects import primitive_of
from wengert.core.native import native_call
from wengert.core.primitive import TABLE, Primitive, plain_impl
from wengert.graph.graph import Graph
from wengert.graph.ir import Input, Node, make_operation
from wengert.ops.elementwise.arithmetic import subtract
from wengert.ops.reductions.sums import _sum

MOST_KERNELS = 512
"""The number of kernels that are kept in memory."""
ROWS = frozenset(map(np.dtype, ("f8", "f4", "i8", "i4", "?")))
"""The dtypes of operands."""


class LongOperand(NamedTuple):
    """An operand of a kernel: a contiguous array, or an array without axes, for one number."""

    array: np.ndarray
    is_long: bool


class LongOperands(NamedTuple):
    """The operands of a kernel, and what its results have in common: the number of elements, the shape, the layout."""

    operands: list[LongOperand]
    size: int
    shape: tuple[int, ...]
    order: Any


def run_elements(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """The result of an elementwise operation on long arrays; None where there is no kernel for them."""
    errors = np.geterr()
    if errors["under"] != "ignore":
        return None
    rows = find_rows(operands)
    if rows is None:
        return None
    dtypes = tuple([(row.array.dtype, row.is_long) for row in rows.operands])
    kernel = kernel_of(primitive, dtypes, tuple(params.items()))
    if kernel is None:
        return None
    results = [spec.dtype for spec in kernel.program.build.program.outputs]
    out = np.empty(rows.shape, results[0], order=rows.order)
    flags = [np.empty(count_blocks(rows.size), dtype) for dtype in results[1:]]
    kernel(rows.size, [row.array for row in rows.operands], [out, *flags])
    if flags and set(errors.values()) != {"ignore"}:
        report_errors(primitive, rows, params, flags[0])
    return out


def find_rows(operands: Sequence[Any]) -> LongOperands | None:
    """Operands as long rows and numbers; None if some are neither, or have other dtypes than native code."""
    arrays = [x for x in operands if x.__class__ is np.ndarray and x.ndim and any(x.strides)]
    if not arrays:
        return None
    first = arrays[0]
    order = "C" if first.flags.c_contiguous else "F"
    for x in arrays:
        flags = x.flags
        is_whole = flags.c_contiguous if order == "C" else flags.f_contiguous
        if x.shape != first.shape or x.dtype not in ROWS or not (is_whole and flags.aligned):
            return None
    floats = {x.dtype for x in arrays if x.dtype in FLOATS}
    number_dtype = floats.pop() if len(floats) == 1 else None
    rows = []
    for x in operands:
        if x.__class__ is np.ndarray and x.ndim and any(x.strides):
            rows.append(LongOperand(x, True))
            continue
        number = as_number(x, number_dtype, first.shape)
        if number is None:
            return None
        rows.append(LongOperand(number, False))
    return LongOperands(rows, first.size, first.shape, order)


def as_number(x: Any, dtype: np.dtype | None, shape: tuple[int, ...]) -> np.ndarray | None:
    """One number as an array without axes. A Python number has the dtype of the arrays, if these are floats."""
    if x.__class__ in (int, float):
        try:
            return None if dtype is None else np.asarray(x, dtype)
        except OverflowError:  # NumPy's to raise
            return None
    if not isinstance(x, np.ndarray | np.generic) or x.dtype not in ROWS or (x.ndim and x.shape != shape):
        return None
    return np.array(np.asarray(x)[(0,) * x.ndim], x.dtype)  # broadcast from one number


@lru_cache(MOST_KERNELS)
def kernel_of(
    primitive: Primitive, operands: tuple[tuple[np.dtype, bool], ...], params: tuple[tuple[str, Any], ...]
) -> BlockProgram | None:
    """The kernel of an operation on long arrays and numbers of these dtypes; None if NumPy would run a part of it.

    Its second output, if results can be other than finite, is zero for each block whose results are finite.
    """
    inputs = [Input(block_spec(dtype, is_long)) for dtype, is_long in operands]
    out = make_operation(primitive, inputs, **dict(params))
    outputs: list[Node] = [out]
    if out.dtype.kind == "f":
        zeros = make_operation(primitive_of(subtract), [out, out])  # NaN if it is not finite
        outputs.append(make_operation(primitive_of(_sum), [zeros], axis=(0,), keepdims=False))
    elif out.dtype.kind == "c":
        return None
    kernel = BlockProgram(Graph(inputs, outputs), primitive.name)
    return kernel if kernel.is_native else None


def report_errors(primitive: Primitive, rows: LongOperands, params: dict[str, Any], flags: np.ndarray) -> None:
    """Let NumPy warn or raise for the blocks that have results other than finite ones."""
    impl = plain_impl(primitive)
    for number in np.flatnonzero(flags != 0).tolist():
        part = block_slice(number, rows.size)
        impl(*[x.reshape(-1, order=rows.order)[part] if is_long else x[()] for x, is_long in rows.operands], **params)


if can_run_blocks():
    for primitive in TABLE.values():
        native_code = lowering.of(primitive)
        computes = isinstance(native_code, Instructions) and native_code.cost or expansion.of(primitive) is not None
        if primitive.kind == "elementwise" and not primitive.definition.takes_params and computes:
            native_call.enter(partial(run_elements, primitive), primitive)
