"""Evenly spaced points, grids, triangles, and window functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.array import Array, implements
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.modes.creation import asarray, creation
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.exponential import power
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import broadcast_arrays, moveaxis
from wengert.ops.special.bessel import i0

__all__ = [
    "bartlett", "blackman", "fromfunction", "geomspace", "hamming", "hanning", "indices", "kaiser", "linspace",
    "logspace", "tri",
]  # fmt: skip

tri = creation(np.tri, "tri(2).tolist() -> [[1.0, 0.0], [1.0, 1.0]]")
bartlett = creation(np.bartlett, "bartlett(3) -> tensor([0., 1., 0.])")
blackman = creation(np.blackman, "blackman(3).round(6).tolist() -> [-0.0, 1.0, -0.0]")
hamming = creation(np.hamming, "hamming(3) -> tensor([0.08, 1.  , 0.08])")
hanning = creation(np.hanning, "hanning(3) -> tensor([0., 1., 0.])")
_linspace = creation(np.linspace)
_logspace = creation(np.logspace)
_geomspace = creation(np.geomspace)
_kaiser = creation(np.kaiser)


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    /,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """As `numpy.linspace`, but a tensor, and differentiable with respect to both ends.

    >>> linspace(0.0, 1.0, 3)
    tensor([0. , 0.5, 1. ])
    """
    if not isinstance(start, Array) and not isinstance(stop, Array):
        return _linspace(start, stop, num, endpoint, retstep, dtype, axis, device=device, requires_grad=requires_grad)
    start, stop = as_operand(start), as_operand(stop)
    share = numpy_of(start, stop).linspace(0.0, 1.0, num, endpoint)
    ends = broadcast_arrays(start, stop)
    share = share.reshape(-1, *(1,) * ends[0].ndim)
    points = moveaxis(
        where(share < 0.5, ends[0] + share * (ends[1] - ends[0]), ends[1] - (1.0 - share) * (ends[1] - ends[0])),
        0,
        axis,
    )
    points = points if dtype is None else astype(points, dtype)
    return (points, (stop - start) / (num - endpoint)) if retstep else points


@implements(np.logspace)
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
    *,
    requires_grad: bool = False,
) -> Any:
    """As `numpy.logspace`, but a tensor, and differentiable with respect to both ends and the base.

    >>> logspace(0.0, 2.0, 3)
    tensor([  1.,  10., 100.])
    """
    if not any(isinstance(v, Array) for v in (start, stop, base)):
        return _logspace(start, stop, num, endpoint, base, dtype, axis, requires_grad=requires_grad)
    points = moveaxis(power(as_operand(base), linspace(start, stop, num, endpoint)), 0, axis)
    return points if dtype is None else astype(points, dtype)


@implements(np.geomspace)
def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
    *,
    requires_grad: bool = False,
) -> Any:
    """As `numpy.geomspace`, but a tensor, and differentiable with respect to both ends.

    >>> geomspace(1.0, 8.0, 4)
    tensor([1., 2., 4., 8.])
    """
    if not isinstance(start, Array) and not isinstance(stop, Array):
        return _geomspace(start, stop, num, endpoint, dtype, axis, requires_grad=requires_grad)
    start, stop = as_operand(start), as_operand(stop)
    share = numpy_of(start, stop).linspace(0.0, 1.0, num, endpoint).reshape(-1, *(1,) * max(start.ndim, stop.ndim))
    points = moveaxis(where(share == 1.0, stop, start * power(stop / start, share)), 0, axis)
    return points if dtype is None else astype(points, dtype)


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """As `numpy.indices`, but a tensor: the index of each position along each axis.

    With `sparse`, a tuple of tensors that broadcast to it.

    >>> indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    return (
        tuple(map(asarray, np.indices(dimensions, dtype, True))) if sparse else asarray(np.indices(dimensions, dtype))
    )


def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """What a function gives for the indices along each axis, as arrays: a value if it uses any, else a tensor.

    >>> fromfunction(lambda i, j: i + 10 * j, (2, 2))
    tensor([[ 0., 10.],
            [ 1., 11.]])
    """
    return asarray(function(*np.indices(shape, dtype), **kwargs))


def kaiser(M: int, beta: Any, *, requires_grad: bool = False) -> Any:
    """As `numpy.kaiser`, but a tensor, and differentiable with respect to beta.

    >>> kaiser(3, 0.0)
    tensor([1., 1., 1.])
    """
    if not isinstance(beta, Array):
        return _kaiser(M, beta, requires_grad=requires_grad)
    if M <= 1:
        return asarray(np.ones(max(M, 0)))
    position = numpy_of(beta).linspace(-1.0, 1.0, M)
    return i0(beta * np.sqrt(1.0 - position * position)) / i0(beta)
