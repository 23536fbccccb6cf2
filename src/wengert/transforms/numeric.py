"""Numerical derivatives: differences of values, to compare with or for functions that cannot be differentiated.

All take `(f, *args, argnums=0, step=None, with_error=False)`, where `f` is any function of arrays. The result is the
gradient of a function with one number as its value, and the Jacobian of any other, of shape `out.shape + x.shape`; a
tuple of them if `argnums` is one. With `with_error` an estimate of the error comes with it. Steps are relative to
numbers larger than 1.

>>> central(lambda x: x**3, 2.0).round(6)
np.float64(12.0)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from wengert.core.errors import GradientError, user_error

__all__ = ["backward", "central", "complex_step", "forward", "richardson"]

Slope = Callable[..., tuple[Any, Any]]
"""From f, x, the place of an entry, a direction and a step: the derivative along it, and its error."""


def forward(
    f: Callable, *args: Any, argnums: int | Sequence[int] = 0, step: float | None = None, with_error: bool = False
) -> Any:
    """By `(f(x + h) - f(x)) / h`: one more evaluation for each entry; half of the digits.

    >>> forward(np.exp, 0.0).round(6)
    np.float64(1.0)
    """
    return derivatives(one_sided, f, args, argnums, step, with_error)


def backward(
    f: Callable, *args: Any, argnums: int | Sequence[int] = 0, step: float | None = None, with_error: bool = False
) -> Any:
    """By `(f(x) - f(x - h)) / h`: as `forward`, from the other side.

    >>> forward(abs, 0.0), backward(abs, 0.0)
    (np.float64(1.0), np.float64(-1.0))
    """
    return derivatives(partial(one_sided, side=-1.0), f, args, argnums, step, with_error)


def central(
    f: Callable, *args: Any, argnums: int | Sequence[int] = 0, step: float | None = None, with_error: bool = False
) -> Any:
    """By `(f(x + h) - f(x - h)) / 2h`: two evaluations for each entry; two thirds of the digits.

    >>> central(lambda x: (x * x).sum(), np.array([1.0, 2.0])).round(6)
    array([2., 4.])
    """
    return derivatives(symmetric, f, args, argnums, step, with_error)


def richardson(
    f: Callable, *args: Any, argnums: int | Sequence[int] = 0, step: float | None = None, with_error: bool = False
) -> Any:
    """By central differences of ever smaller steps, extrapolated to zero; nearly all of the digits.

    >>> abs(richardson(np.sin, 1.0) - np.cos(1.0)) < 1e-11
    np.True_
    """
    return derivatives(extrapolated, f, args, argnums, step, with_error)


def complex_step(
    f: Callable, *args: Any, argnums: int | Sequence[int] = 0, step: float | None = None, with_error: bool = False
) -> Any:
    """By `imag(f(x + ih)) / h` with a tiny h: all of the digits, for real functions that are analytic and accept
    complex numbers.

    >>> complex_step(np.sin, 1.0) == np.cos(1.0)
    np.True_
    """
    points = [floating(a) if i in places(argnums, args) else a for i, a in enumerate(args)]
    for i in places(argnums, args):
        refuse_not_analytic(f, points, i, step)
    return derivatives(imaginary, f, args, argnums, step, with_error)


def derivatives(
    slope: Slope, f: Callable, args: Sequence[Any], argnums: int | Sequence[int], step: float | None, with_error: bool
) -> Any:
    found = [derivative(lambda *at: slope(*at, step), f, args, i) for i in places(argnums, args)]
    results = [pair if with_error else pair[0] for pair in found]
    return results[0] if isinstance(argnums, int) else tuple(results)


def places(argnums: int | Sequence[int], args: Sequence[Any]) -> list[int]:
    chosen = [argnums] if isinstance(argnums, int) else list(argnums)
    for i in chosen:
        if not -len(args) <= i < len(args):
            raise user_error(ValueError, f"argnums {i} is out of range for {len(args)} arguments")
    return [i % len(args) for i in chosen]


def floating(x: Any) -> np.ndarray:
    x = np.array(x)
    if x.dtype.kind not in "fc":
        raise user_error(
            TypeError,
            f"A derivative with respect to numbers of dtype {x.dtype} does not exist",
            "Convert them to float.",
        )
    return x


def derivative(slope: Slope, f: Callable, args: Sequence[Any], i: int) -> tuple[Any, Any]:
    """The derivative in argument `i`, with the error of each entry."""
    x = floating(args[i])

    def g(v: np.ndarray) -> np.ndarray:
        return np.asarray(f(*args[:i], v[()], *args[i + 1 :]))

    value = g(x)
    if value.dtype.kind not in "fc":
        value = value.astype(np.float64)
    entries = np.zeros((*value.shape, *x.shape), np.result_type(value, x))
    errors = np.zeros(entries.shape, entries.real.dtype)
    for place in np.ndindex(x.shape):
        entry, error = slope(g, x, place, 1.0)
        if x.dtype.kind == "c":
            entry, error = along_both(slope, g, x, place, entry, error, value.dtype.kind == "c")
        entries[(..., *place)], errors[(..., *place)] = entry, error
    return entries[()], errors[()]


def along_both(
    slope: Slope, g: Callable, x: np.ndarray, place: tuple, entry: Any, error: Any, analytic: bool
) -> tuple[Any, Any]:
    """The derivative in a complex entry: that of an analytic function, or the steepest ascent of a real one."""
    other, other_error = slope(g, x, place, 1j)
    if not analytic:
        return entry + 1j * other, error + other_error
    if not np.allclose(other, 1j * entry, rtol=1e-3, atol=1e-6 + float(np.max(error + other_error, initial=0.0))):
        raise user_error(
            GradientError,
            "A complex function that is not analytic has no complex derivative",
            "Take its real and imaginary parts.",
        )
    return entry, error


def moved(x: np.ndarray, place: tuple, by: complex) -> np.ndarray:
    new = np.array(x)
    new[place] += by
    return new


def step_at(x: np.ndarray, place: tuple, step: float | None, power: float) -> float:
    """The step for an entry: a power of the precision, rounded to a power of two so that adding it is exact."""
    if step is not None:
        return step
    return float(2.0 ** np.round(np.log2(np.finfo(x.dtype).eps ** power * max(1.0, abs(x[place])))))


def rounding(y: np.ndarray, x: np.ndarray, h: float) -> np.ndarray:
    """What rounding in values of this size makes of a difference that is divided by h."""
    return np.abs(y) * np.finfo(x.dtype).eps / h


def one_sided(
    g: Callable, x: np.ndarray, place: tuple, direction: complex, step: float | None, side: float = 1.0
) -> tuple[Any, Any]:
    h = step_at(x, place, step, 1 / 2)
    here, near, far = (g(moved(x, place, side * d * h * direction)) for d in (0.0, 1.0, 2.0))
    entry = (near - here) / (side * h)
    return entry, np.abs((far - here) / (2 * side * h) - entry) + 2 * rounding(here, x, h)


def symmetric(g: Callable, x: np.ndarray, place: tuple, direction: complex, step: float | None) -> tuple[Any, Any]:
    h = step_at(x, place, step, 1 / 3)
    left, right, far_left, far_right = (g(moved(x, place, d * h * direction)) for d in (-1.0, 1.0, -2.0, 2.0))
    entry = (right - left) / (2 * h)
    return entry, np.abs((far_right - far_left) / (4 * h) - entry) / 3 + rounding(right, x, h)


ROWS = 7
"""Steps of an extrapolation, each half of the one before."""


def extrapolated(g: Callable, x: np.ndarray, place: tuple, direction: complex, step: float | None) -> tuple[Any, Any]:
    """Ridders' scheme: of all extrapolations, for each entry the one that differs least from those it was made of."""
    h = step_at(x, place, step, 1 / 8)
    rows: list[list[np.ndarray]] = []
    best: Any = None
    error: Any = None
    for i in range(ROWS):
        near = (g(moved(x, place, h * direction)) - g(moved(x, place, -h * direction))) / (2 * h)
        row = [near]
        for j in range(i):
            row.append(row[j] + (row[j] - rows[-1][j]) / (4.0 ** (j + 1) - 1))
            change = np.maximum(np.abs(row[j + 1] - row[j]), np.abs(row[j + 1] - rows[-1][j]))
            if best is None:
                best, error = row[j + 1], change
            else:
                better = (change < error) | ~np.isfinite(error)
                best, error = np.where(better, row[j + 1], best), np.where(better, change, error)
        rows.append(row)
        h /= 2
    return best, error


