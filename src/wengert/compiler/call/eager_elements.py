"""Large eager calls of elementwise operations: one kernel on blocks for an operation and its dtypes.

NumPy's warnings and errors remain. A kernel notes for each block whether all results are finite; if some are not, and
the user wants to know, NumPy runs these blocks again, and warns or raises by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from wengert.compiler import aspects as aspects  # fills in the native code of operations
from wengert.compiler.call.block_program import (
    FIELDS,
    BlockProgram,
    Extents,
    block_slice,
    block_spec,
    can_run_blocks,
    count_blocks,
)
from wengert.compiler.call.operand_rows import find_rows
from wengert.compiler.forms.lowering import Instructions, expansion, lowering
from wengert.core import machine
from wengert.core.aspects import primitive_of
from wengert.core.native import LargeCalls, native_call
from wengert.core.primitive import TABLE, Primitive, plain_impl
from wengert.graph.graph import Graph
from wengert.graph.ir import Input, Node, make_operation
from wengert.ops.elementwise.arithmetic import subtract
from wengert.ops.reductions.sums import _sum


class CallPlan(NamedTuple):
    """What is the same for all calls of a kernel on operands of some shapes, strides and dtypes.

    `numbers` has the dtype of each operand that is one number, and None for arrays. `fields` are those of the table of
    a call, without the addresses of arrays, which are its inputs, the result and, if there are any, the flags.
    """

    kernel: BlockProgram
    extents: Extents
    numbers: tuple[np.dtype | None, ...]
    fields: tuple[int, ...]
    shape: tuple[int, ...]
    order: Any
    blocks: int


PLANS: dict[Any, CallPlan | None] = {}
"""The plans of calls, by operation, shapes, strides and dtypes; None where NumPy runs them."""
machine.on_change(PLANS.clear)


def run_elements(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """The result of an elementwise operation on long arrays; None where there is no kernel for them."""
    errors = np.geterr()
    if errors["under"] != "ignore":
        return None
    plan = plan_of(primitive, operands, params)
    if plan is None:
        return None
    dtype, *flag_dtypes = plan.kernel.results
    out = np.empty(plan.shape, dtype, order=plan.order)
    flags = [np.empty(plan.blocks, flag) for flag in flag_dtypes]
    try:
        inputs = [x if n is None else as_number(x, n) for x, n in zip(operands, plan.numbers, strict=True)]
    except OverflowError:  # NumPy's to raise
        return None
    fields = list(plan.fields)
    fields[::FIELDS] = map(id, (*inputs, out, *flags))
    plan.kernel.run_rows(plan.extents, fields)
    if flags and np.count_nonzero(flags[0]) and set(errors.values()) != {"ignore"}:
        report_errors(primitive, operands, params, flags[0])
    return out


def plan_of(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> CallPlan | None:
    """The plan of a call; None if NumPy runs it."""
    described = []
    for x in operands:
        if x.__class__ is not np.ndarray:
            described.append(x.__class__)
        elif x.flags.aligned:
            described.append((x.shape, x.strides, x.dtype))
        else:
            return None
    key = primitive, tuple(described), tuple(params.items())
    try:
        return PLANS[key]
    except KeyError:
        if len(PLANS) >= machine.current.max_call_plans:
            PLANS.clear()
        plan = PLANS[key] = make_plan(primitive, operands, params)
        return plan


def make_plan(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> CallPlan | None:
    """The plan of calls with operands like these."""
    rows = find_rows([x.__class__(1) if x.__class__ in (int, float) else x for x in operands])
    if rows is None or (rows.extents[:2] != (1, 1) and not primitive.facts.exact):  # which depends on short blocks
        return None
    dtypes = tuple([(row.array.dtype, row.is_long) for row in rows.operands])
    kernel = kernel_of(primitive, dtypes, tuple(params.items()), rows.block)
    if kernel is None:
        return None
    outer, inner, length = rows.extents
    numbers = [None if row.array is x else row.array.dtype for x, row in zip(operands, rows.operands, strict=True)]
    fields = [field for row in rows.operands for field in (0, *row.strides)]
    itemsize = kernel.results[0].itemsize
    fields += 0, inner * length * itemsize, length * itemsize
    fields += [0] * (FIELDS * (len(kernel.results) - 1))
    blocks = outer * inner * count_blocks(length, rows.block)
    return CallPlan(kernel, rows.extents, tuple(numbers), tuple(fields), rows.shape, rows.order, blocks)


def as_number(x: Any, dtype: np.dtype) -> np.ndarray:
    """An operand that is one number, which may be broadcast, as an array without axes."""
    return np.array(x[(0,) * x.ndim] if x.__class__ is np.ndarray else x, dtype)


@machine.kept("max_kernels_kept")
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


def report_errors(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any], flags: np.ndarray) -> None:
    """Let NumPy warn or raise for the blocks that have results other than finite ones, or for all if these are many."""
    impl, numbers, rows = plain_impl(primitive), np.flatnonzero(flags).tolist(), find_rows(operands)
    if len(numbers) > machine.current.max_blocks_run_again or rows is None:
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
        if computes and isinstance(getattr(primitive.impl, "large_calls", None), LargeCalls):
            native_call.enter(partial(run_elements, primitive), primitive)
