"""A product of matrices as data: its sizes, and where its operands are.

    result[i, j] = initial[i, j] + the sum over p of x[i, p] * y[p, j]

The axes i and j are kept, p is reduced. A stack has a product for each of its matrices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from wengert.compiler.forms.matrices import is_gram, is_matrix_transpose
from wengert.compiler.forms.strides import contiguous_strides, matrix_stride
from wengert.compiler.simd.types import Type
from wengert.core.definition import Definition
from wengert.core.primitive import Primitive
from wengert.graph.ir import Node, Operation

Strides = tuple[int, ...]

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


class Product(NamedTuple):
    """A product of an m x k matrix and a k x n matrix, of which each may be stored transposed.

    The rows in memory begin `x_stride` and `y_stride` elements after each other. With `initial_stride`, the product is
    added to a matrix whose rows are so far apart; if it is 0, to the same row everywhere. If it `is_gram`, y is the
    transpose of x, and the result is symmetric.
    """

    kind: str
    m: int
    n: int
    k: int
    is_x_transposed: bool
    is_y_transposed: bool
    x_stride: int
    y_stride: int
    initial_stride: int | None = None
    is_gram: bool = False

    @property
    def element(self) -> Type:
        """The type of the numbers."""
        return Type(self.kind)

    @property
    def x_steps(self) -> tuple[int, int]:
        """The distances between neighbours of the left operand along i and along p."""
        return (1, self.x_stride) if self.is_x_transposed else (self.x_stride, 1)

    @property
    def y_steps(self) -> tuple[int, int]:
        """The distances between neighbours of the right operand along p and along j."""
        return (1, self.y_stride) if self.is_y_transposed else (self.y_stride, 1)

    @property
    def multiplications(self) -> int:
        return self.m * self.n * self.k

    @property
    def right_bytes(self) -> int:
        """The bytes of the right operand."""
        return self.k * self.n * self.element.align

    @property
    def is_of_vector(self) -> bool:
        """Whether it is that of a real matrix and a vector, whose elements are neighbours."""
        is_vector = (self.n == 1 and self.y_steps[0] == 1) or (self.m == 1 and self.x_steps[1] == 1)
        return is_vector and self.k > 0 and not self.element.is_complex

    @property
    def transposed(self) -> Product:
        """The transpose of a product with a vector: that of the transposes of the operands, in reverse order."""
        initial = None if self.initial_stride is None else 1  # of a vector
        return self._replace(
            m=self.n, n=self.m, is_x_transposed=not self.is_y_transposed, is_y_transposed=not self.is_x_transposed,
            x_stride=self.y_stride, y_stride=self.x_stride, initial_stride=initial,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """What tells its functions apart from those of others."""
        forms = "NT"[self.is_x_transposed] + "NT"[self.is_y_transposed]
        added = "" if self.initial_stride is None else f".to.{self.initial_stride}"
        return f"{self.kind}.{self.m}x{self.k}x{self.n}.{forms}.{self.x_stride}.{self.y_stride}{added}"


class Stack(NamedTuple):
    """Products with operands of one layout: for each operand, the distances between matrices along the stack's axes.

    The operands are x, y, and what the products are added to, if there is something.
    """

    shape: tuple[int, ...]
    product: Product
    steps: tuple[Strides, ...]

    @property
    def matrices(self) -> int:
        """The number of matrices."""
        return math.prod(self.shape)

    @property
    def transposed(self) -> Stack:
        """The transposes: the products of the transposes of the operands, in reverse order."""
        x, y, *initial = self.steps
        return self._replace(product=self.product.transposed, steps=(y, x, *initial))


def product_of(node: Operation, strides: Sequence[Strides] | None = None) -> Stack:
    """The product of a node whose operands have these strides, in elements; else they are whole arrays, or transposes.

    A vector is a row if it is the left operand, and a column if it is the right one or the result.
    """
    strides = strides or list(map(usual_strides, node.args))
    factors, initial = slice(len(node.args) - 2, None), node.args[: len(node.args) - 2]
    x, y = node.args[factors]
    (x_shape, x_strides), (y_shape, y_strides) = [
        as_matrices(a.shape, given, i == 1) for i, (a, given) in enumerate(zip((x, y), strides[factors], strict=True))
    ]
    (is_x_transposed, x_stride), (is_y_transposed, y_stride) = [
        orientation(x_shape, x_strides), orientation(y_shape, y_strides)
    ]  # fmt: skip
    steps = [stack_steps(x_shape, x_strides), stack_steps(y_shape, y_strides)]
    initial_stride = None
    if initial:
        shape, found = as_matrices(node.shape, strides[0], True)
        initial_stride = found[-2]
        steps.append(stack_steps(shape, found))
    product = Product(
        Type.from_dtype(node.dtype).kind, x_shape[-2], y_shape[-1], x_shape[-1], is_x_transposed, is_y_transposed,
        x_stride, y_stride, initial_stride, not initial and is_gram(node),
    )  # fmt: skip
    return Stack(node.shape[: node.ndim - 2], product, tuple(steps))


def usual_strides(node: Node) -> Strides:
    """The strides of an array in memory, or of the transpose of one."""
    if is_matrix_transpose(node):
        *stack, along, down = contiguous_strides(node.args[0].shape)
        return *stack, down, along
    return contiguous_strides(node.shape)


def as_matrices(shape: tuple[int, ...], strides: Strides, is_column: bool) -> tuple[tuple[int, ...], Strides]:
    """The shape and the strides of a vector as a matrix, or those of matrices."""
    if len(shape) > 1:
        return shape, strides
    return ((*shape, 1), (*strides, 1)) if is_column else ((1, *shape), (1, *strides))


def orientation(shape: tuple[int, ...], strides: Strides) -> tuple[bool, int]:
    """Whether matrices are stored by columns, and the distance between two columns, or rows."""
    found = matrix_stride(shape, strides)
    return found if found is not None else (False, max(shape[-1], 1))  # an empty matrix


def stack_steps(shape: tuple[int, ...], strides: Strides) -> Strides:
    """The distances between matrices along the axes of a stack."""
    return tuple([0 if n == 1 else step for n, step in zip(shape[:-2], strides[:-2], strict=True)])
