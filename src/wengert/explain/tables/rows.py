"""Which rows the tables of an explanation have, in every form: values beside tangents, values beside adjoints, or one
trace alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from wengert.explain.steps import Step
from wengert.explain.tables.lines import Equation, Lines

LIMIT = 60
TAIL = 20
"""Of a trace that is too long, how many lines at its end are shown; the others are those at its beginning."""


class Row(NamedTuple):
    """One line of a table: the user's line, and an equation or two. `left_out` stands for that many others."""

    place: str = ""
    first: Equation | None = None
    second: Equation | None = None
    left_out: int = 0


class Table(NamedTuple):
    """Rows under one title or two."""

    titles: tuple[str, ...]
    rows: list[Row]

    @property
    def left_out(self) -> int:
        return sum([row.left_out for row in self.rows])


class Pending(NamedTuple):
    """A row that is not made until it is shown: of a long trace, most are not."""

    step: Step | None
    first: Callable[[], Equation | None] | None = None
    second: Callable[[], Equation | None] | None = None

    def made(self, lines: Lines) -> Row:
        return Row(
            lines.place(self.step) if self.step else "", self.first and self.first(), self.second and self.second()
        )


Rows = list[Pending]
Fits = Callable[[Table], bool]


def tables(lines: Lines, limit: int | None, fits: Fits = lambda table: True) -> list[Table]:
    """The tables to show; `limit` is the number of rows beyond which the middle is left out.

    Traces go side by side if that `fits`.
    """
    back = Table(("adjoints, from the result back",), [])
    if lines.explanation.tangents is None:
        return side_by_side(lines, bottom_up(lines), "adjoints ↑", limit, fits) or [
            Table(("evaluation",), shortened(lines, evaluation(lines), limit)),
            back._replace(rows=shortened(lines, walked_back(lines), limit)),
        ]
    pairs = [Pending(step, partial(lines.evaluation, step), partial(lines.tangent, step)) for step in lines.steps]
    found = side_by_side(lines, pairs, "tangents ↓", limit, fits) or [
        Table(("evaluation",), shortened(lines, evaluation(lines), limit)),
        Table(("tangents",), shortened(lines, tangents(lines), limit)),
    ]
    if lines.explanation.adjoints is not None:
        found.append(back._replace(rows=shortened(lines, walked_back(lines), limit)))
    return found


def side_by_side(lines: Lines, rows: Rows, title: str, limit: int | None, fits: Fits) -> list[Table]:
    """Two traces in one table; nothing if that is too wide."""
    table = Table(("evaluation ↓", title), shortened(lines, rows, limit))
    return [table] if fits(table) else []


def evaluation(lines: Lines) -> Rows:
    return [Pending(step, partial(lines.evaluation, step)) for step in lines.steps]


def tangents(lines: Lines) -> Rows:
    return [Pending(step, partial(lines.tangent, step)) for step in lines.steps if lines.changes(step)]


def bottom_up(lines: Lines) -> Rows:
    """Each operation with what it sends back, to be read upwards; the seeds stand at the end."""
    rows: Rows = []
    for step in lines.steps:
        sent = lines.arrivals.get(step.node, [])[::-1]
        rows.append(Pending(step, partial(lines.evaluation, step), partial(lines.adjoint, sent[0]) if sent else None))
        rows += [Pending(None, None, partial(lines.adjoint, arrival)) for arrival in sent[1:]]
    return rows + [Pending(None, None, partial(lines.adjoint, seed)) for seed in reversed(lines.seeds)]


def walked_back(lines: Lines) -> Rows:
    """The adjoints in the order in which they are computed."""
    rows = [Pending(None, partial(lines.adjoint, seed)) for seed in lines.seeds]
    for step in reversed(lines.steps):
        rows += [Pending(step, partial(lines.adjoint, arrival)) for arrival in lines.arrivals.get(step.node, ())]
    return rows


def shortened(lines: Lines, rows: Rows, limit: int | None) -> list[Row]:
    """The rows, without those in the middle if they are too many."""
    if limit is None or len(rows) <= limit:
        return [row.made(lines) for row in rows]
    head, tail = rows[: limit - TAIL], rows[-TAIL:]
    return [*[row.made(lines) for row in head], Row(left_out=len(rows) - limit), *[row.made(lines) for row in tail]]


def sides(equation: Equation | None) -> tuple[str, str, str, str]:
    """The four sides of an equation, the same never twice."""
    if equation is None:
        return "", "", "", ""
    numbers = equation.numbers if equation.numbers not in (equation.formula, equation.value) else ""
    return equation.left, equation.formula if equation.formula != equation.value else "", numbers, equation.value
