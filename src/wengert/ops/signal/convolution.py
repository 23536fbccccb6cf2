"""Convolution in any number of dimensions.

The result y of signals x and filters w, and the pulled back cotangents of both, are the three derivatives of one
trilinear form `sum of t * y`: three operations that are each other's transposes, so that they have derivatives of any
order. In NumPy each is a product of matrices with the *columns* of the signals (`columns.py`). Large ones run natively.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.core.kinds import case, keep_params, multilinear
from wengert.core.levels import numpy_of
from wengert.core.native import natively
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.ops.shape.joining import pad
from wengert.ops.signal.columns import column_layout
from wengert.ops.signal.window_arguments import Lengths, Numbers, Widths, each_axis, padding_widths, reach

__all__ = ["convolution", "convolution_transpose"]


def _matrices(w: np.ndarray, groups: int) -> np.ndarray:
    """Filters as rows, in the order in which BLAS takes them."""
    return w.reshape(groups, w.shape[0] // groups, -1)


def _spec_of_result(x: Spec, y: Spec, stride: Lengths, padding: Widths, dilation: Lengths, groups: int) -> Spec:
    ndim = len(stride)
    positions = column_layout(x.shape[-ndim:], y.shape[-ndim:], stride, padding, dilation).positions
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
            out = numpy_of(x).empty(*spec(Spec.of(x), Spec.of(y), **params))
            x, y = [np.broadcast_to(a, stack + a.shape[-ndim - 2 :]) for a in (x, y)]
            for item in np.ndindex(stack):
                out[item] = impl(x[item], y[item], **params)
            return out

        return run

    return decorate


def _products(results: Any, filter_shape: Sequence[int]) -> int:
    """The number of multiplications."""
    return results.size * math.prod(filter_shape)


def _products_of_result(x: Any, w: Any, stride: Lengths, **params: Any) -> int:
    return _products(_spec_of_result(Spec.of(x), Spec.of(w), stride=stride, **params), w.shape[-len(stride) - 1 :])


def _result(x: Any, w: Any, stride: Lengths, padding: Widths, dilation: Lengths, groups: int) -> Any:
    layout = column_layout(x.shape[2:], w.shape[2:], stride, padding, dilation)
    matrices = _matrices(w, groups)
    out = numpy_of(x).empty((x.shape[0], w.shape[0], *layout.positions), x.dtype)
    for part in layout.parts(x):
        columns = layout.columns(x[part], groups)
        if layout.lattice == layout.positions:
            np.matmul(matrices, columns, out=out[part].reshape(*columns.shape[:2], matrices.shape[1], columns.shape[3]))
        else:
            out[part] = layout.crop((matrices @ columns).reshape(columns.shape[0], w.shape[0], *layout.lattice))
    return out


@natively(lambda: _convolution_signals, lambda t, w, stride, **params: _products(t, w.shape[-len(stride) - 1 :]))
@_each_of_a_stack(_spec_of_signals, folds=True)
def _pull_to_signals(
    t: Any, w: Any, lengths: Lengths, stride: Lengths, padding: Widths, dilation: Lengths, groups: int
) -> Any:
    filters, channels, *size = w.shape
    layout = column_layout(lengths, w.shape[2:], stride, padding, dilation)
    around = tuple(
        [(r - 1 - before, r - 1 - after) for r, (before, after) in zip(reach(size, dilation), padding, strict=True)]
    )
    if max(stride) == 1 and min(map(min, around)) >= 0 and filters <= 2 * channels * groups:
        return _result(
            t, _reverse_filters(w, groups), stride, around, dilation, groups
        )  # faster, unless there are many filters
    matrices = _matrices(w, groups).swapaxes(-1, -2)
    out = numpy_of(t).empty((t.shape[0], channels * groups, *lengths), t.dtype)
    for part in layout.parts(out):
        rows = numpy_of(t).zeros((*out[part].shape[:2], layout.room), t.dtype)
        windows = layout.windows(rows)
        spread = layout.spread(t[part], groups)
        columns = (matrices * spread if filters == groups else matrices @ spread).reshape(windows.shape)
        for element in np.ndindex(*size):
            windows[:, :, *element] += columns[:, :, *element]  # positions of one element do not overlap
        out[part] = layout.signals(rows)
    return out


def _reverse_filters(w: np.ndarray, groups: int) -> np.ndarray:
    """The filters that map results back to signals."""
    filters, channels, *size = w.shape
    turned = w.reshape(groups, filters // groups, channels, *size).swapaxes(1, 2)
    return np.flip(turned.reshape(groups * channels, filters // groups, *size), tuple(range(2, w.ndim)))


@natively(
    lambda: _convolution_filters,
    lambda x, t, size, stride, groups, **params: _products(t, (x.shape[-len(stride) - 1] // groups, *size)),
)
@_each_of_a_stack(_spec_of_filters)
def _pull_to_filters(
    x: Any, t: Any, size: Lengths, stride: Lengths, padding: Widths, dilation: Lengths, groups: int
) -> Any:
    layout = column_layout(x.shape[2:], size, stride, padding, dilation)
    total = numpy_of(t).zeros((groups, t.shape[1] // groups, x.shape[1] // groups * math.prod(size)), x.dtype)
    for part in layout.parts(x):
        total += (layout.spread(t[part], groups) @ layout.columns(x[part], groups).swapaxes(-1, -2)).sum(0)
    return total.reshape(t.shape[1], x.shape[1] // groups, *size)


_convolution: Callable = multilinear(
    "convolution",
    natively(lambda: _convolution, _products_of_result)(_each_of_a_stack(_spec_of_result, folds=True)(_result)),
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
    stride: Numbers = 1,
    padding: int | str | Sequence[Any] = 0,
    dilation: Numbers = 1,
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
    steps, gaps = each_axis(stride, ndim, "stride"), each_axis(dilation, ndim, "dilation")
    extents = reach(w.shape[2:], gaps)
    widths = padding_widths(padding, extents)
    if any(n + sum(added) < extent for n, added, extent in zip(x.shape[2:], widths, extents, strict=True)):
        raise user_error(
            ValueError, f"Filters of shape {w.shape} do not fit into signals of shape {x.shape}", "Add padding."
        )
    return _convolution(x, w, stride=steps, padding=widths, dilation=gaps, groups=groups)


def convolution_transpose(
    x: Any,
    w: Any,
    stride: Numbers = 1,
    padding: Numbers = 0,
    output_padding: Numbers = 0,
    dilation: Numbers = 1,
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
    steps, gaps = each_axis(stride, ndim, "stride"), each_axis(dilation, ndim, "dilation")
    off, more = (
        each_axis(value, ndim, name, 0) for value, name in ((padding, "padding"), (output_padding, "output_padding"))
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
            for n, s, r, cut in zip(x.shape[2:], steps, reach(w.shape[2:], gaps), widths, strict=True)
        ]
    )
    if min(lengths, default=1) < 1:
        raise user_error(ValueError, f"convolution_transpose of {x.shape} with {w.shape} has no elements", "Pad less.")
    out = _convolution_signals(x, w, lengths=lengths, stride=steps, padding=widths, dilation=gaps, groups=groups)
    return pad(out, [(0, 0), (0, 0), *[(0, n) for n in added]]) if any(added) else out
