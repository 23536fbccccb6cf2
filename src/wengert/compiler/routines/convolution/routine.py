"""The routines of convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from wengert.compiler.forms.classify import is_immediate
from wengert.compiler.forms.lowering import FLOATS, Routine
from wengert.compiler.routines.convolution.correlation import AXES, Correlation, Geometry, result_sums, signal_sums
from wengert.compiler.routines.convolution.filters import FilterWriter
from wengert.compiler.routines.convolution.parts import PartWriter
from wengert.compiler.routines.convolution.sums import CorrelationWriter
from wengert.core import machine
from wengert.graph.ir import Operation


def results_of(node: Operation) -> CorrelationWriter:
    """What the results of a convolution add up."""
    x, w = node.args
    return CorrelationWriter(result_sums(Geometry.of(node, x.shape, w.shape)))


def correlation_of_signals(node: Operation) -> Correlation:
    """What the cotangents of the signals of a convolution add up."""
    _, w = node.args
    return signal_sums(Geometry.of(node, node.shape, w.shape))


def filters_of(node: Operation) -> FilterWriter:
    """What the cotangents of the filters of a convolution add up."""
    x, _ = node.args
    return FilterWriter(Geometry.of(node, x.shape, node.shape))


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
    return can_add(node) and len(correlation_of_signals(node).phases) <= machine.current.max_phases_of_convolution


def routine_of(writer: Callable[[Operation], PartWriter], can_write: Callable[[Operation], bool]) -> Routine:
    """The routine of what a writer of parts writes."""
    workspace = lambda node: writer(node).parts.nbytes
    return Routine(lambda call: writer(call.node).call(call), can_write, workspace=workspace)


RESULTS = routine_of(results_of, can_add)
SIGNALS = routine_of(lambda node: CorrelationWriter(correlation_of_signals(node)), can_add_signals)
FILTERS = routine_of(filters_of, can_add)
