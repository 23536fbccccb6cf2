"""A gradient to many digits: the recorded operations run again on numbers of mpmath, and differences with a tiny step.

Nothing of the derivative rules is used, so this is an independent judge of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from wengert.core.spec import Spec
from wengert.explain import aspects  # noqa: F401  # fills `digits`
from wengert.explain.comparing.digits import digits
from wengert.explain.why.source_lines import numbers_of
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
        exact = [lifted(mpmath, x) for x in points]
        h = mpmath.mpf(10) ** STEP
        here = evaluated(graph, exact, mpmath)
        found = []
        for i, x in enumerate(exact):
            for place in np.ndindex(x.shape):
                left, right = (
                    evaluated(graph, [*exact[:i], moved(x, place, d), *exact[i + 1 :]], mpmath) for d in (-h, h)
                )
                slopes = (here - left) / h, (right - here) / h
                if abs(slopes[0] - slopes[1]) > 1e-9 * (1 + abs(slopes[1])):
                    raise UnknownToPrecision(
                        "the function has a kink or a jump here, where a derivative is a convention"
                    )
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


def evaluated(graph: Graph, points: Sequence[np.ndarray], mpmath: Any) -> Any:
    """The value of a graph."""
    values: dict[Node, Any] = dict(zip(graph.inputs, points, strict=True))
    for node in graph.nodes:
        if isinstance(node, Constant):
            values[node] = lifted(mpmath, numbers_of(node.value)) if node.dtype.kind in "fc" else numbers_of(node.value)
        elif isinstance(node, Operation):
            values[node] = run(node, [values[a] for a in node.args], mpmath)
    value = values[graph.outputs[0]]
    number = value.item() if isinstance(value, np.ndarray) else value
    if not isinstance(number, mpmath.mpf) or not mpmath.isfinite(number):
        raise UnknownToPrecision("the function is no finite real number here, or close by")
    return number


def run(node: Operation, args: Sequence[Any], mpmath: Any) -> Any:
    """One operation, by its form of many digits."""
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
