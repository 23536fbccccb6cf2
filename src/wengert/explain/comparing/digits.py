"""The forms of operations on numbers of many digits, of mpmath: the aspect `digits`, filled in `explain/aspects/`.

An entry takes mpmath, which is imported only when it is needed, the operands as arrays of its numbers, and the
metadata.
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


def by_kind(primitive: Primitive) -> Form | None:
    """What only moves and adds numbers runs as NumPy has it, and so does plain arithmetic."""
    return as_in_numpy(primitive) if primitive.kind in ("linear", "multilinear") or is_arithmetic(primitive) else None


digits: Aspect[Form] = Aspect(
    "digits",
    "its form on numbers of many digits, in mpmath",
    by_kind,
    rest={
        "general": "its algorithm is one for floating-point numbers",
        "nondifferentiable": "it belongs to an algorithm for floating-point numbers",
    },
)
NEIGHBOURS = "it is about the neighbours of floating-point numbers, which numbers of many digits do not have"


def as_in_numpy(primitive: Primitive) -> Form:
    """NumPy's own implementation, which takes numbers of any kind."""
    return lambda mp, *args, **params: primitive.impl(*args, **params)


def enter_as_in_numpy(*operations: Operation) -> None:
    for operation in operations:
        digits.enter(as_in_numpy(primitive_of(operation)), operation)


def on_numbers(function: Callable) -> Form:
    """A function of mpmath and single numbers, on each element."""

    def form(mp: Any, *args: Any, **params: Any) -> Any:
        ufunc: Any = np.frompyfunc(partial(function, mp, **params), len(args), 1)
        return ufunc(*args)

    return form


def of_mpmath(name: str) -> Form:
    """A function that mpmath has under this name, on each element."""
    return on_numbers(lambda mp, *args: getattr(mp, name)(*args))


def on_lists(function: Callable) -> Form:
    """A function of mpmath and a list of numbers, along axes."""

    def form(mp: Any, x: Any, axis: Any, keepdims: bool, **params: Any) -> Any:
        axes = tuple(range(x.ndim)) if axis is None else axis
        kept = tuple(i for i in range(x.ndim) if i not in axes)
        rows = np.transpose(x, kept + axes).reshape([x.shape[i] for i in kept] + [-1])
        out = np.empty(rows.shape[:-1], object)
        for place in np.ndindex(out.shape):
            out[place] = function(mp, list(rows[place]), **params)
        return np.expand_dims(out, axes) if keepdims else out

    return form
