"""Whether the processor has fused multiply-adds and vectors that are wide enough for native code to be as fast as BLAS.

The processor decides, not `vector_bytes` of the machine record: BLAS adds in another order, and products without fused
multiply-adds are rounded twice.
"""

from __future__ import annotations

from wengert.compiler.machine.target import machine_target
from wengert.core import machine


def has_wide_vectors() -> bool:
    """Whether the vectors of the processor are wide."""
    return machine_target().vector_bytes >= machine.current.min_processor_vector_bytes
