"""Values that enter a function and leave it: tensors without history in, plain arrays out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.levels import has_user_tensor
from wengert.core.spec import Spec
from wengert.core.tree import flatten
from wengert.modes.in_place import is_traced, snapshot
from wengert.modes.tensor import Tensor


def as_tensors(x: Sequence[Any], beside: Sequence[Any] = ()) -> list[Any]:
    """Plain arrays as tensors without history, which protect their memory.

    If there are values of any mode in x or `beside`, plain arrays are copied instead.
    """
    if any(isinstance(a, Array) for a in (*x, *beside)):
        return [a.copy() if isinstance(a, np.ndarray) else a for a in x]
    return [Tensor(a) for a in x]


def strip_tensor(y: Any) -> Any:
    """The array of a tensor without history, in a trace its symbol; anything else as it is."""
    if isinstance(y, Tensor) and y.node is None and not y.level:
        return snapshot(y) if is_traced(y) else y.value
    return y


def to_owned(y: Any, name: str) -> Any:
    """A plain result as a new array."""
    array = np.array(y)
    if array.dtype.kind not in "biufc":
        raise user_error(
            TypeError, f"{name} returned a {type(y).__name__} where an array or a tree of arrays was needed"
        )
    return array[()] if not array.ndim else array


def is_smooth(x: Any) -> bool:
    """Whether a value can have a derivative."""
    return Spec.of(x).dtype.kind in "fc"


def match_given(y: Any, given: Any) -> Any:
    """A tensor without history as a plain array, unless the user's arguments (`given`) have tensors.

    NumPy in, NumPy out: such a result is a constant, or was computed from captured constants.
    """
    if isinstance(y, Tensor) and not y.level and y.node is None and not any(map(has_user_tensor, flatten(given)[0])):
        return to_scalar(y.value)
    return y


def to_scalar(y: Any) -> Any:
    """An array without axes as a NumPy scalar."""
    return y[()] if y.__class__ is np.ndarray and not y.ndim else y
