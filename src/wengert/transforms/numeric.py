"""Numerical derivatives by differences of values, for comparison, or for functions that cannot be differentiated.

All take `(f, *args, argnums=0, step=None, with_error=False)`, where `f` is any function of arrays. The result is the
gradient of a function that returns one number, and the Jacobian of any other, of shape `out.shape + x.shape`; a tuple
of them if `argnums` is a tuple. With `with_error` the result is a pair with an estimate of the error. Steps are
relative for numbers larger than 1.

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

Scheme = Callable[..., tuple[Any, Any]]
"""From f, x, the index of an element, a direction and a step: the derivative with respect to it, and its error."""


def forward(
    f: Callable[..., Any],
    *args: Any,
    argnums: int | Sequence[int] = 0,
    step: float | None = None,
    with_error: bool = False,
) -> Any:
    """By `(f(x + h) - f(x)) / h`: one more evaluation for each element; half of the digits.

    >>> forward(np.exp, 0.0).round(6)
    np.float64(1.0)
    """
    return differentiate_arguments(one_sided_slope, f, args, argnums, step, with_error)


def backward(
    f: Callable[..., Any],
    *args: Any,
    argnums: int | Sequence[int] = 0,
    step: float | None = None,
    with_error: bool = False,
) -> Any:
    """By `(f(x) - f(x - h)) / h`: as `forward`, from the other side.

    >>> forward(abs, 0.0), backward(abs, 0.0)
    (np.float64(1.0), np.float64(-1.0))
    """
    return differentiate_arguments(partial(one_sided_slope, side=-1.0), f, args, argnums, step, with_error)


def central(
    f: Callable[..., Any],
    *args: Any,
    argnums: int | Sequence[int] = 0,
    step: float | None = None,
    with_error: bool = False,
) -> Any:
    """By `(f(x + h) - f(x - h)) / 2h`: two evaluations for each element; two thirds of the digits.

    >>> central(lambda x: (x * x).sum(), np.array([1.0, 2.0])).round(6)
    array([2., 4.])
    """
    return differentiate_arguments(symmetric_slope, f, args, argnums, step, with_error)


def richardson(
    f: Callable[..., Any],
    *args: Any,
    argnums: int | Sequence[int] = 0,
    step: float | None = None,
    with_error: bool = False,
) -> Any:
    """By central differences of ever smaller steps, extrapolated to zero; nearly all of the digits.

    >>> abs(richardson(np.sin, 1.0) - np.cos(1.0)) < 1e-11
    np.True_
    """
    return differentiate_arguments(extrapolated_slope, f, args, argnums, step, with_error)


def complex_step(
    f: Callable[..., Any],
    *args: Any,
    argnums: int | Sequence[int] = 0,
    step: float | None = None,
    with_error: bool = False,
) -> Any:
    """By `imag(f(x + ih)) / h` with a tiny h: all of the digits, for analytic real functions.

    The function must accept complex numbers.

    >>> complex_step(np.sin, 1.0) == np.cos(1.0)
    np.True_
    """
    points = [to_floating(a) if i in argument_indices(argnums, args) else a for i, a in enumerate(args)]
    for i in argument_indices(argnums, args):
        refuse_not_analytic(f, points, i, step)
    return differentiate_arguments(imaginary_slope, f, args, argnums, step, with_error)


def differentiate_arguments(
    scheme: Scheme,
    f: Callable[..., Any],
    args: Sequence[Any],
    argnums: int | Sequence[int],
    step: float | None,
    with_error: bool,
) -> Any:
    """The derivatives with respect to the chosen arguments, by one scheme."""
    found = [differentiate_argument(lambda *at: scheme(*at, step), f, args, i) for i in argument_indices(argnums, args)]
    results = [pair if with_error else pair[0] for pair in found]
    return results[0] if isinstance(argnums, int) else tuple(results)


def argument_indices(argnums: int | Sequence[int], args: Sequence[Any]) -> list[int]:
    """The indices of the chosen arguments, counted from the start."""
    chosen = [argnums] if isinstance(argnums, int) else list(argnums)
    for i in chosen:
        if not -len(args) <= i < len(args):
            raise user_error(ValueError, f"argnums {i} is out of range for {len(args)} arguments")
    return [i % len(args) for i in chosen]


def to_floating(x: Any) -> np.ndarray:
    """A copy of an argument, which must have floating-point or complex numbers."""
    copy = np.array(x)
    if copy.dtype.kind not in "fc":
        raise user_error(
            TypeError,
            f"A derivative with respect to numbers of dtype {copy.dtype} does not exist",
            "Convert them to float.",
        )
    return copy


def differentiate_argument(scheme: Scheme, f: Callable[..., Any], args: Sequence[Any], i: int) -> tuple[Any, Any]:
    """The derivative with respect to argument `i`, and the error of each element."""
    x = to_floating(args[i])

    def g(v: np.ndarray) -> np.ndarray:
        return np.asarray(f(*args[:i], v[()], *args[i + 1 :]))

    value = g(x)
    if value.dtype.kind not in "fc":
        value = value.astype(np.float64)
    slopes = np.zeros((*value.shape, *x.shape), np.result_type(value, x))
    errors = np.zeros(slopes.shape, slopes.real.dtype)
    for index in np.ndindex(x.shape):
        slope, error = scheme(g, x, index, 1.0)
        if x.dtype.kind == "c":
            slope, error = combine_directions(scheme, g, x, index, slope, error, value.dtype.kind == "c")
        slopes[(..., *index)], errors[(..., *index)] = slope, error
    return slopes[()], errors[()]


def combine_directions(
    scheme: Scheme, g: Callable[..., Any], x: np.ndarray, index: tuple[Any, ...], slope: Any, error: Any, analytic: bool
) -> tuple[Any, Any]:
    """The derivative with respect to a complex element: the complex one, or the steepest ascent of a real function."""
    other, other_error = scheme(g, x, index, 1j)
    if not analytic:
        return slope + 1j * other, error + other_error
    if not np.allclose(other, 1j * slope, rtol=1e-3, atol=1e-6 + float(np.max(error + other_error, initial=0.0))):
        raise user_error(
            GradientError,
            "A complex function that is not analytic has no complex derivative",
            "Take its real and imaginary parts.",
        )
    return slope, error


def shift_element(x: np.ndarray, index: tuple[Any, ...], by: complex) -> np.ndarray:
    """A copy of x with a number added to one element."""
    new = np.array(x)
    new[index] += by
    return new


def step_at(x: np.ndarray, index: tuple[Any, ...], step: float | None, power: float) -> float:
    """The step for an element: a power of the precision, rounded to a power of two so that adding it is exact."""
    if step is not None:
        return step
    return float(2.0 ** np.round(np.log2(np.finfo(x.dtype).eps ** power * max(1.0, abs(x[index])))))


def rounding(y: np.ndarray, x: np.ndarray, h: float) -> Any:
    """The effect of rounding in values of this size on a difference that is divided by h."""
    return np.abs(y) * np.finfo(x.dtype).eps / h


def one_sided_slope(
    g: Callable[..., Any],
    x: np.ndarray,
    index: tuple[Any, ...],
    direction: complex,
    step: float | None,
    side: float = 1.0,
) -> tuple[Any, Any]:
    """The difference to one side, with the distance to that of twice the step as its error."""
    h = step_at(x, index, step, 1 / 2)
    here, near, far = (g(shift_element(x, index, side * d * h * direction)) for d in (0.0, 1.0, 2.0))
    slope = (near - here) / (side * h)
    return slope, np.abs((far - here) / (2 * side * h) - slope) + 2 * rounding(here, x, h)


def symmetric_slope(
    g: Callable[..., Any], x: np.ndarray, index: tuple[Any, ...], direction: complex, step: float | None
) -> tuple[Any, Any]:
    """The central difference, with a third of the distance to that of twice the step as its error."""
    h = step_at(x, index, step, 1 / 3)
    left, right, far_left, far_right = (g(shift_element(x, index, d * h * direction)) for d in (-1.0, 1.0, -2.0, 2.0))
    slope = (right - left) / (2 * h)
    return slope, np.abs((far_right - far_left) / (4 * h) - slope) / 3 + rounding(right, x, h)


ROWS = 7
"""The number of steps of an extrapolation, each half of the one before."""


def extrapolated_slope(
    g: Callable[..., Any], x: np.ndarray, index: tuple[Any, ...], direction: complex, step: float | None
) -> tuple[Any, Any]:
    """Ridders' scheme: for each element, the extrapolation that differs least from those it was computed from."""
    h = step_at(x, index, step, 1 / 8)
    rows: list[list[np.ndarray]] = []
    best: Any = None
    error: Any = None
    for i in range(ROWS):
        near = (g(shift_element(x, index, h * direction)) - g(shift_element(x, index, -h * direction))) / (2 * h)
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


