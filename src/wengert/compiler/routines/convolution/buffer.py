"""A part of a source, copied with zeros around it, so that all taps read it without branches.

If the last axis is read with steps, its elements are separated by their remainders modulo the step: then every tap
reads neighbours. What is not padded and read with steps of 1 is read where it is.
"""

from __future__ import annotations

from typing import NamedTuple

from wengert.compiler.machine.target import vector_lanes
from wengert.compiler.simd.lane_operations import pick_lanes
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import Type
from wengert.core import machine


class Buffer(NamedTuple):
    """Elements `first + i` of three axes of a source, for i below `extents`; `first` may be negative.

    The outer axes may begin elsewhere in each part of the work. With `is_direct`, the source itself is read.
    """

    kind: str
    source: tuple[int, ...]
    first: tuple[int, ...]
    extents: tuple[int, ...]
    step: int
    is_direct: bool

    @property
    def piece(self) -> int:
        """The room for the elements of a row with one remainder."""
        return self.source[2] if self.is_direct else -(-self.extents[2] // self.step)

    @property
    def row(self) -> int:
        """The room for a row."""
        return self.step * self.piece

    @property
    def plane(self) -> int:
        """The room for the rows of the last two axes."""
        return self.row * (self.source[1] if self.is_direct else self.extents[1])

    @property
    def channel(self) -> int:
        """The room for a channel."""
        return self.plane * (self.source[0] if self.is_direct else self.extents[0])

    def offset(self, shifts: tuple[int, ...]) -> int:
        """The offset of the element with these indices, counted from the first ones."""
        outer, middle, inner = shifts
        return outer * self.plane + middle * self.row + inner % self.step * self.piece + inner // self.step

    def write_copy(self, code: Code, target: Lanes, source: Lanes, starts: tuple[Lanes, Lanes]) -> None:
        """Copy one channel; `starts` are the first indices of the two outer axes."""
        element, n = Type(self.kind), self.source
        with code.loop(0, self.extents[0]) as i, code.loop(0, self.extents[1]) as j:
            outer, middle = starts[0] + i, starts[1] + j
            row = code.offset(target, i * self.plane + j * self.row, element)
            inside = is_below(outer, n[0]) & is_below(middle, n[1])
            copy, clear, done = [code.label(name) for name in ("copy", "clear", "next")]
            code.branch(inside, copy, clear)
            code.begin(copy)
            self.copy_row(code, row, code.offset(source, (outer * n[1] + middle) * n[2], element))
            code.jump(done)
            code.begin(clear)
            code.clear(row, self.row * element.align)
            code.jump(done)
            code.begin(done)

    def copy_row(self, code: Code, target: Lanes, source: Lanes) -> None:
        """Copy what a row has of the source; the borders are zero already."""
        element, first, step = Type(self.kind), self.first[2], self.step
        begin, end = max(first, 0), min(self.source[2], first + self.extents[2])
        if begin >= end:
            return
        lanes = vector_lanes(element.align)
        while step * lanes > end - begin and lanes > 1:
            lanes //= 2
        wide = Type(self.kind, step * lanes)
        at = lambda index: code.offset(target, self.offset((0, 0, index - first)), element)

        def move(i: Lanes | int, position: Lanes) -> None:
            """Vectors with a whole number of steps, from an index whose remainder is that of `begin`."""
            read = code.load(code.offset(source, i, element), wide, element.align)
            for remainder in range(step):
                lanes_of = pick_lanes(read, range(remainder, wide.lanes, step)) if step > 1 else read
                base = at(begin + remainder)
                code.store(lanes_of, code.offset(base, position, element), element.align)

        if lanes == 1 or step > machine.current.max_step_of_copied_vectors:
            for i in range(begin, min(begin + step, end)):
                with code.loop(0, -(-(end - i) // step)) as q:
                    value = code.load(code.offset(source, q * step + i, element), element)
                    code.store(value, code.offset(at(i), q, element))
            return
        whole = (end - begin) // wide.lanes
        with code.loop(0, whole) as k:
            move(k * wide.lanes + begin, k * lanes)
        if whole * wide.lanes < end - begin:
            last = (end - begin) // step - lanes  # back by whole steps, so that less than a step is left
            move(begin + last * step, code.constant(last, Type("i64")))
            for i in range(begin + (last + lanes) * step, end):
                code.store(code.load(code.offset(source, i, element), element), at(i))


def is_below(index: Lanes, length: int) -> Lanes:
    """Whether an index is not negative, and less than a length."""
    return index.code.add(f"icmp ult {index.typed}, {length}", index.type.of("i1"))
