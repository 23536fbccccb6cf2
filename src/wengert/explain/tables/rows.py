"""The rows of the tables, in every format: values beside tangents, values beside adjoints, or one trace alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from wengert.explain.folding import TraceLoop, find_loops
from wengert.explain.steps import TraceStep
from wengert.explain.tables.equations import Equation, Equations

LIMIT = 60
TAIL = 20
"""How many lines at the end of a long trace are shown; the others are at its beginning."""


class TableRow(NamedTuple):
    """The source line, and one or two equations; or the number of rows that are left out, and what they are."""

    line: str = ""
    first: Equation | None = None
    second: Equation | None = None
    left_out: int = 0
    what: str = ""

    @property
    def note(self) -> str:
        """What is left out here."""
        lines = f"{self.left_out:,} lines are left out"
        return f"{self.what}: {lines}" if self.what else lines


class Table(NamedTuple):
    """Rows under one or two titles."""

    titles: tuple[str, ...]
    rows: list[TableRow]

    @property
    def left_out(self) -> int:
        return sum([row.left_out for row in self.rows])


class Pending(NamedTuple):
    """A row that is made only if it is shown: most rows of a long trace are not."""

    step: TraceStep | None
    first: Callable[[], Equation | None] | None = None
    second: Callable[[], Equation | None] | None = None

    def make(self, equations: Equations) -> TableRow:
        line = equations.source_line(self.step) if self.step else ""
        return TableRow(line, self.first and self.first(), self.second and self.second())


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


def make_rows(equations: Equations, rows: Rows, limit: int | None) -> list[TableRow]:
    """The rows. If there are too many, loops are folded to their first and last step; then the middle is left out."""
    if limit is None or len(rows) <= limit:
        return [row.make(equations) for row in rows]
    found = fold_loops(equations, rows)
    if len(found) > limit:
        middle = found[limit - TAIL : -TAIL]
        hidden = sum([row.left_out if isinstance(row, TableRow) else 1 for row in middle])
        found = [*found[: limit - TAIL], TableRow(left_out=hidden), *found[-TAIL:]]
    return [row if isinstance(row, TableRow) else row.make(equations) for row in found]


def fold_loops(equations: Equations, rows: Rows) -> list[Pending | TableRow]:
    """The rows without those of a loop that belong neither to its first nor to its last step."""
    loops = find_loops(equations.explanation.steps)
    index = {step.node: i for i, step in enumerate(equations.explanation.steps)}
    loop_of = {i: loop for loop in loops for i in range(loop.first + loop.period, loop.end - loop.period)}
    found: list[Pending | TableRow] = []
    hidden: TraceLoop | None = None
    for row in rows:
        if row.step is not None:
            here = loop_of.get(index[row.step.node])
            if here is not None and here is not hidden:
                found.append(TableRow(what=f"steps 2 to {here.rounds - 1} of {here.rounds}"))
            hidden = here
        if hidden is None:
            found.append(row)
        else:
            last = found[-1]
            assert isinstance(last, TableRow)
            found[-1] = last._replace(left_out=last.left_out + 1)
    return found


def sides(equation: Equation | None) -> tuple[str, str, str, str]:
    """The four sides of an equation, each only once."""
    if equation is None:
        return "", "", "", ""
    numbers = equation.numbers if equation.numbers not in (equation.formula, equation.value) else ""
    return equation.left, equation.formula if equation.formula != equation.value else "", numbers, equation.value
