"""Losses of differences: between predictions and targets, between distributions, and between embeddings."""

from __future__ import annotations

from typing import Any

from wengert.core.errors import user_error
from wengert.nn.functional.reductions import REDUCTIONS, as_floats, check_reduction, reduce_loss, same_shapes
from wengert.ops.elementwise.arithmetic import sqrt, square
from wengert.ops.elementwise.choices import maximum, minimum, relu, where
from wengert.ops.elementwise.complex_numbers import absolute
from wengert.ops.elementwise.exponential import exp, log
from wengert.ops.elementwise.predicates import equal, less
from wengert.ops.linear_algebra.norms import vector_norm
from wengert.ops.reductions.sums import sum as sum_

__all__ = [
    "cosine_embedding_loss", "cosine_similarity", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss",
    "pairwise_distance", "smooth_l1_loss", "triplet_margin_loss",
]  # fmt: skip


def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """The squares of the differences.

    >>> float(mse_loss([1.0, 2.0], [1.0, 4.0]))
    2.0
    """
    input, target = same_shapes("mse_loss", input, target)
    return reduce_loss(square(input - target), reduction)


def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """The absolute differences.

    >>> float(l1_loss([1.0, 2.0], [1.0, 4.0]))
    1.0
    """
    input, target = same_shapes("l1_loss", input, target)
    return reduce_loss(absolute(input - target), reduction)


def smooth_l1_loss(input: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Any:
    """The absolute differences, less beta / 2; differences below beta by their squares over 2 beta.

    >>> smooth_l1_loss([0.5, 3.0], [0.0, 0.0], reduction="none")
    array([0.125, 2.5  ])
    """
    if beta < 0:
        raise user_error(ValueError, f"smooth_l1_loss has beta={beta}", "It must not be negative.")
    if not beta:
        return l1_loss(input, target, reduction)
    input, target = same_shapes("smooth_l1_loss", input, target)
    size = absolute(input - target)
    return reduce_loss(where(less(size, beta), square(size) * (0.5 / beta), size - 0.5 * beta), reduction)


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    """Half the squares of the differences, linear where they are larger than delta.

    >>> huber_loss([0.5, 3.0], [0.0, 0.0], reduction="none")
    array([0.125, 2.5  ])
    """
    if delta <= 0:
        raise user_error(ValueError, f"huber_loss has delta={delta}", "It must be positive.")
    input, target = same_shapes("huber_loss", input, target)
    size = absolute(input - target)
    return reduce_loss(where(less(size, delta), 0.5 * square(size), delta * (size - 0.5 * delta)), reduction)


def kl_div(input: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Any:
    """The Kullback-Leibler divergence of the target from the input, element by element; the input is logarithms.

    With `log_target`, so is the target. "mean" divides by the number of elements, "batchmean" by that of rows, which is
    the divergence of distributions on the last axis of a matrix.

    >>> float(kl_div([[0.0, -float("inf")]], [[1.0, 0.0]], reduction="batchmean"))
    0.0
    """
    check_reduction(reduction, (*REDUCTIONS, "batchmean"))
    input, target = same_shapes("kl_div", input, target)
    if log_target:
        absent = equal(target, -float("inf"))
        logs, target = where(absent, 0.0, target), exp(target)
    else:
        absent = equal(target, 0)
        logs = log(where(absent, 1.0, target))
    loss = target * where(absent, 0.0, logs - input)
    return sum_(loss) / loss.shape[0] if reduction == "batchmean" else reduce_loss(loss, reduction)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along an axis; norms are at least eps.

    >>> cosine_similarity([[1.0, 0.0]], [[1.0, 1.0]])
    array([0.70710678])
    """
    x1 = as_floats(x1)
    x2 = as_floats(x2, x1)
    lengths = [sqrt(maximum(sum_(square(x), dim), eps * eps)) for x in (x1, x2)]
    return sum_(x1 * x2, dim) / (lengths[0] * lengths[1])


def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    """One minus the cosine of vectors on the last axis where the target is 1; what it is above the margin where -1.

    >>> round(float(cosine_embedding_loss([1.0, 0.0], [1.0, 1.0], 1)), 6)
    0.292893
    """
    input1, input2 = same_shapes("cosine_embedding_loss", input1, input2)
    cosine = cosine_similarity(input1, input2, dim=-1)
    target = as_floats(target, input1)
    if target.shape != cosine.shape:
        raise user_error(
            ValueError,
            f"cosine_embedding_loss of inputs of shape {input1.shape} and a target of shape {target.shape}",
            f"The target has one number for each pair: {cosine.shape}.",
        )
    return reduce_loss(where(equal(target, 1), 1.0 - cosine, relu(cosine - margin)), reduction)


def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The p-norm of the difference along the last axis, after eps is added to each element.

    >>> pairwise_distance([[3.0, 0.0]], [[0.0, 4.0]], eps=0.0)
    array([5.])
    """
    x1 = as_floats(x1)
    return vector_norm(x1 - as_floats(x2, x1) + eps, ord=p, axis=-1, keepdims=keepdim)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """How much the distance to the negative is not larger than that to the positive by the margin.

    With `swap`, the negative's distance is that to the anchor or to the positive, whichever is smaller.

    >>> round(float(triplet_margin_loss([[0.0]], [[0.5]], [[1.0]])), 6)
    0.5
    """
    anchor, positive = same_shapes("triplet_margin_loss", anchor, positive)
    _, negative = same_shapes("triplet_margin_loss", anchor, negative)
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduce_loss(relu(margin + near - far), reduction)


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    """How far the first input is not above the second by the margin, or below it where the target is -1.

    >>> margin_ranking_loss([1.0, 1.0], [3.0, 3.0], [1.0, -1.0], reduction="none")
    array([2., 0.])
    """
    input1, input2 = as_floats(input1), as_floats(input2)
    return reduce_loss(relu(margin - as_floats(target, input1) * (input1 - input2)), reduction)
