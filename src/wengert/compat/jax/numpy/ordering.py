"""Sorting, which keeps the order of equal elements in JAX."""

from __future__ import annotations

from typing import Any

import wengert as wg
from wengert.compat.jax.arrays import to_array

PUBLIC = ["argsort", "sort"]


def argsort(a: Any, axis: int | None = -1, *, stable: bool = True, descending: bool = False) -> Any:
    """The indices of the elements in order along an axis."""
    return to_array(wg.argsort(a, axis, stable=stable, descending=descending))


def sort(a: Any, axis: int | None = -1, *, stable: bool = True, descending: bool = False) -> Any:
    """The elements in order along an axis."""
    return to_array(wg.sort(a, axis, stable=stable, descending=descending))
