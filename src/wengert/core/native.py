"""Native code in eager operations: large calls of some operations run compiled code where there is a compiler.

    @natively(lambda: _convolution, work=multiplications)
    def _result(x, w, stride, ...): ...

Whether a call is large is decided by its shapes alone, so that equal calls give equal bits. The compiler is imported at
the first large call. It compiles one program for each signature, or reads it from disk; NumPy runs what has no program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from wengert.core.aspects import Aspect
from wengert.core.primitive import Primitive

LARGE = 1 << 20
"""The least number of scalar operations of a large call: some hundred microseconds in NumPy."""

NativeCall = Callable[[Sequence[np.ndarray], dict[str, Any]], np.ndarray | None]

native_call: Aspect[NativeCall] = Aspect(
    "native_call",
    "what runs a large eager call natively",
    rest="NumPy runs it in eager code",
    filled_by=("wengert.compiler.call.eager_call",),
)
"""A function of the operands and the parameters, which returns None where there is no native code."""


def natively(
    operation: Callable[[], Any], work: Callable[..., int]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for the implementation of an operation: large calls of it run natively.

    `operation` gives the operation, which is defined after its implementation. `work` gives the number of scalar
    operations of a call; it is only asked if the products of all elements could be so many.
    """

    def decorate(impl: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(impl)
        def run(*operands: Any, **params: Any) -> Any:
            if operands[0].size * operands[-1].size >= LARGE and work(*operands, **params) >= LARGE:
                found = run_natively(operation().primitive, operands, params)
                if found is not None:
                    return found
            return impl(*operands, **params)

        return run

    return decorate


def run_natively(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """The result of native code; None where there is none."""
    try:
        call = native_call.of(primitive)
    except ImportError:  # there is no compiler on this system, which is asked for once
        return None
    return call(operands, params) if call is not None else None
