"""The sets of indices of products: sums over axes that operands share, without products with a known zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wengert.core import machine
from wengert.structure.incidence import Sets, Shape, entries_matrix, group_sets, move_sets, no_sets, number_elements


class Axes(NamedTuple):
    """The labels of the axes of one operand, of the other, and of the result; equal labels have equal lengths."""

    mine: Sequence[int]
    other: Sequence[int]
    out: Sequence[int]
    lengths: dict[int, int]


def contract_sets(sets: Sets, axes: Axes, other: np.ndarray | None) -> Sets:
    """The sets that an operand contributes to a contraction.

    `other` is the other operand where its numbers are known.
    """
    if other is not None and not other.any():
        return no_sets(math.prod(axes.lengths[label] for label in axes.out), sets.shape[1])
    if other is not None and not other.all():
        free = [label for label in dict.fromkeys((*axes.mine, *axes.out)) if label not in axes.other]
        count = math.prod(axes.lengths[label] for label in free)
        coordinates = np.nonzero(other)
        if coordinates[0].size * count <= machine.current.max_products_of_exact_pattern:
            return contract_nonzeros(sets, axes, dict(zip(axes.other, coordinates, strict=True)), free)
    common = [label for label in axes.mine if label in axes.out]
    shape = tuple([axes.lengths[label] for label in common])
    numbers = number_elements(shape)
    inside = group_sets(sets, spread_labels(numbers, common, axes.mine, axes.lengths), numbers.size)
    return move_sets(inside, spread_labels(numbers, common, axes.out, axes.lengths))


def contract_nonzeros(sets: Sets, axes: Axes, coordinates: dict[int, np.ndarray], free: Sequence[int]) -> Sets:
    """One entry for each product whose other factor is not zero, at these coordinates and all of the free labels."""
    grid = number_elements(tuple([axes.lengths[label] for label in free]))
    at = dict(zip(free, np.unravel_index(grid.reshape(-1), grid.shape), strict=True)) if free else {}
    known = {label: c[:, None] for label, c in coordinates.items()} | {label: c[None, :] for label, c in at.items()}
    count = next(iter(coordinates.values())).size

    def numbers(labels: Sequence[int]) -> np.ndarray:
        total = np.zeros((count, grid.size), np.intp)
        for label in labels:
            total = total * axes.lengths[label] + known[label]
        return total

    size = math.prod(axes.lengths[label] for label in axes.out)
    return entries_matrix(numbers(axes.out), numbers(axes.mine), (size, sets.shape[0])) @ sets


def spread_labels(numbers: np.ndarray, have: Sequence[int], want: Sequence[int], lengths: dict[int, int]) -> np.ndarray:
    """An array over some labelled axes as one over more of them, in their order."""
    order = [label for label in want if label in have]
    numbers = numbers.transpose([have.index(label) for label in order])
    shape = tuple([lengths[label] if label in have else 1 for label in want])
    return np.broadcast_to(numbers.reshape(shape), tuple([lengths[label] for label in want]))


def einsum_axes(subscripts: str, shapes: Sequence[Shape], i: int) -> Axes:
    """The labels of the axes of an `einsum`."""
    terms, out = subscripts.split("->")
    labels = [list(map(ord, term)) for term in terms.split(",")]
    lengths = {
        label: n for term, shape in zip(labels, shapes, strict=True) for label, n in zip(term, shape, strict=True)
    }
    return Axes(labels[i], labels[1 - i], list(map(ord, out)), lengths)


def stacked_axes(
    cores: Sequence[Sequence[int]], shapes: Sequence[Shape], out: Shape, out_core: Sequence[int], i: int
) -> Axes:
    """The labels of an operation on the last axes, labelled `cores`, while the axes before them broadcast."""
    lengths: dict[int, int] = dict(zip(out_core, out[len(out) - len(out_core) :], strict=True))
    stack = out[: len(out) - len(out_core)]
    labels: list[list[int]] = []
    for k, (core, shape) in enumerate(zip(cores, shapes, strict=True)):
        lead = shape[: len(shape) - len(core)]
        missing = len(stack) - len(lead)
        mine = []
        for j, n in enumerate(lead, missing):
            label = 100 + j if n == stack[j] else 1000 * (k + 1) + j  # an axis of length one has another label
            mine.append(label)
            lengths[label] = n
        labels.append([*mine, *core])
        lengths |= dict(zip(core, shape[len(lead) :], strict=True))
    lengths |= {100 + j: n for j, n in enumerate(stack)}
    return Axes(labels[i], labels[1 - i], [*[100 + j for j in range(len(stack))], *out_core], lengths)


def matmul_axes(shapes: Sequence[Shape], out: Shape, i: int) -> Axes:
    """The labels of the axes of a `matmul`."""
    row, summed, column = 0, 1, 2
    x, y = shapes
    cores = [[summed] if len(x) == 1 else [row, summed], [summed] if len(y) == 1 else [summed, column]]
    return stacked_axes(cores, shapes, out, [row] * (len(x) > 1) + [column] * (len(y) > 1), i)


def convolve_sets(sets: Sets, shapes: Sequence[Shape], out: Shape, i: int, mode: str) -> Sets:
    """The sets that an operand contributes to a convolution along the last axis.

    out[k] sums x[p] y[j] with k = p + j ("full") or k = p + j - (m - 1) ("valid"), m the length of y.
    """
    shape, other, length = shapes[i], shapes[1 - i][-1], out[-1]
    k, q = np.arange(length)[:, None], np.arange(other)[None, :]
    near = k - q + (0 if mode == "full" else shapes[1][-1] - 1)
    inside = (near >= 0) & (near < shape[-1])
    near_out, near_in = np.broadcast_to(k, near.shape)[inside], near[inside]
    rows = number_elements(out[:-1]).reshape(-1, 1)
    columns = np.broadcast_to(number_elements(shape[:-1]), out[:-1]).reshape(-1, 1)
    return (
        entries_matrix(rows * length + near_out, columns * shape[-1] + near_in, (math.prod(out), sets.shape[0])) @ sets
    )
