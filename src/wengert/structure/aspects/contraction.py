"""Products and convolutions: which elements meet."""

from __future__ import annotations

from functools import partial
from typing import Any

from wengert.ops.calculus.differences import _convolve
from wengert.ops.contraction.einsum import _einsum
from wengert.ops.contraction.products import _cross
from wengert.ops.contraction.products import matmul as _matmul
from wengert.ops.signal.convolution import _convolution, _convolution_filters, _convolution_signals
from wengert.structure.incidence import Sets, unite_sets
from wengert.structure.product_incidence import contract_sets, convolve_sets, einsum_axes, matmul_axes, stacked_axes
from wengert.structure.propagation import OperationStep, propagate_all, propagation
from wengert.structure.window_incidence import convolution_sets


@propagation(_matmul)
def propagate_matmul(step: OperationStep) -> Sets:
    """Each element depends on a row and a column."""
    return unite_sets(
        [contract_sets(sets, matmul_axes(step.shapes, step.shape, i), step.numbers_of(1 - i)) for i, sets in step.live]
    )


@propagation(_einsum)
def propagate_einsum(step: OperationStep) -> Sets:
    """Each element depends on what it sums over."""
    subscripts = step.params["subscripts"]
    return unite_sets(
        [contract_sets(sets, einsum_axes(subscripts, step.shapes, i), step.numbers_of(1 - i)) for i, sets in step.live]
    )


@propagation(_cross)
def propagate_cross(step: OperationStep) -> Sets:
    """Each component depends on all components of both vectors."""
    axes = [stacked_axes([[0], [1]], step.shapes, step.shape, [2], i) for i in range(2)]
    return unite_sets([contract_sets(sets, axes[i], None) for i, sets in step.live])


@propagation(_convolve)
def propagate_convolve(step: OperationStep) -> Sets:
    """Each element depends on a window of each operand."""
    return unite_sets([convolve_sets(sets, step.shapes, step.shape, i, step.params["mode"]) for i, sets in step.live])


def propagate_convolution(roles: tuple[str, str, str], step: OperationStep) -> Any:
    """Each element depends on its window.

    `roles` are those of the operands and the result in a convolution, or in one of its transposes.
    """
    if any(len(shape) != len(step.params["stride"]) + 2 for shape in step.shapes):
        return propagate_all(step)  # a stack of convolutions
    return unite_sets([convolution_sets(roles, i, sets, step.shapes, step.shape, step.params) for i, sets in step.live])


propagation.enter(partial(propagate_convolution, ("signals", "filters", "results")), _convolution)
propagation.enter(partial(propagate_convolution, ("results", "filters", "signals")), _convolution_signals)
propagation.enter(partial(propagate_convolution, ("signals", "results", "filters")), _convolution_filters)
