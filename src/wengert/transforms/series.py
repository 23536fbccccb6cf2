"""Taylor series of functions: `jet` pushes series through a function, `taylor` returns coefficients.

Coefficients are true Taylor coefficients, x(s) = x[0] + x[1] s + x[2] s^2 + ...; factorials appear once, in
`derivative`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.control.values import match_given
from wengert.core import tree
from wengert.core.errors import GradientError, user_error
from wengert.core.levels import is_own, new_level, numpy_of
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.modes import recording
from wengert.modes.forward import zeros_like
from wengert.modes.taylor import Jet, Run, Series
from wengert.transforms.boundary import call_function

__all__ = ["jet", "taylor"]


def jet(f: Callable[..., Any], primals: Sequence[Any], series: Sequence[Sequence[Any]]) -> tuple[Any, list[Any]]:
    """The value of f, and its Taylor coefficients from the first order on along a curve through the primals.

    `series` has a list of coefficients for each argument, from the first order on; the longest list gives the order.

    >>> import numpy as np
    >>> value, (first, second) = jet(np.exp, [0.0], [[1.0, 0.0]])
    >>> float(value), float(first), float(second)
    (1.0, 1.0, 0.5)
    """
    if len(primals) != len(series):
        raise user_error(
            ValueError,
            f"jet got {len(primals)} arguments and {len(series)} series",
            "Give one list of coefficients for each.",
        )
    order = max(map(len, series), default=0)
    if order == 0:
        raise user_error(ValueError, "jet needs at least one coefficient")
    level, run = new_level(), Run(order)
    arguments = [_curve(x, terms, run, level) for x, terms in zip(primals, series, strict=True)]
    leaves, structure = tree.flatten(call_function(lambda curves: recording.as_read(f)(*curves), arguments, level))
    columns = [[match_given(term, (primals, series)) for term in _coefficients(y, level, order)] for y in leaves]
    value, *coefficients = [tree.unflatten(structure, row) for row in zip(*columns, strict=True)]
    return value, coefficients


def _curve(primal: Any, terms: Sequence[Any], run: Run, level: int) -> Any:
    """One argument, with a jet for each leaf."""
    leaves, structure = tree.flatten(primal)
    rows = []
    for k, term in enumerate(terms):
        row, other = tree.flatten(term)
        if other != structure:
            raise user_error(
                ValueError, f"The coefficient of order {k + 1} has the structure {other!r}, its argument {structure!r}"
            )
        rows.append(row)
    jets = []
    for i, leaf in enumerate(leaves):
        x = _as_floating(leaf)
        jets.append(Jet(Series(run, [x, *[_cast_like(row[i], x) for row in rows]]), level))
    return tree.unflatten(structure, jets)


def _as_floating(x: Any) -> Any:
    x = as_operand(x)
    if x.dtype.kind not in "fc":
        raise user_error(
            GradientError,
            f"A Taylor series needs floating-point numbers, not {x.dtype}",
            "Convert with np.asarray(x, float).",
        )
    return x


def _cast_like(term: Any, x: Any) -> Any:
    term = as_operand(term)
    if term.shape != x.shape:
        raise user_error(
            ValueError, f"A coefficient has shape {term.shape}, its argument {x.shape}", "They must be equal."
        )
    return term if term.dtype == x.dtype else term.astype(x.dtype)


def _coefficients(y: Any, level: int, order: int) -> list[Any]:
    """All coefficients of one output, zeros included."""
    known = y.series.coefficients[: order + 1] if is_own(y, Jet, level) else [y]
    known = [*known, *[None] * (order + 1 - len(known))]
    return [zeros_like(known[0]) if t is None else t for t in known]


def taylor(f: Callable[..., Any], x: Any, order: int, direction: Any = None) -> list[Any]:
    """The Taylor coefficients of f along a direction, from order 0 to `order`.

    By default the direction is one for each element of x.

    >>> import numpy as np
    >>> [float(c) for c in taylor(np.sin, 0.0, 3)]
    [0.0, 1.0, 0.0, -0.16666666666666666]
    """
    if order < 1:
        raise user_error(ValueError, f"taylor needs an order of at least 1, not {order}")
    if direction is None:
        direction = tree.map(lambda leaf: numpy_of(leaf).ones(Spec.of(leaf).shape), x)
    value, coefficients = jet(f, [x], [[direction, *[tree.map(zeros_like, x)] * (order - 1)]])
    return [value, *coefficients]
