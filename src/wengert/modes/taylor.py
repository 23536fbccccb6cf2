"""Taylor mode: Jet, a value with the coefficients of a truncated Taylor series.

Linear operations act on each coefficient, products convolve, and a few operations have a recurrence in the table. For
all others, the rule that pushes tangents is a differential equation, `out' = rule(x', x, out)`, which is solved order
by order: the rule runs once on series whose coefficients are computed on demand, including those of `out`. The work is
quadratic in the order, and the table needs derivatives only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from wengert.core.array import Array
from wengert.core.definition import needs
from wengert.core.levels import find_own, payloads
from wengert.core.primitive import Primitive
from wengert.modes import recording
from wengert.modes.forward import push
from wengert.ops.elementwise.arithmetic import divide, multiply

Extension = Callable[[int], Any]


class Run:
    """One run of Taylor mode: the order, and the jets that the running rule has made so far."""

    __slots__ = ("depth", "known", "order")

    def __init__(self, order: int):
        self.order = order
        self.depth = 0  # of rules inside rules
        self.known: dict[Any, Jet] = {}  # by operation and arguments: sin and cos are each other's derivatives


class Series:
    """The coefficients of a Taylor series, computed on demand. None stands for a coefficient that is zero."""

    __slots__ = ("extend", "run", "coefficients")

    def __init__(self, run: Run, coefficients: list[Any], extend: Extension | None = None):
        self.run, self.coefficients, self.extend = run, coefficients, extend

    def __getitem__(self, k: int) -> Any:
        while len(self.coefficients) <= k:
            self.coefficients.append(self.extend(len(self.coefficients)) if self.extend else None)
        return self.coefficients[k]


class ConstantSeries:
    """The series of a constant."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __getitem__(self, k: int) -> Any:
        return None if k else self.value


