"""The rows of the tables, in every format: values beside tangents, values beside adjoints, or one trace alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from wengert.explain.steps import TraceStep
from wengert.explain.tables.equations import Equation, Equations

LIMIT = 60
TAIL = 20
"""How many lines at the end of a long trace are shown; the others are at its beginning."""


class Row(NamedTuple):
    """The source line, and one or two equations; or the number of rows that are left out."""

    line: str = ""
    first: Equation | None = None
    second: Equation | None = None
    left_out: int = 0


class Table(NamedTuple):
    """Rows under one or two titles."""

    titles: tuple[str, ...]
    rows: list[Row]

    @property
    def left_out(self) -> int:
        return sum([row.left_out for row in self.rows])


class Pending(NamedTuple):
    """A row that is made only if it is shown: most rows of a long trace are not."""

    step: TraceStep | None
    first: Callable[[], Equation | None] | None = None
    second: Callable[[], Equation | None] | None = None

    def make(self, equations: Equations) -> Row:
        line = equations.source_line(self.step) if self.step else ""
        return Row(line, self.first and self.first(), self.second and self.second())


Rows = list[Pending]
Fits = Callable[[Table], bool]


def lay_out_tables(equations: Equations, limit: int | None, fits: Fits = lambda table: True) -> list[Table]:
    """The tables to show: two traces side by side if that `fits`. Long ones show `limit` rows."""
    back = Table(("adjoints, from the result back",), [])
    if equations.explanation.tangents is None:
        return side_by_side(equations, bottom_up_rows(equations), "adjoints ↑", limit, fits) or [
            Table(("evaluation",), make_rows(equations, evaluation_rows(equations), limit)),
            back._replace(rows=make_rows(equations, backward_rows(equations), limit)),
        ]
    pairs = [
        Pending(step, partial(equations.evaluation, step), partial(equations.tangent, step)) for step in equations.steps
    ]
    found = side_by_side(equations, pairs, "tangents ↓", limit, fits) or [
        Table(("evaluation",), make_rows(equations, evaluation_rows(equations), limit)),
        Table(("tangents",), make_rows(equations, tangent_rows(equations), limit)),
    ]
    if equations.explanation.adjoints is not None:
        found.append(back._replace(rows=make_rows(equations, backward_rows(equations), limit)))
    return found


def side_by_side(equations: Equations, rows: Rows, title: str, limit: int | None, fits: Fits) -> list[Table]:
    """Two traces in one table; an empty list if it is too wide."""
    table = Table(("evaluation ↓", title), make_rows(equations, rows, limit))
    return [table] if fits(table) else []


def evaluation_rows(equations: Equations) -> Rows:
    """The values."""
    return [Pending(step, partial(equations.evaluation, step)) for step in equations.steps]


def tangent_rows(equations: Equations) -> Rows:
    """The tangents."""
    return [Pending(step, partial(equations.tangent, step)) for step in equations.steps if equations.changes(step)]


def bottom_up_rows(equations: Equations) -> Rows:
    """Each operation beside its contributions to adjoints, to be read upwards; the seeds stand at the end."""
    rows: Rows = []
    for step in equations.steps:
        sent = equations.arrivals.get(step.node, [])[::-1]
        rows.append(
            Pending(step, partial(equations.evaluation, step), partial(equations.adjoint, sent[0]) if sent else None)
        )
        rows += [Pending(None, None, partial(equations.adjoint, arrival)) for arrival in sent[1:]]
    return rows + [Pending(None, None, partial(equations.adjoint, seed)) for seed in reversed(equations.seeds)]


def backward_rows(equations: Equations) -> Rows:
    """The adjoints in the order in which they are computed."""
    rows = [Pending(None, partial(equations.adjoint, seed)) for seed in equations.seeds]
    for step in reversed(equations.steps):
        rows += [
            Pending(step, partial(equations.adjoint, arrival)) for arrival in equations.arrivals.get(step.node, ())
        ]
    return rows


def make_rows(equations: Equations, rows: Rows, limit: int | None) -> list[Row]:
    """The rows, without the middle if there are too many."""
    if limit is None or len(rows) <= limit:
        return [row.make(equations) for row in rows]
    head, tail = rows[: limit - TAIL], rows[-TAIL:]
    return [
        *[row.make(equations) for row in head],
        Row(left_out=len(rows) - limit),
        *[row.make(equations) for row in tail],
    ]


def sides(equation: Equation | None) -> tuple[str, str, str, str]:
    """The four sides of an equation, each only once."""
    if equation is None:
        return "", "", "", ""
    numbers = equation.numbers if equation.numbers not in (equation.formula, equation.value) else ""
    return equation.left, equation.formula if equation.formula != equation.value else "", numbers, equation.value
