"""Reads and writes at keys.

Threads of a GPU write in any order. So where indices repeat, each element is written what the last one of the key
writes; sums are added in any order, and may differ in the last digits from one run to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from wengert.core.device_calls import device_call
from wengert.core.devices import ArrayLibrary
from wengert.ops.indexing.key import Index
from wengert.ops.indexing.repeated_updates import chain, extreme_at, running
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


# Updates of elements at indices that repeat: all runs of equal indices at once, one element of each after the other


def steps_of_runs(xp: Any, first: Any) -> Iterator[Any]:
    """The second elements of all runs that have one, then the third ones, and so on."""
    begins = first.copy()
    begins[..., :1] = True
    begins = begins.reshape(-1)
    starts = xp.flatnonzero(begins)
    lengths = xp.diff(xp.concatenate([starts, xp.full(1, begins.size, starts.dtype)]))
    for distance in count(1):
        is_longer = lengths > distance
        starts, lengths = starts[is_longer], lengths[is_longer]
        if not starts.size:
            return
        yield starts + distance


@device_call(running)
def running_on_device(library: ArrayLibrary, start: Any, v: Any, first: Any, update: str) -> Any:
    """Each value applied to what those before it in its run made of the element."""
    xp = library.numpy
    out = xp.array(start, order="C")
    flat, values, update_one = out.reshape(-1), v.reshape(-1), getattr(xp, update)
    for at in steps_of_runs(xp, first):
        flat[at] = update_one(flat[at - 1], values[at - 1])
    return out


@device_call(chain)
def chain_on_device(library: ArrayLibrary, start: Any, factor: Any, term: Any, first: Any) -> Any:
    """Affine functions along the runs."""
    xp = library.numpy
    out = xp.array(start, np.result_type(start.dtype, factor.dtype, term.dtype), order="C")
    flat, factors, terms = out.reshape(-1), factor.reshape(-1), term.reshape(-1)
    for at in steps_of_runs(xp, first):
        flat[at] = factors[at - 1] * flat[at - 1] + terms[at - 1]
    return out


@device_call(extreme_at)
def extreme_on_device(library: ArrayLibrary, x: Any, v: Any, *indices: Any, key: Index, update: str) -> Any:
    """The largest or smallest value that meets each element: those of one element are a run."""
    xp = library.numpy
    refuse_host(x)
    refuse_host(v)
    out = xp.array(x, order="C")
    selected = xp.arange(out.size).reshape(out.shape)[key.fill(indices)]
    values = xp.broadcast_to(xp.asarray(v, out.dtype), selected.shape).reshape(-1)
    order = xp.argsort(selected.reshape(-1), kind="stable")
    offsets, values = selected.reshape(-1)[order], values[order]
    flat, larger = out.reshape(-1), getattr(xp, update)
    found = larger(flat[offsets], values)
    is_last = xp.ones(offsets.shape, bool)
    is_last[:-1] = offsets[1:] != offsets[:-1]
    is_first = xp.ones(offsets.shape, bool)
    is_first[1:] = is_last[:-1]
    for at in steps_of_runs(xp, is_first):
        found[at] = larger(found[at - 1], values[at])
    flat[offsets[is_last]] = found[is_last]
    return out
