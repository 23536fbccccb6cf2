"""A gradient to many digits: the recorded operations run again on numbers of mpmath, and differences with a tiny step.

Nothing of the derivative rules is used, so this is an independent judge of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from wengert.core.spec import Spec
from wengert.explain.why.places import numbers_of
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation

DIGITS = 60
STEP = -20
"""The power of ten of the step: truncation and rounding then both lie beyond the 35th digit."""
NOISE = 1e-36
LARGEST = 100_000
"""Beyond so many evaluations of one operation on one number, this would take seconds."""


class UnknownToPrecision(Exception):
    """There is no gradient of many digits; the text says why."""


def precise_gradient(graph: Graph, points: Sequence[Any]) -> list[Fraction]:
    """The gradient of a graph with one number as its value, entry after entry, as fractions, whose arithmetic is exact."""
    try:
        import mpmath  # type: ignore[import-untyped]  # has no types
    except ImportError:
        raise UnknownToPrecision("mpmath is not installed: python -m pip install mpmath") from None
    size = sum(np.size(x) for x in points)
    work = sum(node.size if isinstance(node.spec, Spec) else 1 for node in graph.operations) * (1 + 2 * size)
    if work > LARGEST:
        raise UnknownToPrecision(f"{size} entries of {len(graph.operations)} operations are too many for 60 digits")
    with mpmath.workdps(DIGITS):
        table = counterparts(mpmath)
        exact = [lifted(mpmath, x) for x in points]
        h = mpmath.mpf(10) ** STEP
        here = evaluated(graph, exact, table, mpmath)
        found = []
        for i, x in enumerate(exact):
            for place in np.ndindex(x.shape):
                left, right = (evaluated(graph, [*exact[:i], moved(x, place, d), *exact[i + 1 :]], table, mpmath) for d in (-h, h))
                slopes = (here - left) / h, (right - here) / h
                if abs(slopes[0] - slopes[1]) > 1e-9 * (1 + abs(slopes[1])):
                    raise UnknownToPrecision("the function has a kink or a jump here, where a derivative is a convention")
                found.append(fraction((right - left) / (2 * h), here))
        return found


def fraction(x: Any, scale: Any) -> Fraction:
    """A number of mpmath exactly; what is only the noise of a zero, for values of this scale, is zero."""
    sign, mantissa, exponent, _ = x._mpf_
    exact = Fraction(-int(mantissa) if sign else int(mantissa)) * Fraction(2) ** exponent
    return exact if abs(x) > NOISE * max(1, abs(scale)) else Fraction(0)


def lifted(mpmath: Any, x: Any) -> np.ndarray:
    """An array of numbers of mpmath, the same to the last digit."""
    plain = np.asarray(x)
    if plain.dtype.kind not in "iuf":
        return plain
    out = np.empty(plain.shape, object)
    for place in np.ndindex(plain.shape):
        out[place] = mpmath.mpf(plain[place].item())
    return out


def moved(x: np.ndarray, place: tuple[int, ...], by: Any) -> np.ndarray:
    new = x.copy()
    new[place] = new[place] + by
    return new


def evaluated(graph: Graph, points: Sequence[np.ndarray], table: dict[str, Callable], mpmath: Any) -> Any:
    """The value of a graph."""
    values: dict[Node, Any] = dict(zip(graph.inputs, points, strict=True))
    for node in graph.nodes:
        if isinstance(node, Constant):
            values[node] = lifted(mpmath, numbers_of(node.value)) if node.dtype.kind in "fc" else numbers_of(node.value)
        elif isinstance(node, Operation):
            values[node] = run(node, [values[a] for a in node.args], table)
    value = values[graph.outputs[0]]
    number = value.item() if isinstance(value, np.ndarray) else value
    if not isinstance(number, mpmath.mpf) or not mpmath.isfinite(number):
        raise UnknownToPrecision("the function is no finite real number here, or close by")
    return number


def run(node: Operation, args: Sequence[Any], table: dict[str, Callable]) -> Any:
    """One operation: by its counterpart, or if it only moves and adds numbers, by NumPy's own implementation of it."""
    name = node.primitive.name
    try:
        if name in table:
            out = table[name](*args, **node.params)
        elif node.primitive.kind in ("linear", "multilinear") or name in ("prod", "max", "min", "cumprod"):
            out = node.primitive.impl(*args, **node.params)
        else:
            raise UnknownToPrecision(f"{name} has no counterpart of many digits")
    except UnknownToPrecision:
        raise
    except Exception as error:
        raise UnknownToPrecision(f"{name} does not run on numbers of many digits ({error})") from error
    if node.primitive.outputs != 1:
        return out
    if node.dtype.kind == "f":
        out = np.asarray(out, object)
        if out.size and isinstance(out.flat[0], float | np.floating):
            raise UnknownToPrecision(f"{name} rounds to floating-point numbers")
        return out
    return np.asarray(out).astype(node.dtype) if node.dtype.kind in "biu" else out


