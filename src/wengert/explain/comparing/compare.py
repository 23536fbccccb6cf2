"""`compare`: manual, numerical, symbolic and automatic derivatives, side by side."""

from __future__ import annotations

import html
import math
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from wengert.core import machine
from wengert.core.errors import user_error
from wengert.explain.comparing.chart import Chart, Curve
from wengert.explain.comparing.reference import DIGITS, UnknownToPrecision, precise_gradient
from wengert.explain.comparing.ways import (
    ComparedFunction,
    Way,
    automatic_ways,
    derivative_sizes,
    manual_way,
    numerical_ways,
    point_text,
    symbolic_way,
    time_call,
    tree_size,
)
from wengert.explain.explanation import save
from wengert.explain.tables.numbers import format_number
from wengert.transforms.gradients import grad
from wengert.transforms.numeric import refuse_not_analytic

UNSURE = 1e-30
"""Smaller errors are those of the reference, and count as zero."""
SMALLEST = 1e-17
"""Smaller errors are drawn here: a logarithmic axis has no zero."""


class Comparison:
    """The results of all methods.

    `ways` are the rows, `value` is that of the function, and errors are measured against `reference`. `curve` has the
    error of differences along one direction: a dictionary from their names to pairs of step and error.
    """

    def __init__(self, problem: ComparedFunction, formula: Callable | None, steps: Sequence[float] | None):
        self.value, self.size, self.point = problem.value, problem.x.size, point_text(problem)
        self.name = getattr(problem.f, "__name__", "f").replace("<lambda>", "f")
        self.ways: list[Way] = [manual_way(problem, formula)] if formula is not None else []
        self.ways += [*numerical_ways(problem), symbolic_way(problem), *automatic_ways(problem)]
        self.reference, self.judge = reference_gradient(problem)
        for way in self.ways:
            if way.gradient is not None:
                way.error = relative_error(way.gradient.tolist(), self.reference)
        graph = problem.recording.graph
        self.operations, self.written_out = len(graph.operations), tree_size(graph)
        self.derivative_operations, self.derivative_written_out = derivative_sizes(problem)
        self.curve = step_errors(
            problem, self.reference, default_steps(problem) if steps is None else np.asarray(steps, float)
        )

    def __getitem__(self, name: str) -> Way:
        """One way, by name: `comparison["reverse mode"]`."""
        for way in self.ways:
            if name in (way.name, way.family):
                return way
        names = ", ".join(way.name for way in self.ways)
        raise user_error(KeyError, f"{name!r} is not one of the ways", f"They are {names}.")

    # As a table

    def heading(self) -> list[str]:
        lines = [f"{self.name} at {self.point}: {format_number(self.value, 7)}"]
        lines.append(f"errors are relative to the gradient, measured against {self.judge}")
        sizes = f"{self.operations} operations ({short_count(self.written_out)} written out)"
        if self.derivative_operations is not None:
            tree = short_count(self.derivative_written_out)
            sizes += f"; its derivative {self.derivative_operations} ({tree} written out)"
        return [*lines, f"the function has {sizes}"]

    def rows(self) -> list[list[str]]:
        rows = [
            [
                "",
                "",
                "gradient" if self.size <= SHOWN else "norm of gradient",
                "error",
                "time",
                "evaluations",
                "operations",
                "",
            ]
        ]
        family = ""
        for way in self.ways:
            rows.append(
                [
                    way.family if way.family != family else "",
                    way.name,
                    "-" if way.gradient is None else gradient_text(way.gradient),
                    "-" if way.error is None else f"{way.error:.1e}" if way.error else "0",
                    "-" if way.seconds is None else duration(way.seconds),
                    "-" if way.evaluations is None else str(way.evaluations),
                    "-" if way.operations is None else str(way.operations),
                    way.note,
                ]
            )
            family = way.family
        return rows

    def text(self, plot: bool = True) -> str:
        """The table for a terminal, with the plot below."""
        rows = self.rows()
        widths = [max(len(row[i]) for row in rows) for i in range(7)]
        lines = [*self.heading(), ""]
        for row in rows:
            cells = [
                f"{c:<{w}}" if i < 3 else f"{c:>{w}}" for i, (c, w) in enumerate(zip(row[:7], widths, strict=True))
            ]
            lines.append("  ".join([*cells, row[7]]).rstrip())
        return "\n".join([*lines, "", self.plot()] if plot else lines)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        heading, *rows = self.rows()
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in heading)
        body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        above = "<br>".join(map(html.escape, self.heading()))
        return f'<p>{above}</p><table class="wengert-compare"><tr>{head}</tr>{body}</table>{self.svg()}'

    # As a picture

    def chart(self) -> Chart:
        curves = [Curve(name, [(h, max(e, SMALLEST)) for h, e in points]) for name, points in self.curve.items()]
        where = "" if self.size == 1 else " along one direction"
        return Chart(
            f"Error of differences of {self.name}{where}",
            "step h",
            "relative error",
            curves,
            ("← round-off", "truncation →"),
        )

    def svg(self, path: Path | str | None = None) -> str:
        """The error of differences against their step, as a picture."""
        return save(self.chart().svg(), path)

    def plot(self, width: int = 66, height: int = 18) -> str:
        """The same picture in characters."""
        return self.chart().terminal(width, height)