class Jet(Array):
    """A value and its Taylor coefficients along a curve; `value` is the coefficient of order 0."""

    if TYPE_CHECKING:
        series: Series
    else:
        __slots__ = ()
        series = Array.extra

    def __init__(self, series: Series, level: int):
        self.value, self.series, self.level = series[0], series, level

    @staticmethod
    def process(primitive: Primitive, level: int, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if recording.active and (trace := recording.capturing_trace(level)) is not None:
            return trace.run(primitive, args, params)
        live = find_own(args, Jet, level)
        run = next(a.series.run for a, alive in zip(args, live, strict=True) if alive)
        key = (
            primitive,
            *[id(a.series) if alive else id(a) for a, alive in zip(args, live, strict=True)],
            *params.items(),
        )
        if run.depth and key in run.known:
            return run.known[key]
        values = payloads(args, live)
        out = primitive.op(*values, **params)
        if primitive.kind == "nondifferentiable" or (recording.active and not recording.is_recording()):
            return Jet(Series(run, [out]), level) if primitive.definition.filled_in and out.dtype.kind in "fc" else out
        if primitive.outputs != 1:
            return run_several(primitive, level, args, live, values, out, params, run)
        jet = Jet(Series(run, [out]), level)
        jet.series.extend = extension(primitive, args, live, values, jet, params)
        if run.depth:
            run.known[key] = jet
        else:
            complete(jet.series)
        return jet

    def detach(self) -> Any:
        """The coefficient of order 0."""
        return self.value

    def __repr__(self) -> str:
        return f"jet({', '.join(map(repr, self.series.coefficients))})"


def complete(series: Series) -> None:
    """Compute all coefficients, and release the functions that compute them, which form reference cycles."""
    run = series.run
    series[run.order]
    for other in (series, *[jet.series for jet in run.known.values()]):
        other.extend = None
    run.known.clear()


def run_several(
    primitive: Primitive,
    level: int,
    args: Sequence[Any],
    live: Sequence[bool],
    values: Sequence[Any],
    outs: Any,
    params: dict[str, Any],
    run: Run,
) -> tuple[Any, ...]:
    """The outputs of an operation that has several."""
    jets = tuple([Jet(Series(run, [out]), level) for out in outs])
    if primitive.kind == "linear":
        series = series_of(args, live)
        for k in range(1, run.order + 1):
            coefficients = push(primitive, values, [x[k] for x in series], outs, params) or [None] * len(jets)
            for jet, coefficient in zip(jets, coefficients, strict=True):
                jet.series.coefficients.append(coefficient)
        return jets
    for jet, extend in zip(jets, integrate_rule(primitive, args, live, jets, params), strict=True):
        jet.series.extend = extend
    if not run.depth:
        for jet in jets:
            jet.series[run.order]
        for jet in jets:
            complete(jet.series)
    return jets


def series_of(args: Sequence[Any], live: Sequence[bool]) -> list[Any]:
    """The series of the arguments of an operation."""
    return [a.series if alive else ConstantSeries(a) for a, alive in zip(args, live, strict=True)]


def extension(
    primitive: Primitive,
    args: Sequence[Any],
    live: Sequence[bool],
    values: Sequence[Any],
    out: Jet,
    params: dict[str, Any],
) -> Extension:
    """The function that computes the next coefficient of an operation's output."""
    series = series_of(args, live)
    if is_linear(primitive, live):
        return lambda k: push(
            primitive,
            values,
            [x[k] if alive else None for x, alive in zip(series, live, strict=True)],
            out.value,
            params,
        )
    if primitive.kind == "multilinear":
        return lambda k: sum_over_orders(series, (), k, lambda *x: primitive.op(*x, **params))
    recurrence = primitive.definition.taylor and primitive.definition.taylor(*series)
    if recurrence:
        return lambda k: recurrence(k, out.series)
    return integrate_rule(primitive, args, live, (out,), params)[0]


def sum_over_orders(series: Sequence[Any], chosen: tuple[Any, ...], k: int, product: Callable[..., Any]) -> Any:
    """The sum of products of one coefficient of each series whose orders add up to k; None if it is zero."""
    first, *rest = series
    total = None
    for i in range(k + 1) if rest else (k,):
        if (a := first[i]) is not None:
            term = sum_over_orders(rest, (*chosen, a), k - i, product) if rest else product(*chosen, a)
            total = term if total is None else total if term is None else total + term
    return total


def is_linear(primitive: Primitive, live: Sequence[bool]) -> bool:
    """Whether the output is linear in the live arguments; the others are constant."""
    if primitive.kind in ("linear", "multilinear"):
        return primitive.kind == "linear" or sum(live) == 1
    if primitive.kind != "elementwise":
        return False
    varying = {name for name, alive in zip(primitive.inputs, live, strict=True) if alive} | {"out"}
    rules = [rule for rule, alive in zip(primitive.definition.rules, live, strict=True) if rule and alive]
    return not any(varying & set(needs(rule)) for rule in rules)


def integrate_rule(
    primitive: Primitive, args: Sequence[Any], live: Sequence[bool], outs: tuple[Jet, ...], params: dict[str, Any]
) -> list[Extension]:
    """The integral of `out' = push(x', x, out)`, for each output."""
    run, level = outs[0].series.run, outs[0].level
    slopes: list[Any] = []

    def slope(i: int) -> Any:
        if not slopes:
            run.depth += 1
            try:
                rates = [differentiate_series(a) if alive else None for a, alive in zip(args, live, strict=True)]
                pushed = push(primitive, args, rates, outs[0] if primitive.outputs == 1 else outs, params)
            finally:
                run.depth -= 1
            found = [None] * len(outs) if pushed is None else [pushed] if primitive.outputs == 1 else pushed
            slopes.extend([c.series if isinstance(c, Jet) and c.level == level else ConstantSeries(c) for c in found])
        return slopes[i]

    def extend(i: int, k: int) -> Any:
        rate = slope(i)[k - 1]
        return rate if rate is None or k == 1 else divide(rate, float(k))

    return [partial(extend, i) for i in range(len(outs))]


def differentiate_series(x: Jet) -> Jet:
    """The derivative of a series, with one coefficient less."""
    series = x.series

    def extend(k: int) -> Any:
        term = series[k + 1]
        return term if term is None or k == 0 else multiply(term, float(k + 1))

    first = extend(0)
    return Jet(Series(series.run, [multiply(x.value, 0.0) if first is None else first], extend), x.level)
