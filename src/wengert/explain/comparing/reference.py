"""A gradient of many digits: the recorded operations run on numbers of mpmath, and differences with a tiny step.

It uses no derivative rules, so it is an independent check of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from wengert.core import machine
from wengert.core.spec import Spec
from wengert.explain import aspects  # noqa: F401  # fills `digits`
from wengert.explain.comparing.digits import digits
from wengert.explain.recorder import plain_arrays
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation

DIGITS = 60
STEP = -20
"""The exponent of the step: truncation and rounding errors are then both beyond the 35th digit."""
NOISE = 1e-36


class UnknownToPrecision(Exception):
    """There is no gradient of many digits, for the reason given."""


def precise_gradient(graph: Graph, points: Sequence[Any]) -> list[Fraction]:
    """The gradient of a graph whose result is one number, element by element, as exact fractions."""
    try:
        import mpmath
    except ImportError:
        raise UnknownToPrecision("mpmath is not installed: python -m pip install mpmath") from None
    size = sum(np.size(x) for x in points)
    work = sum(node.size if isinstance(node.spec, Spec) else 1 for node in graph.operations) * (1 + 2 * size)
    if work > machine.current.max_evaluations_of_reference:
        raise UnknownToPrecision(f"{size} elements and {len(graph.operations)} operations are too many for 60 digits")
    with mpmath.workdps(DIGITS):
        exact = [to_mpmath(mpmath, x) for x in points]
        h = mpmath.mpf(10) ** STEP
        here = evaluate_precisely(graph, exact, mpmath)
        found = []
        for i, x in enumerate(exact):
            for index in np.ndindex(x.shape):
                left, right = (
                    evaluate_precisely(graph, [*exact[:i], shift_element(x, index, d), *exact[i + 1 :]], mpmath)
                    for d in (-h, h)
                )
                slopes = (here - left) / h, (right - here) / h
                if abs(slopes[0] - slopes[1]) > 1e-9 * (1 + abs(slopes[1])):
                    raise UnknownToPrecision(
                        "the function has a kink or a jump here, where its derivative is a convention"
                    )
                found.append(to_fraction((right - left) / (2 * h), here))
        return found


def to_fraction(x: Any, scale: Any) -> Fraction:
    """A number of mpmath exactly; zero if it is only noise for values of this scale."""
    sign, mantissa, exponent, _ = x._mpf_
    exact = Fraction(-int(mantissa) if sign else int(mantissa)) * Fraction(2) ** exponent
    return exact if abs(x) > NOISE * max(1, abs(scale)) else Fraction(0)


def to_mpmath(mpmath: Any, x: Any) -> np.ndarray:
    """An array of exactly the same numbers, of mpmath."""
    plain = np.asarray(x)
    if plain.dtype.kind not in "iuf":
        return plain
    out = np.empty(plain.shape, object)
    for index in np.ndindex(plain.shape):
        out[index] = mpmath.mpf(plain[index].item())
    return out


def shift_element(x: np.ndarray, index: Any, by: Any) -> np.ndarray:
    """A copy of an array with a number added to one element."""
    new = x.copy()
    new[index] = new[index] + by
    return new


def evaluate_precisely(graph: Graph, points: Sequence[np.ndarray], mpmath: Any) -> Any:
    """The value of a graph."""
    values: dict[Node, Any] = dict(zip(graph.inputs, points, strict=True))
    for node in graph.nodes:
        if isinstance(node, Constant):
            values[node] = (
                to_mpmath(mpmath, plain_arrays(node.value)) if node.dtype.kind in "fc" else plain_arrays(node.value)
            )
        elif isinstance(node, Operation):
            values[node] = run_precisely(node, [values[a] for a in node.args], mpmath)
    value = values[graph.outputs[0]]
    number = value.item() if isinstance(value, np.ndarray) else value
    if not isinstance(number, mpmath.mpf) or not mpmath.isfinite(number):
        raise UnknownToPrecision("the function is not a finite real number here, or nearby")
    return number


def run_precisely(node: Operation, args: Sequence[Any], mpmath: Any) -> Any:
    """Run one operation on numbers of many digits."""
    name = node.primitive.name
    form = digits.of(node.primitive)
    if form is None:
        why = digits.reason(node.primitive)
        raise UnknownToPrecision(f"{name} has no counterpart of many digits" + (f": {why}" if why else ""))
    try:
        out = form(mpmath, *args, **node.params)
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
