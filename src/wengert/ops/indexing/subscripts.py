"""Indexing: everything that NumPy's `[]` takes, to read, to overwrite and to add.

Reading is linear, and its transpose adds into zeros; the transpose of that is reading again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core import machine
from wengert.core.array import Array
from wengert.core.devices import ARRAY_CLASSES
from wengert.core.errors import user_error
from wengert.core.facts import MOVES, PART, Facts
from wengert.core.infer import data_dependent_shape
from wengert.core.kinds import case, linear, nondifferentiable
from wengert.core.large_arrays import for_keys
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.ops.elementwise.choices import where
from wengert.ops.indexing.key import Hole, Index, split_key
from wengert.ops.shape.reshaping import reshape

EVERY_OTHER, TWO_ROWS, COLUMNS, MASK = (
    Index((slice(None, None, -2), None)),
    Index((Hole.ARRAY,), True),
    Index((..., Hole.ARRAY), True),
    Index((Hole.MASK,)),
)
ROWS = np.array([0, 2, 2])
TRIANGLE = np.array([[True, False], [True, True]])


def _accumulate(out: np.ndarray, key: Any, v: Any) -> np.ndarray:
    """`out[key] += v` where each occurrence of an index counts.

    `np.add.at` is fast for flat arrays, so where a key selects many elements, they get the indices of a flat array.
    """
    if out.ndim > 1 and np.size(v) >= machine.current.min_elements_of_flat_scatter and _selects_rows(key):
        lead = out.shape[: len(key)]
        rows, width = np.arange(math.prod(lead)).reshape(lead)[key], math.prod(out.shape[len(key) :])
        offsets = (rows[..., None] * width + np.arange(width)).reshape((*rows.shape, *out.shape[len(key) :]))
    elif out.ndim > 1 and 2 * np.size(v) >= out.size:
        offsets = np.arange(out.size).reshape(out.shape)[key]
    else:
        np.add.at(out, key, np.broadcast_to(v, out[key].shape) if out.ndim == 1 and np.ndim(v) else v)
        return out
    np.add.at(out.reshape(-1), offsets.reshape(-1), np.broadcast_to(v, offsets.shape).reshape(-1))
    return out


def _count_rows(t: np.ndarray, key: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """The sums of a scatter of whole rows, which NumPy adds to zeros in the order of t; None for other keys."""
    if not isinstance(key, tuple) or len(key) != 1 or not _selects_rows(key):
        return None
    (index,), width = key, math.prod(shape[1:])
    least = index.min(initial=0)
    if least < -shape[0] or index.max(initial=-1) >= shape[0]:
        return None
    index = (index if least >= 0 else np.where(index < 0, index + shape[0], index)).reshape(-1)
    if 1 < width <= machine.current.max_columns_scattered_alone:
        columns = t.reshape(-1, width).T
        return np.stack([np.bincount(index, column, shape[0]) for column in columns], axis=-1).reshape(shape)
    if width != 1:
        index = (index[:, None] * width + np.arange(width)).reshape(-1)
    return np.bincount(index, t.reshape(-1), math.prod(shape)).reshape(shape)


def _selects_rows(key: Any) -> bool:
    """Whether a key has integer arrays only: what it selects are whole rows."""
    return isinstance(key, tuple) and all(isinstance(part, np.ndarray) and part.dtype.kind in "iu" for part in key)


def _selected_size(x: Any, *indices: Any, key: Index) -> int:
    """The number of elements that a key with arrays of integers selects, if its slices are whole axes."""
    if Hole.MASK in key.key:
        return 0
    lengths = [x.shape[axis] for axis in key.array_axes(x.ndim)]
    return math.prod(np.broadcast_shapes(*[i.shape for i in indices])) * x.size // max(math.prod(lengths), 1)


def _scatter_impl(t: Any, *indices: Any, key: Index, shape: tuple[int, ...]) -> np.ndarray:
    if key.repeats and t.dtype == np.float64 and t.size >= machine.current.min_elements_of_flat_scatter:
        counted = _count_rows(t, key.fill(indices), shape)
        if counted is not None:
            return counted
    out = np.zeros(shape, t.dtype)
    if key.repeats:
        return _accumulate(out, key.fill(indices), t)
    out[key.fill(indices)] = t
    return out


def refuse_more_axes(v: Any, selected: Any) -> None:
    """Raise an error if v has more axes than the selection.

    Values that are written may have additional leading axes of length one; those that are added may not, as in
    `np.add.at`.
    """
    if as_operand(v).ndim > selected.ndim:
        raise user_error(
            ValueError,
            f"A value of shape {as_operand(v).shape} does not broadcast to a selection of shape {selected.shape}",
        )


def _add_at_impl(x: Any, v: Any, *indices: Any, key: Index) -> np.ndarray:
    out = np.array(x, order="C")
    if key.repeats:
        return _accumulate(out, key.fill(indices), v)
    selected = out[key.fill(indices)]
    refuse_more_axes(v, selected)
    out[key.fill(indices)] = np.add(selected, v, dtype=out.dtype, casting="same_kind")
    return out


def _set_at_impl(x: Any, v: Any, *indices: Any, key: Index, reuse: bool) -> np.ndarray:
    out = x if reuse else np.array(x)
    if key.repeats:  # NumPy writes in the order of memory; this makes it the order of the key, as `_winners` has it
        indices, v = tuple([np.asarray(i, order="C") for i in indices]), np.asarray(v, order="C")
    out[key.fill(indices)] = v
    return out


def _winners_impl(*indices: Any, key: Index, shape: tuple[int, ...]) -> np.ndarray:
    complete = key.fill([np.asarray(i, order="C") for i in indices])
    last = np.zeros(shape, np.intp)
    order = last[complete]
    order = np.arange(order.size).reshape(order.shape)
    last[complete] = order
    return last[complete] == order


def _read(x: Any, indices: Sequence[Any], key: Index) -> Any:
    return gather(x, *indices, key=key) if indices else _getitem(x, key=key)


def _pull_written(t: Any, v_spec: Any, indices: tuple, key: Index) -> Any:
    """The cotangent of a value written at a key: where indices repeat, only the last element remained.

    v may have had more axes, of length one, than the selection.
    """
    if key.key == (Hole.MASK,) and not v_spec.shape:  # a number: no array is needed whose length depends on the mask
        (mask,) = indices
        return where(reshape(mask, mask.shape + (1,) * (t.ndim - mask.ndim)), t, 0.0).sum()
    shape = t.shape
    t = _read(t, indices, key)
    t = where(_winners(*indices, key=key, shape=shape), t, 0.0) if key.repeats else t
    return t if v_spec.ndim <= t.ndim else reshape(t, (1,) * (v_spec.ndim - t.ndim) + t.shape)


def _add_into(buffer: np.ndarray, t: Any, saved: tuple, params: dict[str, Any]) -> None:
    """Add a cotangent to a part of the buffer: a loop over elements costs nothing for the others."""
    key = params["key"].key
    part = buffer[key]
    if isinstance(part, np.ndarray):
        np.add(part, t, out=part)
    else:
        buffer[key] = part + t


def _gather_spec(x: Any, *indices: Any, key: Index) -> Spec:
    """Indices are examples that take no memory, except for masks, whose count would have to be known.

    The selection takes memory, so its elements are bytes.
    """
    if Hole.MASK in key.key:
        return _of_mask(x)
    examples = [np.broadcast_to(np.zeros((), i.dtype), i.shape) for i in indices]
    if 0 in x.shape and any(i.size for i in indices):  # out of bounds is an error of the numbers, not of the shapes
        x = Spec(tuple([max(n, 1) if axis in key.array_axes(x.ndim) else n for axis, n in enumerate(x.shape)]), x.dtype)
    return Spec(np.broadcast_to(np.zeros((), np.bool), x.shape)[key.fill(examples)].shape, x.dtype)


def _scatter_spec(x: Any, *indices: Any, key: Index, shape: tuple[int, ...]) -> Spec:
    return Spec(shape, Spec.of(x).dtype)


def _set_spec(x: Any, v: Any, *indices: Any, key: Index, **params: Any) -> Spec:
    return x


def _winners_spec(*indices: Any, key: Index, shape: tuple[int, ...]) -> Spec:
    return Spec(_gather_spec(Spec(shape, np.dtype(bool)), *indices, key=key).shape, np.dtype(bool))


_of_mask = data_dependent_shape("what a boolean mask selects")

_getitem = linear(
    "getitem",
    lambda x, key: x[key.key],
    lambda t, x_spec, key: _scatter(t, key=key, shape=x_spec.shape),
    into=_add_into,
    batch=lambda key: {"key": key.after(slice(None))},
    cases=(
        case((4, 3), key=Index(1)),
        case((5, 2), key=EVERY_OTHER),
        case((), key=Index((None, ...))),
        case((3,), key=Index(slice(0))),
    ),
    facts=PART,
)
gather = linear(
    "gather",
    for_keys(lambda x, *indices, key: x[key.fill(indices)], _selected_size, MOVES),
    lambda t, x_spec, indices, key: _scatter(t, *indices, key=key, shape=x_spec.shape),
    inputs=("x", "*indices"),
    spec=_gather_spec,
    cases=(case((3, 2), ROWS, key=TWO_ROWS), case((2, 4), ROWS, key=COLUMNS), case((2, 2), TRIANGLE, key=MASK)),
    facts=MOVES._replace(selects=True),
)
_scatter: Callable = linear(
    "scatter",
    for_keys(
        _scatter_impl,
        lambda t, *indices, **_: t.size if indices else 0,
        targets=lambda key, shape: math.prod(shape),  # all parameters
    ),
    lambda t, indices, key: _read(t, indices, key),
    inputs=("x", "*indices"),
    spec=_scatter_spec,
    cases=(
        case((3, 2), ROWS, key=TWO_ROWS, shape=(4, 2)),
        case((3,), TRIANGLE, key=MASK, shape=(2, 2)),
        case((3, 1, 2), key=EVERY_OTHER, shape=(5, 2)),
        case((), key=Index(1), shape=(3,)),
    ),
    facts=Facts(exact=True),
)
_add_at = linear(
    "add_at",
    _add_at_impl,
    lambda t: t,
    lambda t, indices, key: _read(t, indices, key),
    inputs=("x", "v", "*indices"),
    spec=_set_spec,
    cases=(
        case((4, 2), (3, 2), ROWS, key=TWO_ROWS),
        case((4, 2), (2,), ROWS, key=TWO_ROWS),
        case((3,), (), key=Index(slice(1, 3))),
    ),
    facts=Facts(exact=True),
)
_set_at: Callable = linear(
    "set_at",
    _set_at_impl,
    lambda t, indices, key: _set_at(t, 0.0, *indices, key=key, reuse=False),
    _pull_written,
    inputs=("x", "v", "*indices"),
    dead=(
        lambda t, indices, key: _set_at(numpy_of(t).zeros(t.shape, bool), True, *indices, key=key, reuse=False),
        None,
    ),
    spec=_set_spec,
    cases=(
        case((4, 2), (3, 2), ROWS, key=TWO_ROWS, reuse=False),
        case((2, 2), (), TRIANGLE, key=MASK, reuse=False),
        case((5, 2), (1, 1, 1, 2), key=EVERY_OTHER, reuse=False),
        case((), (), key=Index(...), reuse=False),
    ),
    facts=MOVES._replace(selects=True, overwrites=True),
)
_winners = nondifferentiable(
    "winners",
    _winners_impl,
    inputs=("*indices",),
    takes_params=True,
    spec=_winners_spec,
    cases=(case(ROWS, key=TWO_ROWS, shape=(4, 2)),),
    reason="a boolean for each index of a key: whether the value written there remains",
    facts=MOVES,
)


def copy_beside(x: Any, indices: list) -> list:
    """Indices of which arrays of NumPy are copied to the device of x."""
    xp = numpy_of(x) if ARRAY_CLASSES else np
    return indices if xp is np else [xp.asarray(i) if isinstance(i, np.ndarray) else i for i in indices]


def getitem(x: Any, key: Any) -> Any:
    """`x[key]`.

    >>> getitem(np.arange(6).reshape(2, 3), (slice(None), [2, 0]))
    array([[2, 0],
           [5, 3]])
    """
    index, indices = split_key(key)
    return gather(x, *copy_beside(x, indices), key=index) if indices else _getitem(x, key=index)


def refuse_lost_fraction(x: Any, v: Any) -> None:
    """Raise an error if a tracked float would become an element of an array of integers."""
    if isinstance(v, Array) and v.dtype.kind in "fc" and x.dtype.kind not in "fc":
        raise user_error(
            TypeError,
            f"A {v.dtype} value assigned to an array of dtype {x.dtype} would be rounded and lose its gradient",
            "Make the array floating-point first: x = x.astype(float).",
        )


def set_at(x: Any, key: Any, v: Any, reuse: bool = False) -> Any:
    """A copy of x with `x[key] = v`; with `reuse`, x itself. Where indices repeat, the last value remains.

    >>> set_at(np.zeros(3), [0, 2, 2], [1.0, 2.0, 3.0])
    array([1., 0., 3.])
    """
    index, indices = split_key(key)
    if isinstance(v, list | tuple):
        v = as_operand(v)
    refuse_lost_fraction(as_operand(x), v)
    return _set_at(x, v, *copy_beside(x, indices), key=index, reuse=reuse)


def add_at(x: Any, key: Any, v: Any) -> Any:
    """A copy of x with v added at a key. Where indices repeat, every occurrence counts.

    >>> add_at(np.zeros(3), [0, 2, 2], [1.0, 2.0, 3.0])
    array([1., 0., 5.])
    """
    index, indices = split_key(key)
    return _add_at(x, as_operand(v) if isinstance(v, list | tuple) else v, *copy_beside(x, indices), key=index)
