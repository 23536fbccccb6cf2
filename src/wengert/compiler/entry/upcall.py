"""Upcalls: operations that NumPy runs between native parts, on memory of the program.

Arrays that leave native code are read-only, and stay valid while anybody has them: a traceback or the user's code may
keep them. A small operand is copied. A large one is an array on the program's memory that keeps its owner alive: the
caller's array, or the arena. The arena belongs to Python while the operation runs, and returns to the program unless an
array on it was kept.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from wengert.compiler.program.program import Fallback, OperandSource, Program
from wengert.compiler.schedule.memory_plan import ALIGNMENT
from wengert.core.errors import user_error
from wengert.core.infer import is_elementwise
from wengert.core.primitive import plain_impl
from wengert.core.spec import Spec


@cache
def c_library() -> Any:
    """The functions with which native code allocates and frees memory."""
    library = ctypes.CDLL(None)
    library.aligned_alloc.restype, library.aligned_alloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_size_t]
    library.free.restype, library.free.argtypes = None, [ctypes.c_void_p]
    return library


class Arena:
    """A program's arena while it belongs to Python; meanwhile the program's pointer to it is null.

    Even if the operation is interrupted, the memory is freed only after the last array on it.
    """

    def __init__(self, pointer: int):
        self.free = c_library().free  # which may be gone from its module when the interpreter ends
        self.pointer = ctypes.c_void_p.from_address(pointer)
        self.lent: list[weakref.ref] = []
        self.address, self.pointer.value = self.pointer.value, None

    def give_back(self, size: int) -> None:
        """Return the memory to the program, or a copy of it if an array on it was kept."""
        if all(buffer() is None for buffer in self.lent):
            address, self.address = self.address, None
            self.pointer.value = address
            return
        assert self.address is not None
        address = c_library().aligned_alloc(ALIGNMENT, size)
        if address is None:
            raise user_error(MemoryError, f"No memory for the {size} bytes of intermediate results")
        ctypes.memmove(address, self.address, size)
        self.pointer.value = address

    def __del__(self) -> None:
        if self.address is not None:
            self.free(self.address)


@cache
def memory_type(size: int) -> Any:
    """The type of memory of this size, which keeps an owner alive: made once, as classes are cyclic garbage."""
    return type("Memory", (ctypes.c_char * max(size, 1),), {"owner": None})


class ResultMemory:
    """The memory of a result, passed as an address."""

    def __init__(self, spec: Spec):
        self.shape, self.dtype = spec.shape, spec.dtype
        self.memory = memory_type(spec.nbytes)

    def write(self, address: int, value: Any) -> None:
        """Write the result."""
        np.ndarray(self.shape, self.dtype, self.memory.from_address(address))[...] = value


class KnownOperand:
    """An operand that is the same in each call: a number, or a constant of the program."""

    def __init__(self, value: Any):
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        self.value = value

    def array(self, *_: Any) -> Any:
        """The operand."""
        return self.value


class CopiedOperand:
    """An operand that is passed as a copy of its bytes."""

    def __init__(self, spec: Spec):
        self.shape, self.dtype = spec.shape, spec.dtype

    def array(self, data: bytes, *_: Any) -> Any:
        """The operand."""
        return np.ndarray(self.shape, self.dtype, data)


class NumberOperand(CopiedOperand):
    """A Python number, whose dtype follows the other operands."""

    def array(self, data: bytes, *_: Any) -> Any:
        """The operand."""
        return super().array(data).item()


class SharedOperand(ResultMemory):
    """An operand that is passed as an address: an array in the arena, or on memory whose `owner` is in the table."""

    def __init__(self, spec: Spec, owner: int | None):
        super().__init__(spec)
        self.owner = None if owner is None else 8 * owner

    def array(self, address: int, table: int, arena: Arena | None) -> np.ndarray:
        """The operand, which keeps its owner alive."""
        buffer = self.memory.from_address(address)
        if self.owner is not None:
            buffer.owner = ctypes.py_object.from_address(table + self.owner).value
        else:
            assert arena is not None
            buffer.owner = arena
            arena.lent.append(weakref.ref(buffer))
        return np.frombuffer(memoryview(buffer).toreadonly(), self.dtype).reshape(self.shape)


def make_upcall(fallback: Fallback, program: Program, constants: Sequence[np.ndarray]) -> Callable[..., None]:
    """The function that native code calls for an operation.

    Its arguments are the address of the program's table of pointers, and one value for each operand and each result
    that is used, as `module_text.upcall_table` says.
    """
    arena_entry = fallback.arena_entry
    takes_python_numbers = is_elementwise(fallback.primitive)

    def operand(source: OperandSource) -> KnownOperand | CopiedOperand | SharedOperand:
        is_number = source.weak is not None and takes_python_numbers
        if source.spec is None:
            return KnownOperand(source.value)
        if source.slot is None:
            constant = constants[source.value].reshape(source.spec.shape)
            return KnownOperand(constant.item() if is_number else constant)
        if source.is_copied:
            return (NumberOperand if is_number else CopiedOperand)(source.spec)
        entry = source.slot.entry
        return SharedOperand(source.spec, None if entry == arena_entry else arena_entry + entry)

    primitive, params = fallback.primitive, fallback.params
    # after a failure NumPy itself: native code of the operation would fail again
    impl = np.errstate(all="ignore")(plain_impl(primitive) if fallback.follows_failure else primitive.impl)
    operands = [operand(source) for source in fallback.operands]
    results = [
        (i, ResultMemory(r.spec)) for i, r in enumerate(fallback.results) if r is not None and r.spec is not None
    ]
    transposed = [k for k, source in enumerate(fallback.operands) if source.is_transposed]
    count, has_one_result, size = len(operands), primitive.outputs == 1, program.arena
    lends_arena = any(isinstance(x, SharedOperand) and x.owner is None for x in operands)

    def call(table: int, *memory: Any) -> None:
        arena = Arena(table + 8 * arena_entry) if lends_arena else None
        given = [x.array(m, table, arena) for x, m in zip(operands, memory[:count], strict=True)]
        for k in transposed:
            given[k] = given[k].swapaxes(-1, -2)
        out = impl(*given, **params)
        del given
        for (i, result), address in zip(results, memory[count:], strict=True):
            result.write(address, out if has_one_result else out[i])
        if arena is not None:
            out = None  # which may be an array on the arena
            arena.give_back(size)

    return call
