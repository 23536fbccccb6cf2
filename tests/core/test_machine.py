"""The machine record: every number by which code decides is a field of it, and nothing decides by another one."""

from __future__ import annotations

import ast
import inspect
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.core import machine
from wengert.core.machine import Machine
from wengert.core.machine.record import ORDER_FIELDS

PACKAGE = Path(wg.__file__).parent
ROOMS = ("graph/passes", "compiler/forms", "compiler/schedule", "compiler/kernels", "compiler/program")
"""Rooms whose numbers are in the record; those of others follow."""
FACTS = {
    "graph/passes/simplify:LARGEST": "the largest exponent of a rule of algebra",
    "compiler/kernels/thread_placement:MOST_THREADS": "the length of a table in the code of the pool",
    "compiler/kernels/thread_placement:CORES": "the bits of the system's mask of cores",
    "compiler/kernels/thread_placement:AWAKE": "a mark in that table",
    "compiler/kernels/thread_placement:MOVED": "a mark in that table",
    "compiler/kernels/threads:PAUSES": "the instructions between two looks for work",
    "compiler/program/failures:DIAGONAL": "a bit of the status of a program",
    "compiler/program/instruction_counts:NARROWEST": "the bytes of the narrowest number",
    "compiler/program/kept_memory:HUGE_PAGE": "the bytes of a page of the system",
    "compiler/program/kept_memory:MADV_HUGEPAGE": "a constant of the system",
    "compiler/program/kernel_lists:HEADER": "the layout of a list in memory",
    "compiler/program/memory_plan:ALIGNMENT": "the bytes of the widest vector",
    "compiler/program/program:ALIGNMENT": "the bytes of the widest vector",
    "compiler/program/program:RAISED": "a status of a program",
    "compiler/program/program:NO_MEMORY": "a status of a program",
    "compiler/program/program:FIRST_FAILURE": "a status of a program",
}
"""Numbers that decide nothing, by `module:NAME`, and what they are instead."""


def documented_fields() -> dict[str, str]:
    """The docstring of each field of the record, below it in the source."""
    found = {}
    for base in Machine.__mro__[:-1]:
        (definition,) = ast.parse(inspect.getsource(base)).body
        assert isinstance(definition, ast.ClassDef)
        for line, below in zip(definition.body, [*definition.body[1:], None], strict=True):
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                value = below.value if isinstance(below, ast.Expr) else None
                found[line.target.id] = str(value.value) if isinstance(value, ast.Constant) else ""
    return found


def is_number(node: ast.AST | None) -> bool:
    """Whether an expression is a number, a tuple of numbers, or arithmetic of numbers and other constants."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.Tuple):
        return bool(node.elts) and all(map(is_number, node.elts))
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    return isinstance(node, ast.BinOp) and (is_number(node.left) or is_number(node.right))


def numbers_of(path: Path) -> list[str]:
    """The names of the module-level numbers of a file."""
    found = []
    for line in ast.parse(path.read_text()).body:
        if isinstance(line, ast.Assign | ast.AnnAssign) and is_number(line.value):
            targets = line.targets if isinstance(line, ast.Assign) else [line.target]
            found += [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    return found


def test_every_field_says_what_it_counts_and_why():
    documented = documented_fields()
    short = [f.name for f in fields(Machine) if len(documented[f.name].split()) < 6]
    assert not short
    vague = [name for name, text in documented.items() if "so many" in text.lower()]
    assert not vague


def test_nothing_decides_by_a_number_outside_of_the_record():
    found = []
    for room in ROOMS:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            module = path.relative_to(PACKAGE).with_suffix("").as_posix()
            found += [name for n in numbers_of(path) if (name := f"{module}:{n}") not in FACTS]
    assert not found, f"{len(found)} module-level numbers: make them fields of core/machine, or say what fact they are"


def test_a_record_is_in_force_for_a_block_and_programs_are_made_for_it():
    f = wg.compile(lambda x: np.sin(x).sum())
    x = np.linspace(0.0, 1.0, 41)
    before = f(x), f(x), f.report(x).llvm
    with machine.using(vector_bytes=16, threads=3) as record:
        assert (machine.current is record, record.threads) == (True, 3)
        with machine.using(threads=2):
            assert (machine.current.threads, machine.current.vector_bytes) == (2, 16)
        assert machine.current is record
        inside = f(x), f(x), f.report(x).llvm
    assert machine.describe_changes() == ""
    assert {*before[:2], *inside[:2], f(x)} == {before[0]}
    assert inside[2] != before[2]


def test_the_record_goes_back_after_an_error():
    with pytest.raises(ValueError, match="inside"), machine.using(threads=5):
        raise ValueError("inside")
    assert machine.current.threads != 5
    with pytest.raises(TypeError, match="no_such_field"), machine.using(no_such_field=1):
        pass


def test_equal_records_are_one_object():
    with machine.using(threads=3) as first:
        pass
    with machine.using(threads=3) as second:
        assert first is second
        assert machine.describe_changes() == "threads=3"
    assert {"sum_pieces", "sum_bytes"} <= ORDER_FIELDS
