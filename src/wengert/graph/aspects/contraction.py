"""Products that sum over axes."""

from __future__ import annotations

from wengert.graph.mathematics import expression
from wengert.graph.notation import PRODUCT, Infix, notation
from wengert.ops.contraction import products

notation.enter(Infix("@", "", "", PRODUCT), products.matmul)
expression.enter(lambda w, node: w.product(w.known[node.args[0]], w.known[node.args[1]]), products.matmul)
