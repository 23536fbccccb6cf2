"""Where in the user's code an operation was asked for, and the name that its result was given there."""

from __future__ import annotations

import dis
import sys
from functools import lru_cache
from types import CodeType
from typing import NamedTuple

from wengert.core.errors import OURS, THEIRS

OPERATIONS = (OURS + "ops", OURS + "core", OURS + "modes")
"""Folders whose functions stand for one operation: what they return is what the user's line computes."""

_OWNERS: dict[str, int] = {}
"""Whose code each file has."""
THEM, OPERATION, ELSEWHERE = range(3)


class Source(NamedTuple):
    """A place in a program: the code of a function, the instruction in it, and its line.

    `direct` says that the instruction called an operation, not something that calls many.
    """

    code: CodeType
    instruction: int
    line: int
    direct: bool

    @property
    def place(self) -> str:
        return f"{self.code.co_filename}:{self.line}"

    @property
    def name(self) -> str | None:
        """The variable that the result was assigned to."""
        return stores(self.code).get(self.instruction) if self.direct else None


def _owner(filename: str) -> int:
    if filename.startswith(OURS):
        return OPERATION if filename.startswith(OPERATIONS) else ELSEWHERE
    theirs = any(part in filename for part in THEIRS) or filename == "<__array_function__ internals>"
    return OPERATION if theirs else THEM


def source() -> Source | None:
    """The innermost line that is running outside this package and the libraries that call it."""
    frame = sys._getframe(2)
    last = OPERATION
    while frame is not None:
        code = frame.f_code
        owner = _OWNERS.get(code.co_filename)
        if owner is None:
            owner = _OWNERS[code.co_filename] = _owner(code.co_filename)
        if owner == THEM:
            return Source(code, frame.f_lasti, frame.f_lineno, last == OPERATION)
        last = owner
        frame = frame.f_back  # type: ignore[assignment]  # the outermost frame has no caller
    return None


@lru_cache(1024)
def stores(code: CodeType) -> dict[int, str]:
    """For each instruction whose result is assigned to a variable at once, the name of the variable."""
    found: dict[int, str] = {}
    last = None
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("CACHE", "EXTENDED_ARG"):
            continue
        if last is not None and instruction.opname.startswith("STORE_") and instruction.opname not in ("STORE_SUBSCR", "STORE_ATTR"):
            # While a Python function runs, its caller stands at the end of the inline caches that follow the call.
            found |= dict.fromkeys(range(last, instruction.offset, 2), instruction.argval)
        last = instruction.offset
    return found
