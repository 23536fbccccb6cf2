"""The gradient of the largest elements of windows that overlap: each window adds its cotangent at its largest element.

Lanes are neighbouring windows, whose largest elements are found by selects: branches could not be predicted. Windows
are visited from the last to the first, so that the cotangents of several windows are added to one element in the order
of eager code, which runs over the elements of windows. Threads share the arrays of a stack.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from itertools import product

from wengert.compiler.forms.classify import is_immediate
from wengert.compiler.forms.lowering import FLOATS, Routine
from wengert.compiler.machine.target import vector_lanes
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.simd.lane_operations import pick_lanes
from wengert.compiler.simd.lanes import Code, Lanes, select
from wengert.compiler.simd.types import I64, Type
from wengert.compiler.threads.pool import read_part
from wengert.core import machine
from wengert.graph.ir import Operation
from wengert.ops.signal.windows import Windows, are_disjoint, tile_size


def are_ranges(windows: Windows) -> bool:
    """Whether each element of windows has evenly spaced indices, with the same step along an axis."""
    steps = [{e.step if isinstance(e, range) else None for e in elements} for elements in windows]
    return all(len(found) == 1 and None not in found for found in steps)


def range_marks(windows: Windows) -> str:
    """The indices of windows that are ranges, as a part of the name of a function."""
    marks = [[f"{e.start}x{e.step}x{len(e)}" for e in elements if isinstance(e, range)] for elements in windows]
    return ".".join(map("_".join, marks))


def can_place(node: Operation) -> bool:
    """Whether windows are small, and overlap or leave gaps; tiles are choices."""
    t, x = node.args
    windows = node.params["windows"]
    return (
        x.dtype == t.dtype == node.dtype
        and node.dtype in FLOATS
        and t.size > 0
        and t.shape[: -len(windows)] == x.shape[: -len(windows)]
        and not (is_immediate(t) or is_immediate(x))
        and math.prod(map(len, windows)) <= machine.current.max_elements_of_placed_window
        and are_ranges(windows)
        and tile_size(windows, x.shape[-len(windows) :]) is None
    )


def write_places(call: RoutineCall) -> None:
    """Place the cotangents of all arrays of a stack."""
    node = call.node
    windows, x = node.params["windows"], node.args[1]
    ndim = len(windows)
    stack = math.prod(x.shape[:-ndim])
    name = f"wengert.places.{node.dtype.char}.{'x'.join(map(str, x.shape))}.{range_marks(windows)}"
    call.define_part(name, lambda code: write_stack(code, node))
    pointers = [*[operand.pointer for operand in call.operands], call.result]
    work = machine.current.operations_of_placed_element * node.args[0].size * math.prod(map(len, windows))
    call.run_on_all_cores(name, pointers, stack, 1, work)


def write_stack(code: Code, node: Operation) -> None:
    """The windows of some arrays."""
    windows, shape = node.params["windows"], node.shape
    ndim, element = len(windows), Type.from_dtype(node.dtype)
    lengths, counts = shape[-ndim:], node.args[0].shape[-ndim:]
    (cotangents, arrays, results), begin, end = read_part(code, 3)
    strides = [math.prod(lengths[i + 1 :]) for i in range(ndim)]
    with code.loop(begin, end) as number:
        t = code.offset(cotangents, number * math.prod(counts), element)
        x, out = [code.offset(base, number * math.prod(lengths), element) for base in (arrays, results)]
        code.clear(out, math.prod(lengths) * element.align)
        with ExitStack() as loops:
            index, first = code.constant(0, I64), code.constant(0, I64)
            for elements, count, stride in zip(windows[:-1], counts[:-1], strides[:-1], strict=True):
                i = (count - 1) - loops.enter_context(code.loop(0, count))
                index, first = index * count + i, first + i * (elements[0].step * stride)
            t = code.offset(t, index * counts[-1], element)
            x, out = [code.offset(base, first, element) for base in (x, out)]
            WindowRowWriter(windows, strides, Type.from_dtype(node.dtype), x, t, out).write(counts[-1])


class WindowRowWriter:
    """Writes the windows of a row, whose elements, cotangents and results begin at these addresses."""

    def __init__(
        self, windows: tuple[tuple[range, ...], ...], strides: list[int], element: Type, x: Lanes, t: Lanes, out: Lanes
    ):
        self.code, self.element, self.x, self.t, self.out = x.code, element, x, t, out
        self.step, self.is_disjoint = windows[-1][0].step, are_disjoint(windows)
        self.offsets = [
            sum([e.start * stride for e, stride in zip(element_of, strides, strict=True)])
            for element_of in product(*windows)
        ]

    def write(self, count: int) -> None:
        """All windows, from the last to the first: those that no whole vector has are in smaller vectors behind."""
        code = self.code
        lanes = vector_lanes(self.element.align)
        parts, left = [], count
        while left and lanes:
            parts.append((lanes, left // lanes))
            left, lanes = left % lanes, lanes // 2
        stop = count
        for lanes, number in reversed(parts):
            stop -= lanes * number
            with code.loop(0, number) as i:
                self.write_vector(stop + (number - 1 - i) * lanes, lanes)

    def write_vector(self, start: Lanes, lanes: int) -> None:
        """Neighbouring windows, from the one with number `start`."""
        code, element = self.code, self.element
        first = start * self.step
        place = self.largest_elements(first, lanes)
        values = code.load(code.offset(self.t, start, element), Type(element.kind, lanes), element.align)
        for i in reversed(range(lanes)):
            value, at = [pick_lanes(v, [i]) if lanes > 1 else v for v in (values, place)]
            address = code.offset(self.out, first + (at.to("i64") + i * self.step), element)
            code.store(value if self.is_disjoint else code.load(address, element) + value, address)

    def largest_elements(self, first: Lanes, lanes: int) -> Lanes:
        """The offset of the first element of each window that is largest, or of the last one that is NaN."""
        best = self.read(first + self.offsets[0], lanes)
        place = self.code.constant(self.offsets[0], Type(f"i{self.element.bits}", lanes))
        for offset in self.offsets[1:]:
            value = self.read(first + offset, lanes)
            is_larger = (value > best) | value.is_nan()
            best, place = select(is_larger, value, best), select(is_larger, place.like(offset), place)
        return place

    def read(self, index: Lanes, lanes: int) -> Lanes:
        """One element of neighbouring windows; what is read ends with the last of them."""
        span = Type(self.element.kind, (lanes - 1) * self.step + 1)
        read = self.code.load(self.code.offset(self.x, index, self.element), span, self.element.align)
        return pick_lanes(read, range(0, span.lanes, self.step)) if self.step > 1 and lanes > 1 else read


PLACES = Routine(write_places, can_place)
