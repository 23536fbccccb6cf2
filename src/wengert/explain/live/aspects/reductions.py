"""Sums, products, extrema and norms along axes as JavaScript."""

from __future__ import annotations

import math
from collections.abc import Sequence

from wengert.explain.live.javascript import CodeWriter, NoForm, fold, javascript, write_along, write_matrix_product
from wengert.graph.ir import Operation
from wengert.ops.contraction import products
from wengert.ops.linear_algebra import norms
from wengert.ops.reductions import cumulative, extremes, logical, sums, without_nan
from wengert.ops.special import entropy

for template, operation in (
    ("largest(list)", extremes._max),
    ("smallest(list)", extremes._min),
    ("largest([-Infinity, ...finite(list)])", without_nan._nanmax),
    ("smallest([Infinity, ...finite(list)])", without_nan._nanmin),
    ("product(list)", cumulative._prod),
    ("logsumexp(list)", sums._logsumexp),
    ("+list.every((x) => x !== 0)", logical._all),
    ("+list.some((x) => x !== 0)", logical._any),
    ("list.filter((x) => x !== 0).length", logical._count_nonzero),
    ("firstOf(list, largest(list))", extremes._argmax),
    ("firstOf(list, smallest(list))", extremes._argmin),
):
    javascript.enter(fold(template), operation)

javascript.enter(write_along("softmax(list)"), entropy._softmax)
javascript.enter(write_along("((most) => list.map((x) => Math.exp(x - most)))(largest(list))"), entropy.softmax_weights)
javascript.enter(write_along("list.map(((sum) => (x) => (sum *= x))(1))"), cumulative._cumprod)
javascript.enter(write_matrix_product, products.matmul)


@javascript(norms._norm)
def write_norm(writer: CodeWriter, node: Operation, args: Sequence[str]) -> str:
    """A norm of vectors; of matrices only the one of Frobenius."""
    order = node.params.get("ord")
    if order is not None and not isinstance(order, int | float):
        raise NoForm("norms of matrices are not recomputed in the page")
    written = (
        "2" if order is None else "Infinity" if order == math.inf else f"{float(order)!r}".replace("inf", "Infinity")
    )
    return fold(f"norm(list, {written})")(writer, node, args)
