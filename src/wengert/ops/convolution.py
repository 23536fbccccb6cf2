"""Convolution in any number of dimensions: windows of an array, and one product of matrices.

Looking at an array through windows is linear, and only moves numbers; its transpose lays windows back onto the array and adds where they
overlap. Everything else is a contraction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from wengert.core.errors import user_line
from wengert.core.kinds import case, linear, unchanged
from wengert.core.primitive import operand
from wengert.core.spec import Spec
from wengert.ops.einsum import tensordot
from wengert.ops.join import pad
from wengert.ops.shape import concatenate, flip, moveaxis, reshape

Lengths = tuple[int, ...]


def _reach(size: Lengths, dilation: Lengths) -> Lengths:
    """How far a window extends, with the gaps between its elements."""
    return tuple([(n - 1) * d + 1 for n, d in zip(size, dilation, strict=True)])


def _seen(x: np.ndarray, size: Lengths, stride: Lengths, dilation: Lengths) -> np.ndarray:
    """A view: the places of the windows, then the elements of each."""
    rank = len(size)
    view = sliding_window_view(x, _reach(size, dilation), tuple(range(x.ndim - rank, x.ndim)))
    key: Any = (..., *[slice(None, None, s) for s in stride], *[slice(None, None, d) for d in dilation])
    return view[key]


def _laid_back(t: Any, shape: Lengths, size: Lengths, stride: Lengths, dilation: Lengths) -> np.ndarray:
    """One addition for each element of a window."""
    rank = len(size)
    out = np.zeros(shape, t.dtype)
    places = t.shape[t.ndim - 2 * rank : t.ndim - rank]
    for offsets in np.ndindex(*size):
        starts = [k * d for k, d in zip(offsets, dilation, strict=True)]
        key: Any = (..., *[slice(at, at + (n - 1) * s + 1, s) for at, n, s in zip(starts, places, stride, strict=True)])
        out[key] += t[(..., *offsets)]
    return out


def _laid_back_spec(t: Any, shape: Lengths, **params: Any) -> Spec:
    return Spec(shape, t.dtype)


windows: Callable = linear(
    "windows",
    _seen,
    lambda t, x_spec, size, stride, dilation: _overlaid(t, shape=x_spec.shape, size=size, stride=stride, dilation=dilation),
    batch=unchanged,
    cases=(
        case((5,), size=(2,), stride=(1,), dilation=(1,)),
        case((2, 6, 5), size=(3, 2), stride=(2, 1), dilation=(1, 2)),
        case((2, 4), size=(4,), stride=(3,), dilation=(1,)),
    ),
)
_overlaid: Callable = linear(
    "overlaid",
    _laid_back,
    lambda t, size, stride, dilation: windows(t, size=size, stride=stride, dilation=dilation),
    batch=lambda shape, n: {"shape": (n, *shape)},
    spec=_laid_back_spec,
    cases=(
        case((4, 2), shape=(5,), size=(2,), stride=(1,), dilation=(1,)),
        case((2, 2, 3, 3, 2), shape=(2, 6, 5), size=(3, 2), stride=(2, 1), dilation=(1, 2)),
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
    """A batch of signals with channels, (batch, channels, *lengths), seen through filters (filters, channels / groups, *size).

    As in deep learning the filters are not flipped. `padding` adds zeros: a number, one for each axis, a pair (before, after) for each
    axis, "valid" for none, or "same" for as many as keep the lengths (with a stride of 1).

    >>> convolution(np.ones((1, 1, 4)), np.ones((1, 1, 2))).tolist()
    [[[2.0, 2.0, 2.0]]]
    """
    x, w = operand(x), operand(w)
    rank = w.ndim - 2
    if rank < 1 or x.ndim != w.ndim:
        raise ValueError(
            f"convolution takes signals (batch, channels, *lengths) and filters (filters, channels, *size), and got shapes {x.shape} and "
            f"{w.shape}, at {user_line()}."
        )
    filters, channels = w.shape[:2]
    if x.shape[1] != channels * groups or filters % groups:
        raise ValueError(
            f"convolution of {x.shape[1]} channels in {groups} groups needs filters of {x.shape[1] / groups:g} channels, their number a "
            f"multiple of {groups}; they have shape {w.shape}, at {user_line()}."
        )
    steps, gaps = _each(stride, rank, "stride"), _each(dilation, rank, "dilation")
    widths = _padding(padding, _reach(w.shape[2:], gaps), rank)
    if any(before or after for before, after in widths):
        x = pad(x, ((0, 0), (0, 0), *widths))
    if any(n < reach for n, reach in zip(x.shape[2:], _reach(w.shape[2:], gaps), strict=True)):
        raise ValueError(f"Filters of shape {w.shape} do not fit into signals of shape {x.shape}, at {user_line()}. Add padding.")
    seen = windows(x, size=w.shape[2:], stride=steps, dilation=gaps)
    if groups == 1:
        return _products(seen, w, rank)
    parts = [
        _products(seen[:, g * channels : (g + 1) * channels], w[g * filters // groups : (g + 1) * filters // groups], rank)
        for g in range(groups)
    ]
    return concatenate(parts, 1)


def _products(seen: Any, w: Any, rank: int) -> Any:
    """The sum over channels and the elements of a window, as one product of matrices; filters become the channels of the result."""
    last = tuple(range(2 + rank, 2 + 2 * rank))
    out = tensordot(seen, w, ((1, *last), (1, *range(2, 2 + rank))))
    return moveaxis(out, -1, 1)


def _each(value: int | Sequence[int], rank: int, name: str) -> Lengths:
    """One number for each axis."""
    lengths = (index(value),) * rank if not isinstance(value, Sequence) else tuple(map(index, value))
    if len(lengths) != rank or min(lengths) < 1:
        raise ValueError(f"{name}={value!r} for {rank} axes, at {user_line()}. Give one positive number, or one for each axis.")
    return lengths


def _padding(padding: int | str | Sequence[Any], reach: Lengths, rank: int) -> list[tuple[int, int]]:
    if padding == "valid":
        return [(0, 0)] * rank
    if padding == "same":
        return [((n - 1) // 2, n // 2) for n in reach]
    if isinstance(padding, str):
        raise ValueError(f"padding={padding!r}, at {user_line()}. Give 'valid', 'same', a number, or numbers for each axis.")
    given = [padding] * rank if not isinstance(padding, Sequence) else list(padding)
    pairs = [(index(p), index(p)) if not isinstance(p, Sequence) else (index(p[0]), index(p[1])) for p in given]
    if len(pairs) != rank:
        raise ValueError(f"padding={padding!r} for {rank} axes, at {user_line()}.")
    return pairs


def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0) -> Any:
    """The convolution of two matrices, as `scipy.signal.convolve2d` has it, with zeros around the first.

    >>> convolve2d([[1.0, 2.0]], [[1.0, 1.0]]).tolist()
    [[1.0, 3.0, 2.0]]
    """
    in1, in2 = operand(in1), operand(in2)
    if in1.ndim != 2 or in2.ndim != 2:
        raise ValueError(f"convolve2d takes matrices, and got shapes {in1.shape} and {in2.shape}, at {user_line()}.")
    if boundary != "fill" or fillvalue:
        raise NotImplementedError(
            f"convolve2d with another boundary than zeros, at {user_line()}. Pad first, with np.pad, and use mode='valid'."
        )
    if mode == "valid" and any(m < n for m, n in zip(in1.shape, in2.shape, strict=True)):
        in1, in2 = in2, in1
    reach = in2.shape
    widths = {"valid": [(0, 0)] * 2, "full": [(n - 1, n - 1) for n in reach], "same": [(n // 2, (n - 1) // 2) for n in reach]}.get(mode)
    if widths is None:
        raise ValueError(f"convolve2d: mode={mode!r}, at {user_line()}. The modes are 'full', 'same' and 'valid'.")
    if math.prod(in1.shape) == 0 or math.prod(in2.shape) == 0:
        raise ValueError(f"convolve2d of an empty matrix, at {user_line()}.")
    signal = reshape(in1, (1, 1, *in1.shape))
    filters = reshape(flip(in2), (1, 1, *in2.shape))
    return reshape(convolution(signal, filters, padding=widths), _resulting(in1.shape, reach, mode))


def _resulting(shape: Lengths, reach: Lengths, mode: str) -> Lengths:
    change = {"full": 1, "same": 0, "valid": -1}[mode]
    return tuple([n + change * (r - 1) for n, r in zip(shape, reach, strict=True)])
