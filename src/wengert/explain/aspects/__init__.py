"""What explanations need to know about operations, by family: reasons for NaN and zeros, digits, signs."""

from wengert.explain.aspects import contraction, elementwise, linalg, predicates, reductions, shape, special

__all__ = ["contraction", "elementwise", "linalg", "predicates", "reductions", "shape", "special"]
