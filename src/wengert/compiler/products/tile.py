"""The tile that all products share: rows and vectors of a result whose sums stay in registers while terms are added.

What differs is where the factors are: rows of the right operand as vectors and elements of the left one broadcast, or
vectors of both along the sum; whole operands, panels that were packed, or blocks of something larger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from wengert.compiler.machine.target import vector_lanes, vector_registers
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lane_operations import load_element, splat, store_element
from wengert.compiler.simd.lanes import Code, Lanes, fma
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.core import machine

First = Lanes | float
"""What a sum begins with."""
Factors = Callable[[Lanes], Iterable[Lanes]]
"""The factors of the terms at an index."""


class Sums:
    """The sums of a tile, a row for each left factor with a variable for each right one, which begin with `first`."""

    def __init__(self, code: Code, type: Type, first: Sequence[Sequence[First]]):
        self.variables = [[Variable(code, type, value) for value in row] for row in first]

    def add(self, left: Iterable[Lanes], right: Iterable[Lanes]) -> None:
        """Add the products of all factors of a row and all of a column."""
        vectors = list(right)
        for row, a in zip(self.variables, left, strict=True):
            for total, b in zip(row, vectors, strict=True):
                total.store(fma(a, b, total.load()))

    @property
    def values(self) -> list[list[Lanes]]:
        """What has been added up."""
        return [[total.load() for total in row] for row in self.variables]


def sum_products(
    code: Code, type: Type, first: Sequence[Sequence[First]], terms: Lanes | int, left: Factors, right: Factors,
    rest: tuple[Factors, Factors] | None = None, step: int = 1,
) -> list[list[Lanes]]:  # fmt: skip
    """The sums of a tile, which begin with `first`, for each row and vector: products are added, term after term.

    `left` has a factor for each row, and `right` one for each vector. With a step, factors have several terms; those of
    the last terms, which fill none, are the `rest`.
    """
    sums = Sums(code, type, first)
    with code.loop(0, terms, step) as p:
        sums.add(left(p), right(p))
    if rest is not None:
        at = code.lift(terms, I64)
        sums.add(rest[0](at), rest[1](at))
    return sums.values


def smaller(x: Lanes, y: Lanes | int) -> Lanes:
    """The smaller one of two integers."""
    return x.code.intrinsic("smin", I64, x, x.like(y))


class Elements:
    """Reads and writes neighbouring elements of a kind."""

    def __init__(self, kind: str):
        self.element = Type(kind)
        self.vector = Type(kind, vector_lanes(self.element.align))
        self.lanes = self.vector.lanes

    def at(self, pointer: Lanes, index: Lanes | int) -> Lanes:
        """The address of an element."""
        return pointer.code.offset(pointer, index, self.element)

    def read(self, pointer: Lanes, index: Lanes | int, type: Type) -> Lanes:
        """Neighbouring elements."""
        return load_element(pointer.code, self.at(pointer, index), type, self.element.align, True)

    def broadcast(self, pointer: Lanes, index: Lanes | int, lanes: int) -> Lanes:
        """An element in every lane."""
        return splat(self.read(pointer, index, self.element), lanes)

    def store(self, value: Lanes, pointer: Lanes, index: Lanes | int) -> None:
        """Neighbouring elements."""
        store_element(value, self.at(pointer, index), self.element.align)

    def transpose(
        self, target: Lanes, target_step: Lanes | int, source: Lanes, source_step: Lanes | int, *shape: Lanes | int
    ) -> None:
        """Write the transpose of so many rows and columns of the source, by a function that was defined."""
        code = target.code
        sizes = [code.lift(size, I64).typed for size in (*shape, target_step, source_step)]
        code.do(f"call void @wengert.transpose.i{self.element.bits}({', '.join([target.typed, source.typed, *sizes])})")


class Tiling(Elements):
    """Tiles of products with a packed operand, and panels, which are two vectors wide; or others of fewer columns."""

    def __init__(self, kind: str, columns: int = 0):
        super().__init__(kind)
        if columns:
            self.lanes = math.gcd(columns, self.lanes)
            self.vector = Type(kind, self.lanes)
        self.width = self.lanes if columns == self.lanes else 2 * self.lanes
        """The columns of a panel; the last one is filled up with zeros."""
        self.rows = 3 * vector_registers() // 8
        """The rows of a high tile: as many as leave some registers for factors."""
        self.low_rows = self.rows // 3 if vector_registers() > 16 else self.rows
        """The rows of a low tile: a third, if the sums of a third keep the processor busy."""
        self.chunk = max(machine.current.chunk_bytes_of_packed_product // self.element.align, 1)
        """The most terms of a chunk."""

    def pack_panel(
        self, panel: Lanes, source: Lanes, stride: Lanes, terms: Lanes | int, columns: Lanes, is_negative: bool = False
    ) -> None:
        """Copy so many columns of a panel, or with the opposite sign; if there are fewer, zeros are behind them."""
        code = panel.code

        def move(k: Lanes, q: Lanes | int, type: Type) -> None:
            x = self.read(source, k * stride + q, type)
            self.store(-x if is_negative else x, panel, k * self.width + q)

        is_whole = columns >= self.width
        with code.when(is_whole), code.loop(0, terms) as k:
            for start in range(0, self.width, self.lanes):
                move(k, start, self.vector)
        with code.when(~is_whole):
            code.clear(panel, terms * (self.width * self.element.align))
            with code.loop(0, terms) as k, code.loop(0, columns) as q:
                move(k, q, self.element)


class Place(NamedTuple):
    """Rows of a matrix in memory: the first one, and the distance between two."""

    pointer: Lanes
    stride: Lanes | int


class TileFunction(Tiling):
    """The function of a tile, whose sizes are arguments: rows of a left operand times a panel of the right one.

    The terms of a row of the left operand are `along` elements apart, those of a column of the right one `down`, or the
    width of a panel. Rows of a left operand that `is_copied` are neighbours: one term after another, for each high
    tile. The sums of a tile that `adds_last` begin with zeros: so the rounding errors of a small sum that is added to a
    large number are small, too.
    """

    parameters = (
        *("ptr noalias %x", "i64 %x_stride", "i64 %last", "ptr noalias %y", "i64 %terms"),
        *("ptr %first", "i64 %first_stride", "ptr %result", "i64 %result_stride"),
    )
    """Rows after the `last` one are copies of it. Sums are added to `first`, which may be the result."""

    def __init__(
        self, kind: str, is_copied: bool, is_low: bool = False, adds_last: bool = False, columns: int = 0,
        along: int = 1, down: int = 0,
    ):  # fmt: skip
        super().__init__(kind, columns)
        self.is_copied, self.adds_last = is_copied, adds_last
        self.height = self.low_rows if is_low else self.rows
        self.along, self.down = self.rows if is_copied else along, down or self.width
        added = ".last" if adds_last else ""
        sizes = f"{self.height}x{self.width}.{self.along}.{self.down}"
        self.name = f"wengert.tile.{kind}.{'NT'[is_copied]}.{self.lanes}.{sizes}{added}"

    def write(self, code: Code) -> None:
        """Elements of the left operand times vectors of the right one, which are added in order."""
        x, y, first, result = [Lanes(code, f"%{name}", PTR) for name in ("x", "y", "first", "result")]
        names = "x_stride", "last", "terms", "first_stride", "result_stride"
        x_stride, last, terms, first_stride, result_stride = [Lanes(code, f"%{name}", I64) for name in names]
        columns, rows = range(0, self.width, self.lanes), range(self.height)
        added = lambda r, q: self.read(first, first_stride * r + q, self.vector)
        starts = [self.at(x, r if self.is_copied else smaller(last, r) * x_stride) for r in rows]
        sums = sum_products(
            code,
            self.vector,
            [[0.0 if self.adds_last else added(r, q) for q in columns] for r in rows],
            terms,
            lambda p: (self.broadcast(x, p * self.along, self.lanes) for x in starts),
            lambda p: (self.read(y, p * self.down + q, self.vector) for q in columns),
        )
        for r, totals in enumerate(sums):
            for q, total in zip(columns, totals, strict=True):
                self.store(added(r, q) + total if self.adds_last else total, result, result_stride * r + q)

    def run(
        self, code: Code, factors: tuple[Lanes | int, ...], first: Place, result: Place, count: Lanes, width: Lanes,
        buffer: Lanes,
    ) -> None:  # fmt: skip
        """Call it for so many rows and columns of a result: in place if the tile is whole, else in the buffer."""

        def call(first: Place, result: Place) -> None:
            arguments = [code.lift(a, I64).typed for a in (*factors, *first, *result)]
            code.do(f"call void @{self.name}({', '.join(arguments)})")

        def copy(source: Place, target: Place) -> None:
            with code.loop(0, count) as r:
                here, there = [self.at(place.pointer, r * place.stride) for place in (target, source)]
                code.copy(here, there, width * self.element.align)

        is_whole, inside = count.eq(self.height) & width.eq(self.width), Place(buffer, self.width)
        with code.when(is_whole):
            call(first, result)
        with code.when(~is_whole):
            copy(first, inside)
            call(inside, inside)
            copy(inside, result)


def write_high_and_low(
    code: Code, tiles: Sequence[TileFunction], begin: Lanes | int, end: Lanes,
    write: Callable[[TileFunction, Lanes, Lanes | int, Lanes], None],
) -> None:  # fmt: skip
    """Write high tiles of some rows, and low ones of the last rows.

    `write` gets the first row of a high tile, how far below it a tile begins, and the number of its rows.
    """
    high, low = tiles[0], tiles[-1]
    with code.loop(begin, end, high.height) as row:
        count = smaller(end - row, high.height)
        is_high = count > high.height - low.height
        with code.when(is_high):
            write(high, row, 0, count)
        if low is not high:
            with code.when(~is_high), code.loop(0, count, low.height) as above:
                write(low, row, above, smaller(count - above, low.height))
