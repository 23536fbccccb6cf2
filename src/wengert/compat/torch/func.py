"""`torch.func`: functions to their derivatives and batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.module_calls import functional_call, stack_module_state
from wengert.compat.torch.values import hand_out, inward, lend, plain
from wengert.core.errors import user_error

__all__ = [
    "functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "stack_module_state", "vjp", "vmap",
]  # fmt: skip

__getattr__ = without(__name__, ABSENT)


def outward(function: Callable[..., Any], lower: Callable[..., Any] = plain) -> Callable[..., Any]:
    """A function of Wengert's values as one of PyTorch's, whose arguments `lower` makes Wengert's."""
    return lambda *args, **kwargs: hand_out(function(*lower(args), **lower(kwargs)))


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient of a function that returns one number.

    >>> import wengert.compat.torch as torch
    >>> grad(lambda x: (x * x).sum())(torch.tensor([1.0, 2.0]))
    tensor([2., 4.])
    """
    return outward(wg.grad(inward(func), argnums, has_aux))


def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient and the value of a function, in this order; with `has_aux`, the value is a pair."""
    differentiated = outward(wg.value_and_grad(inward(func), argnums, has_aux))

    def both(*args: Any, **kwargs: Any) -> Any:
        value, gradient = differentiated(*args, **kwargs)
        return gradient, value

    return both


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of a function, and the function that pulls cotangents back: a tuple with one gradient per primal."""
    value, pullback, *aux = wg.vjp(inward(func), *plain(primals), has_aux=has_aux)

    def pull(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        return hand_out(pullback(plain(cotangents[0] if len(cotangents) == 1 else cotangents)))

    return hand_out(value), pull, *map(hand_out, aux)


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The value of a function and its derivative along tangents."""
    return hand_out(wg.jvp(inward(func), lend(primals), plain(tangents), has_aux=has_aux))


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of a function, and its derivative as a function of tangents."""
    value, derivative = wg.linearize(inward(func), *lend(primals))
    return hand_out(value), outward(derivative)


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function of single tensors as a function of batches."""
    if randomness not in ("error", "same", "different"):
        raise user_error(ValueError, f"randomness={randomness!r}", "Use 'error', 'same' or 'different'.")
    return outward(wg.vmap(inward(func), in_dims, out_dims, chunk_size), lend)


def with_aux(transform: Callable[..., Any], func: Callable[..., Any], argnums: Any, chunk_size: int | None) -> Any:
    """A Jacobian, beside what the function returns in addition, for which it runs once more."""
    jacobian = outward(transform(inward(lambda *args: func(*args)[0]), argnums, chunk_size=chunk_size))
    return lambda *args: (jacobian(*args), func(*args)[1])


def jacrev(
    func: Callable[..., Any], argnums: Any = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable[..., Any]:
    """The Jacobian, by reverse mode."""
    if has_aux:
        return with_aux(wg.jacrev, func, argnums, chunk_size)
    return outward(wg.jacrev(inward(func), argnums, chunk_size=chunk_size))


def jacfwd(
    func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """The Jacobian, by forward mode."""
    if has_aux:
        return with_aux(wg.jacfwd, func, argnums, chunk_size)
    return outward(wg.jacfwd(inward(func), argnums, chunk_size=chunk_size), lend)


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """The matrix of second derivatives, or the blocks of it for several arguments."""
    return outward(wg.hessian(inward(func), argnums))
