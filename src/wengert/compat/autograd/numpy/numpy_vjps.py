"""What rules of programs are written with: `autograd.numpy.numpy_vjps`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.numpy.numpy_wrapper import metadata
from wengert.compat.differences import without
from wengert.core.levels import bottom_array
from wengert.modes.backward import conform
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.complex_numbers import real
from wengert.ops.shape.reshaping import broadcast_to, reshape

__all__ = ["balanced_eq", "match_complex", "repeat_to_match_shape", "replace_zero", "unbroadcast", "unbroadcast_f"]

__getattr__ = without(__name__, ABSENT)


def unbroadcast(x: Any, target_meta: tuple[Any, ...], broadcast_idx: int = 0) -> Any:  # noqa: ARG001  # the peer's
    """The cotangent of a value with this `metadata`: summed over the axes that broadcasting added or stretched.

    >>> unbroadcast(np.ones((3, 2)), metadata(np.ones((1, 2))))
    array([[3., 3.]])
    """
    shape, _, dtype, is_complex = target_meta
    x = x if hasattr(x, "shape") else np.asarray(x)
    return conform(x, shape, x.dtype if is_complex or x.dtype.kind != "c" else np.dtype(dtype))


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A rule whose cotangents have the shape of the target.

    >>> unbroadcast_f(2.0, lambda g: 10.0 * g)(np.ones(3))
    np.float64(30.0)
    """
    wanted = metadata(target)
    return lambda g: unbroadcast(f(g), wanted)


def match_complex(target: Any, x: Any) -> Any:
    """x, real or complex as the target is."""
    wanted, found = np.iscomplexobj(bottom_array(target)), np.iscomplexobj(bottom_array(x))
    if found and not wanted:
        return real(x)
    return x + 0j if wanted and not found else x


def repeat_to_match_shape(
    g: Any,
    shape: tuple[int, ...],
    dtype: Any,  # noqa: ARG001  # the peer's
    axis: Any,
    keepdims: Any,  # noqa: ARG001  # the peer's
) -> tuple[Any, int]:
    """The result of a reduction repeated along the reduced axes, and how often each element appears."""
    if not shape:
        return g, 1
    axes = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    reduced = {n % len(shape) for n in axes}
    kept = tuple([1 if n in reduced else length for n, length in enumerate(shape)])
    count = int(np.prod([shape[n] for n in reduced]))
    return broadcast_to(reshape(g, kept), shape), count


def balanced_eq(x: Any, z: Any, y: Any) -> Any:
    """The part of a cotangent that x gets as the larger of x and y: half of it where they are equal."""
    return (x == z) / (1.0 + (x == y))


def replace_zero(x: Any, val: Any) -> Any:
    """x with another number where it is zero."""
    return where(x != 0, x, val)
