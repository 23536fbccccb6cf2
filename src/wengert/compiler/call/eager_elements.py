"""Large eager calls of elementwise operations: one kernel on blocks for an operation and its dtypes.

NumPy's warnings and errors remain. A kernel notes for each block whether all results are finite; if some are not, and
the user wants to know, NumPy runs these blocks again, and warns or raises by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from wengert.compiler import aspects as aspects  # fills in the native code of operations
from wengert.compiler.call.block_program import (
    BlockProgram,
    block_slice,
    block_spec,
    can_run_blocks,
    count_blocks,
)
from wengert.compiler.call.operand_rows import OperandRows, find_rows
from wengert.compiler.forms.lowering import Instructions, expansion, lowering
from wengert.core.aspects import primitive_of
from wengert.core.native import native_call
from wengert.core.primitive import TABLE, Primitive, plain_impl
from wengert.graph.graph import Graph
from wengert.graph.ir import Input, Node, make_operation
from wengert.ops.elementwise.arithmetic import subtract
from wengert.ops.reductions.sums import _sum

MOST_KERNELS = 512
"""The number of kernels that are kept in memory."""
FEW_BLOCKS = 64
"""The most blocks that NumPy runs again one by one."""


def run_elements(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """The result of an elementwise operation on long arrays; None where there is no kernel for them."""
    errors = np.geterr()
    if errors["under"] != "ignore":
        return None
    rows = find_rows(operands)
    if rows is None:
        return None
    dtypes = tuple([(row.array.dtype, row.is_long) for row in rows.operands])
    kernel = kernel_of(primitive, dtypes, tuple(params.items()), rows.block)
    if kernel is None:
        return None
    outer, inner, length = rows.extents
    dtype, *flag_dtypes = kernel.results
    out = np.empty(rows.shape, dtype, order=rows.order)
    flags = [np.empty(outer * inner * count_blocks(length, rows.block), flag) for flag in flag_dtypes]
    fields = [field for x, _, strides in rows.operands for field in (id(x), *strides)]
    fields += id(out), inner * length * out.itemsize, length * out.itemsize
    for x in flags:
        fields += id(x), 0, 0
    kernel.run_rows(rows.extents, fields)
    if flags and np.count_nonzero(flags[0]) and set(errors.values()) != {"ignore"}:
        report_errors(primitive, operands, rows, params, flags[0])
    return out


@lru_cache(MOST_KERNELS)
def kernel_of(
    primitive: Primitive, operands: tuple[tuple[np.dtype, bool], ...], params: tuple[tuple[str, Any], ...], block: int
) -> BlockProgram | None:
    """The kernel of an operation on rows and numbers of these dtypes; None if NumPy would run a part of it.

    Its second output, if it computes floats and does not only choose some, is zero for each block whose results are
    finite.
    """
    inputs = [Input(block_spec(dtype, is_long, block)) for dtype, is_long in operands]
    out = make_operation(primitive, inputs, **dict(params))
    outputs: list[Node] = [out]
    if out.dtype.kind == "f" and not primitive.facts.selects:
        zeros = make_operation(primitive_of(subtract), [out, out])  # NaN if it is not finite
        outputs.append(make_operation(primitive_of(_sum), [zeros], axis=(0,), keepdims=False))
    elif out.dtype.kind == "c":
        return None
    kernel = BlockProgram(Graph(inputs, outputs), primitive.name, block)
    return kernel if kernel.is_native else None


def report_errors(
    primitive: Primitive, operands: Sequence[Any], rows: OperandRows, params: dict[str, Any], flags: np.ndarray
) -> None:
    """Let NumPy warn or raise for the blocks that have results other than finite ones, or for all if these are many."""
    impl, numbers = plain_impl(primitive), np.flatnonzero(flags).tolist()
    if len(numbers) > FEW_BLOCKS:
        impl(*operands, **params)
        return
    _, inner, length = rows.extents
    views = [
        as_strided(x, rows.extents, (*strides, x.itemsize if is_long else 0)) for x, is_long, strides in rows.operands
    ]
    for number in numbers:
        row, column = divmod(number, count_blocks(length, rows.block))
        part = block_slice(column, length, rows.block)
        impl(*[view[row // inner, row % inner, part] for view in views], **params)


if can_run_blocks():
    for primitive in TABLE.values():
        native_code = lowering.of(primitive)
        computes = isinstance(native_code, Instructions) and native_code.cost or expansion.of(primitive) is not None
        if primitive.kind == "elementwise" and not primitive.definition.takes_params and computes:
            native_call.enter(partial(run_elements, primitive), primitive)
