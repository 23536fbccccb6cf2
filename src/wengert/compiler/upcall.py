"""Operations that NumPy runs between native parts, on memory of the program."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compiler.memory import as_array
from wengert.compiler.program import Fallback, Where

UPCALL = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int64, ctypes.c_void_p)


class Place:
    """A place in the program's memory. It is often where it was in the last call, so the array on it is kept."""

    __slots__ = ("entry", "last", "offset", "spec")

    def __init__(self, where: Where):
        assert where.slot is not None
        assert where.spec is not None
        self.entry, self.offset, self.spec = 8 * where.slot.entry, where.slot.offset, where.spec
        self.last: tuple[int, Any] = (0, None)

    def array(self, table: int) -> np.ndarray:
        address = (ctypes.c_void_p.from_address(table + self.entry).value or 0) + self.offset
        last = self.last
        if last[0] != address:
            self.last = last = address, as_array(address, self.spec)
        return last[1]


class PythonNumber(Place):
    """A place that holds a number of Python's, which takes the dtype of what it meets."""

    __slots__ = ()

    def array(self, table: int) -> Any:
        return super().array(table).item()


class Number:
    """An operand that is known already."""

    __slots__ = ("value",)

    def __init__(self, where: Where):
        self.value = where.value

    def array(self, table: int) -> Any:
        return self.value


def made(work: Fallback) -> tuple[Callable, dict[str, Any], int, list, list]:
    """What is known of a fallback before it runs."""
    operands = [Number(where) if where.slot is None else PythonNumber(where) if where.weak else Place(where) for where in work.operands]
    results = [None if where is None else Place(where) for where in work.results]
    return work.primitive.impl, work.params, work.primitive.outputs, operands, results


def upcall(fallbacks: Sequence[Fallback], raised: threading.local) -> Any:
    """What native code calls, with the number of an operation and the program's table of pointers; an error is left in `raised`."""
    steps = list(map(made, fallbacks))

    def run(step: int, table: int) -> int:
        try:
            impl, params, outputs, operands, results = steps[step]
            with np.errstate(all="ignore"):
                out = impl(*[operand.array(table) for operand in operands], **params)
            for place, value in zip(results, (out,) if outputs == 1 else out, strict=True):
                if place is not None:
                    place.array(table)[...] = value
        except BaseException as error:
            raised.error = error
            return 1
        return 0

    return UPCALL(run)
