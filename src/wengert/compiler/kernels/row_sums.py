"""Sums of products with the rows of a matrix in memory, in a loop whose lanes are rows.

    z[i] = sum over j of x[i, j] * w[j]        g[j] = sum over i of x[i, j] * r[i]

Rows are read as vectors along j, so nothing is gathered or transposed. Each row of x is multiplied by vectors of w, and
the sums of all lanes are folded together. For g, the accumulators are vectors along j, to which each row is added times
one lane of r.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wengert.compiler.forms.affine import lane_stride
from wengert.compiler.nests.element_sources import Element
from wengert.compiler.nests.rows_in_memory import RowInMemory, find_factor_rows
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lane_operations import (
    first_lanes,
    load_element,
    load_masked,
    pick_lanes,
    splat,
    store_element,
)
from wengert.compiler.simd.lanes import Lanes, fma, select
from wengert.compiler.simd.transposes import fold_rows
from wengert.compiler.simd.types import Type

if TYPE_CHECKING:
    from wengert.compiler.kernels.element import Elements


class RowReader:
    """Reads rows as vectors of `type`; the last one of a row has zeros after its end."""

    def __init__(self, elements: Elements, type: Type):
        self.elements, self.type = elements, type
        self.code = elements.code

    def read(self, row: RowInMemory, lane: int = 0) -> list[Lanes]:
        """The vectors of the row of one lane."""
        elements, code, type = self.elements, self.code, self.type
        element, align = Type(type.kind), type.align
        base, first, _, is_overwritten = elements.find_source(row.node, row.first)
        start = code.offset(base, elements.evaluate(first, False), element)
        vectors = []
        for column in range(0, row.length, type.lanes):
            address = code.offset(start, lane * row.stride + column, element)
            rest = row.length - column
            if rest < type.lanes:
                vectors.append(load_masked(address, type, align, first_lanes(code, rest, type.lanes)))
            else:
                vectors.append(load_element(code, address, type, align, is_overwritten))
        return vectors


def sum_of_products(elements: Elements, terms: Sequence[Element], type: Type) -> Lanes | None:
    """The sum of products, if one factor is a row of each lane and the other one is the same row for all lanes."""
    rows = find_factor_rows(elements, terms)
    if rows is None:
        return None
    left, right = rows
    moving, fixed = (left, right) if left.stride else (right, left)
    lanes = lane_stride(moving.first)[1]
    if moving.stride < moving.length or fixed.stride or lane_stride(fixed.first)[1] > 1 or 2 * moving.length < lanes:
        return None
    reader = RowReader(elements, Type(type.kind, lanes))
    weights = reader.read(fixed)
    sums = []
    for lane in range(lanes):
        values = reader.read(moving, lane)
        total = values[0].like(0.0)
        for a, b in zip(values, weights, strict=True):
            total = fma(a, b, total)
        sums.append(total)
    return fold_rows(sums)


class RowAccumulator:
    """The sums of the columns of a matrix, whose rows are multiplied by a number for each: vectors along the row."""

    def __init__(self, reader: RowReader, row: RowInMemory):
        self.reader, self.row, self.code = reader, row, reader.code
        self.variables = [Variable(self.code, reader.type, 0.0) for _ in range(0, row.length, reader.type.lanes)]

    def add(self, factor: Lanes, fresh: Lanes | None) -> None:
        """Add the rows of all lanes, times the factor of each; without those that are not `fresh`."""
        type = self.reader.type
        totals = [variable.load() for variable in self.variables]
        for lane in range(factor.type.lanes):
            times = splat(pick_lanes(factor, [lane]), type.lanes)
            new = [fma(a, times, t) for a, t in zip(self.reader.read(self.row, lane), totals, strict=True)]
            if fresh is not None:
                chosen = pick_lanes(fresh, [lane])
                new = [select(chosen, a, b) for a, b in zip(new, totals, strict=True)]
            totals = new
        for variable, total in zip(self.variables, totals, strict=True):
            variable.store(total)

    def store(self, address: Lanes) -> None:
        """Write the sums."""
        code, type = self.code, self.reader.type
        for i, variable in enumerate(self.variables):
            rest = min(type.lanes, self.row.length - i * type.lanes)
            value = variable.load()
            if rest < type.lanes:
                value = pick_lanes(value, range(rest))
            store_element(value, code.offset(address, i * type.lanes, Type(type.kind)), type.align)
