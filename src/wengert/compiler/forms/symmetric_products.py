"""Products with a symmetric matrix, of which one triangle is computed and read, as operations of a compiled program."""

from __future__ import annotations

import numpy as np

from wengert.core.definition import Definition
from wengert.core.primitive import Primitive

REASON = "a compiled program has it where no derivative is asked for"

TRIANGLE = Primitive(
    Definition(
        name="product_triangle",
        impl=np.matmul,
        kind="nondifferentiable",
        inputs=("x", "y"),
        reason=REASON,
    )
)
"""The product of a matrix and its own transpose, which is symmetric: nobody reads what is above its diagonal."""

SYMMETRIC_PRODUCT = Primitive(
    Definition(
        name="symmetric_product",
        impl=lambda symmetric, other, is_left: symmetric @ other if is_left else other @ symmetric,
        kind="nondifferentiable",
        inputs=("symmetric", "other"),
        takes_params=True,
        reason=REASON,
    )
)
"""The product of a symmetric matrix, of which the triangle below the diagonal is given, and another one.

`is_left` says whether the symmetric matrix is the left factor.
"""
