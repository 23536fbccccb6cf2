"""Sums along axes, cumulative ones, softmax and Fourier transforms."""

from __future__ import annotations

import math

import numpy as np

from wengert.ops.reductions.cumulative import _cumprod, _cumsum
from wengert.ops.reductions.sums import _mean, _sum
from wengert.ops.signal.fourier import _fft, _ifft, _irfft, _rfft
from wengert.ops.special.entropy import _softmax, softmax_weights
from wengert.structure.incidence import Sets, group_sets, line_numbers, move_sets, number_elements
from wengert.structure.propagation import OperationStep, propagate_reduction, propagation

propagation.enter(propagate_reduction, _sum, _mean)


@propagation(_fft, _ifft, _rfft, _irfft, _softmax, softmax_weights)
def propagate_lines(step: OperationStep) -> Sets:
    """Each element depends on all elements of its line along some axes, as in a Fourier transform."""
    axis = step.params["axis"]
    axes = axis if isinstance(axis, tuple) else (axis,)
    ((_, sets),) = step.live
    shape = step.shapes[0]
    count = math.prod(n for i, n in enumerate(shape) if i not in axes)
    return move_sets(group_sets(sets, line_numbers(shape, axes), count), line_numbers(step.shape, axes))


@propagation(_cumsum, _cumprod)
def propagate_cumulative(step: OperationStep) -> Sets:
    """Each element depends on those before it along an axis: by doubling, those within 1, 2, 4, ... steps."""
    ((_, sets),) = step.live
    shape, axis = step.shape, step.params["axis"]
    numbers = np.moveaxis(number_elements(shape), axis, -1)
    reach = 1
    while reach < shape[axis]:
        before = np.full(shape, -1)
        np.moveaxis(before, axis, -1)[..., reach:] = numbers[..., :-reach]
        sets = sets + move_sets(sets, before)
        reach *= 2
    return sets
