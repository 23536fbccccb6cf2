"""Convolution along some axes, with products summed along others: `autograd.scipy.signal`."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters
from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.differences import without
from wengert.core.errors import user_error
from wengert.core.primitive import as_operand

__all__ = ["convolve"]

__getattr__ = without(__name__, ABSENT)

Axes = Sequence[Sequence[int]]


def convolve(A: Any, B: Any, axes: Axes | None = None, dot_axes: Axes = ((), ()), mode: str = "full") -> Any:
    """The convolution of A and B along pairs of axes; along the pairs `dot_axes`, products are summed.

    The axes of the result are the other ones of A, the other ones of B, and the convolved ones. `mode` says which
    positions are kept: those at which A and B overlap ("full"), those at which one covers the other ("valid"), or as
    many as A has ("same").

    >>> convolve(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0]))
    array([1., 3., 5., 3.])
    """
    A, B = as_operand(A), as_operand(B)
    if axes is None:
        axes = range(A.ndim), range(B.ndim)
    pairs, dot_axes = pair_axes(axes, A, B), [*zip(*pair_axes(dot_axes, A, B), strict=True)] or [(), ()]
    letters = iter(ascii_letters)
    a_names, b_names = ([next(letters) for _ in range(x.ndim)] for x in (A, B))
    for i, j in zip(*dot_axes, strict=True):
        b_names[j] = a_names[i]
    convolved, summed = [{i for i, _ in pairs}, {j for _, j in pairs}], [set(column) for column in dot_axes]
    kept = [
        name
        for names, used, dots in zip((a_names, b_names), convolved, summed, strict=True)
        for axis, name in enumerate(names)
        if axis not in used | dots
    ]
    kept += [a_names[i] for i, _ in pairs]
    for i, j in sorted(pairs, reverse=True):  # the last axis first: a window is one axis more
        A, B = windows(A, i, B.shape[j], mode), wg.flip(B, j)
        a_names.insert(i + 1, b_names[j])
    return wg.einsum(f"{''.join(a_names)},{''.join(b_names)}->{''.join(kept)}", A, B)


def pair_axes(axes: Axes, A: Any, B: Any) -> list[tuple[int, int]]:
    """Pairs of axes of A and B, counted from the first."""
    return [(i % A.ndim, j % B.ndim) for i, j in zip(*axes, strict=True)]


def windows(x: Any, axis: int, length: int, mode: str) -> Any:
    """The windows of a length along an axis, which becomes two: the positions, and the elements of a window."""
    n = x.shape[axis]
    overlaps = {
        "full": range(n + length - 1),
        "valid": range(min(n, length) - 1, max(n, length)),
        "same": range((length - 1) // 2, (length - 1) // 2 + n),
    }
    if mode not in overlaps:
        raise user_error(ValueError, f"convolve has no mode {mode!r}", f"The modes are {', '.join(overlaps)}.")
    margins = [(0, 0)] * x.ndim
    margins[axis] = (length - 1, length - 1)
    return wg.take(wg.pad(x, margins), np.array(overlaps[mode])[:, None] + np.arange(length), axis=axis)
