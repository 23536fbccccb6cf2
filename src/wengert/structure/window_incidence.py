"""The sets of indices of convolutions: a result depends on its window, in all channels of its group.

Signals have the axes (batch, channels, *lengths), filters (filters, channels of a group, *size), results (batch,
filters, *positions).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.structure.incidence import Sets, Shape, entries_matrix, group_sets, move_sets, number_elements


def window_pairs(
    lengths: Shape, size: Shape, positions: Shape, params: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of a position and an element of the signal in its window, both as numbers."""
    ndim = len(lengths)
    inside, total = np.ones((1,) * 2 * ndim, bool), np.zeros((1,) * 2 * ndim, np.int64)
    for i, n in enumerate(lengths):
        at = (
            np.arange(positions[i])[:, None] * params["stride"][i]
            + np.arange(size[i]) * params["dilation"][i]
            - params["padding"][i][0]
        )
        at = at.reshape([at.shape[0] if k == i else at.shape[1] if k == ndim + i else 1 for k in range(2 * ndim)])
        inside, total = inside & (at >= 0) & (at < n), total * n + at
    shape = (math.prod(positions), math.prod(size))
    inside, total = inside.reshape(shape), total.reshape(shape)
    return np.nonzero(inside)[0], total[inside]


def repeat_matrix(count: int, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Sets:
    """A block-diagonal matrix with these entries in each of `count` blocks."""
    part = np.arange(count)[:, None]
    return entries_matrix(part * shape[0] + rows, part * shape[1] + columns, (count * shape[0], count * shape[1]))


def group_numbers(shape: Shape, groups: int) -> np.ndarray:
    """For each element of an array (batch, channels, *lengths), its number among (batch, groups, *lengths)."""
    batch, channels, *rest = shape
    numbers = number_elements((batch, groups, 1, *rest))
    return np.broadcast_to(numbers, (batch, groups, channels // groups, *rest)).reshape(shape)


def axis_numbers(shape: Shape, axis: int) -> np.ndarray:
    """For each element, its index along one axis."""
    return np.broadcast_to(np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))]), shape)


def filter_channel_numbers(shape: Shape, groups: int) -> np.ndarray:
    """For each element of filters, the number of the signals' channel that it meets."""
    filters, channels, *rest = shape
    numbers = number_elements((groups, 1, channels, *(1,) * len(rest)))
    return np.broadcast_to(numbers, (groups, filters // groups, channels, *rest)).reshape(shape)


def convolution_sets(
    roles: tuple[str, str, str], i: int, sets: Sets, shapes: Sequence[Shape], out: Shape, params: dict[str, Any]
) -> Sets:
    """The sets that operand `i` of a convolution, or of a transpose, contributes to the result.

    `roles` are those of the operands and the result.
    """
    groups = params["groups"]
    mine, target = roles[i], roles[2]
    known = dict(zip(roles, (*shapes, out), strict=True))
    signals, filters, results = known["signals"], known["filters"], known["results"]
    if {mine, target} == {"signals", "results"}:
        rows, columns = window_pairs(signals[2:], filters[2:], results[2:], params)
        shape = (math.prod(results[2:]), math.prod(signals[2:]))
        matrix = repeat_matrix(signals[0] * groups, rows, columns, shape)
        matrix = matrix if mine == "signals" else matrix.T.tocsr()
        return move_sets(
            matrix @ group_sets(sets, group_numbers(known[mine], groups), matrix.shape[1]), group_numbers(out, groups)
        )
    if "results" in (mine, target):  # filters and results share the number of the filter
        mine_axis, target_axis = (1, 0) if mine == "results" else (0, 1)
        return move_sets(
            group_sets(sets, axis_numbers(known[mine], mine_axis), filters[0]), axis_numbers(out, target_axis)
        )
    channels = {"signals": axis_numbers(signals, 1), "filters": filter_channel_numbers(filters, groups)}
    return move_sets(group_sets(sets, channels[mine], signals[1]), channels[target])
