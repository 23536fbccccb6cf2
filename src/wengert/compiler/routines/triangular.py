"""Triangular systems, by BLAS."""

from __future__ import annotations

import math

from wengert.compiler.forms.lowering import Routine
from wengert.compiler.forms.matrices import are_float_stacks, blas_letter, is_stack
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.simd.lane_operations import load_element
from wengert.compiler.simd.lanes import I64, Code, Lanes, Type, select
from wengert.graph.ir import Node, Operation


def is_native(node: Operation) -> bool:
    """Whether the right-hand sides have the shape of the result, where they are solved, and nothing is a scalar."""
    fills_result = node.size > 1 and node.args[1].shape == node.shape and node.args[0].size > 1
    return are_float_stacks(node) and fills_result


def has_diagonal(node: Operation) -> bool:
    """Whether the diagonal is not one, so that there may be no solution."""
    return not node.params["unit_diagonal"]


def write_triangular(call: RoutineCall) -> Lanes | None:
    """Call trsm for each matrix of a stack. The result has the right-hand sides, which are replaced."""
    code, out, result = call.code, call.node, call.result
    x, y = [operand.pointer for operand in call.operands]
    n, columns = out.shape[-2:]
    element = Type.from_dtype(out.dtype)
    call.name = "trsm"
    size = n * n * is_stack(out.args[0])
    code.copy(result, y, out.nbytes)
    with code.loop(0, math.prod(out.shape[:-2])) as i:
        call.blas(
            f"{blas_letter(out.dtype)}trsm",
            "R",
            "U" if out.params["lower"] else "L",
            "T" if out.params["trans"] else "N",
            "U" if out.params["unit_diagonal"] else "N",
            *(columns, n),
            1.0,
            *(code.offset(x, i * size, element) if size else x, n),
            *(code.offset(result, i * (n * columns), element), columns),
            element=element,
        )
    return zeros_on_diagonals(code, out.args[0], x).ne(0) if has_diagonal(out) else None


def zeros_on_diagonals(code: Code, matrices: Node, pointer: Lanes) -> Lanes:
    """The number of zeros on the diagonals of these matrices."""
    n, element = matrices.shape[-1], Type.from_dtype(matrices.dtype)
    count = code.variable(I64, 0)
    with code.loop(0, math.prod(matrices.shape[:-2])) as i, code.loop(0, n) as j:
        x = load_element(code, code.offset(pointer, i * (n * n) + j * (n + 1), element), element, element.align, True)
        code.store(select(x.eq(0.0), code.load(count, I64) + 1, code.load(count, I64)), count)
    return code.load(count, I64)


TRIANGULAR = Routine(write_triangular, is_native, has_diagonal)
