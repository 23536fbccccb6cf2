"""Windows: elements of all windows are slices, which are combined elementwise.

The gradients of windows that overlap are routines: of the largest elements, and of sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from wengert.compiler.forms.lowering import expansion, lowering
from wengert.compiler.routines.window_places import PLACES
from wengert.compiler.routines.window_spreads import SPREADS
from wengert.core import machine
from wengert.graph.ir import is_a
from wengert.ops.elementwise.arithmetic import add
from wengert.ops.elementwise.choices import maximum, where
from wengert.ops.elementwise.predicates import isnan
from wengert.ops.shape.casting import _stop_gradient
from wengert.ops.shape.reshaping import broadcast_to, expand_dims, reshape
from wengert.ops.signal import windows as ops

lowering.enter(PLACES, ops.window_place)
lowering.enter(SPREADS, ops.window_spread)


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
    """Each element of a tile is that of its window."""
    sizes = ops.tile_size(windows, lengths)
    if sizes is None:
        return None
    axes = tuple([t.ndim - len(sizes) + 2 * i + 1 for i in range(len(sizes))])
    lead = t.shape[: t.ndim - len(sizes)]
    tiles = [n for size, length in zip(sizes, lengths, strict=True) for n in (length // size, size)]
    return reshape(broadcast_to(expand_dims(t, axes), (*lead, *tiles)), (*lead, *lengths))
