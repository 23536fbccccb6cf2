"""Products and convolutions: which elements meet."""

from __future__ import annotations

from functools import partial
from typing import Any

from wengert.ops.calculus.differences import _convolve
from wengert.ops.contraction.einsum import _einsum
from wengert.ops.contraction.products import _cross
from wengert.ops.contraction.products import matmul as _matmul
from wengert.ops.signal.convolution import _convolution, _convolution_filters, _convolution_signals
from wengert.structure.incidence import Sets, union
from wengert.structure.product_incidence import contracted, convolved, einsum_axes, matmul_axes, stacked_axes
from wengert.structure.propagation import Step, anything, propagation
from wengert.structure.window_incidence import convolution_sets


@propagation(_matmul)
def matmul(step: Step) -> Sets:
    return union(
        [contracted(sets, matmul_axes(step.shapes, step.shape, i), step.known(1 - i)) for i, sets in step.live]
    )


@propagation(_einsum)
def einsum(step: Step) -> Sets:
    subscripts = step.params["subscripts"]
    return union(
        [contracted(sets, einsum_axes(subscripts, step.shapes, i), step.known(1 - i)) for i, sets in step.live]
    )


@propagation(_cross)
def cross(step: Step) -> Sets:
    axes = [stacked_axes([[0], [1]], step.shapes, step.shape, [2], i) for i in range(2)]
    return union([contracted(sets, axes[i], None) for i, sets in step.live])


@propagation(_convolve)
def convolve(step: Step) -> Sets:
    return union([convolved(sets, step.shapes, step.shape, i, step.params["mode"]) for i, sets in step.live])


def convolution(roles: tuple[str, str, str], step: Step) -> Any:
    """The operands and the result of a convolution, or of one of its transposes, have these roles in it."""
    if any(len(shape) != len(step.params["stride"]) + 2 for shape in step.shapes):
        return anything(step)  # a stack of convolutions
    return union([convolution_sets(roles, i, sets, step.shapes, step.shape, step.params) for i, sets in step.live])


propagation.enter(partial(convolution, ("signals", "filters", "results")), _convolution)
propagation.enter(partial(convolution, ("results", "filters", "signals")), _convolution_signals)
propagation.enter(partial(convolution, ("signals", "results", "filters")), _convolution_filters)
