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
ROOMS = ("core", "modes", "graph", "control", "compiler", "export")
"""Rooms whose modules decide how something is computed."""
FACTS: dict[str, str] = {}
"""Numbers that decide nothing, by `module:NAME`, or all of a module, and what they are instead."""


def documented_fields() -> dict[str, str]:
    """The docstring of each field of the record, below it in the source."""
    found = {}
    for base in Machine.__mro__[:-1]:
        (definition,) = ast.parse(inspect.getsource(base)).body
        assert isinstance(definition, ast.ClassDef)
        for line, below in zip(definition.body, definition.body[1:] + [None], strict=True):
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
                found[line.target.id] = str(below.value.value) if is_text else ""
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
            if module.startswith("core/machine/") or any(module.startswith(f) for f in FACTS):
                continue
            found += [name for n in numbers_of(path) if (name := f"{module}:{n}") not in FACTS]
    assert not found, f"{len(found)} module-level numbers: make them fields of core/machine, or say what fact they are"


def test_a_record_is_in_force_for_a_block_and_programs_are_made_for_it():
    f = wg.compile(lambda x: np.sin(x).sum())
    x = np.linspace(0.0, 1.0, 41)
    before = f(x), f(x), f.report(x).llvm
    with machine.using(vector_bytes=16, threads=3) as record:
        assert record is machine.current and record.threads == 3
        with machine.using(threads=2):
            assert (machine.current.threads, machine.current.vector_bytes) == (2, 16)
        assert machine.current is record
        inside = f(x), f(x), f.report(x).llvm
    assert machine.describe_changes() == "" and f(x) == before[0]
    assert {*before[:2], *inside[:2]} == {before[0]} and inside[2] != before[2]


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
        assert first is second and machine.describe_changes() == "threads=3"
    assert {"sum_pieces", "sum_bytes"} <= ORDER_FIELDS
