"""Copies, dtypes, devices, and `stop_gradient`."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.array import implements
from wengert.core.devices import device_of, find_device, move
from wengert.core.errors import TrackedValueError, user_error
from wengert.core.facts import MOVES, VIEW, Facts
from wengert.core.infer import keep_shape
from wengert.core.kinds import case, keep_params, linear, nondifferentiable
from wengert.core.large_arrays import for_casts
from wengert.core.levels import bottom_array
from wengert.core.primitive import SHAPED, as_operand

__all__ = ["astype", "copy"]

_astype = linear(
    "astype",
    for_casts(lambda x, dtype: x.astype(dtype)),
    lambda t: t,
    conforms=True,
    batch=keep_params,
    spec=keep_shape(lambda x, dtype: x.astype(dtype)),
    cases=(
        case((3,), dtype=np.dtype(np.float64)),
        case((), dtype=np.dtype(np.float64)),
        case((0, 2), dtype=np.dtype(np.float64)),
    ),
    facts=Facts(moves=True, cost=1, exact=True),
)
_astype_discrete = nondifferentiable(
    "astype_discrete",
    lambda x, dtype: x.astype(dtype),
    takes_params=True,
    batch=keep_params,
    spec=keep_shape(lambda x, dtype: x.astype(dtype)),
    cases=(case((3,), dtype=np.dtype(np.int64)), case((), dtype=np.dtype(np.bool_))),
    reason="integers and booleans do not vary continuously",
    facts=MOVES,
)
_copy = linear(
    "copy",
    np.copy,
    lambda t: t,
    batch=keep_params,
    cases=(case((2, 3)), case(())),
    facts=Facts(moves=True, cost=0, exact=True),
)
_to_device = linear(
    "to_device",
    lambda x, device, origin: move(x, device),
    lambda t, device, origin: _to_device(t, device=origin, origin=device),
    batch=keep_params,
    cases=(case((2, 3), device="cpu", origin="cpu"),),
    spec=lambda x, device, origin: x,
    facts=Facts(moves=True, cost=0, exact=True),
)
_stop_gradient = nondifferentiable(
    "stop_gradient", lambda x: x, batch=keep_params, reason="that is what it is for", facts=VIEW
)


def cast(a: Any, dtype: Any, casting: Any) -> Any:
    """`astype` where the rule `casting` allows it."""
    if not np.can_cast(a.dtype, dtype, casting):
        raise user_error(
            TypeError,
            f"Cannot cast {a.dtype} to {np.dtype(dtype)} by the rule {casting!r}",
            "Convert with astype first.",
        )
    return astype(a, dtype)


@implements(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """The numbers in another dtype.

    A gradient flows back in the dtype of x; none flows through integers and booleans.

    >>> astype([1.7, 2.2], int)
    array([1, 2])
    """
    x, dtype = as_operand(x), np.dtype(dtype)
    x = x if device is None else to(x, device)
    if not copy and x.dtype == dtype:
        return x
    return (_astype if dtype.kind in "fc" else _astype_discrete)(x, dtype=dtype)


def to(x: Any, device: Any, /) -> Any:
    """The numbers on a device: x itself if they are there. The gradient flows back to the device of x.

    >>> to(np.ones(2), "cpu")
    array([1., 1.])
    """
    if isinstance(device, np.dtype | type):
        raise user_error(
            TypeError, f"x.to({device!r}): `to` takes a device", "Convert to a dtype with x.astype(dtype)."
        )
    x = as_operand(x)
    library, index = find_device(device)
    numbers = bottom_array(x)
    origin = device_of(numbers)
    if library is not None and not isinstance(numbers, SHAPED):
        raise user_error(
            TrackedValueError,
            f"A value would be moved to {str(device)!r} inside of a function that is traced",
            "Move the arguments of the function instead.",
        )
    target = "cpu" if library is None else origin if index is None and library.has(numbers) else library.name(index)
    return x if target == origin else _to_device(x, device=target, origin=origin)


@implements(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """A new value with the same numbers, through which the gradient flows unchanged.

    >>> copy([1.0, 2.0])
    array([1., 2.])
    """
    return _copy(as_operand(a))