def elementwise(function: Callable, arity: int) -> Callable:
    ufunc: Any = np.frompyfunc(function, arity, 1)
    return lambda *args: ufunc(*args)


def reduced(function: Callable, x: Any, axis: Any, keepdims: bool) -> Any:
    """A reduction by a function of a list of numbers."""
    axes = tuple(range(x.ndim)) if axis is None else axis
    kept = tuple(i for i in range(x.ndim) if i not in axes)
    rows = np.transpose(x, kept + axes).reshape([x.shape[i] for i in kept] + [-1])
    out = np.empty(rows.shape[:-1], object)
    for place in np.ndindex(out.shape):
        out[place] = function(list(rows[place]))
    return np.expand_dims(out, axes) if keepdims else out


def counterparts(mp: Any) -> dict[str, Callable]:
    """Operations by name, on arrays of numbers of mpmath."""
    unary = {name: getattr(mp, name) for name in ("exp", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "log1p", "sign")}
    unary |= {"arc" + name: getattr(mp, "a" + name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
    unary |= {
        "log": mp.log,
        "root": mp.sqrt,
        "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
        "exp2": lambda x: mp.mpf(2) ** x,
        "log2": lambda x: mp.log(x, 2),
        "log10": lambda x: mp.log(x, 10),
        "negative": lambda x: -x,
        "positive": lambda x: x,
        "reciprocal": lambda x: 1 / x,
        "square": lambda x: x * x,
        "absolute": abs,
        "fabs": abs,
        "deg2rad": lambda x: x * mp.pi / 180,
        "rad2deg": lambda x: x * 180 / mp.pi,
        "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
        "softplus": lambda x: mp.log1p(mp.exp(x)),
        "relu": lambda x: max(x, mp.mpf(0)),
        "floor": mp.floor,
        "ceil": mp.ceil,
    }
    binary: dict[str, Callable] = {
        "add": lambda x, y: x + y,
        "subtract": lambda x, y: x - y,
        "multiply": lambda x, y: x * y,
        "divide": lambda x, y: x / y,
        "power": lambda x, y: mp.power(x, int(y) if y == int(y) else y),
        "remainder": lambda x, y: x % y,
        "logaddexp": lambda x, y: mp.log(mp.exp(x) + mp.exp(y)),
        "logaddexp2": lambda x, y: mp.log(mp.mpf(2) ** x + mp.mpf(2) ** y, 2),
        "arctan2": mp.atan2,
        "hypot": mp.hypot,
        "maximum": max,
        "minimum": min,
        "fmax": max,
        "fmin": min,
        "less": lambda x, y: x < y,
        "less_equal": lambda x, y: x <= y,
        "greater": lambda x, y: x > y,
        "greater_equal": lambda x, y: x >= y,
        "equal": lambda x, y: x == y,
        "not_equal": lambda x, y: x != y,
    }
    norm = lambda ord, numbers: mp.norm(numbers, mp.inf if ord == np.inf else 2 if ord is None else ord)
    return {
        **{name: elementwise(function, 1) for name, function in unary.items()},
        **{name: elementwise(function, 2) for name, function in binary.items()},
        "where": lambda condition, x, y: np.where(condition, x, y),
        "astype": lambda x, **params: x,
        "copy": lambda x, **params: x,
        "stop_gradient": lambda x: x,
        "mean": lambda x, axis, keepdims: reduced(lambda numbers: mp.fsum(numbers) / len(numbers), x, axis, keepdims),
        "norm": lambda x, ord, axis, keepdims: reduced(partial(norm, ord), x, axis, keepdims),
        "logsumexp": partial(reduced, lambda numbers: mp.log(mp.fsum(map(mp.exp, numbers)))),
    }
