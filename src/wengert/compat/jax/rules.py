"""User-defined derivatives as in JAX: `custom_jvp`, `custom_vjp` and `custom_gradient`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from wengert.compat.jax.arrays import to_arrays
from wengert.compat.jax.differentiation import refuse_options
from wengert.control import custom
from wengert.core import tree
from wengert.core.frozen import frozen

PUBLIC = ["custom_gradient", "custom_jvp", "custom_vjp"]


class LayerRule(custom.Custom):
    """What both decorators have in common: JAX's options, and results that are arrays of this layer."""

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()
    ):
        refuse_options(nondiff_argnames=nondiff_argnames)
        super().__init__(fun, nondiff_argnums)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return to_arrays(super().__call__(*args, **kwargs))


class custom_jvp(LayerRule, custom.custom_jvp):  # a decorator
    """A function with a rule for tangents.

    >>> @custom_jvp
    ... def cube(x):
    ...     return x**3
    >>> cube.defjvps(lambda t, out, x: 3.0 * x**2 * t)
    >>> from wengert.compat.jax.differentiation import grad
    >>> grad(cube)(2.0)
    Array(12., dtype=float64)
    """

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule: `jvp(primals, tangents)` returns the value and its tangent."""
        refuse_options(symbolic_zeros=symbolic_zeros)
        return super().defjvp(freeze(jvp))

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set one rule for each argument: `jvp(tangent, value, *args)` returns a tangent; None is zero."""

        def rule(primals: Any, tangents: Any) -> Any:
            out = self(*primals)
            pushed = [jvp(t, out, *primals) for jvp, t in zip(jvps, tangents, strict=True) if jvp is not None]
            zeros = tree.map(lambda y: np.zeros(y.shape, y.dtype), out)
            for part in pushed:
                zeros = tree.map(lambda s, t: s + t, zeros, part)
            return out, zeros

        self.defjvp(rule)


class custom_vjp(LayerRule, custom.custom_vjp):  # a decorator
    """A function with rules for cotangents.

    >>> @custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, t: (np.clip(t, -1.0, 1.0),))
    >>> from wengert.compat.jax.differentiation import grad
    >>> grad(lambda x: 5.0 * clip_gradient(x))(2.0)
    Array(1., dtype=float64)
    """

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the rules: `fwd(*args)` returns the value and residuals, `bwd(residuals, cotangent)` a tuple."""
        refuse_options(symbolic_zeros=symbolic_zeros, optimize_remat=optimize_remat)
        super().defvjp(freeze(fwd), freeze(bwd))


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns (value, function that pulls a cotangent back)."""

    def forward(*args: Any) -> Any:
        return fun(*args)[0], args

    def backward(args: Any, cotangent: Any) -> Any:
        pulled = fun(*args)[1](cotangent)
        return tuple(pulled) if isinstance(pulled, tuple | list) else (pulled,)

    rule = custom_vjp(lambda *args: fun(*args)[0])
    rule.defvjp(forward, backward)
    return wraps(fun)(lambda *args: rule(*args))


def freeze(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule that gets arrays of this layer, and runs where they are immutable, also in a backward pass."""

    @wraps(rule)
    def frozen_rule(*args: Any, **kwargs: Any) -> Any:
        with frozen():
            return rule(*[to_arrays(a) for a in args], **kwargs)

    return frozen_rule
