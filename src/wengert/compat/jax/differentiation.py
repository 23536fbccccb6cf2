"""Derivatives as in JAX: `grad` and relatives, products, Jacobians, checkpoints.

The functions are those of `wengert.transforms`. What differs are complex numbers: the gradient of a real function is
the conjugate of Wengert's, and `vjp` does not conjugate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from wengert.compat.jax.arrays import sort_like, strip_arrays, to_arrays
from wengert.control.checkpoint import checkpoint as checkpoint_function
from wengert.core import tree
from wengert.core.errors import user_error
from wengert.core.frozen import frozen
from wengert.modes import recording
from wengert.ops.elementwise.complex_numbers import conj
from wengert.transforms import curvature, gradients, jacobians, products

PUBLIC = [
    "checkpoint", "grad", "hessian", "jacfwd", "jacobian", "jacrev", "jvp", "linear_transpose", "linearize", "remat",
    "value_and_grad", "vjp",
]  # fmt: skip

Argnums = int | Sequence[int]
REAL, COMPLEX = np.dtype(float), np.dtype(complex)


def grad(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """The function that computes the gradient.

    >>> grad(lambda x: x**3)(2.0)
    Array(12., dtype=float64)
    """
    value_and_gradient = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @wraps(fun, updated=())
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = value_and_gradient(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def value_and_grad(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """The function that computes the value and the gradient."""
    refuse_options(allow_int=allow_int, reduce_axes=reduce_axes)
    transformed = gradients.value_and_grad(fun, as_argnums(argnums), has_aux, holomorphic)

    @wraps(fun, updated=())
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        with frozen():
            value, found = transformed(*strip_chosen(args, argnums), **kwargs)
        return to_arrays(value), to_arrays(found) if holomorphic else tree.map(conjugate, to_arrays(found))

    return value_and_gradient


def as_argnums(argnums: Argnums) -> Argnums:
    """One number, or a tuple of them."""
    return argnums if isinstance(argnums, int) else tuple(argnums)


def strip_chosen(args: tuple[Any, ...], argnums: Argnums) -> tuple[Any, ...]:
    """The arguments, with the numbers of those that are differentiated."""
    if isinstance(argnums, int) and len(args) == 1:
        return (strip_arrays(args[0]),)
    n = len(args)
    chosen = {i + n if i < 0 else i for i in ((argnums,) if isinstance(argnums, int) else argnums)}
    return tuple([strip_arrays(a) if i in chosen else a for i, a in enumerate(args)])


def conjugate(t: Any) -> Any:
    """The conjugate of a complex array or number; a real one as it is."""
    return conj(t) if getattr(t, "dtype", COMPLEX if isinstance(t, complex) else REAL).kind == "c" else t


def refuse_options(**options: Any) -> None:
    """Raise an error for an option that the layer does not have."""
    for name, value in options.items():
        if value:
            raise user_error(NotImplementedError, f"wengert.compat.jax does not have {name}={value!r}", "Leave it out.")


def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """The value and its derivative along `tangents`.

    >>> jvp(lambda x: x**2, (3.0,), (1.0,))
    (Array(9., dtype=float64), Array(6., dtype=float64))
    """
    with frozen():
        tangents = sort_like(tuple(tangents), tuple(primals))
        return to_arrays(products.jvp(fun, strip_arrays(primals), strip_arrays(tangents), has_aux))


def vjp(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = ()
) -> tuple[Any, ...]:
    """The value, and the function that pulls cotangents back.

    >>> value, pullback = vjp(lambda x: x**2, 3.0)
    >>> pullback(1.0)
    (Array(6., dtype=float64),)
    """
    refuse_options(reduce_axes=reduce_axes)
    with frozen():
        value, pull, *aux = products.vjp(fun, *strip_arrays(primals), has_aux=has_aux)

    def pullback(cotangent: Any) -> Any:
        with frozen():
            seed = strip_arrays(sort_like(cotangent, value))
            return tree.map(conjugate, to_arrays(pull(tree.map(conjugate, seed))))

    return to_arrays(value), pullback, *to_arrays(aux)


def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value, and the derivative as a function of tangents."""
    refuse_options(has_aux=has_aux)
    with frozen():
        value, derivative = products.linearize(fun, *strip_arrays(primals))

    def push(*tangents: Any) -> Any:
        with frozen():
            return to_arrays(derivative(*strip_arrays(sort_like(tangents, primals))))

    return to_arrays(value), push


def linear_transpose(fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()) -> Callable[..., Any]:
    """The transpose of a linear function."""
    refuse_options(reduce_axes=reduce_axes)
    with frozen():
        transpose = products.linear_transpose(fun, *strip_arrays(primals))

    def pull(cotangent: Any) -> Any:
        with frozen():
            return to_arrays(transpose(strip_arrays(cotangent)))

    return pull


def lift_jacobian(transform: Callable[..., Any]) -> Callable[..., Any]:
    """A transform that computes a Jacobian, with JAX's options."""

    def transformed(
        fun: Callable[..., Any],
        argnums: Argnums = 0,
        has_aux: bool = False,
        holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Callable[..., Any]:
        refuse_options(allow_int=allow_int)
        first = (lambda *args, **kwargs: recording.as_read(fun)(*args, **kwargs)[0]) if has_aux else fun
        derivative = transform(first, as_argnums(argnums), holomorphic=holomorphic)

        @wraps(fun, updated=())
        def matrix(*args: Any, **kwargs: Any) -> Any:
            with frozen():
                found = to_arrays(derivative(*strip_chosen(args, argnums), **kwargs))
            return (found, to_arrays(fun(*args, **kwargs)[1])) if has_aux else found

        return matrix

    transformed.__name__ = transformed.__qualname__ = transform.__name__
    transformed.__doc__ = f"As `wengert.{transform.__name__}`, of arrays of this layer."
    return transformed


jacfwd = lift_jacobian(jacobians.jacfwd)
jacrev = lift_jacobian(jacobians.jacrev)
hessian = lift_jacobian(curvature.hessian)
jacobian = jacrev


def checkpoint(
    fun: Callable[..., Any] | None = None,
    *,
    prevent_cse: bool = True,
    policy: Any = None,
    static_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:
    """A function of which reverse mode keeps the arguments only; also as a decorator with options."""
    if fun is None:
        return lambda f: checkpoint(f, prevent_cse=prevent_cse, policy=policy, static_argnums=static_argnums)
    kept = checkpoint_function(fun, policy)

    @wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        return to_arrays(kept(*args, **kwargs))

    return checkpointed


remat = checkpoint
