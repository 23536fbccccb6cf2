"""The gradient of sums of windows that overlap: each window adds its cotangent to all its elements.

One axis after the other: a row of windows is spread along the last axis into a row of the signals, which is added, as
vectors, to all rows that these windows reach, and so on. Windows are visited from the last to the first, so that
cotangents are added to one element in the order of eager code, which runs over the elements of windows. Threads share
the arrays of a stack.
"""

from __future__ import annotations

import math

from wengert.compiler.forms.classify import is_immediate
from wengert.compiler.forms.lowering import FLOATS, Routine
from wengert.compiler.machine.target import vector_lanes
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.routines.window_places import are_ranges, range_marks
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import Type
from wengert.compiler.threads.pool import read_part
from wengert.core import machine
from wengert.graph.ir import Operation
from wengert.ops.signal.windows import are_disjoint, tile_size


def can_spread(node: Operation) -> bool:
    """Whether windows overlap or leave gaps, and have few elements along each axis; tiles are copies."""
    (t,), windows, lengths = node.args, node.params["windows"], node.params["lengths"]
    return (
        t.dtype == node.dtype
        and node.dtype in FLOATS
        and t.size > 0
        and not is_immediate(t)
        and max(map(len, windows)) <= machine.current.max_elements_of_spread_window
        and math.prod(lengths[1:]) * node.dtype.itemsize <= machine.current.max_bytes_of_spread_row
        and are_ranges(windows)
        and tile_size(windows, lengths) is None
    )


def write_spreads(call: RoutineCall) -> None:
    """Spread the cotangents of all arrays of a stack."""
    node = call.node
    windows, lengths = node.params["windows"], node.params["lengths"]
    stack = math.prod(node.shape[: -len(windows)])
    lengths_mark = "x".join(map(str, lengths))
    name = f"wengert.spreads.{node.dtype.char}.{stack}x{lengths_mark}.{range_marks(windows)}"
    call.define_part(name, lambda code: write_stack(code, node))
    pointers = [call.operands[0].pointer, call.result]
    inner = math.prod(lengths[1:])
    work = stack * inner * len(windows[0][0]) * len(windows[0])
    call.run_on_all_cores(name, pointers, stack, 1, work)


def write_stack(code: Code, node: Operation) -> None:
    """The windows of some arrays."""
    windows, lengths = node.params["windows"], node.params["lengths"]
    counts, element = node.args[0].shape[-len(windows) :], Type.from_dtype(node.dtype)
    (cotangents, results), begin, end = read_part(code, 2)
    writer = SpreadWriter(code, element, windows, counts, lengths)
    with code.loop(begin, end) as number:
        t = code.offset(cotangents, number * math.prod(counts), element)
        writer.write_axis(0, t, code.offset(results, number * math.prod(lengths), element))


class SpreadWriter:
    """Writes the sums of one array, axis by axis."""

    def __init__(
        self,
        code: Code,
        element: Type,
        windows: tuple[tuple[range, ...], ...],
        counts: tuple[int, ...],
        lengths: tuple[int, ...],
    ):
        self.code, self.element, self.windows, self.counts, self.lengths = code, element, windows, counts, lengths
        self.buffers = [code.array(element, math.prod(lengths[axis:])) for axis in range(1, len(lengths))]

    def write_axis(self, axis: int, t: Lanes, out: Lanes) -> None:
        """Spread cotangents along an axis and all that follow it."""
        code, element, elements = self.code, self.element, self.windows[axis]
        count, size = self.counts[axis], math.prod(self.lengths[axis + 1 :])
        is_disjoint = are_disjoint((elements,))
        code.clear(out, self.lengths[axis] * size * element.align)
        if axis == len(self.windows) - 1:
            for indices in elements:
                self.add(code.offset(out, indices.start, element), t, count, is_disjoint, indices.step)
            return
        buffer = self.buffers[axis]
        with code.loop(0, count) as i:
            number = (count - 1) - i
            self.write_axis(axis + 1, code.offset(t, number * math.prod(self.counts[axis + 1 :]), element), buffer)
            for indices in elements:
                row = (number * indices.step + indices.start) * size
                self.add(code.offset(out, row, element), buffer, size, is_disjoint)

    def add(self, target: Lanes, source: Lanes, count: int, is_copy: bool, step: int = 1) -> None:
        """Add so many elements to those of the target, which are `step` apart, or copy them there."""
        code, element = self.code, self.element
        lanes, done = vector_lanes(element.align) if step == 1 else 1, 0
        while lanes:
            vector = Type(element.kind, lanes)
            whole = (count - done) // lanes
            with code.loop(0, whole) as i:
                index = i * lanes + done
                value = code.load(code.offset(source, index, element), vector, element.align)
                address = code.offset(target, index * step, element)
                total = value if is_copy else code.load(address, vector, element.align) + value
                code.store(total, address, element.align)
            done += whole * lanes
            lanes = lanes // 2 if done < count else 0


SPREADS = Routine(write_spreads, can_spread)
