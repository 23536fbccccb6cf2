"""Operations on each element."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.device_calls import device_call
from wengert.core.devices import ArrayLibrary
from wengert.ops.elementwise.arithmetic import divide_live, multiply_live
from wengert.ops.elementwise.bits import spacing
from wengert.ops.elementwise.choices import _where


def _where_live(library: ArrayLibrary, t: Any, y: Any, combine: str) -> Any:
    """t combined with y where t is not 0, else 0."""
    xp = library.numpy
    live = xp.not_equal(t, 0)
    out = xp.where(live, getattr(xp, combine)(t, xp.where(live, y, 1)), 0)
    return out.astype(np.result_type(*[v if np.isscalar(v) else v.dtype for v in (t, y)]), copy=False)


@device_call(divide_live)
def divide_on_device(library: ArrayLibrary, t: Any, y: Any) -> Any:
    """t / y where t is not 0, else 0."""
    return _where_live(library, t, y, "divide")


@device_call(multiply_live)
def multiply_on_device(library: ArrayLibrary, t: Any, y: Any) -> Any:
    """t * y where t is not 0, else 0."""
    return _where_live(library, t, y, "multiply")


@device_call(spacing)
def spacing_on_device(library: ArrayLibrary, x: Any) -> Any:
    """The distance to the next number away from 0."""
    xp = library.numpy
    size = xp.abs(x)
    return xp.copysign(xp.nextafter(size, x.dtype.type(np.inf)) - size, x)


@device_call(_where)
def choose_on_device(library: ArrayLibrary, condition: Any, x: Any, y: Any) -> Any:
    """A condition that is one boolean is copied to the device."""
    xp = library.numpy
    return xp.where(condition if np.ndim(condition) else xp.asarray(condition), x, y)
