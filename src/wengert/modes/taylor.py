"""Taylor mode: Jet, a value with the coefficients of a truncated power series.

Linear operations act on each coefficient, products convolve, and a few operations have a recurrence in the table. For all others the
rule that pushes tangents forward is a differential equation, `out' = rule(x', x, out)`, and is solved order by order: the rule runs once,
on series whose coefficients are computed when they are asked for, `out` itself among them. So the work is quadratic in the order, and the
table needs to know nothing but the derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from wengert.core.array import Array
from wengert.core.primitive import Primitive, needs
from wengert.core.series import convolved
from wengert.modes.forward import push
from wengert.ops.elementwise import divide, multiply

Extension = Callable[[int], Any]


class Run:
    """One run of Taylor mode: the order, and what the rule that is running at this moment has made so far."""

    __slots__ = ("depth", "known", "order")

    def __init__(self, order: int):
        self.order = order
        self.depth = 0  # of rules inside rules
        self.known: dict[Any, Jet] = {}  # by operation and arguments: sin and cos are each other's derivatives


class Series:
    """Coefficients of a power series, computed as far as they were asked for; None is a coefficient that is zero."""

    __slots__ = ("extend", "run", "terms")

    def __init__(self, run: Run, terms: list, extend: Extension | None = None):
        self.run, self.terms, self.extend = run, terms, extend

    def __getitem__(self, k: int) -> Any:
        while len(self.terms) <= k:
            self.terms.append(self.extend(len(self.terms)) if self.extend else None)
        return self.terms[k]


class Constant:
    """The series of what does not change."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __getitem__(self, k: int) -> Any:
        return None if k else self.value


class Jet(Array):
    """A value and the Taylor coefficients of how it changes along a curve; `value` is the one of order 0."""

    if TYPE_CHECKING:
        series: Series
    else:
        __slots__ = ()
        series = Array.extra

    def __init__(self, series: Series, level: int):
        self.value, self.series, self.level = series[0], series, level

    @staticmethod
    def process(primitive: Primitive, level: int, args: tuple, params: dict[str, Any]) -> Any:
        live = [isinstance(a, Jet) and a.level == level for a in args]
        run = next(a.series.run for a, alive in zip(args, live, strict=True) if alive)
        key = (primitive, *[id(a.series) if alive else id(a) for a, alive in zip(args, live, strict=True)], *params.items())
        if run.depth and key in run.known:
            return run.known[key]
        values = [a.value if alive else a for a, alive in zip(args, live, strict=True)]
        out = primitive.op(*values, **params)
        if primitive.kind == "nondifferentiable":
            return out
        if primitive.outputs != 1:
            return several(primitive, level, args, live, values, out, params, run)
        jet = Jet(Series(run, [out]), level)
        jet.series.extend = extension(primitive, args, live, values, jet, params)
        if run.depth:
            run.known[key] = jet
        else:
            complete(jet.series)
        return jet

    def __repr__(self) -> str:
        return f"jet({', '.join(map(repr, self.series.terms))})"


def complete(series: Series) -> None:
    """Compute all coefficients, and forget how: what rules made in between refers to itself."""
    run = series.run
    series[run.order]
    for other in (series, *[jet.series for jet in run.known.values()]):
        other.extend = None
    run.known.clear()


def several(
    primitive: Primitive, level: int, args: Sequence[Any], live: Sequence[bool], values: Sequence[Any], outs: Any, params: dict, run: Run
) -> tuple:
    """The outputs of a linear operation that has several: each order gives one coefficient of all of them."""
    terms = [a.series if alive else Constant(a) for a, alive in zip(args, live, strict=True)]
    orders = [outs]
    for k in range(1, run.order + 1):
        coefficients = [t[k] for t in terms]
        orders.append(push(primitive, values, coefficients, outs, params) or [None] * len(outs))
    return tuple([Jet(Series(run, list(column)), level) for column in zip(*orders, strict=True)])


def extension(
    primitive: Primitive, args: Sequence[Any], live: Sequence[bool], values: Sequence[Any], out: Jet, params: dict[str, Any]
) -> Extension:
    """How the next coefficient of an operation's output is computed."""
    terms = [a.series if alive else Constant(a) for a, alive in zip(args, live, strict=True)]
    if is_linear(primitive, live):
        return lambda k: push(primitive, values, [t[k] if alive else None for t, alive in zip(terms, live, strict=True)], out.value, params)
    if primitive.kind == "multilinear":
        return lambda k: convolved(terms[0], terms[1], range(k + 1), k, lambda x, y: primitive.op(x, y, **params))
    recurrence = primitive.taylor and primitive.taylor(*terms)
    if recurrence:
        return lambda k: recurrence(k, out.series)
    return by_derivative(primitive, args, live, out, params)


def is_linear(primitive: Primitive, live: Sequence[bool]) -> bool:
    """Whether the output is linear in the live arguments, the others being constant."""
    if primitive.kind in ("linear", "multilinear"):
        return primitive.kind == "linear" or sum(live) == 1
    if primitive.kind != "elementwise":
        return False
    varying = {name for name, alive in zip(primitive.inputs, live, strict=True) if alive} | {"out"}
    rules = [rule for rule, alive in zip(primitive.rules, live, strict=True) if rule and alive]
    return not any(varying & set(needs(rule)) for rule in rules)


def by_derivative(primitive: Primitive, args: Sequence[Any], live: Sequence[bool], out: Jet, params: dict[str, Any]) -> Extension:
    """The integral of `out' = push(x', x, out)`."""
    run = out.series.run
    slope: list[Any] = []

    def extend(k: int) -> Any:
        if not slope:
            run.depth += 1
            try:
                rates = [derivative(a) if alive else None for a, alive in zip(args, live, strict=True)]
                pushed = push(primitive, args, rates, out, params)
            finally:
                run.depth -= 1
            slope.append(pushed.series if isinstance(pushed, Jet) and pushed.level == out.level else Constant(pushed))
        rate = slope[0][k - 1]
        return rate if rate is None or k == 1 else divide(rate, float(k))

    return extend


def derivative(x: Jet) -> Jet:
    """x', as far as x is known."""
    series = x.series

    def extend(k: int) -> Any:
        term = series[k + 1]
        return term if term is None or k == 0 else multiply(term, float(k + 1))

    first = extend(0)
    return Jet(Series(series.run, [multiply(x.value, 0.0) if first is None else first], extend), x.level)
