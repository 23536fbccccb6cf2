"""Reductions: the libraries' own have no `initial`, and no result for an empty array where there is no identity."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.device_calls import DeviceCall, device_call
from wengert.core.devices import ArrayLibrary
from wengert.ops.reductions.extremes import _max, _min
from wengert.ops.reductions.logical import _count_nonzero
from wengert.ops.reductions.named_axes import _pmax
from wengert.ops.reductions.sums import _logsumexp
from wengert.ops.reductions.without_nan import _nanmax, _nanmin
from wengert.ops.special.entropy import _offset, _softmax, softmax_weights

Axes = tuple[int, ...]


def find_extreme(
    library: ArrayLibrary, name: str, x: Any, axis: Axes, keepdims: bool, initial: Any = None, combine: str = ""
) -> Any:
    """The reduction of a name, combined with a number if it is given; that number alone if there are no elements."""
    xp = library.numpy
    if initial is None:
        return getattr(xp, name)(x, axis, keepdims=keepdims)
    if any(x.shape[i] == 0 for i in axis):
        shape = [1 if i in axis else n for i, n in enumerate(x.shape) if keepdims or i not in axis]
        return xp.full(shape, initial, x.dtype)
    found = getattr(xp, name)(x, axis, keepdims=keepdims)
    return getattr(xp, combine)(found, x.dtype.type(initial))


def extreme_call(name: str, combine: str) -> DeviceCall:
    """What runs an extreme of a name."""

    def run(library: ArrayLibrary, x: Any, axis: Axes, keepdims: bool, initial: Any = None) -> Any:
        return find_extreme(library, name, x, axis, keepdims, initial, combine)

    return run


device_call.enter(extreme_call("max", "maximum"), _max)
device_call.enter(extreme_call("min", "minimum"), _min)
device_call.enter(extreme_call("nanmax", "fmax"), _nanmax)
device_call.enter(extreme_call("nanmin", "fmin"), _nanmin)


@device_call(_count_nonzero)
def count_on_device(library: ArrayLibrary, x: Any, axis: Axes, keepdims: bool) -> Any:
    """The number of elements that are not 0."""
    xp = library.numpy
    return xp.sum(x != 0, axis, np.intp, keepdims=keepdims)


@device_call(_pmax)
def keep_equal_on_device(library: ArrayLibrary, x: Any, **params: Any) -> Any:
    """The largest of equal values."""
    return x.copy()


def _finite_largest(library: ArrayLibrary, x: Any, axis: Axes) -> Any:
    """The largest real part along the axes, 0 if it is not finite."""
    xp = library.numpy
    largest = find_extreme(library, "max", xp.real(x) * 1.0, axis, True, -np.inf, "maximum")
    return xp.where(xp.isfinite(largest), largest, largest.dtype.type(0))


@device_call(_logsumexp)
def logsumexp_on_device(library: ArrayLibrary, x: Any, axis: Axes, keepdims: bool) -> Any:
    """log(sum(exp(x))), without a look at what is finite."""
    xp = library.numpy
    largest = _finite_largest(library, x, axis)
    out = xp.log(xp.sum(xp.exp(x - largest), axis, keepdims=keepdims))
    return out + (largest if keepdims else largest.reshape(out.shape))


@device_call(_offset)
def offset_on_device(library: ArrayLibrary, x: Any, axis: Axes) -> Any:
    """The largest number, if it is finite."""
    return _finite_largest(library, x, axis)


@device_call(softmax_weights)
def weights_on_device(library: ArrayLibrary, x: Any, axis: Axes) -> Any:
    """exp(x) / sum(exp(x)), 0 where all x are -inf."""
    xp = library.numpy
    out = xp.exp(x - _finite_largest(library, x, axis))
    total = xp.sum(out, axis, keepdims=True)
    return out / xp.where(total == 0, total.dtype.type(1), total)


@device_call(_softmax)
def softmax_on_device(library: ArrayLibrary, x: Any, axis: Axes) -> Any:
    """exp(x) / sum(exp(x))."""
    xp = library.numpy
    largest = find_extreme(library, "max", xp.real(x) * 1.0, axis, True, -np.inf, "maximum")
    out = xp.exp(x - xp.where(largest > -np.inf, largest, largest.dtype.type(0)))
    total = xp.sum(out, axis, keepdims=True)
    return out / xp.where(largest == np.inf, total.dtype.type(1), total)
