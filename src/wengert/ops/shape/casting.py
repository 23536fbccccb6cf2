"""Copies, dtypes, and `stop_gradient`."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.array import check_device, implements
from wengert.core.errors import user_error
from wengert.core.facts import MOVES, VIEW, Facts
from wengert.core.kinds import case, keep_params, linear, nondifferentiable
from wengert.core.native import for_casts
from wengert.core.primitive import as_operand

__all__ = ["astype", "copy"]

_astype = linear(
    "astype",
    for_casts(lambda x, dtype: x.astype(dtype)),
    lambda t: t,
    conforms=True,
    batch=keep_params,
    cases=(
        case((3,), dtype=np.dtype(np.float64)),
        case((), dtype=np.dtype(np.float64)),
        case((0, 2), dtype=np.dtype(np.float64)),
    ),
    facts=Facts(moves=True, cost=1),
)
_astype_discrete = nondifferentiable(
    "astype_discrete",
    lambda x, dtype: x.astype(dtype),
    takes_params=True,
    batch=keep_params,
    cases=(case((3,), dtype=np.dtype(np.int64)), case((), dtype=np.dtype(np.bool_))),
    reason="integers and booleans do not vary continuously",
    facts=MOVES,
)
_copy = linear(
    "copy", np.copy, lambda t: t, batch=keep_params, cases=(case((2, 3)), case(())), facts=Facts(moves=True, cost=0)
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
    check_device(device)
    x, dtype = as_operand(x), np.dtype(dtype)
    if not copy and x.dtype == dtype:
        return x
    return (_astype if dtype.kind in "fc" else _astype_discrete)(x, dtype=dtype)


@implements(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """A new value with the same numbers, through which the gradient flows unchanged.

    >>> copy([1.0, 2.0])
    array([1., 2.])
    """
    return _copy(as_operand(a))
