"""Operations that NumPy runs between native parts, on memory of the program.

Arrays that leave native code are read-only, and good for as long as anybody has them: a traceback or the user's own
code may keep them. A small operand is copied. A large one is an array on the program's memory, which keeps its owner
alive: the caller's array, or the arena, which belongs to Python while the operation runs, and goes back to the program
if nobody has kept an array on it.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from wengert.compiler.memory_plan import ALIGNMENT
from wengert.compiler.program import Fallback, Program, Where
from wengert.core.infer import is_elementwise
from wengert.core.spec import Spec


@cache
def c_library() -> Any:
    """The functions that native code takes memory with, and gives it back."""
    library = ctypes.CDLL(None)
    library.aligned_alloc.restype, library.aligned_alloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_size_t]
    library.free.restype, library.free.argtypes = None, [ctypes.c_void_p]
    return library


class Arena:
    """A program's arena while it belongs to Python: the program's own pointer to it is null meanwhile.

    Whatever interrupts the operation, memory that arrays are on is freed after the last of them.
    """

    def __init__(self, pointer: int):
        self.free = c_library().free  # which may be gone from its module when the interpreter ends
        self.pointer = ctypes.c_void_p.from_address(pointer)
        self.lent: list[weakref.ref] = []
        self.address, self.pointer.value = self.pointer.value, None

    def give_back(self, size: int) -> None:
        """The memory to the program, or a copy of it where arrays have been kept."""
        if all(buffer() is None for buffer in self.lent):
            address, self.address = self.address, None
            self.pointer.value = address
            return
        assert self.address is not None
        address = c_library().aligned_alloc(ALIGNMENT, size)
        if address is None:
            raise MemoryError(f"No memory for the {size} bytes of intermediate results.")
        ctypes.memmove(address, self.address, size)
        self.pointer.value = address

    def __del__(self) -> None:
        if self.address is not None:
            self.free(self.address)


class Result:
    """Where the operation writes a result, given as an address."""

    def __init__(self, spec: Spec):
        self.shape, self.dtype = spec.shape, spec.dtype
        self.memory: Any = ctypes.c_char * max(spec.size * spec.dtype.itemsize, 1)

    def write(self, address: int, value: Any) -> None:
        np.ndarray(self.shape, self.dtype, self.memory.from_address(address))[...] = value


class Known:
    """An operand that is the same in each call: a number, or a constant of the program."""

    def __init__(self, value: Any):
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        self.value = value

    def array(self, nothing: None, table: int, arena: Arena | None) -> Any:
        return self.value


class Small:
    """An operand that is given as a copy of its bytes."""

    def __init__(self, spec: Spec):
        self.shape, self.dtype = spec.shape, spec.dtype

    def array(self, data: bytes, table: int, arena: Arena | None) -> Any:
        return np.ndarray(self.shape, self.dtype, data)


class PythonNumber(Small):
    """A number of Python's, which takes the dtype of what it meets."""

    def array(self, data: bytes, table: int, arena: Arena | None) -> Any:
        return super().array(data, table, arena).item()


class Large(Result):
    """An operand that is given as an address, and is an array there: in the arena, unless the table has its `owner`."""

    def __init__(self, spec: Spec, owner: int | None):
        super().__init__(spec)
        self.memory = type("Memory", (self.memory,), {"owner": None})
        self.owner = None if owner is None else 8 * owner

    def array(self, address: int, table: int, arena: Arena | None) -> np.ndarray:
        buffer = self.memory.from_address(address)
        if self.owner is not None:
            buffer.owner = ctypes.py_object.from_address(table + self.owner).value
        else:
            assert arena is not None
            buffer.owner = arena
            arena.lent.append(weakref.ref(buffer))
        return np.frombuffer(memoryview(buffer).toreadonly(), self.dtype).reshape(self.shape)


def upcall(work: Fallback, program: Program, constants: Sequence[np.ndarray]) -> Callable[..., None]:
    """What native code calls for an operation, with the address of the program's table of pointers, and what `memory`
    says of each operand and each result that is needed.
    """
    first_constant = 1 + len(program.inputs) + len(program.outputs)
    arena_entry = first_constant + len(constants)

    takes_python_numbers = is_elementwise(work.primitive)

    def operand(where: Where) -> Known | Small | Large:
        if where.spec is None:
            return Known(where.value)
        if where.slot is None:
            constant = constants[where.value].reshape(where.spec.shape)
            return Known(constant.item() if where.weak and takes_python_numbers else constant)
        if where.is_small:
            return (PythonNumber if where.weak and takes_python_numbers else Small)(where.spec)
        return Large(where.spec, None if where.slot.entry == arena_entry else arena_entry + where.slot.entry)

    impl, params = np.errstate(all="ignore")(work.primitive.impl), work.params
    operands = [operand(where) for where in work.operands]
    results = [
        (i, Result(where.spec)) for i, where in enumerate(work.results) if where is not None and where.spec is not None
    ]
    count, has_one_result, size = len(operands), work.primitive.outputs == 1, program.arena
    lends_arena = any(isinstance(x, Large) and x.owner is None for x in operands)

    def call(table: int, *memory: Any) -> None:
        arena = Arena(table + 8 * arena_entry) if lends_arena else None
        out = impl(*[x.array(m, table, arena) for x, m in zip(operands, memory[:count], strict=True)], **params)
        for (i, result), address in zip(results, memory[count:], strict=True):
            result.write(address, out if has_one_result else out[i])
        if arena is not None:
            out = None  # which may be an array on the arena
            arena.give_back(size)

    return call
