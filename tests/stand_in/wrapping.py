"""Functions of NumPy and SciPy as functions of stand-in arrays: what CuPy takes as operands, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial, wraps
from typing import Any

import numpy as np
from tests.stand_in.device_array import ndarray, plain_key


def unwrap(x: Any) -> Any:
    """An operand as NumPy takes it. As with CuPy, arrays of NumPy are not operands."""
    if isinstance(x, ndarray):
        return x._numbers
    if isinstance(x, np.ndarray):
        raise TypeError(f"Unsupported type {type(x)}")
    if isinstance(x, list | tuple):
        return type(x)(map(unwrap, x)) if not hasattr(x, "_fields") else type(x)(*map(unwrap, x))
    return x


def wrap(x: Any) -> Any:
    """A result of NumPy: numbers are arrays without axes, as with CuPy."""
    if isinstance(x, np.ndarray | np.generic):
        return ndarray(x)
    if isinstance(x, list | tuple):
        return type(x)(map(wrap, x)) if not hasattr(x, "_fields") else type(x)(*map(wrap, x))
    return x


@cache
def on_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy as one of stand-in arrays."""

    @wraps(function, assigned=("__name__", "__doc__"), updated=())
    def run(*args: Any, **kwargs: Any) -> Any:
        if "initial" in kwargs:
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument 'initial'")
        out = kwargs.get("out")
        if len({x.device.id for x in args if isinstance(x, ndarray)}) > 1:
            raise ValueError("Array device must be same as the current device")
        with np.errstate(all="ignore"):  # a GPU warns of nothing
            found = function(*map(unwrap, args), **{name: unwrap(value) for name, value in kwargs.items()})
        return wrap(found) if out is None else out

    if isinstance(function, np.ufunc):
        run.reduce = on_device(function.reduce)  # type: ignore[attr-defined]  # functions may have attributes
        run.at = partial(add_at, function)  # type: ignore[attr-defined]  # the same
    return run


def add_at(ufunc: np.ufunc, out: ndarray, key: Any, v: Any) -> None:
    """`ufunc.at`, of the types that CuPy has it for."""
    if out.dtype.char not in "ilqILQefd":
        raise TypeError(f"{ufunc.__name__}.at does not support {out.dtype}")
    ufunc.at(out._numbers, plain_key(key), unwrap(v))