SHOWN = 3
"""Gradients of more elements are shown by their norm."""


def compare(
    f: Callable, *args: Any, formula: Callable | None = None, steps: Sequence[float] | None = None
) -> Comparison:
    """The gradient of `f` with respect to its floating-point arguments, by every method: value, error, time, size.

    `formula` is the gradient by hand, a function of the same arguments. `steps` are those of the plotted differences.

    >>> comparison = compare(lambda x: x**3, 2.0, formula=lambda x: 3 * x**2)
    >>> comparison["reverse mode"].gradient, comparison["reverse mode"].error
    (array([12.]), 0.0)
    """
    with np.errstate(all="ignore"):
        return Comparison(ComparedFunction(f, args), formula, steps)


def reference_gradient(problem: ComparedFunction) -> tuple[list, str]:
    """The most accurate gradient there is, element by element, and what computed it."""
    try:
        return precise_gradient(problem.recording.graph, problem.points), f"mpmath with {DIGITS} digits"
    except UnknownToPrecision as reason:
        found = problem.flat(grad(problem.call, argnums=problem.argnums)(*problem.points))
        return found.tolist(), f"reverse mode ({reason})"


def relative_error(gradient: Sequence[float], reference: Sequence[Any]) -> float:
    """The norm of the difference, divided by that of the reference unless this is zero.

    Differences are exact, even if the reference has more digits.
    """
    if not is_finite(gradient) or not is_finite(reference):
        return float("nan")
    total = sum([(Fraction(g) - Fraction(r)) ** 2 for g, r in zip(gradient, reference, strict=True)])
    size = sum([Fraction(r) ** 2 for r in reference])
    try:
        error = math.sqrt(total / size if size else total)
    except OverflowError:
        return math.inf
    return 0.0 if error <= UNSURE else error


def is_finite(numbers: Sequence[Any]) -> bool:
    """Whether all numbers are finite."""
    return all(map(math.isfinite, numbers))


def default_steps(problem: ComparedFunction) -> np.ndarray:
    """Three steps for each decade; for a slow function, one."""
    seconds = time_call(lambda: problem.at(problem.x), 0.0)
    return np.geomspace(1e-16, 1.0, 49 if 6 * 49 * seconds < machine.current.max_seconds_of_compared_way else 17)


def step_errors(
    problem: ComparedFunction, reference: Sequence[Any], steps: np.ndarray
) -> dict[str, list[tuple[float, float]]]:
    """The error of differences along one direction, for each step."""
    x = problem.x
    direction = np.ones(1) if x.size == 1 else np.random.default_rng(0).normal(size=x.size)
    direction = direction / np.linalg.norm(direction)
    exact: float | Fraction = math.nan
    if is_finite(reference):
        exact = sum([Fraction(d) * Fraction(r) for d, r in zip(direction.tolist(), reference, strict=True)])
    at = lambda s: problem.at(x + s * direction)
    here = at(0.0)
    slopes: dict[str, Callable[[float], Any]] = {
        "forward difference": lambda h: (at(h) - here) / h,
        "backward difference": lambda h: (here - at(-h)) / h,
        "central difference": lambda h: (at(h) - at(-h)) / (2 * h),
        "complex step": lambda h: np.imag(at(1j * h)) / h,
    }
    found: dict[str, list[tuple[float, float]]] = {}
    for name, slope in slopes.items():
        if name == "complex step" and not is_analytic(problem):
            continue
        points = []
        with np.errstate(all="ignore"):
            for h in np.sort(steps).tolist():
                error = relative_error([float(slope(h))], [exact])
                if np.isfinite(error):
                    points.append((h, error))
        found[name] = points
    return found


def is_analytic(problem: ComparedFunction) -> bool:
    """Whether the function takes complex numbers, as the complex step needs."""
    try:
        with np.errstate(all="ignore"):
            refuse_not_analytic(problem.at, [problem.x], 0, None)
    except Exception:  # a function that does not take complex numbers may raise anything
        return False
    return True


def gradient_text(gradient: np.ndarray) -> str:
    """A short gradient, or the norm of a long one."""
    if gradient.size > SHOWN:
        return f"{np.linalg.norm(gradient):.12g}"
    return ", ".join(f"{g:.12g}" for g in gradient)


def duration(seconds: float) -> str:
    """Seconds with a suitable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def short_count(count: int | None) -> str:
    """A count, with few digits if it is large."""
    if count is None or count < 10**6:
        return "?" if count is None else str(count)
    return f"{count:.3g}" if count < sys.float_info.max else f"{Decimal(count):.2e}"
