"""Parts of a convolution that run at the same time: units of work that threads share, each part with a buffer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wengert.compiler.products.tile import Elements, smaller
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.routines.parts import Parts
from wengert.compiler.simd.lanes import Code, Lanes, split_index
from wengert.compiler.simd.types import I64, Type
from wengert.compiler.threads.pool import read_part
from wengert.core import machine


class PartWriter(Elements):
    """Writes the function of a part of a convolution, of two operands, with a buffer at `memory`.

    Units are `blocks` for each of some lots, which share what the buffer has; vectors have so many lanes.
    """

    name: str
    parts: Parts
    products: int
    blocks: int

    def __init__(self, kind: str, lanes: int):
        super().__init__(kind)
        self.lanes, self.vector = lanes, Type(kind, lanes)

    def make_parts(self, lots: int, room: int) -> Parts:
        """Parts of the blocks of all lots."""
        return Parts(self.element.kind, lots * self.blocks, machine.current.parts_of_convolution, room)

    def call(self, call: RoutineCall) -> None:
        """Run all parts, on all cores if there is much to do."""
        call.define_part(self.name, self.write)
        source, factor = [operand.pointer for operand in call.operands]
        workspace = call.workspace if call.workspace is not None else source
        work = self.products // machine.current.products_per_operation
        pointers = [source, factor, call.result, workspace]
        call.run_on_all_cores(self.name, pointers, self.parts.units, self.parts.grain, work)

    def write(self, code: Code) -> None:
        """Add up the units of the part."""
        self.code = code
        (self.source, self.factor, self.target, workspace), self.begin, self.end = read_part(code, 4)
        self.memory = self.parts.buffer(workspace, self.begin)
        if self.parts.room:
            code.clear(self.memory, self.parts.room * self.element.align)
        self.write_units()

    def write_units(self) -> None:
        """Write all units."""
        raise NotImplementedError  # each class defines it

    @contextmanager
    def lots(self) -> Iterator[tuple[Lanes, Lanes, Lanes]]:
        """A loop over the lots of a part: gives the number of a lot, and the bounds of its blocks."""
        code = self.code
        (first, _), (last, _) = [split_index(i, self.blocks) for i in (self.begin, self.end + (self.blocks - 1))]
        with code.loop(first, last) as lot:
            start = lot * self.blocks
            low = code.intrinsic("smax", I64, self.begin - start, start.like(0))
            yield lot, low, smaller(self.end - start, self.blocks)
