"""NumPy's functions as they run on values, on lists of values and on plain arrays: `autograd.numpy.numpy_wrapper`."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.tracer import notrace_primitive
from wengert.compat.differences import without
from wengert.core.array import FUNCTIONS, UFUNCS, Array
from wengert.core.errors import TrackedValueError
from wengert.core.levels import bottom_array
from wengert.core.primitive import holds_value, stack_lists

__all__ = sorted(
    {
        name
        for name, value in vars(np).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name not in ("core", "test")
    }
    | {"array_from_args", "concatenate_args", "make_diagonal", "metadata", "row_stack", "wrap_namespace"}
)

MIRRORS = "numpy"
"""The module whose names are here."""

__getattr__ = without(__name__, ABSENT)


def on_values(function: Callable[..., Any], operation: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy or SciPy that is an operation where an argument is a value or a list of values."""
    keeps_keywords = isinstance(function, np.ufunc)  # they are NumPy's to interpret

    @wraps(function, updated=())
    def dispatch(*args: Any, **kwargs: Any) -> Any:
        for a in args:
            if isinstance(a, Array):
                return function(*args, **kwargs) if kwargs and keeps_keywords else operation(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        except TrackedValueError:
            if not builtins.any(map(holds_value, (*args, *kwargs.values()))):
                raise
            return operation(*map(stack_lists, args), **kwargs)

    return dispatch


def unary_on_values(function: np.ufunc, operation: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a ufunc of one argument, with as little as possible between a call and its operation."""
    general = on_values(function, operation)

    @wraps(function, updated=())
    def dispatch(x: Any, /, out: Any = None, *, dtype: Any = None, where: Any = True) -> Any:
        if isinstance(x, Array) and dtype is None and out is None and where is True:
            return operation(x)
        given = {"out": out, "dtype": dtype, "where": where}
        return general(x, **{name: value for name, value in given.items() if value is not None and value is not True})

    return dispatch


def wrap_namespace(old: Mapping[str, Any], new: dict[str, Any]) -> None:
    """Copy the public names of a module of NumPy or SciPy; functions that the table has become operations."""
    for name, value in old.items():
        if name.startswith("_") or isinstance(value, ModuleType):
            continue
        operation = UFUNCS.get(value) if isinstance(value, np.ufunc) else lookup_function(value)
        wrap = unary_on_values if isinstance(value, np.ufunc) and value.nin == value.nout == 1 else on_values
        new[name] = value if operation is None else wrap(value, operation)


def lookup_function(value: Any) -> Callable[..., Any] | None:
    """The operation for a function of NumPy; None if there is none."""
    return FUNCTIONS.get(value) if callable(value) and not isinstance(value, type) else None


wrap_namespace(vars(np), globals())


# Functions that are asked about values.

isscalar = notrace_primitive(np.isscalar)
iterable = notrace_primitive(np.iterable)
array_repr, array_str = notrace_primitive(np.array_repr), notrace_primitive(np.array_str)


def metadata(x: Any) -> tuple[tuple[int, ...], int, np.dtype, bool]:
    """Shape, number of axes, dtype, and whether the numbers are complex.

    >>> metadata(1.0)
    ((), 0, dtype('float64'), False)
    """
    x = bottom_array(x)
    return np.shape(x), np.ndim(x), np.result_type(x), np.iscomplexobj(x)


# Arrays made of values. NumPy makes them of numbers only.


def array(A: Any, dtype: Any = None, *args: Any, ndmin: int = 0, **kwargs: Any) -> Any:
    """An array of numbers, or a value made of values: `array([x[0], 2.0])`.

    >>> array([1.0, 2.0])
    array([1., 2.])
    """
    if not holds_value(A):
        return np.array(A, dtype, *args, ndmin=ndmin, **kwargs)
    value = stack_lists(A)
    value = wg.astype(value, value.dtype if dtype is None else dtype)
    return wg.reshape(value, (1,) * (ndmin - value.ndim) + value.shape) if value.ndim < ndmin else value


def asarray(A: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    """As `array`, without a copy where none is needed."""
    return array(A, dtype) if holds_value(A) else np.asarray(A, dtype, *args, **kwargs)


def full(shape: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """An array filled with a number or a value."""
    if not holds_value(fill_value):
        return np.full(shape, fill_value, dtype, **kwargs)
    value = array(fill_value, dtype)
    return wg.broadcast_to(value, shape if isinstance(shape, builtins.tuple) else (shape,))


def of_iterables(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that joins arrays as one that also takes them from a generator."""

    @wraps(function)
    def join(arrays: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        is_sequence = isinstance(arrays, builtins.list | builtins.tuple | np.ndarray | Array)
        return function(arrays if is_sequence else list(arrays), *args, **kwargs)

    return join


for name in ("column_stack", "concatenate", "dstack", "hstack", "stack", "vstack"):
    globals()[name] = of_iterables(globals()[name])


def array_from_args(array_args: tuple[Any, ...], array_kwargs: dict[str, Any], *args: Any) -> Any:
    """The array of these elements."""
    return array(list(args), *array_args, **array_kwargs)


def concatenate_args(axis: int, *args: Any) -> Any:
    """The arrays joined along an axis."""
    return wg.concatenate(args, axis)


row_stack = of_iterables(on_values(np.vstack, wg.vstack))
"""Deprecated by NumPy."""


class Joining:
    """What `r_` and `c_` are: entries between brackets, joined."""

    def __init__(self, numpy: Any, is_column: bool):
        self.numpy, self.is_column = numpy, is_column

    def __getitem__(self, entries: Any) -> Any:
        if not holds_value(entries):
            return self.numpy[entries]
        parts = [entries] if not isinstance(entries, builtins.tuple) else list(entries)
        parts = [wg.atleast_1d(self.numpy[p].ravel() if isinstance(p, slice) else stack_lists(p)) for p in parts]
        if not self.is_column:
            return wg.concatenate(parts, 0)
        return wg.concatenate([p[:, None] if p.ndim == 1 else p for p in parts], -1)


r_, c_ = Joining(np.r_, is_column=False), Joining(np.c_, is_column=True)


def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Diagonal matrices with these diagonals, along the last axis; the inverse of `diagonal`.

    >>> make_diagonal(array([1.0, 2.0]), axis1=-1, axis2=-2)
    array([[1., 0.],
           [0., 2.]])
    """
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError("make_diagonal is for offset=0, axis1=-1, axis2=-2")
    D = asarray(D)
    return D[..., None] * np.eye(D.shape[-1])


def clip(a: Any, a_min: Any = None, a_max: Any = None, **kwargs: Any) -> Any:
    """The numbers between two bounds. The derivative of a number at a bound is zero.

    >>> clip(array([-1.0, 0.5, 2.0]), 0.0, 1.0)
    array([0. , 0.5, 1. ])
    """
    if not holds_value(a) or holds_value([a_min, a_max]):
        return wg.clip(a, a_min, a_max) if holds_value([a, a_min, a_max]) else np.clip(a, a_min, a_max, **kwargs)
    value = array(a)
    clipped = wg.clip(wg.stop_gradient(value), a_min, a_max)
    is_free = wg.logical_and(*[clipped != bound if bound is not None else True for bound in (a_min, a_max)])
    return wg.where(is_free, value, clipped)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """The elements of the first choice whose condition holds."""
    choices = [stack_lists(choice) for choice in choicelist]
    held = [bottom_array(condition) for condition in condlist]
    return np.select(held, choices, default) if not holds_value(choices) else wg.select(held, choices, default)
