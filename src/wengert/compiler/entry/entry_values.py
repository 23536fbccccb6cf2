"""What a native entry takes: single arguments, and captured tensors."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from wengert.compiler.machine.python_objects import NUMBERS
from wengert.core.spec import Spec


class Argument(NamedTuple):
    """The exact type and the spec of an argument; instances of subclasses do not match.

    >>> Argument.of(np.ones(3)), Argument.of(2), Argument.of("two")
    (Argument(kind='array', spec=f64[3]), Argument(kind='int', spec=i64[]), None)
    """

    kind: Literal["array", "scalar", "float", "int"]
    spec: Spec

    @classmethod
    def of(cls, value: Any) -> Argument | None:
        """The argument that a value is, or None if no entry takes it. An int counts as int64, whatever its size."""
        kind = type(value)
        if kind is float:
            return cls("float", Spec((), np.dtype(np.float64)))
        if kind is int:
            return cls("int", Spec((), np.dtype(np.int64)))
        if kind is np.ndarray:
            return cls("array", Spec.of(value)) if is_native_dtype(value.dtype) else None
        return cls("scalar", Spec((), value.dtype)) if kind in _SCALARS else None


def is_native_dtype(dtype: np.dtype) -> bool:
    """Whether arguments and results can have this dtype."""
    return type(dtype) in _DTYPES and dtype.isnative


_SCALARS, _DTYPES = {dtype.type for dtype in NUMBERS}, {type(dtype) for dtype in NUMBERS}
"""Exact types: C's `long` and `long long` have equal dtypes of different types, and native code supports one."""


class States(NamedTuple):
    """The captured tensors of a program, beside its arguments and results.

    `records` is the number of records of its table, `inputs` and `outputs` are the numbers of arrays that these add to
    those of the arguments and results. A run needs so many bytes of `memory`. With `is_taped`, results are tensors.
    """

    records: int = 0
    inputs: int = 0
    outputs: int = 0
    memory: int = 0
    is_taped: bool = False


NO_STATES = States()
