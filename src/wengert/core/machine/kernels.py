"""The loops of kernels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class KernelFields:
    """How the loops of a kernel are written."""

    min_row_elements_of_scatter: int = 4
    """Elements of a row from which a scatter writes it as vectors: shorter ones take longer than single elements."""
    max_vectors_of_columns: int = 8
    """Vectors of neighbouring columns that are added up at once: half of the registers of AVX2."""
