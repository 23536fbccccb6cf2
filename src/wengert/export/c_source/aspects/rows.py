"""What runs along rows: cumulative sums and products, orders, convolutions, and products with sparse matrices."""

from __future__ import annotations

import math
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

from wengert.compiler.simd.types import Type
from wengert.export.c_source.forms import c_expansion
from wengert.export.c_source.matrix_functions import OUT_OF_BOUNDS
from wengert.export.c_source.routines import AxisRows, CRoutine, RoutineCall, c_routine
from wengert.export.c_source.terms import C_TYPES
from wengert.graph.ir import Constant, Operation
from wengert.ops.calculus import differences
from wengert.ops.linear_algebra import sparse
from wengert.ops.reductions import cumulative
from wengert.ops.samples import sorting
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import broadcast_to


def write_accumulation(call: RoutineCall, sign: str) -> None:
    """Each element with all before it along an axis."""
    rows, type = AxisRows.of(call.node.shape, call.node.params["axis"]), Type.from_dtype(call.node.dtype)
    x, out = call.operand(0), call.result()
    start = call.writer.code.constant(0 if sign == "+" else 1, type)
    k = call.counter((rows.outer > 1) + (rows.stride > 1))
    with rows.loops(call) as first:
        total = call.writer.local_name("total")
        call.add(f"{C_TYPES[type.kind]} {total} = {start};")
        at = k if rows.stride == 1 else f"{rows.stride} * {k}"
        at = at if first == "0" else f"{first} + {at}"
        with call.loop(k, rows.length):
            call.add(f"{total} {sign}= {x}[{at}];")
            call.add(f"{out}[{at}] = {total};")


def can_accumulate(node: Operation) -> bool:
    """Whether the numbers have arithmetic."""
    return node.dtype.kind in "fi" and node.size > 1


c_routine.enter(CRoutine(lambda call: write_accumulation(call, "+"), can_accumulate), cumulative._cumsum)
c_routine.enter(CRoutine(lambda call: write_accumulation(call, "*"), can_accumulate), cumulative._cumprod)


def write_order(call: RoutineCall) -> None:
    """The order that sorts each row."""
    rows = AxisRows.of(call.node.shape, call.node.params["axis"])
    x, out = call.operand(0), call.result()
    work = call.writer.scratch("int64_t", rows.length, "merged")
    with rows.loops(call) as first:
        arrays = [x, out] if first == "0" else [f"{x} + {first}", f"{out} + {first}"]
        call.call("find_order", [str(rows.length), str(rows.stride), *arrays, work])


def write_counts_before(call: RoutineCall) -> None:
    """How many of sorted numbers come before others."""
    (x, y), writer, i = call.node.args, call.writer, call.counter(0)
    is_one = call.node.size == 1
    index = writer.code.constant(0, Type("i32")) if is_one else writer.code.atom(i, Type("i32"))
    arguments = [
        x.size,
        call.operand(0),
        writer.element(writer.source(y), y, index),
        int(call.node.params["side"] == "right"),
    ]
    found = writer.code.atom(f"count_before({', '.join(map(str, arguments))})", Type("i64"))
    with nullcontext() if is_one else call.loop(i, call.node.size):
        writer.store(call.node, index, found)


c_routine.enter(
    CRoutine(write_order, lambda node: node.args[0].dtype == np.float64 and node.args[0].size > 1), sorting._argsort
)
c_routine.enter(
    CRoutine(
        write_counts_before,
        lambda node: (
            all(a.dtype == np.float64 for a in node.args)
            and node.args[0].ndim == 1
            and node.args[0].size > 1
            and node.size > 0
        ),
    ),
    sorting._searchsorted,
)


# Convolution


@c_expansion(differences._convolve)
def expand_convolve(x: Any, y: Any, mode: str) -> Any:
    """Rows of both that are written out, in double precision."""
    if np.result_type(x.dtype, y.dtype).kind != "f" or not x.size or not y.size:
        return None
    stack = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    if x.shape[:-1] == y.shape[:-1] and x.dtype == y.dtype == np.float64:
        return None
    rows = [broadcast_to(astype(a, np.float64, copy=False), (*stack, a.shape[-1])) for a in (x, y)]
    return astype(differences._convolve(*rows, mode=mode), np.result_type(x.dtype, y.dtype), copy=False)


def write_convolve(call: RoutineCall) -> None:
    """The convolution of each pair of rows."""
    name = f"convolve_{call.node.params['mode']}"
    call.call_for_stack(name, [a.shape[-1] for a in call.node.args], 2, core=1)


c_routine.enter(
    CRoutine(write_convolve, lambda node: node.size > 0 and all(a.dtype == np.float64 and a.size for a in node.args)),
    differences._convolve,
)


# Sparse matrices, by rows: the columns of all elements, and the number of elements of each row

SPARSE = {
    sparse.sparse_product: "{out}[{row}] += {x}[{element}] * {y}[{column}];",
    sparse.sparse_transpose_product: "{out}[{column}] += {x}[{element}] * {y}[{row}];",
    sparse.product_elements: "{out}[{element}] += {x}[{row}] * {y}[{column}];",
}
"""What is added for each element of a sparse matrix: x and y are the first two operands, out is the result."""


def write_sparse(call: RoutineCall, statement: str) -> None:
    """Loops over the elements of a sparse matrix, and over the columns of dense matrices.

    Indices that are constants were checked when the matrix was made.
    """
    node, writer = call.node, call.writer
    x, y, columns, counts = [call.operand(i) for i in range(4)]
    out, width = call.result(), math.prod(node.args[1].shape[1:])
    writer.copy(out, str(writer.code.constant(0, Type.from_dtype(node.dtype))), node.size)
    element, (i, j, k) = writer.local_name("element"), writer.counters[:3]
    call.add(f"{writer.index_type} {element} = 0;")
    column = f"{columns}[{element}]"
    with call.loop(i, node.params["shape"][0]), call.loop(j, f"{counts}[{i}]"):
        if not all(isinstance(a, Constant) for a in node.args[2:]):
            writer.fail(OUT_OF_BOUNDS)
            limits = f"{element} >= {node.args[2].size} || {column} < 0 || {column} >= {node.params['shape'][1]}"
            with writer.block(f"if ({limits})"):
                call.add(f"return {OUT_OF_BOUNDS};")
        indices = {"row": i, "column": column} if width == 1 else {
            "row": f"{width} * {i} + {k}", "column": f"{width} * {column} + {k}"
        }  # fmt: skip
        with call.loop(k, width) if width > 1 else nullcontext():
            call.add(statement.format(x=x, y=y, out=out, element=element, **indices))
        call.add(f"++{element};")


def is_sparse_product(node: Operation) -> bool:
    """Whether the numbers are floats of one dtype."""
    return node.dtype.kind == "f" and node.size > 1 and all(a.dtype == node.dtype for a in node.args[:2])


for _operation, _statement in SPARSE.items():
    c_routine.enter(CRoutine(partial(write_sparse, statement=_statement), is_sparse_product), _operation)
