"""Products that are added to other numbers, as one operation of a compiled program."""

from __future__ import annotations

from wengert.core.definition import Definition
from wengert.core.primitive import Primitive

PRODUCT_SUM = Primitive(
    Definition(
        name="product_sum",
        impl=lambda initial, x, y: initial + x @ y,
        kind="nondifferentiable",
        inputs=("initial", "x", "y"),
        spec=lambda initial, x, y: initial,
        reason="a compiled program has it where no derivative is asked for",
    )
)
"""`initial + x @ y`, of the shape and dtype of `initial`; the sums of the product begin with it."""
