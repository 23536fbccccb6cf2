"""Products of matrices, which are sums of products, and linear algebra in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiler.aspects import linalg
from wengert.export.c_source.forms import c_expansion
from wengert.export.c_source.matrix_functions import NOT_POSITIVE, SINGULAR
from wengert.export.c_source.routines import CRoutine, RoutineCall, c_routine
from wengert.graph.ir import Operation
from wengert.ops.contraction import products
from wengert.ops.contraction.einsum import _einsum
from wengert.ops.elementwise.arithmetic import multiply
from wengert.ops.linear_algebra import cholesky, systems
from wengert.ops.linear_algebra.triangular import _solve_triangular, transpose_matrix
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import broadcast_to, expand_dims, transpose

# Products of matrices are sums of products


@c_expansion(products.matmul)
def expand_matmul(x: Any, y: Any) -> Any:
    """The sum over the last axis of x and the last but one of y."""
    if x.dtype.kind == "b" and y.dtype.kind == "b":
        return None
    if y.ndim == 1:
        return sum_(multiply(x, y), -1)
    if x.ndim == 1:
        return sum_(multiply(expand_dims(x, -1), y), -2)
    return sum_(multiply(expand_dims(x, -1), expand_dims(y, -3)), -2)


@c_expansion(_einsum)
def expand_einsum(x: Any, y: Any, subscripts: str) -> Any:
    """A product of arrays whose axes are those of the result, then the summed ones; then their sum."""
    if x.dtype.kind == "b" and y.dtype.kind == "b":
        return None
    labels, out = subscripts.split("->")
    x_labels, y_labels = labels.split(",")
    axes = out + "".join(dict.fromkeys([c for c in x_labels + y_labels if c not in out]))
    product = multiply(with_axes(x, x_labels, axes), with_axes(y, y_labels, axes))
    return sum_(product, tuple(range(len(out), len(axes)))) if len(axes) > len(out) else product


def with_axes(x: Any, labels: str, axes: str) -> Any:
    """An array with its axes in the order of others, and new axes where it has none of them."""
    ordered = transpose(x, [labels.index(c) for c in axes if c in labels])
    return expand_dims(ordered, tuple([i for i, c in enumerate(axes) if c not in labels]))


# Linear algebra is computed in double precision, as NumPy does, on stacks that are written out


def on_doubles(expand_wide: Callable[..., Any]) -> Callable[..., Any]:
    """A rule that converts its operands to double precision, and its result back."""

    def rule(*args: Any, **params: Any) -> Any:
        if not args[0].size:
            return None
        wide = [astype(a, np.float64, copy=False) for a in args]
        found = expand_wide(*wide, **params)
        return None if found is None else astype(found, args[0].dtype, copy=False)

    return rule


@c_expansion(systems._solve)
@on_doubles
def expand_solve(x: Any, y: Any, factors: Any, trans: int) -> Any:
    """A stack of systems, of which each is factored by itself."""
    stack = np.broadcast_shapes(x.shape[:-2], y.shape[:-2], factors.shape[:-2])
    if not trans and not factors.size and x.shape[:-2] == y.shape[:-2] == stack and x.dtype == np.float64:
        return None
    matrices = broadcast_to(transpose_matrix(x) if trans else x, (*stack, *x.shape[-2:]))
    none = np.empty((0, x.shape[-1]))
    return systems._solve(matrices, broadcast_to(y, (*stack, *y.shape[-2:])), none, trans=0)


@c_expansion(_solve_triangular)
@on_doubles
def expand_triangular(x: Any, y: Any, lower: bool, trans: int, unit_diagonal: bool) -> Any:
    """A stack of systems, none of them transposed."""
    stack = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    if not trans and x.shape[:-2] == y.shape[:-2]:
        return None
    matrices = broadcast_to(transpose_matrix(x) if trans else x, (*stack, *x.shape[-2:]))
    right = broadcast_to(y, (*stack, *y.shape[-2:]))
    return _solve_triangular(matrices, right, lower=bool(lower) != bool(trans), trans=0, unit_diagonal=unit_diagonal)


@c_expansion(systems._inv)
@on_doubles
def expand_inv(x: Any) -> Any:
    """The systems whose right-hand sides are the unit vectors."""
    identity = broadcast_to(np.eye(x.shape[-1]), x.shape)
    return systems._solve(x, identity, np.empty((0, x.shape[-1])), trans=0)


def from_factors(choose: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The expansion of a function of the sign and the logarithm of a determinant."""

    def rule(x: Any, *_: Any) -> Any:
        turned = transpose_matrix(x)
        return choose(*linalg.sign_and_log(turned, systems.factored(turned)))

    return on_doubles(rule)


c_expansion.enter(from_factors(lambda sign, size: sign * np.exp(size)), systems._det)
c_expansion.enter(from_factors(lambda sign, size: size), systems._logdet)
c_expansion.enter(from_factors(lambda sign, size: sign), systems._det_sign)
c_expansion.enter(on_doubles(cholesky.pull_by_formula), cholesky._cholesky_pull)


@c_expansion(cholesky._cholesky)
def expand_cholesky(x: Any) -> Any:
    """The factor of a matrix in double precision."""
    return None if x.dtype == np.float64 else astype(cholesky._cholesky(astype(x, np.float64)), x.dtype)


@c_expansion(systems._cofactor)
def expand_cofactor(x: Any) -> Any:
    """The matrix of cofactors in double precision."""
    return None if x.dtype == np.float64 else astype(systems._cofactor(astype(x, np.float64)), x.dtype)


# Routines

LARGEST = 1 << 15
"""The largest order of a matrix whose number of elements is an `int` of C."""


def is_double(node: Operation) -> bool:
    """Whether all matrices are of double precision, and not empty."""
    return all(a.dtype == np.float64 and a.size for a in (node, *node.args[:2])) and max(node.shape[-2:]) < LARGEST


def write_cholesky(call: RoutineCall) -> None:
    """The Cholesky factor of each matrix."""
    call.call_for_stack("factor_cholesky", call.node.shape[-1:], 1, failure=NOT_POSITIVE)


def write_solve(call: RoutineCall) -> None:
    """Systems of linear equations."""
    n, m = call.node.shape[-2:]
    call.call_for_stack("solve_system", (n, m), 2, work=("factors", n * (n + 1)), failure=SINGULAR)


def write_triangle(call: RoutineCall) -> None:
    """Triangular systems."""
    flags = int(call.node.params["lower"]), int(call.node.params["unit_diagonal"])
    call.call_for_stack("solve_triangle", (*call.node.shape[-2:], *flags), 2, failure=SINGULAR)


def write_factored(call: RoutineCall) -> None:
    """The factors of each matrix, as LAPACK packs them."""
    n = call.node.shape[-1]
    call.call_for_stack("factor_transposed", (n,), 1, work=("turned", n * n))


def write_cofactors(call: RoutineCall) -> None:
    """The cofactors of each matrix."""
    n = call.node.shape[-1]
    call.call_for_stack("find_cofactors", (n,), 1, work=("minor", n * n))


c_routine.enter(CRoutine(write_cholesky, is_double), cholesky._cholesky)
c_routine.enter(CRoutine(write_solve, lambda node: is_double(node) and not node.params["trans"]), systems._solve)
c_routine.enter(CRoutine(write_triangle, is_double), _solve_triangular)
c_routine.enter(CRoutine(write_factored, is_double), systems.factored)
c_routine.enter(CRoutine(write_cofactors, is_double), systems._cofactor)
