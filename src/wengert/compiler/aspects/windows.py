"""Windows: elements of all windows are slices, which are combined elementwise.

The gradients of sums are sums of slices, too. Those of the largest elements of windows that overlap are a routine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from wengert.compiler.forms.lowering import expansion, lowering
from wengert.compiler.routines.window_places import PLACES
from wengert.core import machine
from wengert.graph.ir import is_a
from wengert.ops.elementwise.arithmetic import add
from wengert.ops.elementwise.choices import maximum, where
from wengert.ops.elementwise.predicates import isnan
from wengert.ops.shape.casting import _stop_gradient
from wengert.ops.shape.joining import pad, stack
from wengert.ops.shape.reshaping import broadcast_to, expand_dims, reshape
from wengert.ops.signal import windows as ops

lowering.enter(PLACES, ops.window_place)


def can_fold(windows: ops.Windows) -> bool:
    """Whether windows are few slices, which are folded."""
    return are_slices(windows, machine.current.max_elements_of_folded_window)


def can_choose(windows: ops.Windows) -> bool:
    """Whether windows are so few slices that their largest elements are chosen one by one."""
    return are_slices(windows, machine.current.max_elements_of_chosen_window)


def are_slices(windows: ops.Windows, most: int) -> bool:
    """Whether windows are slices, at most so many."""
    count = math.prod(map(len, windows))
    return count <= most and all(isinstance(indices, range) for elements in windows for indices in elements)


def fold_windows(x: Any, windows: ops.Windows, combine: Callable) -> Any:
    """The elements of windows combined, in the order of `ops.fold`."""
    for keys in ops.axis_keys(windows):
        parts = [x[key] for key in keys]
        x = parts[0]
        for part in parts[1:]:
            x = combine(x, part)
    return x


def larger_elements(x: Any, windows: ops.Windows) -> list[Any]:
    """For each element of a window but the first, whether it is larger than those before it, or NaN."""
    first, *others = [x[ops.window_key(element)] for element in product(*windows)]
    found = []
    for part in others:
        found.append((part > first) | isnan(part))
        first = maximum(first, part)
    return found


@expansion(ops.window_pick)
def expand_window_pick(u: Any, x: Any, windows: ops.Windows) -> Any:
    """The largest element, or one choice for each element of a window."""
    if x.dtype.kind != "f":
        return None
    node = x.node.args[0] if is_a(x.node, _stop_gradient) else x.node
    if node is u.node:
        return fold_windows(u, windows, maximum) if can_fold(windows) else None
    if not can_choose(windows):
        return None
    first, *others = [u[ops.window_key(element)] for element in product(*windows)]
    for part, is_larger in zip(others, larger_elements(x, windows), strict=True):
        first = where(is_larger, part, first)
    return first


@expansion(ops.window_place)
def expand_window_place(t: Any, x: Any, windows: ops.Windows) -> Any:
    """A choice for each element of tiles, which compares the number of the window's largest element to its own."""
    sizes = ops.tile_size(windows, x.shape[-len(windows) :])
    if not can_choose(windows) or x.dtype.kind != "f" or sizes is None:
        return None
    found: Any = broadcast_to(np.int64(0), t.shape)
    for i, is_larger in enumerate(larger_elements(x, windows), 1):
        found = where(is_larger, np.int64(i), found)
    numbers = np.arange(math.prod(sizes)).reshape([n for size in sizes for n in (1, size)])
    axes = tuple([t.ndim - len(sizes) + 2 * i + 1 for i in range(len(sizes))])
    return reshape(where(expand_dims(found, axes) == numbers, expand_dims(t, axes), 0.0), x.shape)


@expansion(ops.window_sum)
def expand_window_sum(x: Any, windows: ops.Windows) -> Any:
    """Sums of slices."""
    return fold_windows(x, windows, add) if can_fold(windows) else None


@expansion(ops.window_spread)
def expand_window_spread(t: Any, windows: ops.Windows, lengths: ops.Lengths) -> Any:
    """Each element of a tile is that of its window; others are sums of slices, along the last axis first."""
    sizes, lead = ops.tile_size(windows, lengths), t.ndim - len(windows)
    if sizes is None:
        if not can_spread(windows):
            return None
        t = t if ops.are_disjoint(windows) else t + 0.0  # as in eager code, no sum is a negative zero
        for i in reversed(range(len(windows))):
            t = spread_axis(t, lead + i, windows[i], lengths[i])
        return t
    axes = tuple([lead + 2 * i + 1 for i in range(len(sizes))])
    tiles = [n for size, length in zip(sizes, lengths, strict=True) for n in (length // size, size)]
    return reshape(broadcast_to(expand_dims(t, axes), (*t.shape[:lead], *tiles)), (*t.shape[:lead], *lengths))


def can_spread(windows: ops.Windows) -> bool:
    """Whether elements of windows are few, and evenly spaced with few steps between windows."""
    most, first = machine.current.max_elements_of_spread_window, [elements[0] for elements in windows]
    return all(isinstance(e, range) and max(len(windows[i]), e.step) <= most for i, e in enumerate(first))


def spread_axis(t: Any, axis: int, elements: Sequence[Any], length: int) -> Any:
    """What windows add to an array of this length, for each of their elements, in the order of eager code.

    Positions with one remainder modulo the step are sums of slices of the same elements of windows. The sums for all
    remainders are stacked, so that nothing is scattered.
    """
    step = elements[0].step
    count = -(-length // step)
    sums = []
    for first in range(step):
        shifts = [(e.start - first) // step for e in elements if (e.start - first) % step == 0]
        terms = [shift(t, axis, by, count) for by in shifts or [count]]
        sums.append(reduce(add, terms))
    lead, rest = t.shape[:axis], t.shape[axis + 1 :]
    whole = reshape(stack(sums, axis=axis + 1), (*lead, count * step, *rest)) if step > 1 else sums[0]
    return whole[(*[slice(None)] * axis, slice(length))] if length < count * step else whole


def shift(x: Any, axis: int, by: int, count: int) -> Any:
    """So many elements along an axis, moved back by some, with zeros around."""
    n = x.shape[axis]
    first, last = min(max(-by, 0), n), min(max(count - by, 0), n)
    kept = x[(*[slice(None)] * axis, slice(first, max(first, last)))] if (first, last) != (0, n) else x
    before = min(max(by, 0), count)
    after = count - before - kept.shape[axis]
    return pad(kept, [(before, after) if i == axis else (0, 0) for i in range(x.ndim)]) if before or after else kept
