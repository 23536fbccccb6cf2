"""Matrices of lanes on the stack, whose columns are the same code in a loop.

If every element were a register of its own, the text of a cubic algorithm would be cubic, and most registers would be
on the stack anyway. A matrix of few elements has no loops: LLVM then finds that all indices are constants, and uses
registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import Type
from wengert.core import machine

IS_UNROLLED = ContextVar("IS_UNROLLED", default=False)


@contextmanager
def unrolled_columns() -> Iterator[None]:
    """Unroll the columns of all matrices, to count the instructions of each."""
    token = IS_UNROLLED.set(True)
    try:
        yield
    finally:
        IS_UNROLLED.reset(token)


class Columns:
    """A matrix on the stack, by columns."""

    def __init__(self, code: Code, type: Type, rows: int, count: int):
        self.code, self.type, self.rows, self.count = code, type, rows, count
        self.start = code.array(type, rows * count)

    @classmethod
    def of(cls, columns: Sequence[Sequence[Lanes]]) -> Columns:
        """The matrix with these columns."""
        like = columns[0][0]
        made = cls(like.code, like.type, len(columns[0]), len(columns))
        for j, column in enumerate(columns):
            made.put(j, column)
        return made

    def indices(self, start: int = 0, stop: int | None = None) -> Iterator[int | Lanes]:
        """The indices of columns, for a `for` statement whose body is written once, or for each of few columns."""
        stop = self.count if stop is None else stop
        is_small = self.rows * self.count <= machine.current.max_unrolled_elements_of_matrix
        if is_small or stop - start < 2 or IS_UNROLLED.get():
            yield from range(start, stop)
        else:
            with self.code.loop(start, stop) as j:
                yield j

    def address(self, j: int | Lanes, i: int) -> Lanes:
        """The address of an element."""
        return self.code.offset(self.start, (j * self.rows + i) * self.type.lanes, self.type)

    def get(self, j: int | Lanes, start: int = 0, stop: int | None = None) -> list[Lanes]:
        """The elements of a column, from a row on, to the end or to another row."""
        rows = range(start, self.rows if stop is None else stop)
        return [self.code.load(self.address(j, i), self.type, self.type.align) for i in rows]

    def put(self, j: int | Lanes, elements: Sequence[Lanes], start: int = 0) -> None:
        """Replace elements of a column, from a row on."""
        for i, x in enumerate(elements, start):
            self.code.store(x, self.address(j, i), self.type.align)

    @property
    def columns(self) -> list[list[Lanes]]:
        """All elements, by columns."""
        return [self.get(j) for j in range(self.count)]
