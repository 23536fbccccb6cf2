"""Sorting by digits: the indices that sort rows, all or some of them.

Numbers become integers without sign in the same order (`SortKey`), of which one digit after the other is sorted, the
lowest first, each by counting. Equal numbers stay in their order, so the result is that of a stable sort, whatever the
threads. Digits that are the same in all numbers are skipped. Short rows are sorted by insertion.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from wengert.compiler.forms.lowering import SUPPORTED, Indexed, Routine, RoutineWork
from wengert.compiler.forms.sorted_values import is_for_library
from wengert.compiler.machine.translation import FEW_PASSES
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.simd.lanes import Code, Lanes, select, split_index
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.compiler.threads.pool import read_part
from wengert.core import machine
from wengert.graph.ir import Operation

I32, I8 = Type("i32"), Type("i8")
LONG = 1 << 31
"""Rows of fewer numbers have counts of 32 bits."""


def digit_bits() -> int:
    """The bits of a digit."""
    return min(machine.current.bits_of_sorted_digit, 12)


class SortKey(NamedTuple):
    """Numbers of a type as integers without sign, in their order: NaNs are last, and zeros of both signs are equal."""

    type: Type

    @property
    def bits(self) -> int:
        """The number of bits."""
        return self.type.bits

    @property
    def least(self) -> int:
        """The integer of which only the sign is set."""
        return -(1 << (self.bits - 1))

    def integer(self, x: Lanes) -> Lanes:
        """The integers for numbers, with as many bits."""
        if self.type.is_float:
            bits = (x + 0.0).bits()  # -0.0 becomes 0.0
            return select(x.is_nan(), bits.like(-1), bits ^ ((bits >> (self.bits - 1)) | self.least))
        return x ^ self.least if self.bits > 8 else x

    def of(self, x: Lanes) -> Lanes:
        """The integer for a number, in 64 bits."""
        key = self.integer(x)
        return key if self.bits == 64 else x.code.add(f"zext {key.typed} to i64", I64)


class Record(NamedTuple):
    """What is moved in memory: a key and an index, in 64 bits together or in 64 bits each."""

    key: SortKey

    @property
    def type(self) -> Type:
        """Its type."""
        return Type("i64", 2) if self.key.bits == 64 else I64

    @property
    def nbytes(self) -> int:
        """Its size."""
        return self.type.bits // 8 * self.type.lanes

    def make(self, key: Lanes, index: Lanes) -> Lanes:
        """A record."""
        if self.key.bits < 64:
            return (key << 32) | index
        first = key.code.add(f"insertelement {self.type.text} poison, {key.typed}, i64 0", self.type)
        return key.code.add(f"insertelement {first.typed}, {index.typed}, i64 1", self.type)

    def key_of(self, record: Lanes) -> Lanes:
        """Its key."""
        if self.key.bits < 64:
            return record.logical_right(32)
        return record.code.add(f"extractelement {record.typed}, i64 0", I64)

    def index_of(self, record: Lanes) -> Lanes:
        """Its index."""
        if self.key.bits < 64:
            return record & 0xFFFFFFFF
        return record.code.add(f"extractelement {record.typed}, i64 1", I64)

    def load(self, memory: Lanes, i: Lanes | int) -> Lanes:
        """A record of an array."""
        return memory.code.load(self.address(memory, i), self.type, self.nbytes)

    def store(self, record: Lanes, memory: Lanes, i: Lanes | int) -> None:
        """Write a record of an array."""
        memory.code.store(record, self.address(memory, i), self.nbytes)

    def address(self, memory: Lanes, i: Lanes | int) -> Lanes:
        """The address of a record of an array."""
        code = memory.code
        return code.add(f"getelementptr {self.type.text}, {memory.typed}, {code.lift(i, I64).typed}", PTR)


class Rows(NamedTuple):
    """The rows along an axis: `number` of them with n numbers each, `stride` elements apart."""

    n: int
    stride: int
    number: int

    @staticmethod
    def of(node: Operation) -> Rows:
        """The rows that an operation sorts."""
        x, axis = node.args[0], node.params["axis"]
        n, stride = x.shape[axis], math.prod(x.shape[axis + 1 :])
        return Rows(n, stride, x.size // max(n, 1))

    def start(self, row: Lanes) -> Lanes:
        """The index of the first number of a row."""
        if self.stride == 1:
            return row * self.n
        outer, inner = split_index(row, self.stride)
        return outer * (self.n * self.stride) + inner


def can_sort(node: Operation) -> bool:
    """Whether rows of these numbers are sorted natively: only a stable order is determined by the numbers."""
    x = node.args[0]
    is_stable = node.params.get("kind", "stable") in ("stable", "mergesort")
    return is_stable and x.dtype in SUPPORTED and x.dtype.kind != "c" and x.size > 0 and Rows.of(node).n < LONG


def digit_parts(node: Operation) -> int:
    """The number of parts that have memory of their own."""
    rows, now = Rows.of(node), machine.current
    is_shared = rows.number >= now.parts_of_sorted_rows and node.args[0].size >= now.min_elements_of_shared_sort
    return now.parts_of_sorted_rows if is_shared else 1


def is_short(rows: Rows) -> bool:
    """Whether rows are sorted by insertion."""
    return rows.n <= machine.current.max_elements_of_insertion_sort


def workspace(node: Operation) -> int:
    """The bytes for two arrays of records in each part."""
    rows = Rows.of(node)
    return 0 if is_short(rows) else digit_parts(node) * row_workspace(node)


def row_workspace(node: Operation) -> int:
    """The bytes for the records of one row, twice."""
    return 2 * aligned(Rows.of(node).n * Record(key_of(node)).nbytes)


def aligned(size: int) -> int:
    """A size in whole cache lines."""
    return -(-size // 64) * 64


def key_of(node: Operation) -> SortKey:
    """The keys of the numbers of an operand."""
    return SortKey(Type.from_dtype(node.args[0].dtype).in_memory)


def can_select(node: Operation) -> bool:
    """Whether native code finds elements of these rows, because NumPy takes more time."""
    calls = 12 + 5 * len(node.params["kth"])  # in `find_positions`
    return can_sort(node) and not is_for_library(node.args[0], calls)


def write_sort(call: RoutineCall) -> None:
    """The indices that sort each row, or those at some positions of that order."""
    key, rows, kth = key_of(call.node), Rows.of(call.node), call.node.params.get("kth")
    method, write = ("insertion", write_insertion) if is_short(rows) else ("digits", write_digits)
    name = f"wengert.{call.name}.{key.type.kind}.{method}{'' if kth is None else '.'.join(map(str, ('', *kth)))}"
    call.define(name, ROW, lambda code: write(RowCode(code, key, kth)), FEW_PASSES)
    call.name = f"{call.name} by {method}"
    results = rows if kth is None else rows._replace(n=len(kth))
    arrays = [(call.operands[0].pointer, rows, key.type), (call.result, results, I64)]
    for_each_row(call, name, arrays, 0 if is_short(rows) else row_workspace(call.node))


ROW = "ptr noalias %x", "ptr noalias %result", "ptr noalias %work", "i64 %n", "i64 %stride"
"""The parameters of a function for one row: where it is, its numbers, and the step from one to the next."""


def for_each_row(call: RoutineCall, name: str, arrays: Sequence[tuple[Lanes, Rows, Type]], size: int) -> None:
    """Call a function with the same row of all arrays, on all cores if there are many.

    `size` are the bytes of its workspace, if it has one.
    """
    node, rows = call.node, Rows.of(call.node)
    pointers = [pointer for pointer, _, _ in arrays]
    pointers.append(call.workspace if call.workspace is not None else Lanes(call.code, "null", PTR))
    parts = digit_parts(node)

    def write_row(code: Code, row: Lanes, pointers: Sequence[Lanes], work: Lanes) -> None:
        starts = [code.offset(x, own.start(row), type) for x, (_, own, type) in zip(pointers, arrays, strict=False)]
        numbers = [code.constant(rows.n, I64), code.constant(rows.stride, I64)]
        code.do(f"call void @{name}({', '.join(a.typed for a in (*starts, work, *numbers))})")

    if parts == 1:
        with call.code.loop(0, rows.number) as row:
            write_row(call.code, row, pointers, pointers[-1])
        return

    def write_parts(code: Code) -> None:
        pointers, begin, end = read_part(code, len(arrays) + 1)
        share = -(-rows.number // parts)
        with code.loop(begin, end) as part:
            last = code.intrinsic("smin", I64, (part + 1) * share, code.constant(rows.number, I64))
            own = code.offset(pointers[-1], part * size, I8)
            with code.loop(part * share, last) as row:
                write_row(code, row, pointers, own)

    whole = f"{name}.{rows.n}.{rows.stride}.{rows.number}"
    call.define_part(whole, write_parts, FEW_PASSES)
    call.run_on_all_cores(whole, pointers, parts, 1)


class RowCode:
    """The parameters of a function for one row, of whose order the positions `kth` are wanted, or all."""

    def __init__(self, code: Code, key: SortKey, kth: Sequence[int] | None = None):
        self.code, self.key, self.kth = code, key, kth
        self.x, self.result, self.work = [Lanes(code, name, PTR) for name in ("%x", "%result", "%work")]
        self.n, self.stride = [Lanes(code, name, I64) for name in ("%n", "%stride")]

    def read(self, i: Lanes) -> Lanes:
        """A number of the row."""
        return self.code.load(self.code.offset(self.x, i * self.stride, self.key.type), self.key.type)

    def write(self, value: Lanes, i: Lanes) -> None:
        """Write an index of the result."""
        self.code.store(value, self.code.offset(self.result, i * self.stride, value.type))

    def write_indices(self, record: Record, records: Lanes) -> None:
        """Write the indices of records that are sorted."""
        index = lambda i: record.index_of(record.load(records, i))
        if self.kth is None:
            with self.code.loop(0, self.n) as i:
                self.write(index(i), i)
        else:
            for j, k in enumerate(self.kth):
                self.write(index(k), self.code.constant(j, I64))


def write_insertion(row: RowCode) -> None:
    """Insert one key after the other behind the last one that is not larger."""
    code, key, record = row.code, row.key, Record(SortKey(Type("i64")))
    sorted_records = code.array(record.type, machine.current.max_elements_of_insertion_sort)
    with code.loop(0, row.n) as i:
        new = key.of(row.read(i))
        position = code.variable(I64, i)
        head, move, done = [code.label(hint) for hint in ("search", "move", "found")]
        check = code.label("check")
        code.jump(head)
        code.begin(head)
        at = code.load(position, I64)
        code.branch(at > 0, check, done)
        code.begin(check)
        before = record.load(sorted_records, at - 1)
        code.branch(unsigned_less(new, record.key_of(before)), move, done)
        code.begin(move)
        record.store(before, sorted_records, at)
        code.store(at - 1, position)
        code.jump(head)
        code.begin(done)
        record.store(record.make(new, i), sorted_records, code.load(position, I64))
    row.write_indices(record, sorted_records)


def unsigned_less(x: Lanes, y: Lanes) -> Lanes:
    """Whether x < y as integers without sign."""
    return x.code.add(f"icmp ult {x.typed}, {y.text}", x.type.of("i1"))


def write_digits(row: RowCode) -> None:
    """Count the values of all digits, then move all records once for each digit."""
    code, key, record = row.code, row.key, Record(row.key)
    bits = digit_bits()
    digits, values = -(-key.bits // bits), 1 << bits
    counts = code.array(I32, digits * values)
    code.clear(counts, 4 * digits * values)
    with code.loop(0, row.n) as i:
        number = key.of(row.read(i))
        record.store(record.make(number, i), row.work, i)
        for d in range(digits):
            digit = (number.logical_right(d * bits) if d else number) & (values - 1)
            place = code.offset(counts, digit + d * values if d else digit, I32)
            code.store(code.load(place, I32) + 1, place)
    size = (row.n * record.nbytes + 63) & -64
    source = code.variable(PTR, row.work)
    target = code.variable(PTR, code.offset(row.work, size, I8))
    with code.loop(0, digits) as digit_number:
        shift, own = digit_number * bits, code.offset(counts, digit_number * values, I32)
        records = code.load(source, PTR)
        first = record.key_of(record.load(records, 0)).logical_right(shift) & (values - 1)
        is_same = code.load(code.offset(own, first, I32), I32).to("i64").eq(row.n)
        with code.when(~is_same):
            write_starts(code, own, values)
            others = code.load(target, PTR)
            with code.loop(0, row.n) as i:
                moved = record.load(records, i)
                digit = record.key_of(moved).logical_right(shift) & (values - 1)
                place = code.offset(own, digit, I32)
                position = code.load(place, I32)
                code.store(position + 1, place)
                record.store(moved, others, position.to("i64"))
            code.store(others, source)
            code.store(records, target)
    row.write_indices(record, code.load(source, PTR))


def write_starts(code: Code, counts: Lanes, values: int) -> None:
    """Replace counts by the positions at which their records start."""
    total = code.variable(I32, 0)
    with code.loop(0, values) as v:
        place = code.offset(counts, v, I32)
        count = code.load(place, I32)
        start = code.load(total, I32)
        code.store(start, place)
        code.store(start + count, total)


def sorting_work(node: Operation) -> RoutineWork:
    """All digits are counted, and then each is sorted by, if the numbers differ in all of them."""
    rows, key = Rows.of(node), key_of(node)
    if is_short(rows):
        return RoutineWork(is_shared=digit_parts(node) > 1)
    bits = digit_bits()
    digits = -(-key.bits // bits)
    count = digits * node.args[0].size
    counted = Indexed("added", 4 * digits << bits, count)
    return RoutineWork((counted, Indexed("moved", row_workspace(node) // 2, count)), is_shared=digit_parts(node) > 1)


BY_SELECTION = Routine(write_sort, can_select, workspace=workspace, beside_flops=sorting_work)
BY_DIGITS = Routine(write_sort, can_sort, workspace=workspace, beside_flops=sorting_work)
