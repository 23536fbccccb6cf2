"""What the losses share: reductions of a batch, and checks of targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.levels import bottom_array
from wengert.core.primitive import as_operand
from wengert.modes import recording
from wengert.ops.elementwise.choices import where
from wengert.ops.reductions.sums import mean
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.casting import astype

REDUCTIONS = ("none", "mean", "sum")


def check_reduction(reduction: str, known: tuple[str, ...] = REDUCTIONS) -> None:
    """Raise an error for a reduction that a loss does not have."""
    if reduction not in known:
        names = ", ".join(map(repr, known[:-1]))
        raise user_error(ValueError, f"reduction must be {names} or {known[-1]!r}, not {reduction!r}")


def reduce_loss(loss: Any, reduction: str) -> Any:
    """The losses of the elements of a batch as they are, their mean, or their sum.

    >>> float(reduce_loss(np.array([1.0, 3.0]), "mean"))
    2.0
    """
    if reduction == "mean":
        return mean(loss)
    if reduction == "sum":
        return sum_(loss)
    check_reduction(reduction)
    return loss


def weighted_mean(loss: Any, weight: Any) -> Any:
    """The sum of losses over the sum of weights; without weights, NaN, with a gradient of zero."""
    total = sum_(weight)
    return sum_(loss) / where(total == 0, np.nan, total)


def as_floats(x: Any, like: Any = None) -> Any:
    """An operand in floating-point numbers: of the precision of `like`, if given."""
    x = as_operand(x)
    if like is not None:
        return x if x.dtype is like.dtype else astype(x, like.dtype)
    return x if x.dtype.kind == "f" else astype(x, float)


def same_shapes(name: str, input: Any, target: Any) -> tuple[Any, Any]:
    """Input and target as operands of one precision; their shapes must be equal."""
    input = as_floats(input)
    target = as_floats(target, input)
    if input.shape != target.shape:
        raise user_error(
            ValueError,
            f"{name} of an input of shape {input.shape} and a target of shape {target.shape}",
            "Both must have the same shape: reshape one of them.",
        )
    return input, target


def known_numbers(x: Any) -> np.ndarray | None:
    """The numbers of a value; None in a trace, where they differ from call to call."""
    if isinstance(x, Array) and recording.current_trace() is not None:
        return None
    x = bottom_array(x)
    return np.asarray(x) if isinstance(x, np.ndarray | np.generic) else None


def check_classes(name: str, target: Any, classes: int, ignore_index: int | None = None) -> bool:
    """Whether all targets are known to be classes that count; raises an error for one that is not among the classes."""
    numbers = known_numbers(target)
    if numbers is None:
        return False
    if not numbers.size or (numbers.min() >= 0 and numbers.max() < classes):
        return ignore_index is None or not 0 <= ignore_index < classes or not (numbers == ignore_index).any()
    wrong = numbers[(numbers < 0) | (numbers >= classes)]
    if ignore_index is not None:
        wrong = wrong[wrong != ignore_index]
    if wrong.size:
        raise user_error(
            ValueError,
            f"{name} has a target {wrong[0]}, for {classes} classes",
            f"Targets are indices from 0 to {classes - 1}"
            + ("." if ignore_index is None else f", or ignore_index ({ignore_index})."),
        )
    return False
