"""Derivatives of functions, with autograd's arguments and conventions: `autograd.differential_operators`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compat.autograd import core
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.spaces import vspace
from wengert.compat.autograd.wrap_util import unary_to_nary
from wengert.compat.differences import without
from wengert.control.checkpoint import checkpoint
from wengert.core.errors import user_error
from wengert.core.spec import Spec
from wengert.core.tree import LEAF
from wengert.ops.contraction.products import tensordot
from wengert.ops.elementwise.complex_numbers import real
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.joining import stack
from wengert.ops.shape.reshaping import reshape

__all__ = [
    "checkpoint",
    "deriv",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "jacobian",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "tensor_jacobian_product",
    "value_and_grad",
    "vector_jacobian_product",
]

__getattr__ = without(__name__, ABSENT)

Function = Callable[..., Any]
Argnum = int | Sequence[int]

make_vjp = unary_to_nary(core.make_vjp)
make_jvp = unary_to_nary(core.make_jvp)


def one_cotangent(recorded: core.Recorded, operator: str) -> Any:
    """The cotangent 1 of a result, which must be one real number."""
    specs = [Spec.of(y) for y in recorded.outputs]
    if len(specs) != 1 or specs[0].size != 1 or specs[0].dtype.kind == "c":
        raise user_error(
            TypeError,
            f"{operator} needs a function that returns one real number; this one returned {specs}",
            "Use jacobian, elementwise_grad or holomorphic_grad.",
        )
    (spec,) = specs
    dtype = spec.dtype if spec.dtype.kind == "f" else np.dtype(float)
    return np.ones(spec.shape, dtype) if spec.shape else dtype.type(1)


@unary_to_nary
def grad(fun: Function, x: Any) -> Any:
    """The function that computes the gradient of `fun` with respect to the argument number `argnum`."""
    recorded = core.Recorded(fun, x)
    return recorded.pull([one_cotangent(recorded, "grad")])


@unary_to_nary
def value_and_grad(fun: Function, x: Any) -> tuple[Any, Any]:
    """As `grad`, with the value: (value, gradient)."""
    recorded = core.Recorded(fun, x)
    gradient = recorded.pull([one_cotangent(recorded, "value_and_grad")])
    return recorded.value, gradient


@unary_to_nary
def grad_and_aux(fun: Function, x: Any) -> tuple[Any, Any]:
    """The gradient of the first of two results, and the second: (gradient, second)."""
    vjp, (value, aux) = core.make_vjp(lambda x: tuple(fun(x)), x)
    return vjp((vspace(value).ones(), vspace(aux).zeros())), aux


@unary_to_nary
def elementwise_grad(fun: Function, x: Any) -> Any:
    """The gradient of the sum of the results: where each depends on one element, the derivatives of all."""
    recorded = core.Recorded(fun, x)
    if any(y.dtype.kind == "c" for y in recorded.outputs):
        raise user_error(TypeError, "elementwise_grad of a function with complex results", "Use holomorphic_grad.")
    dtypes = [y.dtype if y.dtype.kind == "f" else np.dtype(float) for y in recorded.outputs]
    return recorded.pull([np.ones(y.shape, d)[()] for y, d in zip(recorded.outputs, dtypes, strict=True)])


@unary_to_nary
def deriv(fun: Function, x: Any) -> Any:
    """The derivative along ones, in forward mode."""
    return core.make_jvp(fun, x)(vspace(x).ones())[1]


@unary_to_nary
def jacobian(fun: Function, x: Any) -> Any:
    """The Jacobian, of the shape of the result followed by that of the argument, by one backward pass a row."""
    vjp, value = core.make_vjp(fun, x)
    space, inputs = vspace(value), vspace(x)
    if space.structure is not LEAF or inputs.structure is not LEAF:
        raise user_error(TypeError, "jacobian is for functions of one array that return one array")
    if space.iscomplex:
        raise user_error(TypeError, "jacobian of a function with complex results", "Use its real and imaginary parts.")
    rows = [vjp(row) for row in space.standard_basis()]
    return reshape(stack(rows), space.shape + inputs.shape) if rows else np.zeros(space.shape + inputs.shape)


@unary_to_nary
def holomorphic_grad(fun: Function, x: Any) -> Any:
    """The complex derivative of a holomorphic function."""
    return grad(lambda x: real(fun(x)))(x)


def grad_named(fun: Function, argname: str) -> Function:
    """The gradient with respect to the argument of this name."""
    return grad(fun, list(inspect.signature(fun).parameters).index(argname))


def multigrad_dict(fun: Function) -> Function:
    """The gradients with respect to all arguments, in a dict by name."""
    signature = inspect.signature(fun)

    def gradients(*args: Any, **kwargs: Any) -> dict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()

        def of_arguments(arguments: dict[str, Any]) -> Any:
            changed = inspect.BoundArguments(signature, arguments)
            return fun(*changed.args, **changed.kwargs)

        return grad(of_arguments)(dict(bound.arguments))

    return gradients


@unary_to_nary
def hessian(fun: Function, x: Any) -> Any:
    """The matrix of second derivatives: the Jacobian of the Jacobian."""
    return jacobian(jacobian(fun))(x)


@unary_to_nary
def make_hvp(fun: Function, x: Any) -> tuple[Function, Any]:
    """A function that multiplies vectors by the Hessian at x, and the gradient."""
    return core.make_vjp(grad(fun), x)


def hessian_tensor_product(fun: Function, argnum: int = 0) -> Function:
    """The function of the arguments and a tensor that multiplies the tensor by the Hessian."""
    gradient = grad(fun, argnum)

    def product(*args: Any, **kwargs: Any) -> Any:
        *rest, tensor = args
        return tensordot(gradient(*rest, **kwargs), tensor, np.ndim(tensor))

    return grad(product, argnum)


hessian_vector_product = hessian_tensor_product


def tensor_jacobian_product(fun: Function, argnum: int = 0) -> Function:
    """The function of the arguments and a tensor that multiplies the Jacobian by the tensor, from the left."""

    def product(*args: Any, **kwargs: Any) -> Any:
        *rest, tensor = args
        return tensordot(tensor, fun(*rest, **kwargs), np.ndim(tensor))

    return jacobian(product, argnum)


vector_jacobian_product = tensor_jacobian_product


@unary_to_nary
def make_jvp_reversemode(fun: Function, x: Any) -> Function:
    """A function that multiplies vectors by the Jacobian at x, as the transpose of the backward pass."""
    vjp, value = core.make_vjp(fun, x)
    return core.make_vjp(vjp, vspace(value).zeros())[0]


def make_ggnvp(
    f: Function, g: Function = lambda x: 0.5 * sum_(x**2, axis=-1), f_argnum: int = 0
) -> Callable[..., Function]:
    """A function that multiplies vectors by the generalised Gauss-Newton matrix of g(f(x))."""

    @unary_to_nary
    def make(f: Function, x: Any) -> Function:
        pull, value = core.make_vjp(f, x)
        curve, gradient = core.make_vjp(grad(g), value)
        push, _ = core.make_vjp(pull, vspace(gradient).zeros())
        return lambda v: pull(curve(push(v)))

    return make(f, f_argnum)
