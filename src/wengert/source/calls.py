"""Calls in rewritten functions: the user's are read too, and some of Python's and NumPy's take traced values."""

from __future__ import annotations

import builtins
import functools
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.foreign_keywords import integer_call_error
from wengert.core.primitive import as_operand
from wengert.modes import recording
from wengert.ops.indexing.subscripts import getitem, set_at
from wengert.ops.shape.casting import astype
from wengert.ops.shape.joining import stack
from wengert.source.branches import choose_traced
from wengert.source.frozen import watch_call
from wengert.source.iterables import count_range, enumerate_items, reverse_items, zip_items
from wengert.source.logic import COMPARISONS
from wengert.source.memory import Memory
from wengert.source.rows import Rows
from wengert.source.tracing import InnerTrace
from wengert.source.values import is_number, is_unknown, truth, use

UPDATES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "Add": (operator.add, operator.iadd), "Sub": (operator.sub, operator.isub),
    "Mult": (operator.mul, operator.imul), "Div": (operator.truediv, operator.itruediv),
    "Pow": (operator.pow, operator.ipow), "Mod": (operator.mod, operator.imod),
    "FloorDiv": (operator.floordiv, operator.ifloordiv), "MatMult": (operator.matmul, operator.imatmul),
    "LShift": (operator.lshift, operator.ilshift), "RShift": (operator.rshift, operator.irshift),
    "BitOr": (operator.or_, operator.ior), "BitXor": (operator.xor, operator.ixor),
    "BitAnd": (operator.and_, operator.iand),
}  # fmt: skip
"""The functions of `x = x + v` and `x += v`, by the name of the operator in syntax trees."""


def callee(f: Any) -> Any:
    """The function to call in place of f, in a call."""
    if f.__class__ is int:
        raise integer_call_error()
    watched = watch_call(f)
    return read(f) if watched is None else watched


def read(f: Any) -> Any:
    """The function to call in place of f; anything else as it is."""
    try:
        found = REPLACEMENTS.get(f)
    except TypeError:  # it has no hash
        found = None
    return recording.as_read(f) if found is None else found


def get_item(x: Any, key: Any) -> Any:
    """`x[key]`; an element of a plain array, or of a list of arrays, by a traced index."""
    if is_unknown(key) or (isinstance(key, tuple) and any(map(is_unknown, key))):
        if isinstance(x, np.ndarray):
            return getitem(x, key)
        if isinstance(x, list | tuple) and is_unknown(key) and key.shape == () and all(map(is_number, x)):
            return getitem(stack_nested(x), key)
    return x[key]


def set_item(x: Any, key: Any, value: Any) -> Any:
    """`x[key] = value`; a plain array becomes a traced one where it must.

    In a branch or step that may not be taken, it becomes a new array, and the one before stays as it is.
    """
    parts = key if isinstance(key, tuple) else (key,)
    if isinstance(x, np.ndarray):
        if is_traced_tree(value) or any(is_unknown(k) for k in parts):
            return set_at(x, key, value)
        x = own_copy(x)
    x[key] = value
    return x


def own_copy(x: np.ndarray) -> np.ndarray:
    """A plain array that the branch or step that is being traced, if any, may change."""
    return x.copy() if isinstance(recording.current_trace(), InnerTrace) else x


def is_traced_tree(value: Any) -> bool:
    """Whether a value, or a list of values, is traced."""
    if isinstance(value, list | tuple):
        return any(map(is_traced_tree, value))
    return isinstance(value, Array)


def update(x: Any, operation: str, value: Any) -> Any:
    """`x += value`; a plain array becomes a traced one where it must."""
    function, in_place = UPDATES[operation]
    if isinstance(x, np.ndarray) and isinstance(value, Array):
        new = function(x, value)
        if new.shape == x.shape and np.can_cast(new.dtype, x.dtype, "same_kind"):
            return astype(new, x.dtype) if new.dtype != x.dtype else new
    return in_place(own_copy(x) if isinstance(x, np.ndarray) else x, value)


def as_float(*args: Any, **kwargs: Any) -> Any:
    """`float`, of traced integers too."""
    if len(args) == 1 and is_unknown(args[0]) and args[0].dtype.kind in "iub":
        return astype(args[0], np.float64)
    return builtins.float(*args, **kwargs)


