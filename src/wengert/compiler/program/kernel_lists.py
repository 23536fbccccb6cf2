"""Equal kernels of a program: one function, and a list of what differs in each call.

Where a loop is written out, hundreds of kernels differ only in where their operands are, in offsets, and in constants.
They are one function, which reads what differs from a record; consecutive calls are a list of records, which a loop
runs through. So LLVM translates each kernel once, and a call is data.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from wengert.compiler.kernels.kernel import KernelText
from wengert.compiler.machine.target import aligned_stack, machine_target
from wengert.core import machine

NUMBER = re.compile(
    r"^(  %\S+ = (?:getelementptr (?:ptr|i8), ptr %\S+, (?P<index>i64) |add (?P<integer>i64) %\S+, "
    r"|f(?:add|sub|mul|div) (?P<float>double|float|<\d+ x (?:double|float)>) (?:%\S+, )?))"
    r"(?P<value>-?\d+|0x[0-9A-F]+|splat \((?:double|float) 0x[0-9A-F]+\))(?=$|, %)",
    re.MULTILINE,
)
"""An operand of an instruction that is a number, for which another kernel may have another one."""

SIZES = {"i64": 8, "double": 8, "float": 4}
HEADER = 24
"""The bytes of a record before its numbers: the function, the size of the record, and the extent of the loop.

Each takes eight, also where addresses have four.
"""

RUN_LIST = """
define internal void @wengert.run_list(ptr %table, ptr %records, i64 %count) noinline nounwind {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %following, %next ]
  %record = phi ptr [ %records, %entry ], [ %after, %next ]
  %kernel = load ptr, ptr %record, align 4
  %size.at = getelementptr i8, ptr %record, i64 8
  %size = load i64, ptr %size.at, align 4
  %extent.at = getelementptr i8, ptr %record, i64 16
  %extent = load i64, ptr %extent.at, align 4
  call void %kernel(ptr %table, i64 0, i64 %extent, ptr %record)
  %after = getelementptr i8, ptr %record, i64 %size
  %following = add i64 %i, 1
  %more = icmp slt i64 %following, %count
  br i1 %more, label %next, label %done
done:
  ret void
}
"""


class Number(NamedTuple):
    """A number in the text of a kernel."""

    type: str
    value: str

    @property
    def size(self) -> int:
        """Its size in bytes."""
        lanes, _, scalar = self.type.strip("<>").rpartition(" x ")
        return int(lanes or 1) * SIZES[scalar]


class EqualKernels(NamedTuple):
    """The function of kernels that are equal up to some numbers, and the record of each by its name."""

    text: str
    first: KernelText
    records: dict[str, str]


def find_equal_kernels(kernels: Sequence[KernelText | None]) -> list[EqualKernels]:
    """The groups of many kernels that are equal up to numbers; threads do not share them."""
    groups: dict[tuple[str, ...], list[tuple[KernelText, list[Number]]]] = {}
    for kernel in kernels:
        if kernel is not None and not (kernel.is_shared or kernel.combine or kernel.is_inline or kernel.has_few_passes):
            between, numbers = split_numbers("\n".join([*kernel.code.hoisted, *kernel.code.lines]))
            groups.setdefault(between, []).append((kernel, numbers))
    fewest = machine.current.min_kernels_of_shared_function
    return [write_equal(between, members) for between, members in groups.items() if len(members) >= fewest]


def split_numbers(text: str) -> tuple[tuple[str, ...], list[Number]]:
    """The text between numbers, and the numbers."""
    between, numbers, start = [], [], 0
    for found in NUMBER.finditer(text):
        between.append(text[start : found.start("value")])
        numbers.append(Number(found["index"] or found["integer"] or found["float"], found["value"]))
        start = found.end("value")
    return (*between, text[start:]), numbers


def write_equal(between: tuple[str, ...], members: list[tuple[KernelText, list[Number]]]) -> EqualKernels:
    """One function for these kernels: a number that is not the same in all of them is read from the record."""
    first, numbers = members[0]
    name = f"{first.name}.equal"
    differing = [k for k in range(len(numbers)) if len({values[k] for _, values in members}) > 1]
    loads, offset, operands = [], HEADER, [number.value for number in numbers]
    for k in differing:
        operands[k] = f"%number.{k}"
        loads += [
            f"  %number.{k}.at = getelementptr i8, ptr %record, i64 {offset}",
            f"  %number.{k} = load {numbers[k].type}, ptr %number.{k}.at, align 4, !invariant.load !0",
        ]
        offset += numbers[k].size
    body = "".join([part for pair in zip(between, operands, strict=False) for part in pair]) + between[-1]
    marks = f"noinline nounwind {aligned_stack()}"
    head = f"define internal void @{name}(ptr %table, i64 %begin, i64 %end, ptr %record) {marks} {{\nentry:"
    records = {
        kernel.name: write_record(name, offset, kernel.extent, [values[k] for k in differing])
        for kernel, values in members
    }
    return EqualKernels("\n".join([head, *loads, body, "  ret void", "}"]), first, records)


def write_record(name: str, size: int, extent: int, numbers: Sequence[Number]) -> str:
    """The record of a call, as a constant with its type."""
    unused = [("i32", 0)] if machine_target().pointer_bytes == 4 else []
    fields = [("ptr", f"@{name}"), *unused, ("i64", size), ("i64", extent), *numbers]
    types, values = [type for type, _ in fields], [f"{type} {value}" for type, value in fields]
    return f"<{{ {', '.join(types)} }}> <{{ {', '.join(values)} }}>"


def write_list(name: str, records: Sequence[str]) -> str:
    """The records of consecutive calls, as a constant."""
    types = [record[: record.index("}>") + 2] for record in records]
    return f"@{name} = private constant <{{ {', '.join(types)} }}> <{{ {', '.join(records)} }}>, align 8"
