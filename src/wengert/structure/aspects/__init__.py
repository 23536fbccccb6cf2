"""What sparsity needs to know of operations, family by family: entries of `propagation`."""

from wengert.structure.aspects import along_axes, contraction, indexing, linalg, shape, special

__all__ = ["along_axes", "contraction", "indexing", "linalg", "shape", "special"]
