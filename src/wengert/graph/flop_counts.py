"""The number of flops of operations that do not take one for each element of their result.

They are apart from how operations are written (`aspects/`), because the compiler asks for them too.
"""

from __future__ import annotations

from math import prod

from wengert.graph.costs import flops, per_element
from wengert.graph.ir import Operation
from wengert.ops.contraction import einsum, products
from wengert.ops.indexing import subscripts
from wengert.ops.linear_algebra import norms
from wengert.ops.reductions import cumulative, extremes, logical, sums

flops.enter(lambda node: 2 * node.size * node.args[0].shape[-1], products.matmul)
flops.enter(lambda node: node.args[0].size if node.params["key"].repeats else 0, subscripts._scatter)
flops.enter(lambda node: node.args[1].size, subscripts._add_at)
flops.enter(
    per_element(1),
    sums._sum,
    sums._mean,
    cumulative._prod,
    extremes._max,
    extremes._min,
    logical._all,
    logical._any,
    logical._count_nonzero,
    extremes._argmax,
    extremes._argmin,
    cumulative._cumsum,
    cumulative._cumprod,
)
flops.enter(per_element(2), norms._norm)
flops.enter(per_element(3), sums._logsumexp)


@flops(einsum._einsum)
def einsum_flops(node: Operation) -> int:
    """One multiplication and one addition for each combination of indices."""
    terms = node.params["subscripts"].split("->")[0].split(",")
    extents = {
        letter: n for term, a in zip(terms, node.args, strict=True) for letter, n in zip(term, a.shape, strict=True)
    }
    return 2 * prod(extents.values())
