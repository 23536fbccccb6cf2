"""Affine and bilinear maps, and tables of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.nn.functional.reductions import known_numbers
from wengert.nn.large_calls import compiled_if_large
from wengert.ops.contraction.einsum import _einsum, einsum
from wengert.ops.contraction.products import matmul
from wengert.ops.elementwise.arithmetic import add
from wengert.ops.elementwise.choices import where
from wengert.ops.indexing.subscripts import add_at, getitem
from wengert.ops.reductions.sums import mean
from wengert.ops.reductions.sums import sum as sum_
from wengert.transforms.products import stop_gradient

__all__ = ["bilinear", "embedding", "embedding_bag", "linear"]


@compiled_if_large("input", "weight", "bias")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """The affine map x W^T + b of the last axis; W is (out, in).

    >>> linear([1.0, 2.0], [[1.0, 1.0], [0.0, 1.0]], [0.0, 10.0])
    array([ 3., 12.])
    """
    input, weight = as_operand(input), as_operand(weight)
    if not input.ndim or input.shape[-1] != weight.shape[-1]:
        raise user_error(
            ValueError,
            f"linear: an input of shape {input.shape} and a weight of shape {weight.shape}",
            f"The last axis of the input must have {weight.shape[-1]} elements.",
        )
    if weight.ndim == 1:
        out = matmul(input, weight)
    else:
        labels = "abcdefghijklmnopqrstuvwxyz"[: input.ndim]
        out = _einsum(input, weight, subscripts=f"{labels},z{labels[-1]}->{labels[:-1]}z")
    return out if bias is None else add(out, bias)


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """The bilinear form x^T W y of the last axes, for each matrix of W, which is (out, in1, in2).

    >>> bilinear([1.0, 2.0], [3.0, 4.0], [[[1.0, 0.0], [0.0, 1.0]]])
    array([11.])
    """
    input1, input2, weight = as_operand(input1), as_operand(input2), as_operand(weight)
    sizes = input1.shape[-1:] + input2.shape[-1:]
    if weight.ndim != 3 or sizes != weight.shape[1:] or input1.shape[:-1] != input2.shape[:-1]:
        raise user_error(
            ValueError,
            f"bilinear: inputs of shapes {input1.shape} and {input2.shape}, and a weight of shape {weight.shape}",
            "The last axes of the inputs must be the last two of the weight, and their other axes must be equal.",
        )
    out = einsum("...i,oij,...j->...o", input1, weight, input2)
    return out if bias is None else add(out, bias)


def embedding(input: Any, weight: Any, padding_idx: int | None = None) -> Any:
    """The rows of a table with these indices; the row `padding_idx` gets no gradient.

    >>> embedding([1, 0, 1], [[0.0, 0.5], [1.0, 1.5]]).tolist()
    [[1.0, 1.5], [0.0, 0.5], [1.0, 1.5]]
    """
    input, weight = as_operand(input), as_operand(weight)
    if input.dtype.kind not in "iu":
        raise user_error(
            TypeError, f"embedding takes integer indices, and was given {input.dtype}", "Convert with x.astype(int)."
        )
    refuse_outside(input, weight.shape[0])
    rows = getitem(weight, input)
    if padding_idx is None:
        return rows
    is_padding = (input == padding_idx % weight.shape[0])[..., None]
    return where(is_padding, stop_gradient(rows), rows)


def embedding_bag(input: Any, weight: Any, offsets: Any = None, mode: str = "mean") -> Any:
    """The sums or means (`mode`) of rows of a table, for bags of indices.

    The bags are the rows of `input`; or it has the indices of all bags, which start at `offsets`.

    >>> embedding_bag([0, 1, 1], [[0.0, 2.0], [1.0, 4.0]], offsets=[0, 2], mode="sum").tolist()
    [[1.0, 6.0], [1.0, 4.0]]
    """
    if mode not in ("sum", "mean"):
        raise user_error(ValueError, f"embedding_bag with mode={mode!r}", "The modes are 'sum' and 'mean'.")
    rows = embedding(input, weight)
    if offsets is None:
        return mean(rows, axis=-2) if mode == "mean" else sum_(rows, axis=-2)
    starts = known_numbers(as_operand(offsets))
    if starts is None or rows.ndim != 2:
        raise user_error(
            ValueError,
            f"embedding_bag with offsets of indices of shape {rows.shape[:-1]}",
            "Give a vector of indices, and offsets whose numbers are known, on the CPU.",
        )
    lengths = np.diff(np.append(starts, rows.shape[0]))
    bags = np.repeat(np.arange(len(starts)), lengths)
    sums = add_at(numpy_of(rows).zeros((len(starts), rows.shape[1]), rows.dtype), bags, rows)
    return sums / numpy_of(rows).asarray(np.maximum(lengths, 1)[:, None].astype(rows.dtype)) if mode == "mean" else sums


def refuse_outside(indices: Any, n: int) -> None:
    """Raise an error for indices that are not from 0 to n - 1, where their numbers are known."""
    numbers = known_numbers(indices)
    if numbers is None or not numbers.size:
        return
    lowest, highest = numbers.min(), numbers.max()
    if lowest < 0 or highest >= n:
        raise user_error(
            IndexError,
            f"embedding: the index {lowest if lowest < 0 else highest} in a table of {n} rows",
            f"Indices are from 0 to {n - 1}.",
        )
