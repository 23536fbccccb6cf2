"""Recurrences for the coefficients of Taylor series. None stands for a coefficient that is zero."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.levels import bottom_array, numpy_of

Recurrence = Callable[[int, Any], Any]
"""`(k, out) -> out[k]`, from the coefficients of lower order."""


def convolve_coefficients(
    x: Any, y: Any, indices: Iterable[int], k: int, product: Callable[..., Any] = operator.mul
) -> Any:
    """The sum of x[i] * y[k - i] over these i; None if it is zero."""
    total = None
    for i in indices:
        a, b = x[i], y[k - i]
        if a is not None and b is not None:
            term = product(a, b)
            total = term if total is None else total + term
    return total


def subtract_coefficients(x: Any, y: Any) -> Any:
    """x - y."""
    return x if y is None else -y if x is None else x - y


def multiply_series(x: Any, y: Any) -> Recurrence:
    """The coefficients of x * y."""
    return lambda k, out: convolve_coefficients(x, y, range(k + 1), k)


def quotient_by(
    divide: Callable[..., Any], product: Callable[..., Any] = operator.mul
) -> Callable[[Any, Any], Recurrence]:
    """From `out * y = x`: out[k] = (x[k] - sum of y[j] * out[k - j] over j > 0) / y[0]."""

    def quotient_of(x: Any, y: Any) -> Recurrence:
        def recurrence(k: int, out: Any) -> Any:
            rest = subtract_coefficients(x[k], convolve_coefficients(y, out, range(1, k + 1), k, product))
            return None if rest is None else divide(rest, y[0])

        return recurrence

    return quotient_of


def power_of(x: Any, y: Any) -> Recurrence | None:
    """From `x * out' = y * x' * out`, for a constant exponent.

    None for integers: their higher derivatives vanish, and x may be zero. None on devices, too.
    """
    exponent = y[0]
    if numpy_of(exponent, x[0]) is not np:
        return None  # to look at numbers of a device would be to wait for it
    integer = not isinstance(exponent, Array) and bool(np.all(exponent == np.rint(np.real(exponent))))
    if y[1] is not None or integer or not np.all(bottom_array(x[0])):
        return None  # the derivative is used instead, at a cost that is cubic in the order

    def recurrence(k: int, out: Any) -> Any:
        total = None
        for j in range(1, k + 1):
            if x[j] is not None and out[k - j] is not None:
                term = (exponent * float(j) - float(k - j)) * (x[j] * out[k - j])
                total = term if total is None else total + term
        return None if total is None else total / (x[0] * float(k))

    return recurrence
