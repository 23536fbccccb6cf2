"""Losses of classifiers: cross entropies and margins."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.nn.functional.reductions import (
    as_floats,
    check_classes,
    check_reduction,
    known_numbers,
    reduce_loss,
    same_shapes,
    weighted_mean,
)
from wengert.nn.large_calls import compiled_if_large
from wengert.ops.elementwise.arithmetic import square
from wengert.ops.elementwise.choices import relu, where
from wengert.ops.elementwise.exponential import log, softplus
from wengert.ops.elementwise.predicates import equal, logical_not, not_equal
from wengert.ops.indexing.key import Hole, Index
from wengert.ops.indexing.subscripts import gather
from wengert.ops.indexing.taking import take
from wengert.ops.reductions.sums import logsumexp
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import expand_dims, reshape
from wengert.ops.special.entropy import log_softmax as log_softmax_along

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "hinge_embedding_loss",
    "multi_margin_loss", "nll_loss", "one_hot", "soft_margin_loss",
]  # fmt: skip

LEAST_LOG = -100.0
"""Logarithms of probabilities are at least this, so that a probability of zero has a finite loss."""


def one_hot(target: Any, num_classes: int = -1) -> Any:
    """Class indices as rows of zeros with a one; without `num_classes`, for the classes up to the largest target.

    >>> one_hot([0, 2])
    array([[1, 0, 0],
           [0, 0, 1]])
    """
    target = class_indices("one_hot", target)
    if num_classes < 0:
        numbers = known_numbers(target)
        if numbers is None:
            raise user_error(ValueError, "one_hot of a traced target does not know the largest", "Pass num_classes.")
        num_classes = int(numbers.max(initial=-1)) + 1
    check_classes("one_hot", target, num_classes)
    return astype(equal(expand_dims(target, -1), numpy_of(target).arange(num_classes)), np.int64)


def class_indices(name: str, target: Any) -> Any:
    """Targets as an array of integers."""
    target = as_operand(target)
    if target.dtype.kind not in "iu":
        raise user_error(
            TypeError, f"{name} has targets of dtype {target.dtype}", "Class indices are integers: use astype(int)."
        )
    return target


def class_axis(name: str, input: Any, target: Any) -> int:
    """The axis of the classes: the first for one element, the second for a batch; the others must be the target's."""
    if not input.ndim:
        raise user_error(ValueError, f"{name} of a number", "The input has an axis of classes: (N, C, ...) or (C,).")
    axis = min(1, input.ndim - 1)
    expected = (*input.shape[:axis], *input.shape[axis + 1 :])
    if target.shape != expected:
        raise user_error(
            ValueError,
            f"{name} of an input of shape {input.shape} and class indices of shape {target.shape}",
            f"With {input.shape[axis]} classes on axis {axis}, indices have the shape {expected}.",
        )
    return axis


class Targets:
    """Class indices, which of them count, and the weight of each."""

    def __init__(self, name: str, input: Any, target: Any, weight: Any, ignore_index: int):
        target = class_indices(name, target)
        self.axis = class_axis(name, input, target)
        classes = input.shape[self.axis]
        self.all_count = check_classes(name, target, classes, ignore_index)
        self.class_weights = None if weight is None else weights_of_classes(name, weight, classes, input)
        self.counts = True if self.all_count else not_equal(target, ignore_index)
        self.indices = target if self.all_count else where(self.counts, target, 0)

    @property
    def are_plain(self) -> bool:
        """Whether all targets count, and equally."""
        return self.all_count and self.class_weights is None

    def pick(self, x: Any) -> Any:
        """The elements of x at the targets."""
        return pick_classes(x, self.indices, self.axis)

    def mask(self, loss: Any) -> Any:
        """The losses, and zero for ignored targets."""
        return loss if self.all_count else where(self.counts, loss, 0.0)

    def weights(self, like: Any) -> Any:
        """The weight of each target; zero for ignored ones."""
        if self.class_weights is None:
            return None if self.all_count else astype(self.counts, like.dtype)
        return self.mask(take(self.class_weights, self.indices, 0))

    def along_classes(self, ndim: int) -> Any:
        """The class weights, such that they multiply an array with classes on their axis."""
        assert self.class_weights is not None
        return reshape(self.class_weights, (-1,) + (1,) * (ndim - 1 - self.axis))


