"""What explanations need to know of operations, family by family: why numbers are not finite or zero, many digits,
signs.
"""

from wengert.explain.aspects import contraction, elementwise, linalg, predicates, reductions, shape, special

__all__ = ["contraction", "elementwise", "linalg", "predicates", "reductions", "shape", "special"]
