"""What the engine does to every cotangent, so that no rule has to: its shape, its dtype, its dead lanes."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.ops.elementwise.complex_numbers import real
from wengert.ops.elementwise.predicates import equal
from wengert.ops.reductions.logical import all as all_
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import broadcast_to, reshape


def conform(t: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """The cotangent of a value of this shape and dtype: broadcast axes summed, a real value's imaginary part dropped,
    cast back.
    """
    if t.shape != shape:
        t = unbroadcast(t, shape)
    if t.dtype != dtype:
        if t.dtype.kind == "c" and dtype.kind != "c":
            t = real(t)
        t = astype(t, dtype)
    return t


def unbroadcast(t: Any, shape: tuple[int, ...]) -> Any:
    """Sum over the axes that broadcasting added or stretched; stretch where a rule returned less."""
    axes = stretched(t.shape, shape)
    if axes:
        t = np.add.reduce(t, axes) if t.__class__ is np.ndarray else sum_(t, axis=axes)
    if t.shape == shape:
        return t
    return reshape(t, shape) if t.size == np.prod(shape, dtype=int) else broadcast_to(t, shape)


def stretched(wide: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of `wide` that broadcasting a value of this `shape` has added or stretched."""
    lead = len(wide) - len(shape)
    if wide[lead:] == shape:
        return tuple(range(lead))
    return tuple(range(lead)) + tuple(i + lead for i, n in enumerate(shape) if n == 1 and wide[i + lead] != 1)


def conform_lanes(dead: Any, wide: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """The dead lanes of an operand of this shape, given those of a result of shape `wide`: dead wherever it went."""
    dead = broadcast_to(dead, wide)
    axes = stretched(wide, shape)
    return reshape(all_(dead, axis=axes), shape) if axes else dead


def transposed_lanes(live: Any, pull: Any, saved: tuple, params: dict[str, Any], operand: Any) -> Any:
    """Dead lanes behind a structural linear operation: where its transpose moves no live lane to."""
    return equal(conform(pull(astype(live, operand.dtype), saved, params), operand.shape, operand.dtype), 0)
