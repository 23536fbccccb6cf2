"""Reads and writes at keys.

Threads of a GPU write in any order. So where indices repeat, each element is written what the last one of the key
writes; sums are added in any order, and may differ in the last digits from one run to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.device_calls import device_call
from wengert.core.devices import ArrayLibrary
from wengert.ops.indexing.key import Index
from wengert.ops.indexing.subscripts import _add_at, _scatter, _set_at, _winners, refuse_more_axes

Shape = tuple[int, ...]


def add_at(xp: Any, out: Any, key: Any, v: Any) -> Any:
    """`out[key] += v` where each occurrence of an index counts; complex numbers by their parts."""
    if out.dtype.kind == "c":
        v = xp.asarray(v, out.dtype)
        add_at(xp, out.real, key, v.real)
        add_at(xp, out.imag, key, v.imag)
        return out
    if out.dtype.char not in ADDABLE:
        wide = out.astype(np.int64)
        return add_at(xp, wide, key, xp.asarray(v, np.int64)).astype(out.dtype)
    xp.add.at(out, key, v)
    return out


ADDABLE = frozenset("ilqILQefd")
"""The types of numbers that threads can add to one element."""


def refuse_host(v: Any) -> None:
    """Raise for an array of NumPy, which a library would copy to the device, or refuse in another way."""
    if isinstance(v, np.ndarray) and v.ndim:
        raise TypeError("An array on the CPU met one on a device")  # which `recover` explains


@device_call(_scatter)
def scatter_on_device(library: ArrayLibrary, t: Any, *indices: Any, key: Index, shape: Shape) -> Any:
    """t at a key of zeros."""
    xp = library.numpy
    out = xp.zeros(shape, t.dtype)
    if key.repeats:
        return add_at(xp, out, key.fill(indices), t)
    out[key.fill(indices)] = t
    return out


@device_call(_add_at)
def add_on_device(library: ArrayLibrary, x: Any, v: Any, *indices: Any, key: Index) -> Any:
    """x with v added at a key."""
    xp = library.numpy
    refuse_host(x)
    refuse_host(v)
    out = x.copy()
    if key.repeats:
        return add_at(xp, out, key.fill(indices), v)
    selected = out[key.fill(indices)]
    refuse_more_axes(v, selected)
    out[key.fill(indices)] = xp.add(selected, v).astype(out.dtype, copy=False)
    return out


def last_writers(xp: Any, indices: Sequence[Any], key: Index, shape: Shape) -> tuple[Any, Any]:
    """For each element that a key selects, its number, and that of the last element at the same index."""
    complete = key.fill(indices)
    last = xp.zeros(shape, np.int64)
    order = xp.arange(last[complete].size).reshape(last[complete].shape)
    xp.maximum.at(last, complete, order)
    return order, last[complete]


@device_call(_set_at)
def set_on_device(library: ArrayLibrary, x: Any, v: Any, *indices: Any, key: Index, reuse: bool) -> Any:
    """x with v written at a key."""
    xp = library.numpy
    refuse_host(x)
    refuse_host(v)
    out = x if reuse else x.copy()
    if key.repeats and np.ndim(v):
        order, last = last_writers(xp, indices, key, x.shape)
        v = xp.broadcast_to(v.reshape(v.shape[max(v.ndim - order.ndim, 0) :]), order.shape).reshape(-1)[last]
    out[key.fill(indices)] = v
    return out


@device_call(_winners)
def winners_on_device(library: ArrayLibrary, *indices: Any, key: Index, shape: Shape) -> Any:
    """Whether each element of a key is the last at its index."""
    order, last = last_writers(library.numpy, indices, key, shape)
    return last == order
