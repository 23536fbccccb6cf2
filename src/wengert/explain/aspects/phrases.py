"""What operations are called in a sentence: the aspect `phrase`."""

from __future__ import annotations

from wengert.core.aspects import Aspect
from wengert.core.primitive import Primitive
from wengert.ops.contraction import einsum, products
from wengert.ops.elementwise import arithmetic, choices, complex_numbers, exponential, trigonometric
from wengert.ops.indexing import subscripts
from wengert.ops.linear_algebra import norms
from wengert.ops.reductions import cumulative, extremes, logical, sums
from wengert.ops.shape import casting, joining, rearranging, reshaping


def by_name(primitive: Primitive) -> str:
    """The operation by its own name."""
    return f"the operation {primitive.name}"


phrase: Aspect[str] = Aspect("phrase", "what it is called in a sentence", by_name)

for text, *operations in (
    ("a sum", arithmetic.add), ("a difference", arithmetic.subtract),
    ("a product", arithmetic.multiply, arithmetic.multiply_live), ("a quotient", arithmetic.divide),
    ("a change of sign", arithmetic.negative), ("a reciprocal", arithmetic.reciprocal), ("a square", arithmetic.square),
    ("a square root", arithmetic.sqrt, sums.root), ("a power", exponential._power),
    ("an exponential", exponential.exp), ("a natural logarithm", exponential.log),
    ("a logistic function", exponential.sigmoid), ("a sine", trigonometric.sin), ("a cosine", trigonometric.cos),
    ("a tangent function", trigonometric.tan), ("a hyperbolic tangent", trigonometric.tanh),
    ("an absolute value", complex_numbers.absolute), ("a choice between two values", choices._where),
    ("the larger of two values", choices.maximum), ("the smaller of two values", choices.minimum),
    ("a value cut off below zero", choices.relu), ("a matrix product", products.matmul),
    ("a sum of products over axes", einsum._einsum), ("a sum over elements", sums._sum),
    ("a mean over elements", sums._mean), ("a product of elements", cumulative._prod),
    ("the largest element", extremes._max), ("the smallest element", extremes._min), ("a norm", norms._norm),
    ("a count of elements", logical._count_nonzero), ("a part of an array", subscripts._getitem, subscripts.gather),
    ("an array with some elements replaced", subscripts._set_at),
    ("an array with values added to some elements", subscripts._add_at),
    ("an array of zeros with some elements set", subscripts._scatter),
    ("a transpose", reshaping._transpose), ("a new shape for the same elements", reshaping._reshape),
    ("copies along new axes", reshaping._broadcast_to), ("a copy", casting._copy), ("another dtype", casting._astype),
    ("arrays joined end to end", rearranging._concatenate), ("arrays stacked along a new axis", joining._stack),
):  # fmt: skip
    phrase.enter(text, *operations)
