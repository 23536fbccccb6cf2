"""Routines in C: operations that are loops of their own, or calls of a static function, on arrays in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
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

    def loop(self, counter: str, count: int | str) -> AbstractContextManager[None]:
        """Write the lines of a loop."""
        return self.writer.loop(counter, count)

    def call_for_stack(
        self,
        name: str,
        sizes: Sequence[int],
        operands: int,
        core: int = 2,
        work: tuple[str, int] | None = None,
        failure: int = 0,
    ) -> None:
        """Call a function for each item of a stack, whose `core` last axes are those of the item.

        It is given sizes, the addresses in so many operands and in the result, and memory for `work`.
        """
        count = math.prod(self.node.args[0].shape[:-core])
        arrays = [self.operand(i) for i in range(operands)] + [self.result()]
        steps = [math.prod(a.shape[-core:]) for a in (*self.node.args[:operands], self.node)]
        memory = [] if work is None else [self.writer.scratch("double", work[1], work[0])]
        i = self.counter(0)
        if count > 1:
            arrays = [f"{array} + {step} * {i}" for array, step in zip(arrays, steps, strict=True)]
        with self.loop(i, count) if count != 1 else nullcontext():
            self.call(name, [*map(str, sizes), *arrays, *memory], failure)


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

    @contextmanager
    def loops(self, call: RoutineCall) -> Iterator[str]:
        """Write the loops over all rows; yields the index of the first element of a row."""
        counters, parts = iter(call.writer.counters), []
        with ExitStack() as loops:
            if self.outer > 1:
                loops.enter_context(call.loop(i := next(counters), self.outer))
                parts.append(f"{self.length * self.stride} * {i}")
            if self.stride > 1:
                loops.enter_context(call.loop(j := next(counters), self.stride))
                parts.append(j)
            yield " + ".join(parts) or "0"
