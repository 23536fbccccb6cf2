"""The native code of the operations: a file for each family, and `functions/` for the mathematical functions."""

from wengert.compiler.aspects import (
    attention,
    by_numpy,
    complex_numbers,
    contraction,
    convolution,
    elementwise,
    fourier,
    indexing,
    integers,
    linalg,
    predicates,
    reductions,
    samples,
    shape,
    sorting,
    windows,
)
from wengert.compiler.forms.lowering import expansion, lowering
from wengert.compiler.functions import (
    complex_functions,
    error_function,
    exponential,
    gamma,
    hyperbolic,
    inverse_trigonometric,
    logarithm,
    power,
    trigonometric,
)

OWN = frozenset([*lowering.entries, *lowering.reasons, *expansion.entries])
"""The operations of this package that were entered here, before users can enter others."""
