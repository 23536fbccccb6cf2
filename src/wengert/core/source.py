"""Which line of user code ran an operation, and the variable that its result was assigned to."""

from __future__ import annotations

import dis
import sys
from types import CodeType
from typing import Any, NamedTuple

from wengert.core import machine
from wengert.core.errors import OURS, is_library

OPERATIONS = (OURS + "ops", OURS + "core", OURS + "modes")
"""Folders whose functions are single operations: they return what the user's line computes."""

_OWNERS: dict[str, int] = {}
"""Whether each file is the user's, an operation, or other code of this package."""
THEM, OPERATION, ELSEWHERE = range(3)


class Source(NamedTuple):
    """An instruction in the code of a function.

    `direct` says that the instruction called a single operation, not a function that runs many.
    """

    code: CodeType
    instruction: int
    direct: bool

    @property
    def line(self) -> int:
        """The line number. Computed on demand, because Python searches the whole function."""
        return instruction_table(self.code).lines.get(self.instruction, self.code.co_firstlineno)

    @property
    def source_line(self) -> str:
        return f"{self.code.co_filename}:{self.line}"

    @property
    def name(self) -> str | None:
        """The variable that the result was assigned to."""
        return instruction_table(self.code).stores.get(self.instruction) if self.direct else None


class InstructionTable(NamedTuple):
    """The line of each instruction of a function, and the variables that results are assigned to at once."""

    code: CodeType
    lines: dict[int, int]
    stores: dict[int, str]


_TABLES: dict[int, InstructionTable] = {}
"""By identity, because hashing the code of a long function is slow."""


def instruction_table(code: CodeType) -> InstructionTable:
    """The lines and variables of the instructions of a function."""
    found = _TABLES.get(id(code))
    if found is None:
        if len(_TABLES) >= machine.current.max_functions_with_known_lines:
            _TABLES.clear()
        lines = {at: line for start, end, line in code.co_lines() if line is not None for at in range(start, end, 2)}
        found = _TABLES[id(code)] = InstructionTable(code, lines, find_stores(code))
    return found


def _owner(filename: str) -> int:
    if filename.startswith(OURS):
        return OPERATION if filename.startswith(OPERATIONS) else ELSEWHERE
    return OPERATION if is_library(filename) else THEM


def source() -> Source | None:
    """The innermost running line outside this package and the libraries that call it."""
    frame = sys._getframe(2)
    last = OPERATION
    while frame is not None:
        code = frame.f_code
        owner = _OWNERS.get(code.co_filename)
        if owner is None:
            owner = _OWNERS[code.co_filename] = _owner(code.co_filename)
        if owner == THEM:
            return Source(code, frame.f_lasti, last == OPERATION)
        last = owner
        frame = frame.f_back  # type: ignore[assignment]  # the outermost frame has no caller
    return None


def captured_name(value: Any) -> str | None:
    """The user's name for an object that the innermost running line outside this package may use: `X`, `model.weight`.

    A name of the function comes before one of its module, and both before an attribute or a parameter of a module.
    """
    frame = sys._getframe(1)
    while frame is not None and _owner(frame.f_code.co_filename) != THEM:
        frame = frame.f_back  # type: ignore[assignment]  # the outermost frame has no caller
    if frame is None:
        return None
    used = frame.f_code.co_names
    known = dict(frame.f_locals) | {name: frame.f_globals[name] for name in used if name in frame.f_globals}
    for name, found in known.items():
        if found is value:
            return name
    for name, holder in known.items():
        if hasattr(type(holder), "named_parameters"):
            parts = dict(holder.named_parameters())
        else:
            parts = {part: getattr(holder, "__dict__", {}).get(part) for part in used}
        for part, found in parts.items():
            if found is value:
                return part if name == "self" else f"{name}.{part}"
    return None


def find_stores(code: CodeType) -> dict[int, str]:
    """The names of variables, by the instruction whose result is assigned to them at once."""
    found: dict[int, str] = {}
    last = None
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("CACHE", "EXTENDED_ARG"):
            continue
        if (
            last is not None
            and instruction.opname.startswith("STORE_")
            and instruction.opname not in ("STORE_SUBSCR", "STORE_ATTR")
        ):
            # While a Python function runs, its caller is at the end of the inline caches that follow the call.
            found |= dict.fromkeys(range(last, instruction.offset, 2), instruction.argval)
        last = instruction.offset
    return found