def imaginary(g: Callable, x: np.ndarray, place: tuple, direction: complex, step: float | None) -> tuple[Any, Any]:
    h = step or tiny(x)
    entry = np.imag(g(moved(x + 0j, place, 1j * h))) / h
    return entry, np.abs(entry) * np.finfo(x.dtype).eps


def tiny(x: np.ndarray) -> float:
    return 1e-200 if x.dtype.itemsize >= 8 else 1e-20


def refuse_not_analytic(f: Callable, args: Sequence[Any], i: int, step: float | None) -> None:
    """Raise unless a complex step along some direction agrees with a real one."""
    x = args[i]
    if x.dtype.kind == "c":
        raise user_error(
            TypeError,
            f"complex_step differentiates real functions of real numbers; argument {i} is complex",
            "Use central.",
        )
    direction = np.random.default_rng(0).uniform(0.5, 1.5, x.shape).astype(x.dtype)
    along = lambda s: f(*args[:i], (x + s * direction)[()], *args[i + 1 :])
    try:
        y = np.asarray(along(1j * (h := step or tiny(x))))
    except TypeError as error:
        error.add_note(
            "complex_step calls the function with complex numbers. Use central for a function that does not accept "
            "them."
        )
        raise
    if y.dtype.kind != "c":
        raise user_error(
            GradientError,
            f"The function loses the imaginary part of its argument {i} (abs, real, float or an assignment into a real "
            f"array do), so that complex_step cannot see its derivative",
            "Use central.",
        )
    eps = np.finfo(x.dtype).eps
    d = eps ** (1 / 3)
    values = [np.asarray(along(s)) for s in (d, -d, 2 * d, -2 * d)]
    if any(v.dtype.kind == "c" for v in values):
        raise user_error(
            TypeError, "complex_step differentiates real functions, and this one has complex values", "Use central."
        )
    slope, wide = (values[0] - values[1]) / (2 * d), (values[2] - values[3]) / (4 * d)
    unsure = 1e-3 * np.abs(slope) + 4 * np.abs(wide - slope) + 100 * eps / d * (1 + np.abs(values[0]))
    if np.any(np.abs(y.imag / h - slope) > unsure):
        raise user_error(
            GradientError, f"The function is not analytic in its argument {i}, as complex_step needs", "Use central."
        )
