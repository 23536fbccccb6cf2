"""`x.at[key].set(v)` and its like: new values that differ from x at a key, in every mode and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.core.levels import bottom_array
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.arithmetic import divide, multiply, negative
from wengert.ops.elementwise.choices import maximum, minimum, where
from wengert.ops.elementwise.exponential import power
from wengert.ops.indexing.key import split_key
from wengert.ops.indexing.subscripts import add_at, copy_beside, getitem, refuse_more_axes, set_at
from wengert.ops.reductions import extremes
from wengert.ops.reductions.cumulative import prod
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
        return _update(self.x, self.key, lambda selected, _: f(selected), 0.0)

    mul, div, pow = multiply, divide, power


def _update(x: Any, key: Any, op: Callable, v: Any) -> Any:
    """x with `op(x[key], v)` at a key.

    Where indices repeat, in rounds: the first occurrence of each index, then the second, and so on.
    """
    x, (index, indices) = as_operand(x), split_key(key)
    indices = copy_beside(x, indices)
    if not index.repeats or not any(i.ndim for i in indices):
        selected = getitem(x, key)
        refuse_more_axes(v, selected)
        return set_at(x, key, op(selected, v))
    known = [_numbers(i) for i in indices]
    if any(i is None for i in known):
        return _update_unknown(x, key, op, v)
    offsets = np.arange(x.size).reshape(x.shape)[index.fill(known)]
    unique, slots, counts = np.unique(offsets.reshape(-1), return_inverse=True, return_counts=True)
    v = reshape(broadcast_to(as_operand(v), offsets.shape), (-1,))
    order = np.argsort(slots, kind="stable")
    occurrence = np.arange(order.size) - np.repeat(np.cumsum(counts) - counts, counts)
    flat = reshape(x, (-1,))
    new = getitem(flat, unique)
    for i in range(counts.max(initial=0)):
        chosen = order[occurrence == i]
        new = set_at(new, slots[chosen], op(getitem(new, slots[chosen]), getitem(v, chosen)))
    return reshape(set_at(flat, unique, new), x.shape)


def _numbers(index: Any) -> np.ndarray | None:
    """The numbers of an index, whatever the mode of the value; None where they are not known, or differ in a batch."""
    plain = bottom_array(index)
    return plain if isinstance(plain, np.ndarray) and plain.shape == index.shape else None


COMBINATIONS: dict[Callable, tuple[Callable, Callable[[np.dtype], Any]]] = {
    multiply: (prod, lambda dtype: 1),
    divide: (prod, lambda dtype: 1),
    power: (prod, lambda dtype: 1),
    maximum: (extremes.max, lambda dtype: -np.inf if dtype.kind == "f" else np.iinfo(dtype).min),
    minimum: (extremes.min, lambda dtype: np.inf if dtype.kind == "f" else np.iinfo(dtype).max),
}
"""How the values that meet at an element are combined before they are applied, and the value of no such value."""


def _update_unknown(x: Any, key: Any, op: Callable, v: Any) -> Any:
    """The same where the numbers of indices are not known: each value is compared with all elements of x."""
    if op not in COMBINATIONS:
        raise user_error(
            TypeError,
            "at[...].apply needs to know the numbers of an index array",
            "Index with a plain array, an integer, or a boolean mask.",
        )
    combine, identity = COMBINATIONS[op]
    offsets = getitem(np.arange(x.size).reshape(x.shape), key)
    v = broadcast_to(as_operand(v), offsets.shape)
    hits = reshape(offsets, (-1, 1)) == np.arange(x.size)
    met = combine(where(hits, reshape(v, (-1, 1)), np.asarray(identity(v.dtype), v.dtype)), 0)
    flat = reshape(x, (-1,))
    return reshape(where(hits.any(0), op(flat, met), flat), x.shape)
