"""Stacks of small matrices in eager code: one program for an operation and its order, for stacks of any length.

Each matrix is computed alone, so it has the same bits in stacks of any length, and in every other program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler import aspects as aspects  # fills in the native code of operations
from wengert.compiler.call.block_program import BlockProgram, can_run_blocks
from wengert.compiler.forms.columns import has_many_columns
from wengert.compiler.forms.lowering import FLOATS, MatrixFunction, native_code
from wengert.compiler.small_matrices.products import SMALL_PRODUCT
from wengert.core import machine
from wengert.core.aspects import primitive_of
from wengert.core.native import StackCalls
from wengert.core.primitive import OUTPUT, Primitive, plain_impl
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Input, Node, Operation, make_operation
from wengert.modes.symbolic import Symbol
from wengert.ops.contraction.products import matmul
from wengert.ops.elementwise.arithmetic import subtract
from wengert.ops.reductions.sums import _sum
from wengert.ops.shape.reshaping import transpose

MATMUL = primitive_of(matmul)
Parameters = tuple[tuple[str, Any], ...]


class Matrices(NamedTuple):
    """An operand as a program on blocks takes it: the rows and columns in memory, which may be exchanged.

    A `whole` operand is one matrix for the stack.
    """

    rows: int
    columns: int
    is_transposed: bool
    whole: bool


class StackPlan(NamedTuple):
    """What is the same for all calls with operands of some shapes and layouts.

    `copied` are the numbers of the operands that are copied because they lie in memory in another way.
    """

    kernel: BlockProgram
    stack: tuple[int, ...]
    operands: tuple[Matrices, ...]
    shapes: tuple[tuple[int, ...], ...]
    copied: tuple[bool, ...]


def run_blocks(primitive: Primitive, operands: Sequence[np.ndarray], params: dict[str, Any]) -> Any:
    """The result of an operation on stacks of small matrices; None where there is no kernel for them."""
    dtype = operands[0].dtype
    if dtype not in FLOATS or any(x.dtype != dtype for x in operands) or np.geterr()["under"] != "ignore":
        return None
    plan = plan_of(primitive, tuple([(x.shape, x.strides) for x in operands]), dtype, tuple(params.items()))
    if plan is None:
        return None
    inputs = []
    for x, given, is_copied in zip(operands, plan.operands, plan.copied, strict=True):
        if is_copied or not x.flags.aligned:
            x = np.array(x, order="C")
        inputs.append(x.swapaxes(-1, -2) if given.is_transposed else x)
    count = math.prod(plan.stack)
    outs = [np.empty(shape, y) for shape, y in zip(plan.shapes, plan.kernel.results, strict=False)]
    flags = [np.empty(-(-count // block_length()), y) for y in plan.kernel.results[len(outs) :]]
    plan.kernel.run_rows((1, 1, count), [field for x in (*inputs, *outs, *flags) for field in (id(x), 0, 0)])
    if flags and np.count_nonzero(flags[0]) and set(np.geterr().values()) != {"ignore"}:
        plain_impl(primitive)(*operands, **params)  # which warns or raises
    return outs[0] if primitive.outputs == 1 else tuple(outs)


def block_length() -> int:
    """The matrices of a block: no more than the shortest native stack has."""
    now = machine.current
    return min(now.matrices_of_block, now.min_matrices_of_native_stack, now.min_matrices_of_native_product)


@machine.kept("max_call_plans")
def plan_of(
    primitive: Primitive,
    layouts: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...],
    dtype: np.dtype,
    params: Parameters,
) -> StackPlan | None:
    """The plan of calls with operands of these shapes and strides; None if NumPy runs them."""
    stack = layouts[0][0][:-2]
    if not are_stacks([shape for shape, _ in layouts]):
        return None
    operands, copied = [], []
    for shape, strides in layouts:
        *outer, rows, columns = shape
        is_whole = not outer
        if is_contiguous(shape, strides, dtype.itemsize):
            operands.append(Matrices(rows, columns, False, is_whole))
        elif is_contiguous((*outer, columns, rows), (*strides[:-2], strides[-1], strides[-2]), dtype.itemsize):
            operands.append(Matrices(columns, rows, True, is_whole))
        else:
            operands.append(Matrices(rows, columns, False, is_whole))
        copied.append(not is_contiguous(shape, strides, dtype.itemsize) and not operands[-1].is_transposed)
    found = kernel_of(primitive, tuple(operands), dtype, params, block_length())
    if found is None:
        return None
    kernel, specs = found
    shapes = tuple([(*stack, *spec.shape[1:]) for spec in specs])
    return StackPlan(kernel, stack, tuple(operands), shapes, tuple(copied))


def are_stacks(shapes: Sequence[tuple[int, ...]]) -> bool:
    """Whether operands are stacks of the length of the first one, or single matrices."""
    first, *_ = shapes
    return all(len(shape) == 2 or (shape[:-2] == first[:-2] and 0 not in shape) for shape in shapes)


def is_native_stack(node: Operation) -> bool:
    """Whether eager code computes an operation on small matrices natively, whatever the layout of its operands.

    That is a stack of matrices, or of the columns of right-hand sides.
    """
    calls = getattr(node.primitive.impl, "large_calls", None)
    first, *others = node.args
    if not isinstance(calls, StackCalls) or not can_run_blocks():
        return False
    if any(a.spec.__class__ is not Spec or a.dtype not in FLOATS or a.dtype != first.dtype for a in node.args):
        return False
    if has_many_columns(node):
        return calls.is_large(first, others)
    return calls.is_small(first.shape) and are_stacks([a.shape for a in node.args]) and has_small_matrices(node)


def is_contiguous(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """Whether elements with these strides are neighbours in C order."""
    for n, step in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1 and step != itemsize:
            return False
        itemsize *= n
    return True


@machine.kept("max_kernels_kept")
def kernel_of(
    primitive: Primitive, operands: tuple[Matrices, ...], dtype: np.dtype, params: Parameters, block: int
) -> tuple[BlockProgram, list[Spec]] | None:
    """The kernel of an operation on blocks of matrices, and the specs of its results; None if they are not small.

    That of a product has one more output: zero for each block whose elements are finite.
    """
    if not can_run_blocks():
        return None
    inputs, args = [], []
    for given in operands:
        shape = given.rows, given.columns
        inputs.append(Input(Spec(shape if given.whole else (block, *shape), dtype)))
        axes = (1, 0) if given.whole else (0, 2, 1)
        args.append(transpose(Symbol(inputs[-1]), axes).node if given.is_transposed else inputs[-1])
    node = make_operation(primitive, args, **dict(params))
    if not has_small_matrices(node):
        return None
    node = without_context(node)
    specs = [node.spec] if node.spec.__class__ is Spec else list(node.spec)
    outputs: list[Node] = [node]
    if node.spec.__class__ is not Spec:
        outputs = [make_operation(OUTPUT, [node], index=i) for i in range(len(specs))]
    if primitive is MATMUL:
        zeros = make_operation(primitive_of(subtract), [node, node])  # NaN if it is not finite
        outputs.append(make_operation(primitive_of(_sum), [zeros], axis=(0, 1, 2), keepdims=False))
    whole = [k for k, given in enumerate(operands) if given.whole]
    kernel = BlockProgram(Graph(inputs, outputs), primitive.name, block, whole, operations_of_matrix(node))
    return (kernel, specs) if kernel.is_native else None


def without_context(node: Operation) -> Operation:
    """An operation whose bits do not depend on what is around it, for a product of matrices."""
    return make_operation(SMALL_PRODUCT, node.args) if node.primitive is MATMUL else node


def has_small_matrices(node: Operation) -> bool:
    """Whether native code has all elements of a matrix at once."""
    return isinstance(native_code(without_context(node)), MatrixFunction)


def operations_of_matrix(node: Operation) -> int:
    """The scalar operations for one matrix, roughly."""
    function = native_code(node)
    assert isinstance(function, MatrixFunction)
    return function.flops(node)
