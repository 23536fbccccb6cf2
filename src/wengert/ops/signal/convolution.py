"""Convolution in any number of dimensions.

The result y of signals x and filters w, and the pulled back cotangents of both, are the three derivatives of one
trilinear form `sum of t * y`: three operations that are each other's transposes, so that they have derivatives of any
order. Each is a product of matrices with the *columns* of the signals, one row for each element of a window and one
column for each of its positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import index
from typing import Any, NamedTuple

import numpy as np

from wengert.core.errors import user_error
from wengert.core.kinds import case, keep_params, multilinear
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.ops.shape.joining import pad

__all__ = ["convolution", "convolution_transpose"]

Lengths = tuple[int, ...]
Widths = tuple[tuple[int, int], ...]

COLUMNS = 1 << 22
"""Bytes of columns that are made at once, for as many signals of a batch as fit: what is larger leaves the caches, and
takes memory.
"""


def _reach(size: Sequence[int], dilation: Lengths) -> Lengths:
    """How far a window extends, with the gaps between its elements."""
    return tuple([(n - 1) * d + 1 for n, d in zip(size, dilation, strict=True)])


class _Layout(NamedTuple):
    """How windows lie in one channel: a row of `room` elements that begins with the padded signal.

    With steps of 1, all positions of an element of the window are one contiguous part of that row, which is fast to
    copy, if positions between the end of one line and the start of the next count as well. So the `lattice` of
    positions is wider than the result, `positions`, unless that would be many more.
    """

    lengths: Lengths
    interior: tuple[slice, ...]
    padded: Lengths
    size: Lengths
    positions: Lengths
    lattice: Lengths
    room: int
    shape: Lengths
    steps: Lengths


@lru_cache(256)
def _layout(lengths: Lengths, size: Lengths, stride: Lengths, padding: Widths, dilation: Lengths) -> _Layout:
    padded = tuple([n + before + after for n, (before, after) in zip(lengths, padding, strict=True)])
    positions = tuple([(n - r) // s + 1 for n, r, s in zip(padded, _reach(size, dilation), stride, strict=True)])
    lines = [math.prod(padded[i + 1 :]) for i in range(len(padded))]
    lattice, grid, steps = positions, positions, [s * line for s, line in zip(stride, lines, strict=True)]
    wide = (positions[0], *padded[1:])
    if max(stride) == 1 and math.prod(wide) <= 1.3 * math.prod(positions):
        lattice, grid, steps = wide, (math.prod(wide),), [1]
    shape, steps = (*size, *grid), [d * line for d, line in zip(dilation, lines, strict=True)] + steps
    last = sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
    interior = tuple([slice(before, before + n) for n, (before, _) in zip(lengths, padding, strict=True)])
    return _Layout(
        lengths, interior, padded, size, positions, lattice, max(math.prod(padded), last + 1), shape, tuple(steps)
    )


def _signals(rows: np.ndarray, layout: _Layout) -> np.ndarray:
    """A view: the signals in rows (batch, channels, room)."""
    whole = rows[..., : math.prod(layout.padded)].reshape(*rows.shape[:2], *layout.padded)
    key: Any = (..., *layout.interior)
    return whole[key]


def _windows(rows: np.ndarray, layout: _Layout) -> np.ndarray:
    """A view: for each element of a window, its positions in the rows. They overlap."""
    item = rows.itemsize
    strides = (*rows.strides[:2], *[step * item for step in layout.steps])
    return np.ndarray((*rows.shape[:2], *layout.shape), rows.dtype, rows, 0, strides)


def _columns(x: np.ndarray, groups: int, layout: _Layout) -> np.ndarray:
    """(batch, groups, elements of a window with its channels, positions)."""
    rows = np.zeros((*x.shape[:2], layout.room), x.dtype)
    _signals(rows, layout)[...] = x
    return _windows(rows, layout).reshape(x.shape[0], groups, -1, math.prod(layout.lattice))


def _spread(t: np.ndarray, groups: int, layout: _Layout) -> np.ndarray:
    """Results as rows, with zeros for the positions that only the lattice has."""
    if layout.lattice != layout.positions:
        wide = np.zeros((*t.shape[:2], *layout.lattice), t.dtype)
        wide[_within(layout)] = t
        t = wide
    return t.reshape(t.shape[0], groups, t.shape[1] // groups, -1)


def _within(layout: _Layout) -> tuple:
    return (..., *[slice(n) for n in layout.positions])


def _parts(x: np.ndarray, layout: _Layout) -> list[slice]:
    """Parts of a batch of signals, each of as many as `COLUMNS` has room for."""
    batch, channels = x.shape[:2]
    bytes_of_one = channels * math.prod(layout.size) * math.prod(layout.lattice) * x.itemsize
    together = max(1, COLUMNS // max(1, bytes_of_one))
    return [slice(i, i + together) for i in range(0, batch, together)]


def _matrices(w: np.ndarray, groups: int) -> np.ndarray:
    """Filters as rows, in the order in which BLAS takes them."""
    return np.ascontiguousarray(w).reshape(groups, w.shape[0] // groups, -1)


def _spec_of_result(x: Spec, y: Spec, stride: Lengths, padding: Widths, dilation: Lengths, groups: int) -> Spec:
    ndim = len(stride)
    positions = _layout(x.shape[-ndim:], y.shape[-ndim:], stride, padding, dilation).positions
    return Spec(
        (*_stack(x, y, ndim), x.shape[-ndim - 2], y.shape[-ndim - 2], *positions), np.result_type(x.dtype, y.dtype)
    )


def _spec_of_signals(x: Spec, y: Spec, lengths: Lengths, stride: Lengths, groups: int, **params: Any) -> Spec:
    ndim = len(stride)
    return Spec(
        (*_stack(x, y, ndim), x.shape[-ndim - 2], y.shape[-ndim - 1] * groups, *lengths),
        np.result_type(x.dtype, y.dtype),
    )


def _spec_of_filters(x: Spec, y: Spec, size: Lengths, stride: Lengths, groups: int, **params: Any) -> Spec:
    ndim = len(stride)
    return Spec(
        (*_stack(x, y, ndim), y.shape[-ndim - 1], x.shape[-ndim - 1] // groups, *size), np.result_type(x.dtype, y.dtype)
    )


def _stack(x: Any, y: Any, ndim: int) -> Lengths:
    return np.broadcast_shapes(x.shape[: -ndim - 2], y.shape[: -ndim - 2])


def _each_of_a_stack(spec: Callable, folds: bool = False) -> Callable:
    """An implementation for operands with more axes in front, which broadcast.

    `folds` says that those of the first one may join its batch.
    """

    def decorate(impl: Callable) -> Callable:
        def run(x: Any, y: Any, **params: Any) -> Any:
            ndim = len(params["stride"])
            if x.dtype != y.dtype:
                dtype = np.result_type(x.dtype, y.dtype)
                x, y = x.astype(dtype, copy=False), y.astype(dtype, copy=False)
            if x.ndim == y.ndim == ndim + 2:
                return impl(x, y, **params)
            if folds and y.ndim == ndim + 2:
                batch = x.shape[: -ndim - 1]
                out = impl(x.reshape(math.prod(batch), *x.shape[-ndim - 1 :]), y, **params)
                return out.reshape(*batch, *out.shape[1:])
            stack = _stack(x, y, ndim)
            out = np.empty(*spec(Spec.of(x), Spec.of(y), **params))
            x, y = [np.broadcast_to(a, stack + a.shape[-ndim - 2 :]) for a in (x, y)]
            for item in np.ndindex(stack):
                out[item] = impl(x[item], y[item], **params)
            return out

        return run

    return decorate


def _result(x: Any, w: Any, stride: Lengths, padding: Widths, dilation: Lengths, groups: int) -> Any:
    layout = _layout(x.shape[2:], w.shape[2:], stride, padding, dilation)
    matrices = _matrices(w, groups)
    out = np.empty((x.shape[0], w.shape[0], *layout.positions), x.dtype)
    for part in _parts(x, layout):
        columns = _columns(x[part], groups, layout)
        if layout.lattice == layout.positions:
            np.matmul(matrices, columns, out=out[part].reshape(*columns.shape[:2], matrices.shape[1], columns.shape[3]))
        else:
            out[part] = (matrices @ columns).reshape(columns.shape[0], w.shape[0], *layout.lattice)[_within(layout)]
    return out


@_each_of_a_stack(_spec_of_signals, folds=True)
def _pull_to_signals(
    t: Any, w: Any, lengths: Lengths, stride: Lengths, padding: Widths, dilation: Lengths, groups: int
) -> Any:
    filters, channels, *size = w.shape
    layout = _layout(lengths, w.shape[2:], stride, padding, dilation)
    around = tuple(
        [(r - 1 - before, r - 1 - after) for r, (before, after) in zip(_reach(size, dilation), padding, strict=True)]
    )
    if max(stride) == 1 and min(map(min, around)) >= 0 and filters <= 2 * channels * groups:
        return _result(
            t, _reverse_filters(w, groups), stride, around, dilation, groups
        )  # faster, unless there are many filters
    matrices = _matrices(w, groups).swapaxes(-1, -2)
    out = np.empty((t.shape[0], channels * groups, *lengths), t.dtype)
    for part in _parts(out, layout):
        rows = np.zeros((*out[part].shape[:2], layout.room), t.dtype)
        windows = _windows(rows, layout)
        spread = _spread(t[part], groups, layout)
        columns = (matrices * spread if filters == groups else matrices @ spread).reshape(windows.shape)
        for element in np.ndindex(*size):
            windows[:, :, *element] += columns[:, :, *element]  # positions of one element do not overlap
        out[part] = _signals(rows, layout)
    return out


def _reverse_filters(w: np.ndarray, groups: int) -> np.ndarray:
    """The filters that map results back to signals."""
    filters, channels, *size = w.shape
    turned = w.reshape(groups, filters // groups, channels, *size).swapaxes(1, 2)
    return np.flip(turned.reshape(groups * channels, filters // groups, *size), tuple(range(2, w.ndim)))


@_each_of_a_stack(_spec_of_filters)
def _pull_to_filters(
    x: Any, t: Any, size: Lengths, stride: Lengths, padding: Widths, dilation: Lengths, groups: int
) -> Any:
    layout = _layout(x.shape[2:], size, stride, padding, dilation)
    total = np.zeros((groups, t.shape[1] // groups, x.shape[1] // groups * math.prod(size)), x.dtype)
    for part in _parts(x, layout):
        total += (_spread(t[part], groups, layout) @ _columns(x[part], groups, layout).swapaxes(-1, -2)).sum(0)
    return total.reshape(t.shape[1], x.shape[1] // groups, *size)


_convolution: Callable = multilinear(
    "convolution",
    _each_of_a_stack(_spec_of_result, folds=True)(_result),
    lambda t, y, x_spec, stride, padding, dilation, groups: _convolution_signals(
        t, y, lengths=x_spec.shape[-len(stride) :], stride=stride, padding=padding, dilation=dilation, groups=groups
    ),
    lambda t, x, y_spec, stride, padding, dilation, groups: _convolution_filters(
        x, t, size=y_spec.shape[-len(stride) :], stride=stride, padding=padding, dilation=dilation, groups=groups
    ),
    takes_params=True,
    batch=keep_params,
    spec=_spec_of_result,
    cases=(
        case((2, 2, 6), (4, 2, 3), stride=(1,), padding=((1, 1),), dilation=(1,), groups=1),
        case((2, 4, 6, 5), (2, 2, 3, 2), stride=(2, 1), padding=((1, 0), (0, 2)), dilation=(1, 2), groups=2),
        case((3, 1, 2, 4, 5), (2, 2, 3, 2), stride=(1, 1), padding=((1, 1), (0, 0)), dilation=(1, 1), groups=1),
    ),
)
_convolution_signals: Callable = multilinear(
    "convolution_signals",
    _pull_to_signals,
    lambda t, y, stride, padding, dilation, groups: _convolution(
        t, y, stride=stride, padding=padding, dilation=dilation, groups=groups
    ),
    lambda t, x, y_spec, stride, padding, dilation, groups: _convolution_filters(
        t, x, size=y_spec.shape[-len(stride) :], stride=stride, padding=padding, dilation=dilation, groups=groups
    ),
    takes_params=True,
    batch=keep_params,
    spec=_spec_of_signals,
    cases=(
        case((2, 4, 6), (4, 2, 3), lengths=(6,), stride=(1,), padding=((1, 1),), dilation=(1,), groups=1),
        case(
            (2, 2, 3, 5),
            (2, 2, 3, 2),
            lengths=(6, 5),
            stride=(2, 1),
            padding=((1, 0), (0, 2)),
            dilation=(1, 2),
            groups=2,
        ),
    ),
)
_convolution_filters: Callable = multilinear(
    "convolution_filters",
    _pull_to_filters,
    lambda t, y, x_spec, stride, padding, dilation, groups: _convolution_signals(
        y, t, lengths=x_spec.shape[-len(stride) :], stride=stride, padding=padding, dilation=dilation, groups=groups
    ),
    lambda t, x, stride, padding, dilation, groups: _convolution(
        x, t, stride=stride, padding=padding, dilation=dilation, groups=groups
    ),
    takes_params=True,
    batch=keep_params,
    spec=_spec_of_filters,
    cases=(
        case((2, 2, 6), (2, 4, 6), size=(3,), stride=(1,), padding=((1, 1),), dilation=(1,), groups=1),
        case(
            (2, 4, 6, 5), (2, 2, 3, 5), size=(3, 2), stride=(2, 1), padding=((1, 0), (0, 2)), dilation=(1, 2), groups=2
        ),
    ),
)


def convolution(
    x: Any,
    w: Any,
    stride: int | Sequence[int] = 1,
    padding: int | str | Sequence[Any] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Any:
    """The convolution of a batch of signals with filters, in any number of dimensions, as in neural networks.

    Signals are (batch, channels, *lengths), filters are (filters, channels / groups, *size).

    As in deep learning the filters are not flipped. `padding` adds zeros: a number, one for each axis, a pair (before,
    after) for each axis, "valid" for none, or "same" for as many as keep the lengths (with a stride of 1).

    >>> convolution(np.ones((1, 1, 4)), np.ones((1, 1, 2))).tolist()
    [[[2.0, 2.0, 2.0]]]
    """
    x, w = as_operand(x), as_operand(w)
    ndim = w.ndim - 2
    if ndim < 1 or x.ndim != w.ndim:
        raise user_error(
            ValueError,
            f"convolution takes signals (batch, channels, *lengths) and filters (filters, channels, *size), and got "
            f"shapes {x.shape} and {w.shape}",
        )
    filters, channels = w.shape[:2]
    if x.shape[1] != channels * groups or filters % groups:
        raise user_error(
            ValueError,
            f"convolution of {x.shape[1]} channels in {groups} groups needs filters of {x.shape[1] / groups:g} "
            f"channels, their number a multiple of {groups}; they have shape {w.shape}",
        )
    steps, gaps = _each_signal(stride, ndim, "stride"), _each_signal(dilation, ndim, "dilation")
    widths = _padding(padding, _reach(w.shape[2:], gaps), ndim)
    if any(
        n + sum(added) < reach for n, added, reach in zip(x.shape[2:], widths, _reach(w.shape[2:], gaps), strict=True)
    ):
        raise user_error(
            ValueError, f"Filters of shape {w.shape} do not fit into signals of shape {x.shape}", "Add padding."
        )
    return _convolution(x, w, stride=steps, padding=widths, dilation=gaps, groups=groups)


def convolution_transpose(
    x: Any,
    w: Any,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Any:
    """The transpose of `convolution` with respect to the signals: it maps results to signals, as in neural networks.

    Signals are (batch, channels, *lengths), filters are (channels, filters / groups, *size). `padding` takes so many
    elements off both ends of the result, and `output_padding` adds some at the last end.

    >>> convolution_transpose(np.ones((1, 1, 2)), np.ones((1, 1, 2)), stride=2).tolist()
    [[[1.0, 1.0, 1.0, 1.0]]]
    """
    x, w = as_operand(x), as_operand(w)
    ndim = w.ndim - 2
    if ndim < 1 or x.ndim != w.ndim or x.shape[1] != w.shape[0] or x.shape[1] % groups:
        raise user_error(
            ValueError,
            f"convolution_transpose takes signals (batch, channels, *lengths) and filters (channels, filters, *size), "
            f"the channels a multiple of the {groups} groups, and got shapes {x.shape} and {w.shape}",
        )
    steps, gaps = _each_signal(stride, ndim, "stride"), _each_signal(dilation, ndim, "dilation")
    off, more = (
        _each_signal(value, ndim, name, 0) for value, name in ((padding, "padding"), (output_padding, "output_padding"))
    )
    if any(m >= max(s, d) for m, s, d in zip(more, steps, gaps, strict=True)):
        raise user_error(
            ValueError, f"output_padding={output_padding!r}", "It must be smaller than the stride or the dilation."
        )
    added = tuple([max(m - p, 0) for m, p in zip(more, off, strict=True)])  # zeros, which no window reaches
    widths = tuple([(p, max(p - m, 0)) for m, p in zip(more, off, strict=True)])
    lengths = tuple(
        [
            (n - 1) * s + r - sum(cut)
            for n, s, r, cut in zip(x.shape[2:], steps, _reach(w.shape[2:], gaps), widths, strict=True)
        ]
    )
    if min(lengths, default=1) < 1:
        raise user_error(ValueError, f"convolution_transpose of {x.shape} with {w.shape} has no elements", "Pad less.")
    out = _convolution_signals(x, w, lengths=lengths, stride=steps, padding=widths, dilation=gaps, groups=groups)
    return pad(out, [(0, 0), (0, 0), *[(0, n) for n in added]]) if any(added) else out


def _each_signal(value: int | Sequence[int], ndim: int, name: str, least: int = 1) -> Lengths:
    """One number for each axis."""
    lengths = (index(value),) * ndim if not isinstance(value, Sequence) else tuple(map(index, value))
    if len(lengths) != ndim or min(lengths) < least:
        kind = "positive number" if least else "number from 0"
        raise user_error(ValueError, f"{name}={value!r} for {ndim} axes", f"Give one {kind}, or one for each axis.")
    return lengths


def _padding(padding: int | str | Sequence[Any], reach: Lengths, ndim: int) -> Widths:
    if padding == "valid":
        return ((0, 0),) * ndim
    if padding == "same":
        return tuple([((n - 1) // 2, n // 2) for n in reach])
    if isinstance(padding, str):
        raise user_error(
            ValueError, f"padding={padding!r}", "Give 'valid', 'same', a number, or numbers for each axis."
        )
    given = [padding] * ndim if not isinstance(padding, Sequence) else list(padding)
    pairs = [(index(p), index(p)) if not isinstance(p, Sequence) else (index(p[0]), index(p[1])) for p in given]
    if len(pairs) != ndim or min(map(min, pairs)) < 0:
        raise user_error(
            ValueError,
            f"padding={padding!r} for {ndim} axes",
            "Give one number of zeros, one, or a pair for each axis.",
        )
    return tuple(pairs)
