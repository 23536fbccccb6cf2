"""Parts of a routine that run at the same time, each with memory of its own."""

from __future__ import annotations

from typing import NamedTuple

from wengert.compiler.simd.lanes import Lanes, split_index
from wengert.compiler.simd.types import Type


class Parts(NamedTuple):
    """So many units of work, in at most so many parts with a buffer of `room` elements each."""

    kind: str
    units: int
    most: int
    room: int

    @property
    def grain(self) -> int:
        """Parts are multiples of this."""
        return -(-self.units // self.most)

    @property
    def elements(self) -> int:
        """The elements of all buffers."""
        return -(-self.units // self.grain) * self.room

    @property
    def nbytes(self) -> int:
        """The bytes of all buffers."""
        return self.elements * Type(self.kind).align

    def buffer(self, buffers: Lanes, begin: Lanes) -> Lanes:
        """The address of the buffer of the part that begins with a unit."""
        part, _ = split_index(begin, self.grain)
        return buffers.code.offset(buffers, part * self.room, Type(self.kind))
