"""Entries of `propagation`, family by family: how sets of indices pass through operations."""

from wengert.structure.aspects import along_axes, contraction, control, indexing, linalg, shape, special

__all__ = ["along_axes", "contraction", "control", "indexing", "linalg", "shape", "special"]
