"""Numbers as textbooks print them: three decimals, without trailing zeros, small arrays in full."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.spec import Spec
from wengert.graph.ir import Node

EXACT = {2: 1e-3, 4: 1e-6}
"""By itemsize: the relative error of the printed number up to which trailing zeros are left out."""


def format_number(x: Any, digits: int = 4) -> str:
    """One number: `0.693`, `10`, `1.716`, `-0.284`, `1.2e-05`.

    `digits` counts those before and after the point of a number below ten.

    >>> [format_number(x) for x in (np.log(2), 10.0, 1.7163378, 10.6931, 1.2e-5, 0.1 + 0.2)]
    ['0.693', '10', '1.716', '10.693', '1.2e-05', '0.3']
    """
    plain = x.item() if isinstance(x, np.generic | np.ndarray) else x
    near = EXACT.get(x.dtype.itemsize, 1e-12) if isinstance(x, np.floating) else 1e-12
    if isinstance(plain, complex):
        real, imaginary = format_number(plain.real + 0.0, digits), format_number(plain.imag, digits)
        return f"{real}{'' if imaginary.startswith('-') else '+'}{imaginary}j"
    if not isinstance(plain, float) or not math.isfinite(plain):
        return str(plain)
    size = abs(plain)
    if plain.is_integer() and size < 10.0 ** (digits + 2):
        return str(int(plain)) if plain or math.copysign(1.0, plain) > 0 else "-0"
    if size >= 10.0 ** (digits + 2) or size < 10.0**-digits:
        mantissa, _, exponent = f"{plain:.{digits - 1}e}".partition("e")
        return f"{_short(mantissa, plain, near, exponent)}e{exponent}"
    decimals = digits - 1 if size >= 0.1 else digits - 2 - math.floor(math.log10(size))
    if size >= 1000.0:
        decimals = max(0, digits + 1 - math.floor(math.log10(size)))
    return _short(f"{plain:.{decimals}f}", plain, near)


def _short(text: str, exact: float, near: float, exponent: str = "0") -> str:
    """A number without trailing zeros, unless these come from rounding."""
    if "." in text and abs(float(f"{text}e{exponent}") - exact) <= near * abs(exact):
        return text.rstrip("0").rstrip(".")
    return text


def format_array(x: Any, limit: int = 6) -> str:
    """An array: in full up to `limit` elements, by shape and a summary beyond.

    >>> format_array(np.arange(4.0).reshape(2, 2))
    '[[0, 1], [2, 3]]'
    >>> format_array(np.linspace(-1, 2, 1000))
    'f64[1000] mean 0.5, from -1 to 2'
    """
    if x.size <= limit:
        return _format_nested(x)
    spec = repr(Spec.of(x))
    if x.dtype.kind == "b":
        return f"{spec} {int(np.count_nonzero(x))} of {x.size} true"
    if x.dtype.kind not in "iuf":
        return spec
    finite = x[np.isfinite(x)]
    if not finite.size:
        return f"{spec} nothing finite"
    low, high = finite.min(), finite.max()
    if finite.size < x.size:
        return f"{spec} {x.size - finite.size} not finite, others from {format_number(low)} to {format_number(high)}"
    if low == high:
        return f"{spec} all {format_number(low)}"
    with np.errstate(over="ignore"):
        mean = finite.mean(dtype=np.float64)
    return f"{spec} mean {format_number(mean)}, from {format_number(low)} to {format_number(high)}"


def _format_nested(x: Any) -> str:
    return format_number(x[()]) if not x.ndim else f"[{', '.join(map(_format_nested, x))}]"


def format_value(x: Any, limit: int = 6) -> str:
    """A number, an array, a tuple of them, or None."""
    if isinstance(x, tuple | list):
        small = sum([np.size(part) for part in x]) <= limit
        parts = [format_value(part, limit) if small or part is None else repr(Spec.of(part)) for part in x]
        return f"({', '.join(parts)})"
    if x is None:
        return "none"
    x = plain_value(x)
    if isinstance(x, Array):
        return repr(Spec.of(x))
    return format_array(x, limit) if isinstance(x, np.ndarray) else format_number(x)


def plain_value(x: Any) -> Any:
    """The numbers of a value of any mode; the value itself if it is symbolic."""
    while isinstance(x, Array) and not isinstance(x.value, Node):
        x = x.value
    return x