def as_int(*args: Any, **kwargs: Any) -> Any:
    """`int`, of traced integers too."""
    if len(args) == 1 and is_unknown(args[0]) and args[0].dtype.kind in "iub" and args[0].shape == ():
        return args[0] if args[0].dtype.kind != "b" else astype(args[0], np.int64)
    return builtins.int(*args, **kwargs)


def as_bool(*args: Any) -> Any:
    """`bool`, of traced values too."""
    return truth(args[0]) if len(args) == 1 and is_unknown(args[0]) else builtins.bool(*args)


def smallest(*args: Any, **kwargs: Any) -> Any:
    """`min`, of traced numbers too."""
    return extreme(builtins.min, "<", args, kwargs)


def largest(*args: Any, **kwargs: Any) -> Any:
    """`max`, of traced numbers too."""
    return extreme(builtins.max, ">", args, kwargs)


def extreme(function: Callable[..., Any], sign: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The first of the numbers that no other exceeds."""
    items = list(args[0]) if len(args) == 1 and not is_number(args[0]) else args
    if kwargs or len(args) == 0 or not any(map(is_unknown, items)):
        return function(*args, **kwargs)
    best = items[0]
    for x in items[1:]:
        test = COMPARISONS[sign](x, best)
        if is_unknown(test):
            best = choose_traced(test, partial(use, x), partial(use, best), Memory())
        elif test:
            best = x
    return best


def total(items: Any, start: Any = 0) -> Any:
    """`sum`, of the rows of an array too."""
    if isinstance(items, Rows) and len(items):
        return start + items.stacked().sum(0)
    return builtins.sum(items, start)


def read_first(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose first argument is a function to read: `map`."""
    return lambda f, *args, **kwargs: function(read(f), *args, **kwargs)


def as_array(function: Callable[..., Any]) -> Callable[..., Any]:
    """`np.array`, of lists of traced values too."""

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(x, Rows) and len(x) and has_traced(list.copy(x)):
            made = x.stacked()
        elif isinstance(x, list | tuple) and has_traced(x):
            made = stack_nested(x)
        else:
            return function(x, *args, **kwargs)
        dtype = args[0] if args else kwargs.get("dtype")
        return made if dtype is None else astype(made, np.dtype(dtype))

    return functools.update_wrapper(call, function)


def has_traced(items: Any) -> bool:
    """Whether a nested list has a traced value, or rows of one."""
    return any(
        isinstance(x, Array)
        or (isinstance(x, list | tuple) and has_traced(x))
        or is_unknown(getattr(x, "arrays", None))
        for x in items
    )


def stack_nested(x: Any) -> Any:
    """A nested list of numbers and values as one array."""
    if isinstance(x, Rows):
        return x.stacked()
    return stack([stack_nested(y) for y in x]) if isinstance(x, list | tuple) else as_operand(x)


def join_rows(function: Callable[..., Any], axis: int = 0) -> Callable[..., Any]:
    """`np.stack`, of the rows of an array too."""

    def call(items: Any, *args: Any, **kwargs: Any) -> Any:
        chosen = args[0] if args else kwargs.get("axis", axis)
        if (
            isinstance(items, Rows)
            and len(items)
            and isinstance(chosen, int)
            and not (len(args) > 1 or kwargs.keys() - {"axis"})
        ):
            return items.stacked(chosen)
        return function(items, *args, **kwargs)

    return functools.update_wrapper(call, function)


REPLACEMENTS: dict[Any, Any] = {
    builtins.range: count_range,
    builtins.enumerate: enumerate_items,
    builtins.zip: zip_items,
    builtins.reversed: reverse_items,
    builtins.float: as_float,
    builtins.int: as_int,
    builtins.bool: as_bool,
    builtins.min: smallest,
    builtins.max: largest,
    builtins.sum: total,
    builtins.map: read_first(builtins.map),
    builtins.filter: read_first(builtins.filter),
    functools.reduce: read_first(functools.reduce),
    np.array: as_array(np.array),
    np.asarray: as_array(np.asarray),
    np.stack: join_rows(np.stack),
    stack: join_rows(stack),
}
"""What rewritten functions call in place of some functions of Python and NumPy."""
