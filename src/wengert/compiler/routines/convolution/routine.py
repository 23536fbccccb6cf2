"""The routines of convolutions."""

from __future__ import annotations

import math
from typing import Any

from wengert.compiler.forms.classify import is_immediate
from wengert.compiler.forms.lowering import FLOATS, Routine
from wengert.compiler.routines.convolution.correlation import AXES, Correlation, Geometry, result_sums, signal_sums
from wengert.compiler.routines.convolution.filters import FilterParts, FilterWriter
from wengert.compiler.routines.convolution.parts import write_parts
from wengert.compiler.routines.convolution.sums import CorrelationParts, CorrelationWriter
from wengert.core import machine
from wengert.graph.ir import Operation


def parts_of_results(node: Operation) -> CorrelationParts:
    """What the results of a convolution add up."""
    x, w = node.args
    return CorrelationParts(result_sums(Geometry.of(node, x.shape, w.shape)))


def signals_of(node: Operation) -> Correlation:
    """What the cotangents of the signals of a convolution add up."""
    _, w = node.args
    return signal_sums(Geometry.of(node, node.shape, w.shape))


def parts_of_filters(node: Operation) -> FilterParts:
    """What the cotangents of the filters of a convolution add up."""
    x, _ = node.args
    return FilterParts(Geometry.of(node, x.shape, node.shape))


def can_add(node: Operation) -> bool:
    """Whether a convolution has elements, all of one dtype of floats, few enough axes, and stacks that are whole."""
    ndim, (x, y) = len(node.params["stride"]), node.args
    return (
        node.dtype in FLOATS
        and ndim <= AXES
        and node.size > 0
        and all(a.dtype == node.dtype and a.size > 0 and not is_immediate(a) for a in (x, y))
        and has_whole_stacks(x, y, ndim)
    )


def has_whole_stacks(x: Any, y: Any, ndim: int) -> bool:
    """Whether the operands have the same stack, or one of them has none."""
    stacks = [a.shape[: -ndim - 2] for a in (x, y)]
    return stacks[0] == stacks[1] or min(map(math.prod, stacks)) == 1


def can_add_signals(node: Operation) -> bool:
    """Whether phases are few."""
    return can_add(node) and len(signals_of(node).phases) <= machine.current.max_phases_of_convolution


RESULTS = Routine(
    lambda call: write_parts(call, parts_of_results(call.node), CorrelationWriter),
    can_add,
    workspace=lambda node: parts_of_results(node).workspace,
)
SIGNALS = Routine(
    lambda call: write_parts(call, CorrelationParts(signals_of(call.node)), CorrelationWriter),
    can_add_signals,
    workspace=lambda node: CorrelationParts(signals_of(node)).workspace,
)
FILTERS = Routine(
    lambda call: write_parts(call, parts_of_filters(call.node), FilterWriter),
    can_add,
    workspace=lambda node: parts_of_filters(node).workspace,
)
