"""Large eager calls as programs of one operation, one for each signature."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from wengert.compiler import aspects as aspects  # fills in the native code of operations
from wengert.compiler.call.eager_stacks import run_blocks
from wengert.compiler.entry.entry_signature import EntrySignature
from wengert.compiler.entry.entry_values import Argument
from wengert.compiler.entry.native import LOCK, NativeProgram, load_or_compile
from wengert.compiler.forms.gather import INDEX_DTYPES
from wengert.compiler.forms.lowering import (
    FLOATS,
    Gather,
    Reduction,
    Routine,
    Scatter,
    expansion,
    lowering,
)
from wengert.compiler.routines.triangular_panels import is_factored_in_blocks
from wengert.core import machine
from wengert.core.aspects import primitive_of
from wengert.core.native import LargeSignatures, StackCalls, native_call
from wengert.core.primitive import OUTPUT, TABLE, Primitive, plain_impl
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Input, make_operation
from wengert.modes.outlines import MemoryLayout, find_layout, is_contiguous, read_spec
from wengert.modes.symbolic import Symbol
from wengert.ops.elementwise.arithmetic import subtract
from wengert.ops.indexing.key import Hole, Index
from wengert.ops.reductions.sums import _sum
from wengert.ops.shape.reshaping import broadcast_to, transpose
from wengert.ops.signal.convolution import _convolution, _convolution_filters, _convolution_signals
from wengert.ops.signal.windows import window_pick, window_place, window_spread, window_sum

Parameters = tuple[tuple[str, Any], ...]
kept_for_record = machine.kept("max_calls_kept")
"""A decorator: the programs of single operations are kept in memory, for one record."""


def as_laid_out(value: Any, layout: MemoryLayout | None) -> Any:
    """The array that has a layout, from the contiguous one behind it."""
    if layout is None or layout.axes is None or layout.shape is None:
        return value
    return broadcast_to(transpose(value, layout.axes), layout.shape)


@kept_for_record
def program_of(
    primitive: Primitive, layouts: tuple[MemoryLayout, ...], operands: tuple[int, ...], params: Parameters
) -> NativeProgram | None:
    """The program of one operation, on inputs with these numbers; None if NumPy would run a part of it."""
    inputs = [Input(layout.spec) for layout in layouts]
    arrays = [as_laid_out(Symbol(x), layout).node for x, layout in zip(inputs, layouts, strict=True)]
    node = make_operation(primitive, [arrays[i] for i in operands], **dict(params))
    is_single = node.spec.__class__ is Spec
    outputs = [node] if is_single else [make_operation(OUTPUT, [node], index=i) for i in range(len(node.spec))]
    return compile_graph(Graph(inputs, outputs), node.spec, primitive.name)


@kept_for_record
def flagged_program_of(
    primitive: Primitive, layouts: tuple[MemoryLayout, ...], params: Parameters, axis: tuple[int, ...] | None
) -> NativeProgram | None:
    """The program of an operation with flags; None if NumPy would run a part of it.

    Its second output is zero where all results along the axes, or all of them, are finite, and NaN elsewhere.
    """
    inputs = [Input(layout.spec) for layout in layouts]
    arrays = [as_laid_out(Symbol(x), layout).node for x, layout in zip(inputs, layouts, strict=True)]
    out = make_operation(primitive, arrays, **dict(params))
    zeros = make_operation(primitive_of(subtract), [out, out])
    along = tuple(range(len(out.shape))) if axis is None else axis
    flags = make_operation(primitive_of(_sum), [zeros], axis=along, keepdims=False)
    return compile_graph(Graph(inputs, [out, flags]), (out.spec, flags.spec), primitive.name)


@kept_for_record
def find_contiguous(
    find_program: Callable[..., NativeProgram | None],
    primitive: Primitive,
    specs: tuple[tuple[tuple[int, ...], np.dtype], ...],
    *details: Any,
) -> NativeProgram | None:
    """The program for C-contiguous operands with these shapes and dtypes, in less time than by their layouts."""
    return find_program(primitive, tuple([MemoryLayout(Spec(*spec)) for spec in specs]), *details)


def compile_graph(graph: Graph, results: Any, name: str) -> NativeProgram | None:
    """The program of a graph; None if NumPy would run a part of it."""
    arguments = [Argument("array", node.spec) for node in graph.inputs]
    with LOCK:
        program = load_or_compile(graph, EntrySignature(arguments, results), name)
    return program if program.build.program.is_native else None


def run_alone(primitive: Primitive, operands: Sequence[np.ndarray], params: dict[str, Any]) -> Any:
    """The result of an operation on arrays of floats; None where it has no native code."""
    return run_program(primitive, operands, params) if are_floats(operands) else None


def are_floats(operands: Sequence[np.ndarray]) -> bool:
    """Whether all operands are floats of one dtype."""
    first, *others = operands
    return first.dtype in FLOATS and all(x.dtype == first.dtype for x in others)


def as_contiguous(x: np.ndarray) -> tuple[np.ndarray, MemoryLayout]:
    """An array as an input of a program that copies what is not contiguous."""
    return x, MemoryLayout(Spec.of(x))


def run_program(
    primitive: Primitive,
    operands: Sequence[np.ndarray],
    params: dict[str, Any],
    as_input: Callable[[np.ndarray], tuple[np.ndarray, MemoryLayout]] = as_contiguous,
) -> Any:
    """The result of the program of an operation; None where it has no native code.

    An array that is two operands is one input. `as_input` gives the array that a program reads, and its layout.
    """
    inputs: Sequence[np.ndarray] = operands
    if len(operands) == 1 and as_input is as_contiguous:
        program = find_contiguous(program_of, primitive, (read_spec(operands[0]),), (0,), tuple(params.items()))
    else:
        distinct = {id(x): as_input(x) for x in operands}
        inputs, layouts = zip(*distinct.values(), strict=True)
        order = list(distinct)
        places = tuple([order.index(id(x)) for x in operands])
        program = program_of(primitive, layouts, places, tuple(params.items()))
    if program is None:
        return None
    entry = program.entry
    out = entry(*inputs) if entry is not None else NotImplemented
    if out is not NotImplemented:
        return out
    results = program(inputs)  # of other layouts
    return results[0] if primitive.outputs == 1 else tuple(results)


def run_flagged(
    primitive: Primitive,
    operands: Sequence[np.ndarray],
    params: dict[str, Any],
    as_input: Callable[[np.ndarray], tuple[np.ndarray, MemoryLayout]] = as_contiguous,
    axis: tuple[int, ...] | None = None,
) -> Any:
    """The result of a program with flags for the results along some axes.

    If it is not finite, NumPy computes it too, and warns or raises as the user wants it.
    """
    if np.geterr()["under"] != "ignore":
        return None
    inputs: Sequence[np.ndarray] = operands
    if all(map(is_contiguous, operands)):
        specs = tuple(map(read_spec, operands))
        program = find_contiguous(flagged_program_of, primitive, specs, tuple(params.items()), axis)
    else:
        inputs, layouts = zip(*map(as_input, operands), strict=True)
        program = flagged_program_of(primitive, layouts, tuple(params.items()), axis)
    if program is None:
        return None
    entry = program.entry
    results = entry(*inputs) if entry is not None else NotImplemented
    out, flags = program(inputs) if results is NotImplemented else results
    is_flagged = np.count_nonzero(flags) if flags.ndim else flags != 0.0
    if is_flagged and set(np.geterr().values()) != {"ignore"}:
        plain_impl(primitive)(*operands, **params)
    return out


def run_rows(primitive: Primitive, operands: Sequence[np.ndarray], params: dict[str, Any]) -> Any:
    """The result of an operation along axes of a C-contiguous array that keeps its shape."""
    (x,) = operands
    if x.dtype not in FLOATS or not x.flags.c_contiguous:
        return None
    return run_flagged(primitive, operands, params, axis=params["axis"])


def run_reduction(primitive: Primitive, operands: Sequence[np.ndarray], params: dict[str, Any]) -> Any:
    """The result of a reduction of a C-contiguous array: to copy another one would take longer than NumPy.

    If it is not finite, NumPy computes it too, and warns or raises as the user wants it.
    """
    (x,) = operands
    if x.dtype not in FLOATS or not x.flags.c_contiguous or np.geterr()["under"] != "ignore":
        return None
    out = run_program(primitive, operands, params)
    if out is not None and not all_finite(out) and set(np.geterr().values()) != {"ignore"}:
        plain_impl(primitive)(*operands, **params)
    return out


def all_finite(out: Any) -> bool:
    """Whether all numbers of a result are finite; most results of reductions are one number."""
    return math.isfinite(out) if not out.ndim else bool(np.isfinite(out).all())


def run_stack(calls: StackCalls, operands: Sequence[np.ndarray], params: dict[str, Any]) -> Any:
    """The result of an operation on matrices. Transposed matrices are read as they are.

    One that is not small is factored natively where the program does not call LAPACK.
    """
    first, *others = operands
    if calls.primitive is None or not are_floats(operands):
        return None
    if calls.is_small(first.shape):
        found = run_blocks(calls.primitive, operands, params)
        if found is not None:
            return found
    is_alone = first.ndim == 2 and first.shape[-1] > machine.current.max_rows_of_native_stack
    if not calls.is_large(first, others) or (is_alone and not is_factored_in_blocks(first.dtype, first.shape[-1])):
        return None
    return run_program(calls.primitive, operands, params, find_layout)


def run_at_key(primitive: Primitive, operands: Sequence[np.ndarray], params: dict[str, Any]) -> Any:
    """The result of a read or an addition at a key with arrays of integers.

    NumPy runs it if an index is out of bounds, and raises the error. It also reads where slices come before arrays,
    because its results have another layout then.
    """
    first, *indices = operands
    if not indices or first.dtype not in FLOATS or any(i.dtype not in INDEX_DTYPES for i in indices):
        return None
    if not all(x.flags.c_contiguous for x in operands):
        return None
    if isinstance(lowering.of(primitive), Gather) and not has_arrays_first(params["key"]):
        return None
    try:
        return run_program(primitive, operands, params)
    except IndexError:
        return None


def has_arrays_first(key: Index) -> bool:
    """Whether a key has arrays for the first axes, and takes the others as they are."""
    count = key.key.count(Hole.ARRAY)
    return all(part is Hole.ARRAY for part in key.key[:count]) and all(
        part is Ellipsis or part == slice(None) for part in key.key[count:]
    )


for operation in (
    *(_convolution, _convolution_signals, _convolution_filters),
    *(window_pick, window_place, window_sum, window_spread),
):
    native_call.enter(partial(run_alone, primitive_of(operation)), operation)

for primitive in TABLE.values():
    calls = getattr(primitive.impl, "large_calls", None)
    if isinstance(calls, LargeSignatures):
        native_code = lowering.of(primitive)
        if isinstance(native_code, Gather | Scatter):
            native_call.enter(partial(run_at_key, primitive), primitive)
        elif isinstance(calls, StackCalls):
            native_call.enter(partial(run_stack, calls), primitive)
        elif isinstance(native_code, Routine):
            native_call.enter(partial(run_alone, primitive), primitive)
        elif isinstance(native_code, Reduction) or expansion.of(primitive) is not None:
            keeps_shape = primitive.kind == "general"
            native_call.enter(partial(run_rows if keeps_shape else run_reduction, primitive), primitive)
