"""Products that sum over axes."""

from __future__ import annotations

from math import prod

from wengert.graph.costs import flops
from wengert.graph.ir import Operation
from wengert.graph.mathematics import expression
from wengert.graph.notation import PRODUCT, Infix, notation
from wengert.ops.contraction import einsum, products

notation.enter(Infix("@", "", "", PRODUCT), products.matmul)
expression.enter(lambda w, node: w.product(w.known[node.args[0]], w.known[node.args[1]]), products.matmul)

flops.enter(lambda node: 2 * node.size * node.args[0].shape[-1], products.matmul)


@flops(einsum._einsum)
def einsum_flops(node: Operation) -> int:
    """One multiplication and one addition for each combination of indices."""
    terms = node.params["subscripts"].split("->")[0].split(",")
    extents = {
        letter: n for term, a in zip(terms, node.args, strict=True) for letter, n in zip(term, a.shape, strict=True)
    }
    return 2 * prod(extents.values())
