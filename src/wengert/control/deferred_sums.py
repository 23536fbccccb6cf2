"""Sums over the steps of a loop that are computed after it.

The cotangent of a constant of a loop is a sum over its steps. If each term is a product of matrices, the whole sum is
one product of longer matrices; if it is a sum over a batch, it is one sum over steps and batch. Then the loop need not
add to an array in each step: it gives the factors, most of which it gives or takes as sequences anyway.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from wengert.graph.ir import Constant, Node, Operation, is_a
from wengert.ops.contraction.products import matmul
from wengert.ops.elementwise.arithmetic import multiply
from wengert.ops.reductions.sums import _sum
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.reshaping import _transpose, reshape, transpose


class DeferredSum(NamedTuple):
    """The factors of one step, and the function that gives the sum over all steps from the sequences of factors."""

    factors: tuple[Node, ...]
    combine: Callable[..., Any]


def defer_sum(term: Node, sequences: Collection[Node]) -> DeferredSum | None:
    """How to sum a term of a body after the loop, of which these values are sequences; None if that is no gain.

    The factors that must become sequences may take no more memory than the term.
    """
    found = find_factors(term)
    if found is None or any(isinstance(factor, Constant) for factor in found.factors):
        return None
    new = sum([factor.nbytes for factor in found.factors if factor not in sequences])
    return found if new <= term.nbytes else None


def find_factors(term: Node) -> DeferredSum | None:
    """The factors of a product of matrices, of a sum, or of a product of numbers."""
    if not isinstance(term, Operation):
        return None
    if is_a(term, matmul):
        x, y = term.args
        if x.ndim == y.ndim == 2 and is_a(x, _transpose):
            return DeferredSum((x.args[0], y), matrix_product)
    if is_a(term, _sum):
        axes = (0, *[axis + 1 for axis in term.params["axis"]])
        return DeferredSum(term.args, lambda x: reshape(sum_(x, axes), term.shape))
    if is_a(term, multiply) and term.dtype.kind == "f":
        return DeferredSum(term.args, lambda x, y: sum_(lift(x, term.ndim) * lift(y, term.ndim), 0))
    return None


def matrix_product(x: Any, y: Any) -> Any:
    """The sum of the products of transposed matrices x and matrices y: one product over steps and rows."""
    x, y = [reshape(a, (math.prod(a.shape[:2]), a.shape[2])) for a in (x, y)]
    return matmul(transpose(x), y)


def lift(x: Any, ndim: int) -> Any:
    """A sequence of arrays with this number of axes, so that steps do not broadcast against elements."""
    return reshape(x, (x.shape[0], *(1,) * (ndim + 1 - x.ndim), *x.shape[1:]))


def new_sequences(sums: Sequence[DeferredSum], sequences: Collection[Node]) -> list[Node]:
    """The factors that the loop must give as sequences, each once."""
    return list(dict.fromkeys([f for found in sums for f in found.factors if f not in sequences]))
