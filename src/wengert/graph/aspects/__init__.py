"""What graphs know of operations: how each is written in mathematics, in Python and in SymPy.

One file for each family of `ops/`.
"""

from wengert.graph.aspects import contraction, elementwise, indexing, predicates, reductions, shape, special

__all__ = ["contraction", "elementwise", "indexing", "predicates", "reductions", "shape", "special"]
