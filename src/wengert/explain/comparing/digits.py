"""Operations on numbers of many digits, by mpmath: the aspect `digits`, filled in `explain/aspects/`.

An entry takes the module mpmath, which is imported only when needed, the operands as arrays of its numbers, and the
parameters of the operation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from wengert.core.aspects import Aspect, Operation, primitive_of
from wengert.core.kinds import is_arithmetic
from wengert.core.primitive import Primitive

Form = Callable[..., Any]


def linear_form(primitive: Primitive) -> Form | None:
    """Linear operations and plain arithmetic only move, add and multiply numbers: NumPy runs them on any numbers."""
    return numpy_form(primitive) if primitive.kind in ("linear", "multilinear") or is_arithmetic(primitive) else None


digits: Aspect[Form] = Aspect(
    "digits",
    "its form on numbers of many digits, in mpmath",
    linear_form,
    rest=dict.fromkeys(("general", "nondifferentiable"), "mpmath has no such function")
    | {"control": "a function that is compared runs its loops step by step"},
)
COMPLEX = "mpmath is used for real numbers only, and its values are complex"
NEIGHBOURS = "it is about neighbouring floating-point numbers, which numbers of many digits do not have"


def numpy_form(primitive: Primitive) -> Form:
    """The NumPy implementation of an operation, which also takes numbers of mpmath."""
    return lambda mp, *args, **params: primitive.impl(*args, **params)


def enter_numpy_forms(*operations: Operation) -> None:
    """Enter the NumPy implementations of these operations."""
    for operation in operations:
        digits.enter(numpy_form(primitive_of(operation)), operation)


def enter_rounded_forms(*operations: Operation) -> None:
    """Enter the NumPy implementations on floats, for decisions and results without a derivative."""
    for operation in operations:
        digits.enter(rounded_form(primitive_of(operation)), operation)


def rounded_form(primitive: Primitive) -> Form:
    """The NumPy implementation on operands that are rounded to floats."""

    def form(mp: Any, *args: Any, **params: Any) -> Any:
        out = np.asarray(primitive.impl(*[a.astype(float) if a.dtype == object else a for a in args], **params))
        return np.frompyfunc(mp.mpf, 1, 1)(out) if out.dtype.kind == "f" else out

    return form


def elementwise_form(function: Callable) -> Form:
    """A function of mpmath and single numbers, applied to each element."""

    def form(mp: Any, *args: Any, **params: Any) -> Any:
        ufunc: Any = np.frompyfunc(partial(function, mp, **params), len(args), 1)
        return ufunc(*args)

    return form


def mpmath_form(name: str) -> Form:
    """The function of mpmath with this name, applied to each element."""
    return elementwise_form(lambda mp, *args: getattr(mp, name)(*args))


def reduction_form(function: Callable) -> Form:
    """A function of mpmath and a list of numbers, applied along axes."""

    def form(mp: Any, x: Any, axis: Any, keepdims: bool, **params: Any) -> Any:
        axes = tuple(range(x.ndim)) if axis is None else axis
        kept = tuple(i for i in range(x.ndim) if i not in axes)
        rows = np.transpose(x, kept + axes).reshape([x.shape[i] for i in kept] + [-1])
        out = np.empty(rows.shape[:-1], object)
        for index in np.ndindex(out.shape):
            out[index] = function(mp, list(rows[index]), **params)
        return np.expand_dims(out, axes) if keepdims else out

    return form
