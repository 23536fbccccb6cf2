"""Selection: the elements at few positions of a sorted row, and partitions, without sorting.

The highest digit of all keys is counted, which says in which values of it the positions are. The numbers with these
values are copied, in their order, and the next digit of those is counted, until few are left, or equal ones. In a long
row, a sample gives two numbers between which the element will be; those between them are copied, and those below are
counted, in lanes. If the sample was wrong, digits are counted. So the element at a position is that of a stable sort,
ties and NaNs included: the keys are those of `sorting.py`. A partition has the numbers before and behind its elements
in their order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from wengert.compiler.forms.lowering import SUPPORTED, Routine
from wengert.compiler.forms.selected_values import SELECT
from wengert.compiler.machine.target import vector_lanes
from wengert.compiler.machine.translation import FEW_PASSES
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.routines.sorting import (
    I32,
    LONG,
    Record,
    RowCode,
    Rows,
    SortKey,
    aligned,
    digit_bits,
    digit_parts,
    for_each_row,
    key_of,
    unsigned_less,
)
from wengert.compiler.simd.lane_operations import fold_lanes, splat
from wengert.compiler.simd.lanes import Code, Lanes, select
from wengert.compiler.simd.types import BOOL, I64, PTR, Type
from wengert.core import machine
from wengert.graph.ir import Operation
from wengert.ops.samples.sorting import positions_of

I8 = Type("i8")


def positions(node: Operation) -> tuple[int, ...]:
    """The positions that an operation finds, in order."""
    return tuple(positions_of(node.params["kth"], node.args[0].shape[node.params["axis"]]).tolist())


def can_select(node: Operation) -> bool:
    """Whether rows of these numbers are searched natively; NumPy raises the error for a position outside of them."""
    x, rows = node.args[0], Rows.of(node)
    if x.dtype not in SUPPORTED or x.dtype.kind == "c" or not x.size or rows.n >= LONG:
        return False
    kth = node.params["kth"]
    given = (kth,) if isinstance(kth, int) else kth
    most = machine.current.max_selected_positions
    return all(-rows.n <= k < rows.n for k in given) and 0 < len(positions(node)) <= most


def row_workspace(node: Operation) -> int:
    """The bytes for the records of one row, twice."""
    return 2 * aligned(Rows.of(node).n * Record(key_of(node)).nbytes)


def selection_workspace(node: Operation) -> int:
    """The bytes for the records of all parts."""
    return digit_parts(node) * row_workspace(node)


def write_selection(call: RoutineCall) -> None:
    """The indices at the positions of each row, or those that partition it."""
    node, key, kth = call.node, key_of(call.node), positions(call.node)
    is_partition = node.primitive is not SELECT
    rows = Rows.of(node)
    name = f"wengert.{call.name}.{key.type.kind}.{rows.n}.{rows.stride}.{'.'.join(map(str, kth))}"
    parameters = ["ptr noalias %x", "ptr noalias %result", "ptr noalias %work", "i64 %n", "i64 %stride"]
    call.define(finder_name(key), FINDER, lambda code: write_finder(code, Record(key)), FEW_PASSES)
    call.define(
        name, parameters, lambda code: Selector(RowCode(code, key, True), kth, rows).write(is_partition), FEW_PASSES
    )
    call.name = f"{call.name} by digits"
    for_each_row(call, name, rows if is_partition else rows._replace(n=len(kth)), row_workspace(node))


FINDER = "ptr %records", "i64 %size", "i64 %rank", "i64 %below", "ptr noalias %others", "ptr noalias %found"


def finder_name(key: SortKey) -> str:
    """The name of the function that finds a record."""
    return f"wengert.find.{key.type.kind}"


def write_finder(code: Code, record: Record) -> None:
    """The function that finds the key and the index at a rank, of records whose keys are equal above some bits.

    Records with one value of the next digit are copied, until few are left, or no digits.
    """
    records, others, found = [Lanes(code, name, PTR) for name in ("%records", "%others", "%found")]
    source = code.variable(PTR, records)
    count, rank, below = [code.variable(I64, Lanes(code, name, I64)) for name in ("%size", "%rank", "%below")]
    bits = digit_bits()
    counts = code.array(I32, 1 << bits)
    head, check, body, done = [code.label(hint) for hint in ("digit", "check", "count", "found")]
    code.jump(head)
    code.begin(head)
    few = machine.current.max_elements_of_compared_selection
    code.branch(code.load(count, I64) > few, check, done)
    code.begin(check)
    code.branch(code.load(below, I64) > 0, body, done)
    code.begin(body)
    here, now, wanted, high = code.load(source, PTR), *[code.load(v, I64) for v in (count, rank, below)]
    low = code.intrinsic("smax", I64, high - bits, code.constant(0, I64))
    mask = (code.constant(1, I64) << (high - low)) - 1
    digit_of = lambda moved: record.key_of(moved).logical_right(low) & mask
    code.clear(counts, 4 << bits)
    with code.loop(0, now) as i:
        place = code.offset(counts, digit_of(record.load(here, i)), I32)
        code.store(code.load(place, I32) + 1, place)
    total, chosen = code.variable(I64, 0), code.variable(I64, 0)
    with code.loop(0, 1 << bits) as value:
        start = code.load(total, I64)
        end = start + code.load(code.offset(counts, value, I32), I32).to("i64")
        code.store(end, total)
        with code.when((start <= wanted) & (end > wanted)):
            code.store(value, chosen)
            code.store(wanted - start, rank)
    own, cursor = code.load(chosen, I64), code.variable(I64, 0)
    with code.loop(0, now) as i:
        moved = record.load(here, i)
        with code.when(digit_of(moved).eq(own)):
            at = code.load(cursor, I64)
            record.store(moved, others, at)
            code.store(at + 1, cursor)
    code.store(others, source)
    code.store(code.load(cursor, I64), count)
    code.store(low, below)
    code.jump(head)
    code.begin(done)
    left, size, position = code.load(source, PTR), code.load(count, I64), code.load(rank, I64)
    with code.when(size > few):  # all are equal
        keep(record, record.load(left, position), found)
    with code.when(size <= few):
        compare_all(record, left, size, position, found)


def compare_all(record: Record, records: Lanes, size: Lanes, position: Lanes, found: Lanes) -> None:
    """Find the number before which there are so many, smaller ones and earlier ones that are equal."""
    code = records.code
    with code.loop(0, size) as i:
        own, rank = record.load(records, i), code.variable(I64, 0)
        key = record.key_of(own)
        with code.loop(0, size) as other:
            before = record.key_of(record.load(records, other))
            is_before = unsigned_less(before, key) | (before.eq(key) & (other < i))
            code.store(code.load(rank, I64) + is_before.to("i64"), rank)
        with code.when(code.load(rank, I64).eq(position)):
            keep(record, own, found)


def keep(record: Record, own: Lanes, found: Lanes) -> None:
    """Write the key and the index of a record."""
    code = found.code
    code.store(record.key_of(own), found)
    code.store(record.index_of(own), code.offset(found, 1, I64))


class Selector:
    """Writes the function that finds the elements at some positions of one row."""

    def __init__(self, row: RowCode, kth: Sequence[int], rows: Rows):
        self.row, self.kth, self.rows, self.code = row, kth, rows, row.code
        self.record = Record(row.key)
        found = self.code.array(I64, 2 * len(kth))
        self.found = [self.code.offset(found, 2 * j, I64) for j in range(len(kth))]
        self.others = self.code.offset(row.work, aligned(rows.n * self.record.nbytes), I8)

    def write(self, is_partition: bool) -> None:
        """Find the elements, and write their indices, or those of all elements on their sides."""
        code, row, everything, now = self.code, self.row, range(len(self.kth)), machine.current
        if self.rows.n >= now.min_elements_of_sampled_selection and self.rows.stride == 1 and row.key.bits >= 32:
            for group in self.groups():
                self.find_by_sample(group)
        elif self.rows.n > now.max_elements_of_compared_selection:
            self.find_by_digits(everything)
        else:
            with code.loop(0, row.n) as i:
                self.record.store(self.record.make(row.key.of(row.read(i)), i), row.work, i)
            for j in everything:
                compare_all(self.record, row.work, row.n, code.constant(self.kth[j], I64), self.found[j])
        if is_partition and len(self.kth) == 1 and self.rows.stride == 1:
            self.write_two_sides()
        elif is_partition:
            self.write_sides()
        for j, k in enumerate(self.kth):
            row.write(self.load_index(j), code.constant(k if is_partition else j, I64))

    def load_key(self, j: int) -> Lanes:
        """The key of an element that was found."""
        return self.code.load(self.found[j], I64)

    def load_index(self, j: int) -> Lanes:
        """Its index."""
        return self.code.load(self.code.offset(self.found[j], 1, I64), I64)

    def groups(self) -> list[list[int]]:
        """The positions by their number, those together that are close to each other."""
        found: list[list[int]] = []
        near = self.rows.n // machine.current.parts_of_jointly_sampled_positions
        for j, k in enumerate(self.kth):
            if found and k - self.kth[found[-1][0]] <= near:
                found[-1].append(j)
            else:
                found.append([j])
        return found

    def find(self, records: Lanes, size: Lanes, rank: Lanes, below: Lanes, found: Lanes) -> None:
        """Find a record at a rank."""
        arguments = ", ".join(a.typed for a in (records, size, rank, below, self.others, found))
        self.code.do(f"call void @{finder_name(self.row.key)}({arguments})")

    def find_by_digits(self, numbers: Sequence[int]) -> None:
        """Copy the numbers whose first digit is that of an element that is looked for, then look there."""
        code, row, record, bits = self.code, self.row, self.record, self.row.key.bits
        now = machine.current
        is_long = self.rows.n >= now.min_elements_of_long_selection
        digit = min(min(now.bits_of_first_selected_digit, 16) if is_long else digit_bits(), bits)
        shift = bits - digit
        counts, is_wanted = code.array(I32, 1 << digit), code.array(I8, 1 << digit)
        code.clear(counts, 4 << digit)
        code.clear(is_wanted, 1 << digit)
        with code.loop(0, row.n) as i:
            place = code.offset(counts, row.key.of(row.read(i)).logical_right(shift), I32)
            code.store(code.load(place, I32) + 1, place)
        starts, sizes = [{j: code.variable(I64, 0) for j in numbers} for _ in range(2)]
        total = code.variable(I64, 0)
        with code.loop(0, 1 << digit) as value:
            place = code.offset(counts, value, I32)
            count, start = code.load(place, I32).to("i64"), code.load(total, I64)
            end = start + count
            code.store(start.to("i32"), place)
            code.store(end, total)
            for j in numbers:
                with code.when((start <= self.kth[j]) & (end > self.kth[j])):
                    code.store(start, starts[j])
                    code.store(count, sizes[j])
                    code.store(code.constant(1, I8), code.offset(is_wanted, value, I8))
        with code.loop(0, row.n) as i:
            key = row.key.of(row.read(i))
            value = key.logical_right(shift)
            with code.when(code.load(code.offset(is_wanted, value, I8), I8).ne(0)):
                place = code.offset(counts, value, I32)
                position = code.load(place, I32)
                code.store(position + 1, place)
                record.store(record.make(key, i), row.work, position.to("i64"))
        for j in numbers:
            first = code.load(starts[j], I64)
            records = record.address(row.work, first)
            self.find(records, code.load(sizes[j], I64), self.kth[j] - first, code.constant(shift, I64), self.found[j])

    def find_by_sample(self, numbers: Sequence[int]) -> None:
        """Copy the numbers between two of a sample, then look there; by digits if the elements are elsewhere."""
        code, row = self.code, self.row
        first, last = self.kth[numbers[0]], self.kth[numbers[-1]]
        low, high = self.sample_bounds(first, last)
        less, count = self.copy_between(low, high)
        is_there = (less <= first) & (less + count > last)
        with code.when(is_there):
            unlike = code.intrinsic("ctlz", I64, low ^ high, code.constant(False, Type("i1")))
            for j in numbers:
                self.find(row.work, count, self.kth[j] - less, 64 - unlike, self.found[j])
        with code.when(~is_there):
            self.find_by_digits(numbers)

    def sample_bounds(self, first: int, last: int) -> tuple[Lanes, Lanes]:
        """Keys between which the elements at two positions, and those in between, will be: of numbers of a sample."""
        code, row, record, n = self.code, self.row, self.record, self.rows.n
        now = machine.current
        size = max(min(now.max_elements_of_selection_sample, n // now.elements_per_sampled_element), 1)
        margin = math.isqrt(9 * size // 4)  # three times the deviation of a rank
        with code.loop(0, size) as i:
            record.store(record.make(row.key.of(row.read(i * (n // size))), i), row.work, i)
        bounds = []
        for rank, end in ((first * size // n - margin, 0), (last * size // n + margin, (1 << row.key.bits) - 1)):
            if not 0 <= rank < size:
                bounds.append(code.constant(end - (1 << 64) if end >> 63 else end, I64))
                continue
            found = code.array(I64, 2)
            constant = lambda value: code.constant(value, I64)
            self.find(row.work, constant(size), constant(rank), constant(row.key.bits), found)
            bounds.append(code.load(found, I64))
        return bounds[0], bounds[1]

    def copy_between(self, low: Lanes, high: Lanes) -> tuple[Lanes, Lanes]:
        """Copy the records with keys from one to another; returns how many keys are less, and how many were copied."""
        code, row, n = self.code, self.row, self.rows.n
        cursor = code.variable(I64, 0)
        lanes = vector_lanes(row.key.bits // 8)
        less = code.constant(0, I64)
        for start, stop, type in (
            (0, n - n % lanes, Type(row.key.type.kind, lanes)),
            (n - n % lanes, n, row.key.type),
        ):
            count = self.copy_part(start, stop, type, (low, high), cursor)
            less = less + count
        return less, code.load(cursor, I64)

    def copy_part(self, start: int, stop: int, type: Type, bounds: tuple[Lanes, Lanes], cursor: Lanes) -> Lanes:
        """The same for a part of the row, in lanes."""
        code, row, record, lanes = self.code, self.row, self.record, type.lanes
        integer = Type(f"i{row.key.bits}", lanes)
        low, high = [bound.to(integer.kind) for bound in bounds]
        if lanes > 1:
            low, high = splat(low, lanes), splat(high, lanes)
        total = code.variable(integer, 0)
        with code.loop(start, stop, lanes) as i:
            keys = row.key.integer(code.load(code.offset(row.x, i, row.key.type), type, row.key.bits // 8))
            is_less = unsigned_less(keys, low)
            code.store(code.load(total, integer) + is_less.to(integer.kind), total)
            is_inside = ~(is_less | unsigned_less(high, keys))
            mask = code.add(f"bitcast {is_inside.typed} to i{lanes}", Type(f"i{lanes}")) if lanes > 1 else is_inside
            with code.when(mask.ne(0)):
                for lane in range(lanes):
                    key, own = [
                        code.add(f"extractelement {v.typed}, i64 {lane}", v.type.of(v.type.kind)._replace(lanes=1))
                        if lanes > 1
                        else v
                        for v in (keys, is_inside)
                    ]
                    key = key if row.key.bits == 64 else code.add(f"zext {key.typed} to i64", I64)
                    at = code.load(cursor, I64)
                    record.store(record.make(key, i + lane), row.work, at)
                    code.store(at + own.to("i64"), cursor)
        counts = code.load(total, integer)
        folded = fold_lanes(lambda a, b: a + b, counts) if lanes > 1 else counts
        return folded if row.key.bits == 64 else code.add(f"zext {folded.typed} to i64", I64)

    def write_two_sides(self) -> None:
        """Write the indices on both sides of one element, in lanes: of equal numbers, earlier ones are before it."""
        code, row = self.code, self.row
        key, index = self.load_key(0), self.load_index(0)
        lanes = vector_lanes(row.key.bits // 8)
        before = code.variable(I64, 0)
        for start, stop, is_first in ((code.constant(0, I64), index, True), (index + 1, row.n, False)):
            rest = code.add(f"srem {(stop - start).typed}, {lanes}", I64)
            for begin, end, count in ((start, stop - rest, lanes), (stop - rest, stop, 1)):
                self.write_part_of_sides(begin, end, count, key, is_first, before)

    def write_part_of_sides(
        self, start: Lanes, stop: Lanes, lanes: int, key: Lanes, is_first: bool, before: Lanes
    ) -> None:
        """The same for a part of the row; `before` counts what is before the element."""
        code, row, (k,) = self.code, self.row, self.kth
        type = Type(row.key.type.kind, lanes)
        own = key.to(f"i{row.key.bits}")
        own = splat(own, lanes) if lanes > 1 else own
        with code.loop(start, stop, lanes) as i:
            keys = row.key.integer(code.load(code.offset(row.x, i, row.key.type), type, row.key.bits // 8))
            is_behind = unsigned_less(own, keys) if is_first else ~unsigned_less(keys, own)
            for lane in range(lanes):
                goes_back = code.add(f"extractelement {is_behind.typed}, i64 {lane}", BOOL) if lanes > 1 else is_behind
                at = code.load(before, I64)
                passed = i + (lane + k + int(is_first))  # the next position behind it, after as many before it
                row.write(i + lane, select(goes_back, passed - at, at))
                code.store(at + (~goes_back).to("i64"), before)

    def write_sides(self) -> None:
        """Write the indices of all numbers, in their order between the elements that were found."""
        code, row, numbers = self.code, self.row, range(len(self.kth))
        keys, indices = [self.load_key(j) for j in numbers], [self.load_index(j) for j in numbers]
        cursors = [code.variable(I64, start) for start in (0, *[k + 1 for k in self.kth])]
        with code.loop(0, row.n) as i:
            number = row.key.of(row.read(i))
            behind = [
                unsigned_less(key, number) | (key.eq(number) & (index < i))
                for key, index in zip(keys, indices, strict=True)
            ]
            position = code.load(cursors[0], I64)
            for is_behind, cursor in zip(behind, cursors[1:], strict=True):
                position = select(is_behind, code.load(cursor, I64), position)
            row.write(i, position)
            is_other = code.constant(True, Type("i1"))
            for index in indices:
                is_other = is_other & index.ne(i)
            for s, cursor in enumerate(cursors):
                is_here = is_other if s == 0 else is_other & behind[s - 1]
                is_here = is_here if s == len(behind) else is_here & ~behind[s]
                code.store(code.load(cursor, I64) + is_here.to("i64"), cursor)


BY_SELECTION = Routine(write_selection, can_select, workspace=selection_workspace)