def imaginary_slope(
    g: Callable[..., Any],
    x: np.ndarray,
    index: tuple[Any, ...],
    direction: complex,  # noqa: ARG001  # a Scheme has it; real functions have only one
    step: float | None,
) -> tuple[Any, Any]:
    """The complex step, which is exact up to rounding."""
    h = step or tiny_step(x)
    slope = np.imag(g(shift_element(x + 0j, index, 1j * h))) / h
    return slope, np.abs(slope) * np.finfo(x.dtype).eps


def tiny_step(x: np.ndarray) -> float:
    """A step whose square is below the precision of any number."""
    return 1e-200 if x.dtype.itemsize >= 8 else 1e-20


def refuse_not_analytic(f: Callable[..., Any], args: Sequence[Any], i: int, step: float | None) -> None:
    """Raise unless a complex step along a random direction agrees with a real one."""
    x = args[i]
    if x.dtype.kind == "c":
        raise user_error(
            TypeError,
            f"complex_step differentiates real functions of real numbers; argument {i} is complex",
            "Use central.",
        )
    direction = np.random.default_rng(0).uniform(0.5, 1.5, x.shape).astype(x.dtype)

    def along(s: Any) -> Any:
        return f(*args[:i], (x + s * direction)[()], *args[i + 1 :])

    try:
        y = np.asarray(along(1j * (h := step or tiny_step(x))))
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
