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
from wengert.graph.ir import is_a
from wengert.ops.elementwise.arithmetic import add
from wengert.ops.elementwise.choices import maximum, where
from wengert.ops.elementwise.predicates import isnan
from wengert.ops.shape.casting import _stop_gradient
from wengert.ops.shape.reshaping import broadcast_to, expand_dims, reshape
from wengert.ops.signal import windows as ops

MOST_CHOICES, MOST_TERMS = 32, 100
"""The largest numbers of elements of windows that are chosen one by one, and that are folded; NumPy takes others."""


lowering.enter(PLACES, ops.window_place)
lowering.enter(SPREADS, ops.window_spread)


def is_native(windows: ops.Windows, most: int = MOST_CHOICES) -> bool:
    """Whether windows are few slices."""
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
        return fold_windows(u, windows, maximum) if is_native(windows, MOST_TERMS) else None
    if not is_native(windows):
        return None
    first, *others = [u[ops.window_key(element)] for element in product(*windows)]
    for part, is_larger in zip(others, larger_elements(x, windows), strict=True):
        first = where(is_larger, part, first)
    return first


@expansion(ops.window_place)
def expand_window_place(t: Any, x: Any, windows: ops.Windows) -> Any:
    """A choice for each element of tiles, which compares the number of the window's largest element to its own."""
    sizes = ops.tile_size(windows, x.shape[-len(windows) :])
    if not is_native(windows) or x.dtype.kind != "f" or sizes is None:
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
    return fold_windows(x, windows, add) if is_native(windows, MOST_TERMS) else None


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
