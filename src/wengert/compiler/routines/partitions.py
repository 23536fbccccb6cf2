"""Partitions: the indices of all numbers of rows, on the sides of elements that are known, in their order."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.compiler.forms.lowering import Routine
from wengert.compiler.machine.translation import FEW_PASSES
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.routines.sorting import LONG, ROW, RowCode, Rows, for_each_row, key_of, unsigned_less
from wengert.compiler.simd.lanes import Lanes, select
from wengert.compiler.simd.types import BOOL, I64, PTR


def write_split(call: RoutineCall) -> None:
    """The indices that partition each row at the elements with known indices."""
    node, key, kth = call.node, key_of(call.node), call.node.params["kth"]
    rows = Rows.of(node)
    name = f"wengert.{call.name}.{key.type.kind}.{'.'.join(map(str, kth))}"
    call.define(name, ("ptr noalias %known", *ROW), lambda code: write_sides(RowCode(code, key), kth), FEW_PASSES)
    x, known = [operand.pointer for operand in call.operands]
    arrays = [(known, rows._replace(n=len(kth)), I64), (x, rows, key.type), (call.result, rows, I64)]
    for_each_row(call, name, arrays, 0)


def write_sides(row: RowCode, kth: Sequence[int]) -> None:
    """Write the indices of all numbers, in their order between those of the elements."""
    code, known = row.code, Lanes(row.code, "%known", PTR)
    indices = [code.load(code.offset(known, row.stride * j, I64), I64) for j in range(len(kth))]
    keys = [row.key.of(row.read(index)) for index in indices]
    cursors = [code.variable(I64, start) for start in (0, *[k + 1 for k in kth])]
    with code.loop(0, row.n) as i:
        number = row.key.of(row.read(i))
        behind = [
            unsigned_less(key, number) | (key.eq(number) & (index < i))
            for key, index in zip(keys, indices, strict=True)
        ]
        position = code.load(cursors[0], I64)
        for is_behind, cursor in zip(behind, cursors[1:], strict=True):
            position = select(is_behind, code.load(cursor, I64), position)
        row.write(i, position)
        is_other = code.constant(True, BOOL)
        for index in indices:
            is_other = is_other & index.ne(i)
        for s, cursor in enumerate(cursors):
            is_here = is_other if s == 0 else is_other & behind[s - 1]
            is_here = is_here if s == len(behind) else is_here & ~behind[s]
            code.store(code.load(cursor, I64) + is_here.to("i64"), cursor)
    for k, index in zip(kth, indices, strict=True):
        row.write(index, code.constant(k, I64))


BY_SIDES = Routine(write_split, lambda node: Rows.of(node).n < LONG)
