"""`jax.ops`: reductions of segments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compat.differences import without
from wengert.compat.jax.arrays import array
from wengert.compat.jax.differences import ABSENT

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]

__getattr__ = without(__name__, ABSENT)


def lift_segment(method: str, identity: Callable[[np.dtype], Any]) -> Callable[..., Any]:
    """A reduction of the rows with the same segment."""

    def reduce_segments(
        data: Any,
        segment_ids: Any,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,  # noqa: ARG001  # a matter of speed
        unique_indices: bool = False,  # noqa: ARG001  # the same
    ) -> Any:
        data, ids = array(data), array(segment_ids)
        count = int(ids.max()) + 1 if num_segments is None else num_segments
        start = array(np.full((count, *data.shape[1:]), identity(data.dtype), data.dtype))
        return getattr(start.at[ids], method)(data)

    reduce_segments.__doc__ = f"Rows with the same segment, combined by `at[...].{method}`."
    return reduce_segments


def lowest(dtype: np.dtype) -> Any:
    """The start of a maximum."""
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def highest(dtype: np.dtype) -> Any:
    """The start of a minimum."""
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


segment_sum = lift_segment("add", lambda dtype: 0)
segment_prod = lift_segment("multiply", lambda dtype: 1)
segment_max, segment_min = lift_segment("max", lowest), lift_segment("min", highest)
