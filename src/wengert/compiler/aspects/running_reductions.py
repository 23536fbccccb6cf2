"""Sums of squared deviations, and logarithms of sums of exponentials, of one read of their terms.

Both are defined by two reductions, the second of which needs the result of the first. On a GPU that is two reads of
memory, where rows are long, or terms are not next to each other. Here states of some terms are combined instead:

    squares:      n, mean, sum((x - mean)^2)            (Chan, Golub and LeVeque, 1983)
    logsumexp:    largest, sum(exp(x - largest))

States of a few terms are computed as defined, and combined in an order that depends on shapes alone. A mean has two
parts: its rounding error would be multiplied by the distances between means. So the errors are those of two reads,
and nothing overflows that would not overflow there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from wengert.compiler.aspects.elementwise import maximum as larger_or_nan
from wengert.compiler.forms.lowering import FLOATS, RunningReduction, lowering
from wengert.compiler.functions.vector_functions import call, function_cost
from wengert.compiler.simd.complex_lanes import RunningState
from wengert.compiler.simd.double import two_sum
from wengert.compiler.simd.lanes import Lanes, fma, select
from wengert.core import machine
from wengert.core.definition import Definition
from wengert.core.kinds import shift_axes
from wengert.core.primitive import Primitive
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, is_a, make_operation
from wengert.graph.passes.rewrite import rebuild
from wengert.modes.symbolic import Symbol
from wengert.ops.elementwise.arithmetic import multiply, square, subtract
from wengert.ops.reductions import extremes, sums
from wengert.ops.reductions.axes import count_along

REASON = "it is made where a program is compiled, after differentiation"


def reduced_spec(x: Any, axis: tuple[int, ...], keepdims: bool) -> Spec:
    """The shape and dtype of a reduction."""
    kept = [(1, i) if i in axis else (n, i) for i, n in enumerate(x.shape)]
    return Spec(tuple([n for n, i in kept if keepdims or i not in axis]), x.dtype)


def make_primitive(name: str, impl: Any) -> Primitive:
    """A reduction that only compiled programs have."""
    return Primitive(
        Definition(
            name=name,
            impl=impl,
            kind="nondifferentiable",
            inputs=("x",),
            takes_params=True,
            batch=shift_axes,
            spec=reduced_spec,
            reason=REASON,
        )
    )


def _squares(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    return np.sum(np.square(x - np.mean(x, axis, keepdims=True)), axis, keepdims=keepdims)


SQUARES = make_primitive("running_squares", _squares)
"""The sum of the squared deviations from the mean, along axes."""
LOGSUMEXP = make_primitive(
    "running_logsumexp", lambda x, axis, keepdims: np.logaddexp.reduce(x, axis, keepdims=keepdims)
)
"""`logsumexp` along axes."""


# The states


def start_squares(terms: Sequence[Lanes]) -> RunningState:
    """The number of terms, their mean in two parts, and the sum of their squared deviations."""
    first, count = terms[0], float(len(terms))
    mean = add_up(terms) / count
    deviations = [x - mean for x in terms]
    low = add_up(deviations) / count
    rest = [x - low for x in deviations]
    return RunningState(first.like(count), mean, low, reduce(lambda total, x: fma(x, x, total), rest, first.like(0.0)))


def combine_squares(x: RunningState, y: RunningState) -> RunningState:
    """The state of all terms of two states, of which one may have none."""
    (n, mean, low, squares), (m, other, other_low, more) = x.parts, y.parts
    total, is_empty = n + m, n.eq(0.0)
    share = m / select(total.eq(0.0), 1.0, total)
    distance = select(is_empty | m.eq(0.0), 0.0, (other - mean) + (other_low - low))
    high, error = two_sum(mean, distance * share)
    squares = fma(distance * distance, n * share, squares + more)
    return RunningState(total, select(is_empty, other, high), select(is_empty, other_low, error + low), squares)


def add_up(terms: Sequence[Lanes]) -> Lanes:
    """The sum of terms, in order."""
    return reduce(lambda x, y: x + y, terms)


def start_logsumexp(terms: Sequence[Lanes]) -> RunningState:
    """The largest term, and the sum of the exponentials of the distances to it."""
    if len(terms) == 1:
        return RunningState(terms[0], terms[0].like(1.0))
    largest = reduce(larger_or_nan, terms)
    offset = select(largest > -math.inf, largest, 0.0)  # else the sum would be NaN
    return RunningState(largest, add_up([call("exp.decay", x - offset) for x in terms]))


def combine_logsumexp(x: RunningState, y: RunningState) -> RunningState:
    """The state of all terms of two states: the sum with the smaller largest term is scaled."""
    (first, total), (second, other) = x.parts, y.parts
    is_first = first >= second
    distance = select(is_first, second - first, first - second)
    scale = call("exp.decay", select(first.eq(second), 0.0, distance))  # also of two infinities
    larger, smaller = select(is_first, total, other), select(is_first, other, total)
    return RunningState(larger_or_nan(first, second), fma(smaller, scale, larger))


def end_logsumexp(state: RunningState) -> Lanes:
    """The result: that of the largest term if it is not finite, and the sum is any number."""
    largest, total = state.parts
    return select(largest.abs() < math.inf, call("log", total) + largest, largest)


lowering.enter(
    RunningReduction(
        "q",
        (0.0,) * 4,
        start_squares,
        combine_squares,
        lambda state: state.parts[3],
        lambda now: now.operations_of_squares_term,
    ),
    SQUARES,
)
lowering.enter(
    RunningReduction("d", (-math.inf, 0.0), start_logsumexp, combine_logsumexp, end_logsumexp, cost=function_cost),
    LOGSUMEXP,
)


# Where they are used


def reduce_in_one_read(graph: Graph) -> Graph:
    """The graph with running reductions of what would be read twice from memory."""
    if not any(is_a(node, sums._logsumexp, sums._mean) and is_read_twice(node) for node in graph.operations):
        return graph
    ranked = {(node.args[0], node.params["axis"]) for node in graph.operations if is_a(node, extremes._max)}

    def replace(node: Operation, before: Operation) -> Node | None:
        if is_a(before, sums._logsumexp) and is_read_twice(before):
            # weights of the same terms need the largest ones, too
            shares = (before.args[0], before.params["axis"]) in ranked
            return None if shares else make_operation(LOGSUMEXP, [node.args[0]], **node.params)
        x = centred_operand(node)
        if x is None:
            return None
        squares = make_operation(SQUARES, [x], **node.params)
        if is_a(node, sums._sum):
            return squares
        mean: Node = (Symbol(squares) / count_along(x, node.params["axis"])).node
        return mean

    return rebuild(graph, replace)


def is_read_twice(node: Operation) -> bool:
    """Whether the terms of a reduction are too many to stay in the cache between two reads."""
    (x,), axis = node.args, node.params["axis"]
    if x.dtype not in FLOATS or not x.size:
        return False
    terms = x.size // max(math.prod([n for i, n in enumerate(x.shape) if i not in axis]), 1)
    is_row = sorted(axis) == list(range(x.ndim - len(axis), x.ndim))
    now = machine.current
    if is_row:
        return terms * x.dtype.itemsize > now.max_row_bytes_read_twice
    return x.nbytes >= now.min_bytes_of_running_reduction and terms >= now.min_terms_of_running_reduction


def centred_operand(node: Operation) -> Node | None:
    """x, if this is the sum or the mean of (x - mean(x))^2."""
    if not is_a(node, sums._sum, sums._mean):
        return None
    powers, axis = node.args[0], node.params["axis"]
    if not is_a(powers, multiply, square) or len(set(powers.args)) > 1:
        return None
    deviation = powers.args[0]
    if not is_a(deviation, subtract):
        return None
    x, mean = deviation.args
    if not is_a(mean, sums._mean) or mean.args[0] is not x or mean.params != {"axis": axis, "keepdims": True}:
        return None
    return x if x.dtype == node.dtype and is_read_twice(mean) else None
