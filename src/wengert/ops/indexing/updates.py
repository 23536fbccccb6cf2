"""`x.at[key].set(v)` and its like: new values that differ from x at a key, in every mode and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.core.levels import bottom_array
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.arithmetic import divide, multiply, negative
from wengert.ops.elementwise.choices import maximum, minimum
from wengert.ops.elementwise.exponential import power
from wengert.ops.indexing.key import split_key
from wengert.ops.indexing.repeated_updates import extreme_at, number_selected, update_in_order
from wengert.ops.indexing.subscripts import (
    add_at,
    copy_beside,
    getitem,
    refuse_lost_fraction,
    refuse_more_axes,
    set_at,
)
from wengert.ops.shape.casting import astype
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import broadcast_to, reshape


class At:
    """`x.at[key].set(v)` and its like: a new value that differs from x at a key."""

    __slots__ = ("x",)

    def __init__(self, x: Any):
        self.x = x

    def __getitem__(self, key: Any) -> AtKey:
        return AtKey(self.x, key)


class AtKey:
    """The elements of x at a key, to make new values from.

    Where indices repeat, `set` keeps the last value, and the other methods apply all. Names are those of JAX.

    >>> import wengert as wg
    >>> x = wg.tensor([1.0, 2.0, 3.0])
    >>> x.at[[0, 0]].multiply(10.0)
    tensor([100.,   2.,   3.])
    >>> x.at[1:].apply(np.negative), x.at[-1].get()
    (tensor([ 1., -2., -3.]), tensor(3.))
    """

    __slots__ = ("key", "x")

    def __init__(self, x: Any, key: Any):
        self.x, self.key = x, key

    def get(self) -> Any:
        """The elements themselves."""
        return getitem(self.x, self.key)

    def set(self, v: Any) -> Any:
        return set_at(self.x, self.key, v)

    def add(self, v: Any) -> Any:
        return add_at(self.x, self.key, v)

    def subtract(self, v: Any) -> Any:
        return add_at(self.x, self.key, negative(as_operand(v)))

    def multiply(self, v: Any) -> Any:
        return _update(self.x, self.key, multiply, v)

    def divide(self, v: Any) -> Any:
        return _update(self.x, self.key, divide, v)

    def power(self, v: Any) -> Any:
        return _update(self.x, self.key, power, v)

    def max(self, v: Any) -> Any:
        return _update(self.x, self.key, maximum, v)

    def min(self, v: Any) -> Any:
        return _update(self.x, self.key, minimum, v)

    def apply(self, f: Callable[[Any], Any]) -> Any:
        """The elements replaced by `f` of them."""
        return _apply(self.x, self.key, f)

    mul, div, pow = multiply, divide, power


def _update(x: Any, key: Any, op: Callable, v: Any) -> Any:
    """x with `op(x[key], v)` at a key; where indices repeat, every value is applied, in order."""
    x, (index, indices) = as_operand(x), split_key(key)
    indices = copy_beside(x, indices)
    if not index.repeats or not any(i.ndim for i in indices):
        selected = getitem(x, key)
        refuse_more_axes(v, selected)
        return set_at(x, key, op(selected, v))
    update = op.__name__
    v = as_operand(v) if isinstance(v, list | tuple) else v
    if update in ("maximum", "minimum"):
        refuse_lost_fraction(x, v)
        return extreme_at(x, v, *indices, key=index, update=update)
    offsets = number_selected(x.shape, tuple(indices), index)
    refuse_more_axes(v, offsets)
    if not offsets.size:
        return x
    known = _numbers(offsets)
    if known is not None and np.unique(known).size == known.size:
        return set_at(x, key, op(getitem(x, key), v))
    v = reshape(broadcast_to(_like(v, x.dtype), offsets.shape), (-1,))
    refuse_lost_fraction(x, op(reshape(x, (-1,))[:0], v[:0]))
    return reshape(update_in_order(reshape(x, (-1,)), reshape(offsets, (-1,)), v, update), x.shape)


def _like(v: Any, dtype: np.dtype) -> Any:
    """A value in the dtype of what it updates, if that has all its numbers."""
    is_number = isinstance(v, int | float) and not isinstance(v, bool)
    v = as_operand(v)
    is_exact = np.can_cast(v.dtype, dtype) or (is_number and np.can_cast(v.dtype, dtype, "same_kind"))
    return astype(v, dtype) if is_exact else v


def _apply(x: Any, key: Any, f: Callable[[Any], Any]) -> Any:
    """x with `f` of its elements at a key, applied as often as an index repeats."""
    x, (index, indices) = as_operand(x), split_key(key)
    indices = copy_beside(x, indices)
    if not index.repeats or not any(i.ndim for i in indices):
        return set_at(x, key, f(getitem(x, key)))
    known = _numbers(number_selected(x.shape, tuple(indices), index))
    if known is None:
        raise user_error(
            TypeError,
            "at[...].apply needs to know the numbers of an index array",
            "Index with a plain array, an integer, or a boolean mask.",
        )
    offsets, counts = np.unique(known.reshape(-1), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    offsets, remaining = offsets[order], counts[order]  # those that repeat most are first
    flat, finished = reshape(x, (-1,)), []
    new = getitem(flat, offsets)
    while remaining.size:
        new, remaining = f(new), remaining - 1
        kept = int(np.count_nonzero(remaining))
        finished.append(new[kept:])
        new, remaining = new[:kept], remaining[:kept]
    if not finished:
        return x
    return reshape(set_at(flat, offsets, concatenate(finished[::-1])), x.shape)


def _numbers(index: Any) -> np.ndarray | None:
    """The numbers of an index, whatever the mode of the value; None where they are not known, or differ in a batch."""
    plain = bottom_array(index)
    return np.asarray(plain) if isinstance(plain, np.ndarray | np.generic) and plain.shape == index.shape else None
