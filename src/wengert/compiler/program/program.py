"""A compiled program without its machine code: what it takes, gives, and asks NumPy to run."""

from __future__ import annotations

from typing import Any, NamedTuple

from wengert.compiler.program.memory_plan import Slot
from wengert.compiler.simd.lanes import Type
from wengert.core.primitive import Primitive
from wengert.core.spec import Spec

RAISED, NO_MEMORY, OUT_OF_BOUNDS = 1, 2, 3
"""What `wengert.run` returns if it fails; if Python raised an exception, it is still set."""

SMALL = 1 << 15
"""Operands of at most so many bytes are copied for Python, which is faster than to find out if Python kept them."""


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
        return self.spec is not None and (self.is_borrowed or self.nbytes <= SMALL)

    @property
    def nbytes(self) -> int:
        """Its size in memory."""
        return 0 if self.spec is None else self.spec.size * self.spec.dtype.itemsize


class Fallback(NamedTuple):
    """An operation that NumPy runs between native parts."""

    primitive: Primitive
    params: dict[str, Any]
    operands: tuple[OperandSource, ...]
    results: tuple[OperandSource | None, ...]  # None: unused
    arena_entry: int  # in the table of pointers


class Program(NamedTuple):
    """A compiled program without its machine code."""

    text: str
    quick_text: str  # of the kernels that are compiled with few optimisations
    vector_functions: tuple[tuple[str, Type], ...]
    constants: tuple
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
