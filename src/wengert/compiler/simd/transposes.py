"""Columns of short rows in memory as lanes: neighbouring elements are read or written, and transposed in registers.

Lanes that are a row apart could be gathered, which takes an instruction and an access of memory for each lane. Here the
rows of all lanes are read as vectors of a few columns, which become as many vectors of lanes by log2(columns) exchanges
of blocks. Very short rows are read as one vector, of which each column is every n-th element. Rows are written in the
same ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from wengert.compiler.simd.complex_lanes import Complex
from wengert.compiler.simd.lane_operations import pick_lanes
from wengert.compiler.simd.lanes import Lanes
from wengert.compiler.simd.types import Type
from wengert.core import machine

ReadMemory = Callable[[int, Type], Lanes]
"""Neighbouring elements: the index of the first one, counted from that of the first row, and their type."""


def is_one_vector(stride: int) -> bool:
    """Whether rows of so many elements are read as one vector."""
    return stride < min(machine.current.min_elements_of_blocked_row, 8)


def block_width(stride: int, lanes: int) -> int:
    """The number of columns that are read at once from rows of so many elements."""
    if is_one_vector(stride):
        return stride
    return 1 << (min(stride, lanes).bit_length() - 1)


def block_start(column: int, stride: int, lanes: int) -> int:
    """The first column of the block that has a column: blocks end within the row."""
    width = block_width(stride, lanes)
    return min(column // width * width, stride - width)


def read_block(read: ReadMemory, stride: int, type: Type) -> list[Lanes]:
    """The columns of a block that begins at index 0; `type` is that of a column."""
    lanes, width = type.lanes, block_width(stride, type.lanes)
    if is_one_vector(stride):
        whole = read(0, Type(type.kind, stride * lanes))
        return [pick_lanes(whole, range(column, stride * lanes, stride)) for column in range(stride)]
    part = Type(type.kind, width)
    groups = [join_lanes([read((i + j) * stride, part) for j in range(0, lanes, width)]) for i in range(width)]
    return exchange_blocks(groups)


def store_rows(columns: list[Lanes], start: Lanes, type: Type) -> None:
    """Write the rows of columns one after the other, from the first element on, whose type is given."""
    code = start.code
    if is_one_vector(len(columns)):
        code.store(join_columns(columns), start, type.align)
        return
    for row, column, piece in split_rows(columns):
        code.store(piece, code.offset(start, row * len(columns) + column, type), type.align)


def join_columns(columns: list[Lanes]) -> Lanes:
    """The rows of few columns one after the other: the inverse of `read_block` for rows that are read as one vector."""
    count, lanes = len(columns), columns[0].type.lanes
    padded = columns + columns[-1:] * ((1 << (count - 1).bit_length()) - count)
    return pick_lanes(join_lanes(padded), [k * lanes + i for i in range(lanes) for k in range(count)])


def split_rows(columns: list[Lanes]) -> Iterator[tuple[int, int, Lanes]]:
    """The rows of columns in pieces of neighbouring elements, with the row and the first column of each.

    It is the inverse of `read_block`, for blocks of as many columns as are left.
    """
    lanes, start = columns[0].type.lanes, 0
    while start < len(columns):
        width = 1 << (min(len(columns) - start, lanes).bit_length() - 1)
        for i, group in enumerate(exchange_blocks(columns[start : start + width])):
            for j in range(0, lanes, width):
                yield i + j, start, pick_lanes(group, range(j, j + width))
        start += width


def join_lanes(parts: list[Lanes]) -> Lanes:
    """The lanes of vectors one after the other."""
    while len(parts) > 1:
        parts = [shuffle(x, y, list(range(2 * x.type.lanes))) for x, y in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def exchange_blocks(rows: list[Lanes]) -> list[Lanes]:
    """The transpose of each square of lanes of these vectors: as many columns as there are vectors."""
    size, lanes = len(rows) // 2, rows[0].type.lanes
    while size:
        low, high = exchanged_lanes(size, lanes)
        for i in range(len(rows)):
            if not i & size:
                x, y = rows[i], rows[i + size]
                rows[i], rows[i + size] = shuffle(x, y, low), shuffle(x, y, high)
        size //= 2
    return rows


def shuffle(x: Lanes, y: Lanes, order: list[int]) -> Lanes:
    """Lanes of two vectors, in this order."""
    if isinstance(x, Complex) and isinstance(y, Complex):
        return Complex(shuffle(x.real, y.real, order), shuffle(x.imag, y.imag, order))
    text = ", ".join(f"i32 {i}" for i in order)
    return x.code.add(
        f"shufflevector {x.typed}, {y.typed}, <{len(order)} x i32> <{text}>", Type(x.type.kind, len(order))
    )


def fold_rows(rows: list[Lanes]) -> Lanes:
    """The sum of the lanes of each of these vectors, which are as many as their lanes."""
    size, lanes = len(rows) // 2, rows[0].type.lanes
    while size:
        low, high = exchanged_lanes(size, lanes)
        rows = [shuffle(x, y, low) + shuffle(x, y, high) for x, y in zip(rows[:size], rows[size:], strict=True)]
        size //= 2
    return rows[0]


def exchanged_lanes(size: int, lanes: int) -> tuple[list[int], list[int]]:
    """The lanes of two vectors after the exchange of blocks of a size: of the first, and of the second."""
    low = [i if not i & size else lanes + i - size for i in range(lanes)]
    high = [i + size if not i & size else lanes + i for i in range(lanes)]
    return low, high
