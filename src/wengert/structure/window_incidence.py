"""The sets of indices of convolutions: a result depends on what its window sees, in all channels of its group.

Signals have the axes (batch, channels, *lengths), filters (filters, channels of a group, *size), results (batch,
filters, *places).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.structure.incidence import Sets, Shape, grouped, moved, numbered, pairs


def seen(lengths: Shape, size: Shape, places: Shape, params: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of a place and an element of the signal that its window sees, both as numbers."""
    rank = len(lengths)
    inside, total = np.ones((1,) * 2 * rank, bool), np.zeros((1,) * 2 * rank, np.int64)
    for i, n in enumerate(lengths):
        at = (
            np.arange(places[i])[:, None] * params["stride"][i]
            + np.arange(size[i]) * params["dilation"][i]
            - params["padding"][i][0]
        )
        at = at.reshape([at.shape[0] if k == i else at.shape[1] if k == rank + i else 1 for k in range(2 * rank)])
        inside, total = inside & (at >= 0) & (at < n), total * n + at
    shape = (math.prod(places), math.prod(size))
    inside, total = inside.reshape(shape), total.reshape(shape)
    return np.nonzero(inside)[0], total[inside]


def in_each(count: int, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Sets:
    """A matrix with these entries for each of `count` parts."""
    part = np.arange(count)[:, None]
    return pairs(part * shape[0] + rows, part * shape[1] + columns, (count * shape[0], count * shape[1]))


def by_group(shape: Shape, groups: int) -> np.ndarray:
    """For each element of an array (batch, channels, *lengths), the number of its place among (batch, groups,
    *lengths).
    """
    batch, channels, *rest = shape
    numbers = numbered((batch, groups, 1, *rest))
    return np.broadcast_to(numbers, (batch, groups, channels // groups, *rest)).reshape(shape)


def by_channel(shape: Shape, axis: int) -> np.ndarray:
    """For each element, its place along one axis."""
    return np.broadcast_to(np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))]), shape)


def by_filter_channel(shape: Shape, groups: int) -> np.ndarray:
    """For each element of filters, the number of the signals' channel that it meets."""
    filters, channels, *rest = shape
    numbers = numbered((groups, 1, channels, *(1,) * len(rest)))
    return np.broadcast_to(numbers, (groups, filters // groups, channels, *rest)).reshape(shape)


def convolution_sets(
    roles: tuple[str, str, str], i: int, sets: Sets, shapes: Sequence[Shape], out: Shape, params: dict[str, Any]
) -> Sets:
    """What operand `i` of a convolution, or of a transpose, contributes to the result.

    `roles` are those of the operands and the result.
    """
    groups = params["groups"]
    mine, target = roles[i], roles[2]
    known = dict(zip(roles, (*shapes, out), strict=True))
    signals, filters, results = known["signals"], known["filters"], known["results"]
    if {mine, target} == {"signals", "results"}:
        rows, columns = seen(signals[2:], filters[2:], results[2:], params)
        shape = (math.prod(results[2:]), math.prod(signals[2:]))
        matrix = in_each(signals[0] * groups, rows, columns, shape)
        matrix = matrix if mine == "signals" else matrix.T.tocsr()
        return moved(matrix @ grouped(sets, by_group(known[mine], groups), matrix.shape[1]), by_group(out, groups))
    if "results" in (mine, target):  # filters and results share the number of the filter
        mine_axis, target_axis = (1, 0) if mine == "results" else (0, 1)
        return moved(grouped(sets, by_channel(known[mine], mine_axis), filters[0]), by_channel(out, target_axis))
    channels = {"signals": by_channel(signals, 1), "filters": by_filter_channel(filters, groups)}
    return moved(grouped(sets, channels[mine], signals[1]), channels[target])
