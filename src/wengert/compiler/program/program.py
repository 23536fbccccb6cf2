"""A compiled program without its machine code: what it takes, gives, and asks NumPy to run."""

from __future__ import annotations

from typing import Any, NamedTuple

from wengert.compiler.machine.translation import Module
from wengert.compiler.schedule.memory_plan import Slot
from wengert.compiler.simd.types import Type
from wengert.core import machine
from wengert.core.primitive import Primitive
from wengert.core.spec import Spec
from wengert.graph.ir import Operation

RAISED, NO_MEMORY, FIRST_FAILURE = 1, 2, 3
"""What `wengert.run` returns if it fails; if Python raised an exception, it is still set.

Where there is no Python, a routine that fails returns the first.

For the failures of kernels (`failures.py`), the first one's number and those that follow.
"""


class OperandSource(NamedTuple):
    """Where a fallback finds an operand: a slot, the number of a constant, or, without a spec, the operand itself."""

    slot: Slot | None
    spec: Spec | None
    value: Any = None
    weak: type | None = None  # of a Python number, whose dtype follows the other operands
    is_borrowed: bool = False  # on memory that Python cannot keep: that of a loop
    is_transposed: bool = False  # the last two axes are exchanged: the spec is that in memory

    @property
    def is_copied(self) -> bool:
        """Whether it is copied for Python."""
        is_small = self.nbytes <= machine.current.max_bytes_of_copied_operand
        return self.spec is not None and (self.is_borrowed or is_small)

    @property
    def nbytes(self) -> int:
        """Its size in memory."""
        return 0 if self.spec is None else self.spec.nbytes


class Fallback(NamedTuple):
    """An operation that NumPy runs between native parts, or after a routine that failed."""

    primitive: Primitive
    params: dict[str, Any]
    operands: tuple[OperandSource, ...]
    results: tuple[OperandSource | None, ...]  # None: unused
    arena_entry: int  # in the table of pointers
    follows_failure: bool = False


class Program(NamedTuple):
    """A compiled program without its machine code."""

    modules: tuple[Module, ...]  # none once they are translated
    vector_functions: tuple[tuple[str, Type], ...]
    constants: tuple  # arrays and numbers, or tables
    fallbacks: tuple[Fallback, ...]
    inputs: tuple[Spec, ...]
    outputs: tuple[Spec, ...]
    is_large: bool  # other threads of Python run meanwhile
    uses_threads: bool
    blas_functions: tuple[str, ...]
    summary: tuple[str, ...]
    arena: int  # in bytes
    in_place: tuple[tuple[int, int], ...]  # inputs and outputs that may share memory
    late: tuple[int, ...]  # outputs that are written when nothing can fail any more
    memory: int = 0  # that the caller gives, in bytes
    refused: tuple[Operation, ...] = ()  # those that cannot run without NumPy, or without memory that grows
    blas_users: tuple[tuple[str, Operation], ...] = ()  # one operation for each function of BLAS

    @property
    def is_native(self) -> bool:
        """Whether NumPy runs no part of it, unless a routine fails."""
        return all(fallback.follows_failure for fallback in self.fallbacks)