def pick_classes(x: Any, indices: Any, axis: int) -> Any:
    """The elements of x at class indices along an axis."""
    key: list[Any] = list(np.indices(indices.shape, sparse=True))
    key.insert(axis, indices)
    return gather(x, *key, key=Index((Hole.ARRAY,) * x.ndim))  # no element twice: the transpose is an assignment


@compiled_if_large("input", "indices")
def plain_cross_entropy(input: Any, indices: Any, axis: int, reduction: str) -> Any:
    """The cross entropy for class indices that all count, and equally."""
    return reduce_loss(logsumexp(input, axis) - pick_classes(input, indices, axis), reduction)


def weights_of_classes(name: str, weight: Any, classes: int, input: Any) -> Any:
    """The weights of the classes in the precision of the input; one for each class."""
    weight = as_floats(weight, input)
    if weight.shape != (classes,):
        raise user_error(
            ValueError, f"{name} has a weight of shape {weight.shape}, for {classes} classes", "One weight per class."
        )
    return weight


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """The cross entropy between targets and the softmax of the input, whose classes are on axis 1: (N, C, ...).

    Targets are class indices of shape (N, ...), or probabilities of the shape of the input. `weight` has one weight per
    class; indices equal to `ignore_index` do not count; `label_smoothing` mixes the targets with equal probabilities.
    The mean is over the weights of the targets.

    >>> float(cross_entropy([[1000.0, 0.0]], [1]))
    1000.0
    """
    input, target = as_floats(input), as_operand(target)
    if not 0.0 <= label_smoothing <= 1.0:
        raise user_error(ValueError, f"label_smoothing must be between 0 and 1, not {label_smoothing}")
    if target.dtype.kind == "f" and target.shape == input.shape:
        return probability_cross_entropy(input, as_floats(target, input), weight, reduction, label_smoothing)
    targets = Targets("cross_entropy", input, target, weight, ignore_index)
    if targets.are_plain and not label_smoothing:
        return plain_cross_entropy(input, targets.indices, targets.axis, reduction)
    axis, weights = targets.axis, targets.weights(input)
    if not label_smoothing:
        loss = logsumexp(input, axis) - targets.pick(input)
        loss = targets.mask(loss) if targets.class_weights is None else targets.mask(weights * loss)
        return reduce_weighted(loss, weights, reduction)
    logs = log_softmax_along(input, axis)
    hard = -targets.pick(logs) if targets.class_weights is None else -targets.pick(logs) * weights
    spread = logs if targets.class_weights is None else logs * targets.along_classes(logs.ndim)
    smooth = sum_(spread, axis) * (-label_smoothing / input.shape[axis])
    return reduce_weighted(targets.mask((1.0 - label_smoothing) * hard + smooth), weights, reduction)


def probability_cross_entropy(input: Any, target: Any, weight: Any, reduction: str, label_smoothing: float) -> Any:
    """The cross entropy for targets that are probabilities of the classes."""
    axis = min(1, input.ndim - 1)
    classes = input.shape[axis]
    logs = log_softmax_along(input, axis)
    if label_smoothing:
        target = target * (1.0 - label_smoothing) + label_smoothing / classes
    if weight is not None:
        weight = weights_of_classes("cross_entropy", weight, classes, input)
        target = target * reshape(weight, (-1,) + (1,) * (input.ndim - 1 - axis))
    loss = -sum_(product_with_zeros(target, logs), axis)
    return reduce_loss(loss, reduction)


def product_with_zeros(weight: Any, logs: Any) -> Any:
    """The product with logarithms, zero where the weight is, even if the logarithm is infinite."""
    zero = equal(weight, 0)
    return weight * where(zero, 0.0, logs)


def reduce_weighted(loss: Any, weights: Any, reduction: str) -> Any:
    """The losses as they are, their weighted mean, or their sum."""
    return reduce_loss(loss, reduction) if weights is None or reduction != "mean" else weighted_mean(loss, weights)


