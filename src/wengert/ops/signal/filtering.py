"""Convolution and correlation of whole arrays, by the names of `scipy.signal`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from wengert.core.errors import user_error
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.complex_numbers import conj
from wengert.ops.shape.joining import pad
from wengert.ops.shape.rearranging import flip
from wengert.ops.shape.reshaping import reshape, swapaxes, transpose
from wengert.ops.signal.convolution import convolution
from wengert.ops.signal.window_arguments import Widths

__all__ = ["convolve", "convolve2d", "correlate"]

Pair = Sequence[Sequence[int]]
"""Axes of the first array, and of the second."""

BOUNDARIES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


def convolve(
    in1: Any,
    in2: Any,
    mode: str = "full",
    method: str = "auto",
    *,
    axes: Pair | None = None,
    dot_axes: Pair = ((), ()),
) -> Any:
    """The convolution of two arrays with the same number of axes, surrounded by zeros.

    With `axes`, it is along these axes of the first and of the second array. Along `dot_axes` of both, products are
    added up. All other axes are kept: those of the first array come first, then those of the second, then those of the
    convolution. `method` is ignored.

    >>> convolve([1.0, 2.0, 3.0], [1.0, 1.0], mode="same").tolist()
    [1.0, 3.0, 5.0]
    >>> images, filters = np.ones((10, 3, 8, 8)), np.ones((3, 16, 5, 5))
    >>> convolve(images, filters, mode="valid", axes=([2, 3], [2, 3]), dot_axes=([1], [0])).shape
    (10, 16, 4, 4)
    """
    if axes is not None or any(map(len, dot_axes)):
        return _convolve_axes(as_operand(in1), as_operand(in2), mode, axes, dot_axes)
    in1, in2 = _operands("convolve", in1, in2)
    return _extend_and_convolve(*_larger_first(in1, in2, mode), mode, "fill", 0)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The correlation of two arrays with the same number of axes.

    It is the convolution with the second one reversed and conjugated.

    >>> correlate([1.0, 2.0, 3.0], [0.0, 1.0], mode="valid").tolist()
    [2.0, 3.0]
    """
    in1, in2 = _operands("correlate", in1, in2)
    return _extend_and_convolve(*_larger_first(in1, flip(_conjugate(in2)), mode), mode, "fill", 0)


def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """The convolution of two matrices.

    `boundary` says what is around the first: `fillvalue`, itself again ("wrap"), or reflected ("symm").

    >>> convolve2d([[1.0, 2.0]], [[1.0, 1.0]]).tolist()
    [[1.0, 3.0, 2.0]]
    """
    in1, in2 = _operands("convolve2d", in1, in2, 2)
    return _extend_and_convolve(*_larger_first(in1, in2, mode), mode, boundary, fillvalue)


def _convolve_axes(in1: Any, in2: Any, mode: str, axes: Pair | None, dot_axes: Pair) -> Any:
    """The convolution along some axes: batches and channels of signals, and filters."""
    arrays = in1, in2
    if axes is None:
        axes = range(in1.ndim), range(in1.ndim)
    along = [normalize_axis_tuple(chosen, x.ndim) for chosen, x in zip(axes, arrays, strict=True)]
    dots = [normalize_axis_tuple(chosen, x.ndim) for chosen, x in zip(dot_axes, arrays, strict=True)]
    kept = [[i for i in range(x.ndim) if i not in (*a, *d)] for x, a, d in zip(arrays, along, dots, strict=True)]
    lengths, channels, rest = (
        [tuple([x.shape[i] for i in chosen]) for x, chosen in zip(arrays, groups, strict=True)]
        for groups in (along, dots, kept)
    )
    if len(lengths[0]) != len(lengths[1]) or channels[0] != channels[1] or set(along[0]) & set(dots[0]):
        raise user_error(
            ValueError,
            f"convolve has axes={axes!r} and dot_axes={dot_axes!r} for arrays of shapes {in1.shape} and {in2.shape}",
            "Both name as many axes of the first array as of the second; along dot_axes they have equal lengths.",
        )
    x, y = (
        reshape(transpose(array, (*k, *d, *a)), (prod(r), prod(c), *n))
        for array, k, d, a, r, c, n in zip(arrays, kept, dots, along, rest, channels, lengths, strict=True)
    )
    space = tuple(range(2, x.ndim))
    first, second = _larger_first(np.empty(lengths[0]), np.empty(lengths[1]), mode)
    is_swapped = first.shape != lengths[0]
    if is_swapped:
        x, y = y, x
    result = convolution(x, flip(y, space), padding=_mode_widths(second.shape, mode))
    if is_swapped:
        result = swapaxes(result, 0, 1)
    return reshape(result, (*rest[0], *rest[1], *result.shape[2:]))


def _conjugate(x: Any) -> Any:
    return conj(x) if x.dtype.kind == "c" else x


def _operands(name: str, in1: Any, in2: Any, ndim: int | None = None) -> tuple[Any, Any]:
    in1, in2 = as_operand(in1), as_operand(in2)
    if in1.ndim != in2.ndim or not in1.ndim or ndim not in (None, in1.ndim):
        what = "matrices" if ndim else "arrays with equally many axes"
        raise user_error(ValueError, f"{name} takes {what}, and got shapes {in1.shape} and {in2.shape}")
    if not in1.size or not in2.size:
        raise user_error(ValueError, f"{name} of an empty array")
    return in1, in2


def _larger_first(in1: Any, in2: Any, mode: str) -> tuple[Any, Any]:
    """The arrays with the larger one first, where one must lie within the other: convolution is symmetric."""
    pairs = list(zip(in1.shape, in2.shape, strict=True))
    if mode != "valid" or all(m >= n for m, n in pairs):
        return in1, in2
    if any(m > n for m, n in pairs):
        raise user_error(
            ValueError,
            f"For mode='valid' one array must fit into the other along each axis; {in1.shape} and {in2.shape}",
        )
    return in2, in1


def _mode_widths(reach: Sequence[int], mode: str) -> Widths:
    """How many elements around the first array a mode needs, for the lengths of the second."""
    widths: dict[str, Widths] = {
        "valid": ((0, 0),) * len(reach),
        "full": tuple([(n - 1, n - 1) for n in reach]),
        "same": tuple([(n // 2, (n - 1) // 2) for n in reach]),
    }
    if mode not in widths:
        raise user_error(ValueError, f"mode={mode!r}", "The modes are 'full', 'same' and 'valid'.")
    return widths[mode]


def _extend_and_convolve(in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any) -> Any:
    """The first array, extended beyond its boundary, convolved with the second one reversed."""
    reach = in2.shape
    padding, none = _mode_widths(reach, mode), ((0, 0),) * len(reach)
    if boundary not in BOUNDARIES:
        raise user_error(ValueError, f"boundary={boundary!r}", "The boundaries are 'fill', 'wrap' and 'symm'.")
    if boundary != "fill":
        in1, padding = pad(in1, padding, BOUNDARIES[boundary]), none
    elif not (isinstance(fillvalue, int | float) and fillvalue == 0):
        in1, padding = pad(in1, padding, constant_values=fillvalue), none
    result = convolution(reshape(in1, (1, 1, *in1.shape)), reshape(flip(in2), (1, 1, *reach)), padding=padding)
    return reshape(result, result.shape[2:])
