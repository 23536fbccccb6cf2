"""Histograms: how many numbers fall into each bin, by edges that rise.

The bin of a number is guessed as if all bins were of one width, and compared with its edges. If a guess is wrong, the
numbers that are counted together are searched for among the edges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import NamedTuple

from wengert.compiler.forms.lowering import Indexed, Routine, RoutineWork
from wengert.compiler.machine.translation import FEW_PASSES
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.routines.searching import can_search, common_dtype, count_before, search_shape
from wengert.compiler.simd.lane_operations import any_lane, gather_lanes, splat
from wengert.compiler.simd.lanes import Code, Lanes, select
from wengert.compiler.simd.types import BOOL, I64, PTR, Type
from wengert.compiler.threads.pool import read_part
from wengert.core import machine
from wengert.graph.ir import Operation


def has_own_counts(bins: int) -> bool:
    """Whether each thread has counts of its own for so many bins; otherwise one thread counts."""
    return bins <= machine.current.max_bins_per_thread


def can_count(node: Operation) -> bool:
    """Whether the numbers can be searched for among the edges."""
    _, edges = node.args
    return edges.ndim == 1 and edges.size > 1 and can_search(*reversed(node.args))


def bytes_of_counts(node: Operation) -> int:
    """The bytes of the counts of many bins, and of what is outside of all."""
    return 0 if has_own_counts(node.size) else 8 * node.args[1].size


def write_histogram(call: RoutineCall) -> Lanes:
    """Count all numbers, on all cores if they are many; it fails if the edges do not rise."""
    code, (x, edges) = call.code, call.node.args
    bins = Bins(Type.from_dtype(x.dtype), Type.from_dtype(edges.dtype), common_kind(call.node), call.node.size)
    name = f"wengert.histogram.{x.dtype.char}.{edges.dtype.char}.{bins.number}"
    call.define_part(name, lambda code: write_part(code, bins), FEW_PASSES)
    work = call.workspace if call.workspace is not None else Lanes(code, "null", PTR)
    pointers = [*[operand.pointer for operand in call.operands], call.result, work]
    code.clear(call.result, 8 * bins.number)
    cost = machine.current.operations_of_counted_number * x.size if has_own_counts(bins.number) else 0
    call.run_on_all_cores(name, pointers, x.size, math.prod(search_shape()), cost)
    return write_falls(code, pointers[1], bins)


def common_kind(node: Operation) -> str:
    """The kind in which numbers and edges are compared."""
    return Type.from_dtype(common_dtype(*node.args)).kind


class Bins(NamedTuple):
    """The types of numbers and edges, the kind in which they are compared, and the number of bins."""

    number_type: Type
    edge_type: Type
    kind: str
    number: int

    def edge(self, edges: Lanes, i: Lanes | int) -> Lanes:
        """One edge, or one for each lane."""
        code = edges.code
        if isinstance(i, Lanes) and i.type.lanes > 1:
            lanes = Type(self.edge_type.kind, i.type.lanes)
            return gather_lanes(edges, i, lanes, self.edge_type.bits // 8).to(self.kind)
        return code.load(code.offset(edges, i, self.edge_type), self.edge_type).to(self.kind)


def write_falls(code: Code, edges: Lanes, bins: Bins) -> Lanes:
    """Whether an edge is not at least as large as the one before it: one of them may be NaN."""
    falls = code.variable(BOOL, False)
    with code.loop(0, bins.number) as i:
        rises = bins.edge(edges, i) <= bins.edge(edges, i + 1)
        code.store(code.load(falls, BOOL) | ~rises, falls)
    return code.load(falls, BOOL)


def write_part(code: Code, bins: Bins) -> None:
    """Count some of the numbers, and add the counts to those of other parts; numbers outside have a count as well."""
    (numbers, edges, result, work), begin, end = read_part(code, 4)
    counts = code.array(I64, bins.number + 1) if has_own_counts(bins.number) else work
    code.clear(counts, 8 * (bins.number + 1))
    lowest, highest = bins.edge(edges, 0), bins.edge(edges, bins.number)
    writer = BinWriter(code, bins, edges, counts, lowest, highest)
    whole = begin + ((end - begin) & -math.prod(search_shape()))
    for start, stop, lanes, at_once in ((begin, whole, *search_shape()), (whole, end, 1, 1)):
        type = Type(bins.number_type.kind, lanes)
        with code.loop(start, stop, lanes * at_once) as i:
            places = [code.offset(numbers, i + k * lanes, type) for k in range(at_once)]
            writer.count([code.load(place, type, type.bits // 8).to(bins.kind) for place in places])
    with code.loop(0, bins.number) as i:
        count = code.load(code.offset(counts, i, I64), I64)
        code.update_shared("add", code.offset(result, i, I64), count)


class BinWriter:
    """Writes the bins of numbers, which are counted."""

    def __init__(self, code: Code, bins: Bins, edges: Lanes, counts: Lanes, lowest: Lanes, highest: Lanes):
        self.code, self.bins, self.edges, self.counts = code, bins, edges, counts
        self.lowest, self.highest = lowest, highest
        self.found = code.array(I64, math.prod(search_shape()))
        float_kind = bins.kind if lowest.type.is_float else "f64"
        self.first = lowest.to(float_kind)
        self.per_unit = self.first.like(float(bins.number)) / (highest.to(float_kind) - self.first)

    def count(self, numbers: Sequence[Lanes]) -> None:
        """Add one to the counts of the bins of some vectors of numbers."""
        code, lanes = self.code, numbers[0].type.lanes
        guesses = [self.guess(x) for x in numbers]
        self.keep(guesses)
        edge = self.bins.edge
        right = [
            (edge(self.edges, i) <= x) & (x < edge(self.edges, i + 1)) for i, x in zip(guesses, numbers, strict=True)
        ]
        with code.when(any_lane(~reduce(and_, right))):
            self.keep(self.search(numbers))
        for k in range(lanes * len(numbers)):
            place = code.offset(self.counts, code.load(code.offset(self.found, k, I64), I64), I64)
            code.store(code.load(place, I64) + 1, place)

    def keep(self, found: Sequence[Lanes]) -> None:
        """Store bins, for each number."""
        for k, bins in enumerate(found):
            self.code.store(bins, self.code.offset(self.found, k * bins.type.lanes, I64), 8)

    def guess(self, x: Lanes) -> Lanes:
        """The bins if all have one width: some bin for NaN, and for what is outside."""
        first, per_unit = [splat(a, x.type.lanes) if x.type.lanes > 1 else a for a in (self.first, self.per_unit)]
        steps = (x.to(first.type.kind) - first) * per_unit
        last = steps.like(float(self.bins.number - 1))
        steps = select(steps > 0.0, steps, steps.like(0.0))
        return select(steps < last, steps, last).to("i64")

    def search(self, numbers: Sequence[Lanes]) -> list[Lanes]:
        """The bins of numbers by a search; the last one has its right edge. Those outside have the count after it."""
        bins, lanes = self.bins, numbers[0].type.lanes
        found = count_before(numbers, self.edges, bins.edge_type, bins.number + 1, "right")
        low, high = [splat(a, lanes) if lanes > 1 else a for a in (self.lowest, self.highest)]
        return [
            select(
                (low <= x) & (x <= high),
                select(i < bins.number, i, i.like(bins.number)) - 1,
                i.like(bins.number),
            )
            for i, x in zip(found, numbers, strict=True)
        ]


def counting_work(node: Operation) -> RoutineWork:
    """Two edges are read for each number, and one is added to a count."""
    x, edges = node.args
    indexed = Indexed("read", edges.nbytes, 2 * x.size), Indexed("added", node.nbytes, x.size)
    now = machine.current
    is_long = now.operations_of_counted_number * x.size >= now.min_shared_operations
    return RoutineWork(indexed, is_shared=is_long and has_own_counts(node.size))


HISTOGRAM = Routine(
    write_histogram, can_count, may_fail=lambda node: True, workspace=bytes_of_counts, beside_flops=counting_work
)
