"""The call of a program by ctypes, where there is no native entry, or it does not take the arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from wengert.compiler.entry.entry import RUN, RUN_RELEASED
from wengert.compiler.machine.target import Loaded
from wengert.core.errors import user_error
from wengert.core.spec import Spec

NO_TARGETS: Mapping[int, np.ndarray] = {}
_Run = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


class Caller:
    """The call by ctypes: slower, without assumptions about Python's objects, and for arrays of any layout.

    It returns the status of the run and a list of arrays; scalars are arrays without axes.
    """

    def __init__(self, loaded: Loaded, inputs: Sequence[Spec], outputs: Sequence[Spec], release_gil: bool = False):
        self.loaded, self.inputs, self.outputs = loaded, tuple(inputs), tuple(outputs)
        self._run = _Run(loaded.address(RUN_RELEASED if release_gil else RUN))

    def __call__(
        self, values: Sequence[Any], targets: Mapping[int, np.ndarray] = NO_TARGETS
    ) -> tuple[int, list[np.ndarray]]:
        inputs = [_usable(value, spec) for value, spec in zip(values, self.inputs, strict=True)]
        outputs = [
            targets[i] if i in targets else np.empty(spec.shape, spec.dtype) for i, spec in enumerate(self.outputs)
        ]
        status = self._run(_addresses(inputs), _addresses(outputs))
        return status, outputs


def _usable(value: Any, spec: Spec) -> np.ndarray:
    """A contiguous, aligned array in native byte order: the value itself if it is one."""
    if value.__class__ is np.ndarray and value.dtype == spec.dtype and value.shape == spec.shape:
        flags = value.flags
        if flags.c_contiguous and flags.aligned:
            whole: np.ndarray = value
            return whole
    array = np.asarray(value)
    native_array = np.require(array, array.dtype.newbyteorder("="), ("C", "A", "E"))
    if Spec.of(native_array) != spec:
        raise user_error(ValueError, f"The compiled program takes {spec} here and was given {Spec.of(array)}")
    return native_array


def _addresses(arrays: Sequence[np.ndarray]) -> ctypes.Array:
    """The addresses of the data, followed by those of the arrays."""
    data = [array.__array_interface__["data"][0] for array in arrays]  # `array.ctypes` would import a module
    return _pointer_table(2 * len(arrays))(*data, *map(id, arrays))


@cache
def _pointer_table(length: int) -> Any:
    """The type of a table of pointers: made once, as classes are cyclic garbage."""
    return ctypes.c_void_p * length
