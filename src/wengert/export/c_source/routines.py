"""Routines in C: operations that are loops of their own, or calls of a static function, on arrays in memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from wengert.core.aspects import Aspect
from wengert.export.c_source.functions import ENTRIES
from wengert.graph.ir import Operation

if TYPE_CHECKING:
    from wengert.export.c_source.function_writer import FunctionWriter


class RoutineCall:
    """One routine of a function."""

    def __init__(self, writer: FunctionWriter, node: Operation):
        self.writer, self.node = writer, node
        self.index_type = writer.index_type

    def add(self, text: str) -> None:
        """Add a line."""
        self.writer.add(text)

    def operand(self, i: int) -> str:
        """The address of an operand."""
        return self.writer.pointer(self.node.args[i])

    def result(self) -> str:
        """The address of the result."""
        return self.writer.result_pointer(self.node)

    def call(self, name: str, arguments: list[str], failure: int = 0) -> None:
        """Call a static function, which returns what failed if it may fail."""
        if failure:
            self.writer.fail(failure)
        self.writer.add_call(name, arguments, bool(failure))

    def counter(self, depth: int) -> str:
        """The name of a loop counter."""
        return self.writer.counters[depth]

    def open_loop(self, counter: str, count: int | str) -> None:
        """Begin a loop."""
        self.add(f"for ({self.index_type} {counter} = 0; {counter} < {count}; ++{counter}) {{")
        self.writer.depth += 1

    def close_loops(self, count: int = 1) -> None:
        """End loops."""
        for _ in range(count):
            self.writer.depth -= 1
            self.add("}")

    def for_stack(self, core: int, write: Callable[[Callable[[str, int], str]], None]) -> None:
        """Write a call for each matrix of the stack of the first operand; `write` is given how to find the i-th one."""
        count = math.prod(self.node.args[0].shape[:-core])
        if count == 1:
            write(lambda pointer, size: pointer)  # the only one
            return
        i = self.counter(0)
        self.open_loop(i, count)
        write(lambda pointer, size: f"{pointer} + {size} * {i}")
        self.close_loops()


class CRoutine(NamedTuple):
    """A routine: `write` adds its lines, for nodes that `is_for` accepts."""

    write: Callable[[RoutineCall], None]
    is_for: Callable[[Operation], bool]


c_routine: Aspect[CRoutine] = Aspect(
    "c_routine",
    "its loops in C, on arrays in memory",
    rest="it is computed element by element, or has no form in C",
    filled_by=ENTRIES,
)


class AxisRows(NamedTuple):
    """The rows of an array along an axis: their length, the stride of their elements, and how many there are."""

    length: int
    stride: int
    outer: int

    @staticmethod
    def of(shape: tuple[int, ...], axis: int) -> AxisRows:
        """The rows of an array of this shape."""
        return AxisRows(shape[axis], math.prod(shape[axis + 1 :]), math.prod(shape[:axis]))

    def open(self, call: RoutineCall) -> str:
        """Begin loops over all rows; returns the index of the first element of a row."""
        counters, parts = iter(call.writer.counters), []
        if self.outer > 1:
            call.open_loop(i := next(counters), self.outer)
            parts.append(f"{self.length * self.stride} * {i}")
        if self.stride > 1:
            call.open_loop(j := next(counters), self.stride)
            parts.append(j)
        return " + ".join(parts) or "0"

    def close(self, call: RoutineCall) -> None:
        """End the loops over rows."""
        call.close_loops((self.outer > 1) + (self.stride > 1))
