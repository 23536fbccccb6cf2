"""Parts of a convolution that run at the same time: units of work that threads share, each part with a buffer."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.compiler.threads.pool import read_part
from wengert.core import machine


class Parts:
    """So many units of work, in parts of `grain` units with a buffer of `room` elements each."""

    def __init__(self, name: str, kind: str, lanes: int, count: int, room: int, products: int):
        self.name, self.kind, self.lanes, self.count, self.room, self.products = (
            name,
            kind,
            lanes,
            count,
            room,
            products,
        )

    @property
    def grain(self) -> int:
        """Parts are multiples of this."""
        return -(-self.count // machine.current.parts_of_convolution)

    @property
    def workspace(self) -> int:
        """The bytes of all buffers."""
        return -(-self.count // self.grain) * self.room * Type(self.kind).align


class PartWriter:
    """Writes the function of a part: units from `begin` to `end`, of two operands, with a buffer at `memory`."""

    def __init__(self, code: Code, parts: Parts):
        self.code = code
        self.element, self.vector = Type(parts.kind), Type(parts.kind, parts.lanes)
        (self.source, self.factor, self.target, workspace), self.begin, self.end = read_part(code, 4)
        part = code.add(f"sdiv {self.begin.typed}, {parts.grain}", I64)
        self.memory = code.offset(workspace, part * parts.room, self.element)
        if parts.room:
            code.clear(self.memory, parts.room * self.element.align)

    def write(self) -> None:
        """Add up the units of the part."""
        raise NotImplementedError  # each class defines it

    def table(self, name: str, numbers: Sequence[int]) -> Lanes:
        """The address of constants."""
        symbol, values = f'@"{name}"', ", ".join([f"i64 {n}" for n in numbers])
        self.code.declarations[symbol] = f"{symbol} = private unnamed_addr constant [{len(numbers)} x i64] [{values}]"
        return Lanes(self.code, symbol, PTR)


def write_parts(call: RoutineCall, parts: Parts, writer: type[PartWriter]) -> None:
    """Run all parts, on all cores if there is much to do."""
    call.define_part(parts.name, lambda code: writer(code, parts).write())
    source, factor = [operand.pointer for operand in call.operands]
    workspace = call.workspace if call.workspace is not None else source
    pointers = [source, factor, call.result, workspace]
    work = parts.products // machine.current.products_per_operation
    call.run_on_all_cores(parts.name, pointers, parts.count, parts.grain, work)


def divide(number: Lanes, by: int) -> tuple[Lanes, Lanes]:
    """The quotient and the remainder of an index."""
    code = number.code
    return code.add(f"sdiv {number.typed}, {by}", I64), code.add(f"srem {number.typed}, {by}", I64)
