"""Windows that slide along axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.lib.stride_tricks import sliding_window_view as numpy_view

from wengert.core.array import Array, implements
from wengert.core.errors import user_error
from wengert.core.primitive import as_operand
from wengert.ops.indexing.taking import take
from wengert.ops.shape.reshaping import moveaxis

__all__ = ["sliding_window_view"]


@implements(numpy_view)
def sliding_window_view(
    x: Any,
    window_shape: int | Sequence[int],
    axis: int | Sequence[int] | None = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Any:
    """All windows of a shape in an array, as further axes at its end. Of a value, they are copies.

    >>> sliding_window_view([1.0, 2.0, 3.0, 4.0], 3)
    array([[1., 2., 3.],
           [2., 3., 4.]])
    """
    x = as_operand(x)
    if not isinstance(x, Array):
        return numpy_view(x, window_shape, axis, subok=subok, writeable=writeable)  # type: ignore[arg-type]  # NumPy checks it
    if writeable:
        raise user_error(ValueError, "A window of a value cannot be written to", "Leave writeable out.")
    sizes = tuple(np.atleast_1d(window_shape).tolist())
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    if len(sizes) != len(axes):
        raise user_error(ValueError, f"Windows of shape {sizes} along the axes {axes}", "Give one length for each.")
    for size, along in zip(sizes, axes, strict=True):
        count = x.shape[along] - size + 1
        if size < 0 or count < 1:
            raise user_error(ValueError, f"A window of length {size} along an axis of length {x.shape[along]}")
        x = moveaxis(take(x, np.arange(count)[:, None] + np.arange(size), along), along + 1, -1)
    return x
