"""Sums along axes, cumulative ones and Fourier transforms."""

from __future__ import annotations

import math

import numpy as np

from wengert.ops.reductions.cumulative import _cumprod, _cumsum
from wengert.ops.reductions.sums import _mean, _sum
from wengert.ops.signal.fourier import _fft, _ifft, _irfft, _rfft
from wengert.structure.incidence import Sets, along, grouped, moved, numbered
from wengert.structure.propagation import Step, propagation, reduction

propagation.enter(reduction, _sum, _mean)


@propagation(_fft, _ifft, _rfft, _irfft)
def lines(step: Step) -> Sets:
    """Each element depends on all that lie on its lines along some axes, as in a Fourier transform."""
    axis = step.params["axis"]
    axes = axis if isinstance(axis, tuple) else (axis,)
    ((_, sets),) = step.live
    shape = step.shapes[0]
    count = math.prod(n for i, n in enumerate(shape) if i not in axes)
    return moved(grouped(sets, along(shape, axes), count), along(step.shape, axes))


@propagation(_cumsum, _cumprod)
def cumulative(step: Step) -> Sets:
    """Each element depends on those before it along an axis: by doubling, those within 1, 2, 4, ... steps."""
    ((_, sets),) = step.live
    shape, axis = step.shape, step.params["axis"]
    numbers = np.moveaxis(numbered(shape), axis, -1)
    reach = 1
    while reach < shape[axis]:
        before = np.full(shape, -1)
        np.moveaxis(before, axis, -1)[..., reach:] = numbers[..., :-reach]
        sets = sets + moved(sets, before)
        reach *= 2
    return sets
