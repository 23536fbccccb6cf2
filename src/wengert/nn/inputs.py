"""What layers check and convert of their inputs."""

from __future__ import annotations

from typing import Any

from wengert.core.errors import user_error
from wengert.core.primitive import as_operand
from wengert.ops.shape.casting import astype


def to_precision(x: Any, like: Any, layer: str) -> Any:
    """An input of floating-point numbers, in the precision of a parameter; `layer` is for the message."""
    x = as_operand(x)
    if x.dtype is like.dtype:
        return x
    if x.dtype.kind not in "fc":
        raise user_error(
            TypeError,
            f"{layer} takes floating-point numbers, and was given {x.dtype}",
            "Convert with x.astype('float32').",
        )
    return astype(x, like.dtype) if x.dtype != like.dtype else x


def refuse_length(x: Any, axis: int, expected: int, layer: str, what: str) -> None:
    """Raise an error unless an axis of an input has the length that a layer was made for."""
    if x.ndim < abs(axis) + (axis >= 0) or x.shape[axis] != expected:
        where = "the last axis" if axis == -1 else f"axis {axis}"
        raise user_error(
            ValueError,
            f"{layer} with {what}={expected} was given an input of shape {x.shape}",
            f"It needs {expected} along {where}.",
        )


def refuse_axes(x: Any, ndim: int, name: str) -> None:
    """Raise an error unless an input has `ndim` axes behind that of its channels, and at most a batch before it."""
    if x.ndim not in (ndim + 1, ndim + 2):
        raise user_error(
            ValueError,
            f"{name} was given an input of shape {x.shape}",
            f"It takes {ndim + 2} axes, (batch, channels, ...), or {ndim + 1} without a batch.",
        )