def nll_loss(input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> Any:
    """The negative log likelihood: minus the logarithms of probabilities (N, C, ...) at the class indices (N, ...).

    >>> float(nll_loss(np.log([[0.25, 0.75]]), [1], reduction="sum"))
    0.2876820724517809
    """
    input = as_floats(input)
    targets = Targets("nll_loss", input, target, weight, ignore_index)
    weights = targets.weights(input)
    picked = -targets.pick(input)
    loss = targets.mask(picked if targets.class_weights is None else weights * picked)
    return reduce_weighted(loss, weights, reduction)


def binary_cross_entropy(input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Any:
    """The cross entropy between probabilities (input) and targets between 0 and 1.

    Logarithms are at least -100. Prefer `binary_cross_entropy_with_logits`, which is accurate near 0 and 1.

    >>> float(binary_cross_entropy([0.5], [1.0]))
    0.6931471805599453
    """
    input, target = same_shapes("binary_cross_entropy", input, target)
    numbers = known_numbers(input)
    if numbers is not None and numbers.size and not (numbers.min() >= 0 and numbers.max() <= 1):
        wrong = numbers[~((numbers >= 0) & (numbers <= 1))].ravel()[0]
        raise user_error(
            ValueError,
            f"binary_cross_entropy of {wrong}, which is not a probability",
            "Use binary_cross_entropy_with_logits for numbers outside [0, 1].",
        )
    loss = -(target * bounded_log(input) + (1.0 - target) * bounded_log(1.0 - input))
    return reduce_loss(loss if weight is None else loss * as_floats(weight, input), reduction)


def bounded_log(x: Any) -> Any:
    """The logarithm of a probability, at least -100."""
    small = x < np.exp(LEAST_LOG)
    return where(small, LEAST_LOG, log(where(small, 1.0, x)))


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    """The cross entropy between the sigmoid of the input and targets between 0 and 1, without overflow.

    `pos_weight` multiplies the loss of ones: a number for each class, or one for all.

    >>> binary_cross_entropy_with_logits([1000.0, -1000.0], [0.0, 0.0], reduction="none")
    array([1000.,    0.])
    """
    input, target = same_shapes("binary_cross_entropy_with_logits", input, target)
    ones = target if pos_weight is None else target * as_floats(pos_weight, input)
    loss = ones * softplus(-input) + (1.0 - target) * softplus(input)
    return reduce_loss(loss if weight is None else loss * as_floats(weight, input), reduction)


def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, reduction: str = "mean") -> Any:
    """The input where the target is 1; where it is -1, how far the input is below the margin.

    >>> hinge_embedding_loss([0.5, 0.25], [1, -1], reduction="none")
    array([0.5 , 0.75])
    """
    input, target = same_shapes("hinge_embedding_loss", input, target)
    return reduce_loss(where(equal(target, 1), input, relu(margin - input)), reduction)


def soft_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """log(1 + exp(-target input)), for targets 1 and -1.

    >>> soft_margin_loss([0.0], [1.0], reduction="none")
    array([0.69314718])
    """
    input, target = same_shapes("soft_margin_loss", input, target)
    return reduce_loss(softplus(-target * input), reduction)


def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, reduction: str = "mean"
) -> Any:
    """How far the score of the target is not above the other scores by the margin, to the power p (1 or 2).

    Input of shape (N, C) and targets of shape (N,), or one row and one target. The sum over the classes is divided by
    their number.

    >>> float(multi_margin_loss([[0.5, 1.0, 0.0]], [1]))
    0.16666666666666666
    """
    check_reduction(reduction)
    if p not in (1, 2):
        raise user_error(ValueError, f"multi_margin_loss has p={p}", "Use 1 or 2.")
    input = as_floats(input)
    targets = Targets("multi_margin_loss", input, target, weight, ignore_index=-1)
    axis, classes = targets.axis, input.shape[targets.axis]
    score = expand_dims(targets.pick(input), axis)
    others = logical_not(equal(expand_dims(targets.indices, axis), numpy_of(targets.indices).arange(classes)))
    excess = relu(where(others, margin - score + input, 0.0))
    loss = sum_(excess if p == 1 else square(excess), axis) / classes
    weights = None if weight is None else targets.weights(input)
    return reduce_loss(loss if weights is None else loss * weights, reduction)
