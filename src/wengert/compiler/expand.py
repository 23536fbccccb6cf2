"""Operations that are made of simpler ones, written out: what remains is elementwise, a view, a plain reduction, a matrix product, or rare.

The rules are written in the operations themselves, and compute what NumPy's implementations do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compiler.classify import is_matrix_transpose
from wengert.compiler.scalar import SUPPORTED
from wengert.core.primitive import OUTPUT, lookup
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation, operation
from wengert.modes.symbolic import Symbol
from wengert.ops.einsum import layout
from wengert.ops.elementwise import absolute, exp, log, maximum, minimum, multiply, power, sqrt, square, where
from wengert.ops.gauge import are_coincident, is_negligible
from wengert.ops.join import stack
from wengert.ops.key import Index
from wengert.ops.predicates import isfinite, not_equal
from wengert.ops.reduce import count_along
from wengert.ops.reduce import max as max_
from wengert.ops.reduce import sum as sum_
from wengert.ops.shape import astype, broadcast_to, expand_dims, reshape, transpose

SMALL_PRODUCT = 512
"""A product of matrices with so many terms is written as multiplications and sums, which fuse with what is around it."""


NARROW = 16
"""So are products of tall matrices that have no more columns than this."""


def mean(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    return sum_(x, axis, keepdims=keepdims) / count_along(x, axis)


def logsumexp(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    if not x.size:
        return None
    largest = max_(x, axis, keepdims=True)
    largest = where(isfinite(largest), largest, x.dtype.type(0))
    total = log(sum_(exp(x - largest), axis, keepdims=keepdims))
    return total + (largest if keepdims else reshape(largest, total.shape))


def norm(x: Any, ord: float, axis: tuple[int, ...], keepdims: bool) -> Any:
    if x.dtype.kind == "c":
        return None
    if ord == 2:
        return sqrt(sum_(square(x), axis, keepdims=keepdims))
    return power(sum_(power(absolute(x), ord), axis, keepdims=keepdims), 1.0 / ord)


def count_nonzero(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    return sum_(astype(not_equal(x, 0), np.intp), axis, keepdims=keepdims)


def extreme(reduce: str, combine: Callable) -> Callable:
    def rule(x: Any, axis: tuple[int, ...], keepdims: bool, initial: Any = None) -> Any:
        if initial is None:
            return None
        if not x.size:
            return None
        return combine(initial, lookup(reduce).op(x, axis=axis, keepdims=keepdims))

    return rule


def full_like(x: Any, fill_value: Any, dtype: Any, order: str, shape: Any) -> Any:
    spec = Spec(x.shape if shape is None else shape, np.dtype(x.dtype if dtype is None else dtype))
    return broadcast_to(astype(fill_value, spec.dtype), spec.shape)


def cross(x: Any, y: Any) -> Any:
    x, y = broadcast_to(x, shape := np.broadcast_shapes(x.shape, y.shape)), broadcast_to(y, shape)
    part = lambda v, i: v[..., i]
    terms = [part(x, (i + 1) % 3) * part(y, (i + 2) % 3) - part(x, (i + 2) % 3) * part(y, (i + 1) % 3) for i in range(3)]
    return stack(terms, axis=-1)


def matmul(x: Any, y: Any) -> Any:
    """As products and sums if small, else as one call of BLAS on matrices."""
    if x.dtype.kind not in "fi" or y.dtype.kind not in "fi":
        return None
    if x.ndim == 1 and y.ndim == 1:
        return sum_(x * y)
    if x.ndim == 1:
        return reshape(product(expand_dims(x, 0), y), (*y.shape[:-2], y.shape[-1]))
    if y.ndim == 1:
        return reshape(product(x, expand_dims(y, 1)), x.shape[:-1])
    return product(x, y, top=True)


def product(x: Any, y: Any, top: bool = False) -> Any:
    """A product of matrices, or of stacks of them; None if `top` and it can stay as it is."""
    m, k, n = x.shape[-2], x.shape[-1], y.shape[-1]
    dtype = np.result_type(x.dtype, y.dtype)
    if dtype.kind != "f" or m * k * n <= SMALL_PRODUCT or (max(k, n) <= NARROW <= m):
        return sum_(multiply(expand_dims(x, -1), expand_dims(y, -3)), -2)
    if max(m, n) <= NARROW <= k and is_matrix_transpose(x.node):
        tall = Symbol(x.node.args[0])
        return sum_(multiply(expand_dims(tall, -1), expand_dims(y, -2)), -3)
    if y.ndim == 2 and x.ndim > 2:
        rows = reshape(x, (math.prod(x.shape[:-1]), k))
        return reshape(product(rows, y), (*x.shape[:-1], n))
    stack_shape = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    uniform = all(math.prod(a.shape[:-2]) == 1 or a.shape[:-2] == stack_shape for a in (x, y))
    if top and uniform and x.dtype == y.dtype:
        return None
    if not uniform:
        x, y = broadcast_to(x, (*stack_shape, m, k)), broadcast_to(y, (*stack_shape, k, n))
    return lookup("matmul").op(astype(x, dtype, copy=False), astype(y, dtype, copy=False))


def einsum(x: Any, y: Any, subscripts: str) -> Any:
    """By a matrix product, or where nothing is summed by multiplication."""
    if x.dtype.kind not in "fi" or y.dtype.kind not in "fi":
        return None
    plan = layout(subscripts)
    x, y = transpose(x, plan.x_order), transpose(y, plan.y_order)
    stack_, rows, columns = plan.stack, plan.rows, plan.columns
    shape = x.shape[: stack_ + rows] + y.shape[y.ndim - columns :]
    summed = math.prod(x.shape[stack_ + rows :])
    if len(plan.x_order) == stack_ + rows:
        x = reshape(x, (*x.shape, *(1,) * columns))
        y = reshape(y, (*y.shape[:stack_], *(1,) * rows, *y.shape[stack_:]))
        return transpose(x * y, plan.out_order)
    x = reshape(x, (*x.shape[:stack_], math.prod(x.shape[stack_ : stack_ + rows]), summed))
    y = reshape(y, (*y.shape[:stack_], summed, math.prod(y.shape[y.ndim - columns :])))
    return transpose(reshape(product(x, y), shape), plan.out_order)


EXPANSIONS: dict[str, Callable[..., Any]] = {
    "mean": mean,
    "logsumexp": logsumexp,
    "norm": norm,
    "count_nonzero": count_nonzero,
    "max": extreme("max", maximum),
    "min": extreme("min", minimum),
    "full_like": full_like,
    "cross": cross,
    "matmul": matmul,
    "einsum": einsum,
    "negligible": is_negligible,
    "coincident": are_coincident,
}
"""By name: what an operation is made of; None where it stays."""


def expand(graph: Graph) -> Graph:
    """The same program in simpler operations."""
    new: dict[Node, Node] = {}
    for node in graph.nodes:
        new[node] = expanded(node, new) if isinstance(node, Operation) else node
    return graph.replaced([new[node] for node in graph.outputs])


def expanded(node: Operation, new: dict[Node, Node]) -> Node:
    args = [new[a] for a in node.args]
    if node.primitive is OUTPUT:
        return picked(args[0], node.params["index"], node, args)
    rule = EXPANSIONS.get(node.primitive.name)
    if rule is not None and all(a.spec.__class__ is Spec and a.dtype in SUPPORTED for a in args):
        result = rule(*[a.value if isinstance(a, Constant) and a.weak else Symbol(a) for a in args], **node.params)
        if result is not None:
            made = result.node if isinstance(result, Symbol) else Constant(result)
            if made.spec == node.spec:
                return made
    return node if all(a is b for a, b in zip(args, node.args, strict=True)) else node.with_args(args)


def picked(whole: Node, index: int, node: Operation, args: Sequence[Node]) -> Node:
    """One output of an operation that has several: of pieces of an array, a slice."""
    assert isinstance(whole, Operation)
    name = whole.primitive.name
    if name not in ("split", "unstack"):
        return node if whole is node.args[0] else node.with_args(args)
    source, axis = whole.args[0], whole.params["axis"]
    lead = (slice(None),) * axis
    if name == "unstack":
        return operation(lookup("getitem"), [source], key=Index((*lead, index)))
    bounds = (0, *whole.params["bounds"], source.shape[axis])
    return operation(lookup("getitem"), [source], key=Index((*lead, slice(bounds[index], bounds[index + 1]))))
