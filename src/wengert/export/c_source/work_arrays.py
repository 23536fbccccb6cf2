"""Work arrays: where a C function keeps its intermediate values.

There is one array for each type, so that no pointer is ever converted. The offset of a value is planned: memory is
used again after the last step that reads a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wengert.compiler.schedule.memory_plan import free_block, take_block
from wengert.graph.ir import Node

WORK_NAMES = {
    "double": "work",
    "float": "work_float",
    "int64_t": "work_int64",
    "int32_t": "work_int32",
    "uint8_t": "work_bool",
}
"""The parameter for each type, in the order of parameters."""


BYTES = {"double": 8, "float": 4, "int64_t": 8, "int32_t": 4, "uint8_t": 1}
ALIGNMENT = 8


Key = Node | str
"""A value, or the name of an array that only one step uses."""


class WorkPart(NamedTuple):
    """So many elements of a type."""

    c_type: str
    length: int


class StepUse(NamedTuple):
    """The values that one step of a function reads and writes, and arrays that only this step uses."""

    reads: dict[Key, None]
    writes: dict[Key, None]


class WorkPlan(NamedTuple):
    """The offsets of parts in the work array of their type, and the lengths of these arrays."""

    offsets: dict[Key, int]
    sizes: dict[str, int]


def plan_work(steps: Sequence[StepUse], parts: Mapping[Key, WorkPart]) -> WorkPlan:
    """Give each part an offset, from the step that first writes it to the last one that uses it."""
    last = {key: k for k, step in enumerate(steps) for key in (*step.reads, *step.writes) if key in parts}
    offsets: dict[Key, int] = {}
    sizes: dict[str, int] = {}
    free: dict[str, list[tuple[int, int]]] = {}
    for k, step in enumerate(steps):
        for key in step.writes:
            if key in parts and key not in offsets:
                c_type, count = parts[key]
                offsets[key] = take_block(free.setdefault(c_type, []), sizes.get(c_type, 0), count)
                sizes[c_type] = max(sizes.get(c_type, 0), offsets[key] + count)
        for key in dict.fromkeys([*step.reads, *step.writes]):
            if key in parts and last[key] == k:
                free_block(free[parts[key].c_type], offsets[key], parts[key].length)
    return WorkPlan(offsets, {c_type: sizes[c_type] for c_type in WORK_NAMES if sizes.get(c_type)})


def split_arena(sizes: Mapping[str, int]) -> tuple[dict[str, int], int]:
    """The offsets of work arrays in an arena, in bytes, and its size, with what is left before an aligned address."""
    offsets, total = {}, 0
    for c_type, count in sizes.items():
        offsets[c_type] = total
        total += -(-count * BYTES[c_type] // ALIGNMENT) * ALIGNMENT
    return offsets, total + ALIGNMENT - 1 if total else 0
