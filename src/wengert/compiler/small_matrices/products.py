"""Products of small matrices."""

from __future__ import annotations

from functools import reduce

import numpy as np

from wengert.compiler.small_matrices.call import Matrix, MatrixCall, lanes_of
from wengert.core.aspects import primitive_of
from wengert.core.definition import Definition
from wengert.core.primitive import Primitive
from wengert.ops.contraction.products import matmul

SMALL_PRODUCT = Primitive(
    Definition(
        name="small_product",
        impl=np.matmul,
        kind="nondifferentiable",
        inputs=("x", "y"),
        spec=primitive_of(matmul).definition.spec,
        reason="programs of eager code have it in place of `matmul`",
    )
)
"""A product whose sums are in the same order whatever is around it; it is not a step of a larger product."""


def write_small_product(call: MatrixCall) -> Matrix:
    """X Y, whose terms are added one after the other, each rounded: with the same bits on every processor."""
    lanes = max(map(lanes_of, call.matrices))
    x, y = [[[call.splat(e, lanes) for e in row] for row in given] for given in call.matrices]
    columns = list(zip(*y, strict=True))
    return [
        [
            reduce(lambda total, term: total + term, [a * b for a, b in zip(row, column, strict=True)])
            for column in columns
        ]
        for row in x
    ]
