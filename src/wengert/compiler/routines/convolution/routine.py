"""The routines of convolutions."""

from __future__ import annotations

from wengert.compiler.forms.lowering import FLOATS, Routine
from wengert.compiler.program.memory_plan import is_immediate
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.routines.convolution.correlation import AXES, Correlation, Geometry, result_sums, signal_sums
from wengert.compiler.routines.convolution.filters import FilterSums, write_filter_sums
from wengert.compiler.routines.convolution.sums import Units, write_correlation
from wengert.graph.ir import Operation

MOST_PHASES = 16
"""The largest number of phases, each of which has a loop of its own."""


def correlation_of_results(node: Operation) -> Correlation:
    """What the results of a convolution add up."""
    x, w = node.args
    return result_sums(Geometry.of(node, x.shape, w.shape))


def correlation_of_signals(node: Operation) -> Correlation:
    """What the cotangents of the signals of a convolution add up."""
    _, w = node.args
    return signal_sums(Geometry.of(node, node.shape, w.shape))


def sums_of_filters(node: Operation) -> FilterSums:
    """What the cotangents of the filters of a convolution add up."""
    x, _ = node.args
    return FilterSums(Geometry.of(node, x.shape, node.shape))


def has_floats(node: Operation) -> bool:
    """Whether a convolution has elements, all of one dtype of floats, and few enough axes."""
    ndim = len(node.params["stride"])
    return (
        node.dtype in FLOATS
        and ndim <= AXES
        and node.size > 0
        and all(a.dtype == node.dtype and a.size > 0 and not is_immediate(a) for a in node.args)
    )


def can_add_results(node: Operation) -> bool:
    """Whether the filters are those of one convolution."""
    return has_floats(node) and node.args[1].ndim == len(node.params["stride"]) + 2


def can_add_signals(node: Operation) -> bool:
    """Whether the filters are those of one convolution, and phases are few."""
    return can_add_results(node) and len(correlation_of_signals(node).phases) <= MOST_PHASES


def can_add_filters(node: Operation) -> bool:
    """Whether the signals and filters are those of one convolution."""
    return has_floats(node) and all(a.ndim == len(node.params["stride"]) + 2 for a in (node, *node.args))


def write_results(call: RoutineCall) -> None:
    """The results of a convolution."""
    source, filters = call.operands
    write_correlation(call, correlation_of_results(call.node), source.pointer, filters.pointer)


def write_signals(call: RoutineCall) -> None:
    """The cotangents of the signals."""
    source, filters = call.operands
    write_correlation(call, correlation_of_signals(call.node), source.pointer, filters.pointer)


def write_filters(call: RoutineCall) -> None:
    """The cotangents of the filters."""
    write_filter_sums(call, sums_of_filters(call.node))


RESULTS = Routine(write_results, can_add_results, workspace=lambda node: Units(correlation_of_results(node)).workspace)
SIGNALS = Routine(write_signals, can_add_signals, workspace=lambda node: Units(correlation_of_signals(node)).workspace)
FILTERS = Routine(write_filters, can_add_filters, workspace=lambda node: sums_of_filters(node).workspace)
