"""Gradients of scalar functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.spec import Spec
from wengert.core.tree import LEAF
from wengert.ops.elementwise.complex_numbers import conj
from wengert.transforms.arguments import Argnums, Chosen, closed, opened
from wengert.transforms.runs import Tape, handed_out, lowered

__all__ = ["grad", "value_and_grad"]


def grad(f: Callable, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False) -> Callable:
    """The function that computes the gradient of a function `f` that returns one number, or an array of one element.

    `argnums` says in which arguments (trees of arrays): an int gives one gradient, a tuple gives a tuple. With
    `has_aux`, f returns (value, anything) and the result is (gradient, anything). In complex arguments the gradient of
    a real f points in the direction of steepest ascent, df/dRe + i df/dIm; with `holomorphic`, f is complex and the
    result is its complex derivative.

    >>> grad(lambda x: x**3)(2.0)
    np.float64(12.0)
    """
    differentiated = value_and_grad(f, argnums, has_aux, holomorphic)

    @wraps(f, updated=())
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = differentiated(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def value_and_grad(f: Callable, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False) -> Callable:
    """As `grad`, with the value as f returned it: (f(x), gradient), or ((value, anything), gradient) with `has_aux`.

    >>> value_and_grad(lambda x, y: x * y, argnums=(0, 1))(2.0, 3.0)
    (np.float64(6.0), (np.float64(3.0), np.float64(2.0)))
    """

    @wraps(f, updated=())
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        chosen = Chosen("grad", argnums, args, kwargs)
        if holomorphic:
            refuse_real(chosen)
        tape = Tape(lambda leaves: chosen.call(f, leaves), chosen.leaves, chosen.given, has_aux)
        y = tape.result
        spec = scalar(y, holomorphic)
        found = handed_out(
            tape.pull([y], [np.ones(spec.shape, spec.dtype) if spec.shape else spec.dtype.type(1)]),
            chosen.leaves,
            chosen.given,
        )
        if not holomorphic:
            found = [conj(t) if t.dtype.kind == "c" else t for t in found]
        value = lowered(y, tape.level, chosen.given)
        return (value, tape.aux) if has_aux else value, closed(chosen.structure, found)

    return value_and_gradient


def scalar(y: Any, holomorphic: bool) -> Spec:
    """The spec of a result that has a gradient."""
    if not isinstance(y, Array):
        leaves, structure = opened(y)
        if structure is not LEAF:
            raise user_error(
                GradientError,
                f"grad needs a function that returns one number; this one returned {structure!r}",
                "Use has_aux=True to return more than what is differentiated, or jacobian for the derivatives of all "
                "of it.",
            )
        y = leaves[0]
    if y.size != 1:
        raise user_error(
            GradientError,
            f"grad needs a function that returns one number; this one returned an array of shape {y.shape}",
            "Sum it, or use jacobian (all its derivatives) or vjp (a combination of them).",
        )
    kind = y.dtype.kind
    if kind == "c" and not holomorphic:
        raise user_error(
            GradientError,
            f"grad of a complex result ({y.dtype})",
            because="which number should grow? Return its real part or absolute value, or pass holomorphic=True for "
            "the complex derivative of a holomorphic function.",
        )
    if kind not in "fc":
        raise user_error(
            GradientError,
            f"grad of a result of dtype {y.dtype}",
            because="it does not vary continuously. Return a float.",
        )
    if kind == "f" and holomorphic:
        raise user_error(
            GradientError, f"grad with holomorphic=True of a real result ({y.dtype})", "Leave holomorphic out."
        )
    return Spec(y.shape, y.dtype)


def refuse_real(chosen: Chosen) -> None:
    """Holomorphic functions have complex arguments."""
    for i, x in enumerate(chosen.leaves):
        if x.dtype.kind != "c":
            raise user_error(
                GradientError,
                f"grad with holomorphic=True: {chosen.place(i)} has dtype {x.dtype}",
                "Pass complex numbers, x + 0j.",
            )
