"""Reductions: their folds, and the expansions of those that consist of others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compiler.aspects.elementwise import add, multiply
from wengert.compiler.aspects.elementwise import maximum as maximum_of
from wengert.compiler.aspects.elementwise import minimum as minimum_of
from wengert.compiler.forms.lowering import Reduction, expansion, lowering
from wengert.compiler.simd.lanes import Lanes, select
from wengert.compiler.simd.types import Type
from wengert.ops.elementwise.arithmetic import reciprocal, sqrt, square
from wengert.ops.elementwise.choices import maximum, minimum, where
from wengert.ops.elementwise.complex_numbers import absolute, imag, real
from wengert.ops.elementwise.exponential import exp, log, power
from wengert.ops.elementwise.predicates import equal, greater, isfinite, isnan, logical_or, not_equal
from wengert.ops.linear_algebra.norms import _norm
from wengert.ops.reductions import extremes, logical, named_axes, sums
from wengert.ops.reductions.axes import count_along
from wengert.ops.reductions.cumulative import _prod
from wengert.ops.reductions.extremes import max as max_
from wengert.ops.reductions.extremes import min as min_
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.casting import astype, copy
from wengert.ops.shape.reshaping import reshape
from wengert.ops.special.entropy import _offset, _softmax, softmax_weights

# Folds: the combination of two partial results, and the initial one


def smaller(x: Lanes, y: Lanes) -> Lanes:
    """The smaller one, or NaN; -0.0 rather than 0.0, in whatever order numbers are compared.

    The bits of a NaN, together with any others, are those of a NaN, and so it takes three instructions.
    """
    if not x.type.is_float:
        return minimum_of(x, y)
    return select(x.eq_or_nan(y), (x.bits() | y.bits()).floats(), select(x < y, x, y))


class LargestElement(Reduction):
    """The largest element, or NaN; 0.0 rather than -0.0: the smallest one, if all have the other sign.

    Together with the change of the sign, that takes four instructions. A comparison for each case would take six.
    """

    def __init__(self) -> None:
        super().__init__(lambda x, y: smaller(x, y) if x.type.is_float else maximum_of(x, y), least, is_ordered=True)

    def initial(self, type: Type) -> Any:
        return greatest(type) if type.is_float else least(type)

    def begin(self, terms: Sequence[Lanes]) -> Lanes:
        return super().begin([-x if x.type.is_float else x for x in terms])

    def finish(self, total: Lanes) -> Lanes:
        return -total if total.type.is_float else total


def least(type: Type) -> Any:
    """The smallest number of a type."""
    return -math.inf if type.is_float else False if type.kind == "i1" else -(1 << (type.bits - 1))


def greatest(type: Type) -> Any:
    """The largest number of a type."""
    return math.inf if type.is_float else True if type.kind == "i1" else (1 << (type.bits - 1)) - 1


lowering.enter(Reduction(add, lambda type: 0), sums._sum)
lowering.enter(Reduction(multiply, lambda type: 1), _prod)
lowering.enter(LargestElement(), extremes._max)
lowering.enter(Reduction(smaller, greatest, is_ordered=True), extremes._min)
lowering.enter(Reduction(lambda x, y: x & y, lambda type: True), logical._all)
lowering.enter(Reduction(lambda x, y: x | y, lambda type: False), logical._any)

# Expansions


@expansion(sums._mean)
def expand_mean(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    """A sum over the number of terms."""
    return sum_(x, axis, keepdims=keepdims) / count_along(x, axis)


@expansion(sums._logsumexp)
def expand_logsumexp(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    """The exponentials of the distances to the largest term do not overflow."""
    if not x.size or x.dtype.kind == "c":
        return None
    return logarithm_of_sum(x, largest_terms(x, axis), axis, keepdims)


def largest_terms(x: Any, axis: tuple[int, ...]) -> Any:
    """The largest terms, or zero where they are -inf or NaN."""
    largest = max_(x, axis, keepdims=True)
    return where(greater(largest, -np.inf), largest, x.dtype.type(0))


def logarithm_of_sum(x: Any, largest: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    """log(sum(exp(x))), with the largest terms; infinite where one of them is."""
    total = log(sum_(exp(x - largest), axis, keepdims=True)) + largest
    total = where(equal(largest, np.inf), x.dtype.type(np.inf), total)
    return total if keepdims else reshape(total, [n for i, n in enumerate(x.shape) if i not in axis])


def exponential_weights(x: Any, largest: Any, axis: tuple[int, ...], is_zero_possible: bool) -> Any:
    """exp(x - logsumexp(x)), with the largest terms: the exponentials that are summed, over their sum.

    Where a term is infinite, the other weights are zero. If `is_zero_possible`, a sum of zero counts as one.
    """
    one, weights = x.dtype.type(1), exp(x - largest)
    total = sum_(weights, axis, keepdims=True)
    is_single = equal(largest, np.inf)
    is_single = logical_or(is_single, equal(total, 0)) if is_zero_possible else is_single
    return weights * where(is_single, one, reciprocal(total))


@expansion(_offset)
def expand_offset(x: Any, axis: tuple[int, ...]) -> Any:
    """The largest terms, or zero where they are not finite."""
    if not x.size or x.dtype.kind not in "fc":
        return None
    largest = max_(real(x) if x.dtype.kind == "c" else x, axis, keepdims=True)
    return where(isfinite(largest), largest, largest.dtype.type(0))


@expansion(softmax_weights)
def expand_softmax_weights(x: Any, axis: tuple[int, ...]) -> Any:
    """Exponentials of the distances to the largest term, over their sum, and zeros where that is zero."""
    if not x.size or x.dtype.kind != "f":
        return None
    weights = exp(x - expand_offset(x, axis))
    total = sum_(weights, axis, keepdims=True)
    return weights * reciprocal(where(equal(total, 0), x.dtype.type(1), total))


@expansion(_softmax)
def expand_softmax(x: Any, axis: tuple[int, ...]) -> Any:
    """Exponentials of the distances to the largest term, over their sum."""
    if not x.size or x.dtype.kind != "f":
        return None
    return exponential_weights(x, largest_terms(x, axis), axis, is_zero_possible=False)


@expansion(_norm)
def expand_norm(x: Any, ord: float, axis: tuple[int, ...], keepdims: bool) -> Any:
    """A root of a sum of powers."""
    if ord == 2:
        squares = square(real(x)) + square(imag(x)) if x.dtype.kind == "c" else square(x)
        return sqrt(sum_(squares, axis, keepdims=keepdims))
    return power(sum_(power(absolute(x), ord), axis, keepdims=keepdims), 1.0 / ord)


@expansion(logical._count_nonzero)
def expand_count_nonzero(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    """A sum of integers."""
    return sum_(astype(not_equal(x, 0), np.intp), axis, keepdims=keepdims)


def expansion_to_index(reduce: Callable) -> Callable:
    """An expansion to the first index of the extreme element, or of the first NaN."""

    def rule(x: Any, axis: int, keepdims: bool) -> Any:
        if not x.ndim or not x.size or x.dtype.kind == "c":
            return None
        n, extreme = x.shape[axis], reduce(x, axis, keepdims=True)
        is_found = equal(x, extreme)
        if x.dtype.kind == "f":
            is_found = logical_or(is_found, isnan(x))
        indices = np.arange(n).reshape((-1,) + (1,) * (x.ndim - 1 - axis))
        return min_(where(is_found, indices, np.intp(n)), axis, keepdims=keepdims)

    return rule


expansion.enter(expansion_to_index(max_), extremes._argmax)
expansion.enter(expansion_to_index(min_), extremes._argmin)


def expansion_with_initial(reduce: Callable, combine: Callable) -> Callable:
    """An expansion that combines the reduction with `initial`."""

    def rule(x: Any, axis: tuple[int, ...], keepdims: bool, initial: Any = None) -> Any:
        return combine(initial, reduce(x, axis=axis, keepdims=keepdims)) if initial is not None and x.size else None

    return rule


expansion.enter(expansion_with_initial(extremes._max, maximum), extremes._max)
expansion.enter(expansion_with_initial(extremes._min, minimum), extremes._min)


# Collectives: what is left of them in a program acts on values that are the same for all elements of the batch


@expansion(named_axes._psum)
def expand_psum(x: Any, axis_name: str, size: int) -> Any:  # noqa: ARG001  # parameters of the operation
    """A sum of equal values."""
    return x * size


@expansion(named_axes._pmax)
def expand_pmax(x: Any, axis_name: str, size: int) -> Any:  # noqa: ARG001  # parameters of the operation
    """The largest of equal values."""
    return copy(x)
