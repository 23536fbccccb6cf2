"""Collectives: operations along a named batch axis of `vmap`.

On a value that is the same for all elements of the batch, they act on each element by itself; `size` is the length of
the axis. On a batch, `Definition.collect` combines its elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.axis_names import refuse_single
from wengert.core.kinds import case, elementwise, general, keep_params
from wengert.ops.elementwise.predicates import equal
from wengert.ops.reductions.extremes import max as max_
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.casting import astype


def add_equal(x: Any, axis_name: str, size: int) -> Any:
    """The sum of equal values."""
    refuse_single(axis_name)
    return x * size


def keep_equal(x: Any, axis_name: str, size: int) -> Any:  # a parameter of the operation
    """The largest of equal values."""
    refuse_single(axis_name)
    return np.array(x)


# What each element contributes to, all elements receive: the transpose of the sum is the sum of the cotangents.
_psum = elementwise(
    "psum",
    add_equal,
    lambda t, axis_name, size: _psum(t, axis_name=axis_name, size=size),
    params={"axis_name": "i", "size": 3},
    collect=lambda x: sum_(x, 0),
)


def share_of(x: Any, out: Any, axis_name: str, size: int) -> Any:
    """The share of each element in the largest one: those that are equal to it share equally."""
    is_largest = astype(equal(x, out), x.dtype)
    return is_largest / _psum(is_largest, axis_name=axis_name, size=size)


_pmax = general(
    "pmax",
    keep_equal,
    lambda t, x, out, axis_name, size: _psum(t, axis_name=axis_name, size=size) * share_of(x, out, axis_name, size),
    jvps=[
        lambda t, x, out, axis_name, size: _psum(t * share_of(x, out, axis_name, size), axis_name=axis_name, size=size)
    ],
    batch=keep_params,
    cases=(case((2, 3), axis_name="i", size=3), case((), axis_name="i", size=2)),
    collect=lambda x: max_(x, 0),
)
