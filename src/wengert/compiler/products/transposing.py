"""The function that writes the transpose of a matrix, for all sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wengert.compiler.machine.target import vector_bytes
from wengert.compiler.machine.translation import FEW_PASSES
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.transposes import exchange_blocks
from wengert.compiler.simd.types import I64, PTR, Type

if TYPE_CHECKING:
    from wengert.compiler.routines.call import RoutineCall

TRANSPOSE_PARAMETERS = (
    "ptr noalias %target",
    "ptr noalias %source",
    "i64 %rows",
    "i64 %columns",
    "i64 %target.step",
    "i64 %source.step",
)


def define_transpose(call: RoutineCall, element: Type) -> str:
    """Define the function of the addresses of target and source, the shape of the source, and the steps of both.

    The steps are from row to row. Gives the name of the function.
    """
    moved = Type(f"i{element.bits}")
    name = f"wengert.transpose.{moved.kind}"
    call.define(name, TRANSPOSE_PARAMETERS, lambda code: write_transpose(code, moved), FEW_PASSES)
    return name


def write_transpose(code: Code, element: Type) -> None:
    """The lines of a function that writes the transpose of a matrix, in square blocks of vectors."""
    target, source = [Lanes(code, name, PTR) for name in ("%target", "%source")]
    rows, columns, target_step, source_step = [
        Lanes(code, name, I64) for name in ("%rows", "%columns", "%target.step", "%source.step")
    ]
    align = min(element.bits // 8, 8)
    read = lambda i, j, type: code.load(code.offset(source, i * source_step + j, element), type, align)
    write = lambda value, i, j: code.store(value, code.offset(target, j * target_step + i, element), align)
    width = max(min(vector_bytes(), 32) * 8 // element.bits, 1)
    whole = lambda extent: extent & -width

    def write_rest(i: Lanes, start: Lanes) -> None:
        with code.loop(start, columns) as j:
            write(read(i, j, element), i, j)

    if width > 1:
        vector = Type(element.kind, width)
        with code.loop(0, whole(rows), width) as i:
            with code.loop(0, whole(columns), width) as j:
                for k, column in enumerate(exchange_blocks([read(i + k, j, vector) for k in range(width)])):
                    write(column, i, j + k)
            with code.loop(i, i + width) as row:
                write_rest(row, whole(columns))
    with code.loop(whole(rows) if width > 1 else 0, rows) as i:
        write_rest(i, code.constant(0, I64))
