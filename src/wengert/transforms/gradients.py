"""Reverse mode on functions: a function on a tape, and the gradients of scalar functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Never

import numpy as np

from wengert.core.array import Array
from wengert.core.devices import ARRAY_CLASSES
from wengert.core.errors import GradientError, user_error
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.levels import new_level, numpy_of
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.core.tree import LEAF
from wengert.modes import recording
from wengert.modes.backward import backward_pass, conform
from wengert.modes.tape import Leaf, TapeNode
from wengert.modes.tensor import Tensor
from wengert.ops.elementwise.complex_numbers import conj
from wengert.ops.reductions.sums import sum as sum_
from wengert.transforms.boundary import (
    Argnums,
    Arguments,
    FlatFunction,
    P,
    call_function,
    flatten_arrays,
    hand_out_all,
    hand_out_aux,
    hand_out_value,
    map_arrays,
    split_aux,
    unflatten_arrays,
)
from wengert.transforms.transformed_function import TransformedFunction

__all__ = ["elementwise_grad", "grad", "value_and_grad"]


def grad(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False, **foreign: Never
) -> Callable[P, Any]:
    """The function that computes the gradient of a function `f` that returns one number, or an array of one element.

    `argnums` says with respect to which arguments (trees of arrays): an int gives one gradient, a tuple gives a tuple.
    With `has_aux`, f returns (value, anything) and the result is (gradient, anything). For complex arguments the
    gradient of a real f points in the direction of steepest ascent, df/dRe + i df/dIm; with `holomorphic`, f is complex
    and the result is its complex derivative.

    >>> grad(lambda x: x**3)(2.0)
    np.float64(12.0)
    """
    if foreign:
        refuse_keywords(foreign)
    value_and_gradient = make_value_and_gradient(f, argnums, has_aux, holomorphic)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = value_and_gradient(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return TransformedFunction(f, "gradient", argnums, gradient)


def value_and_grad(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False, **foreign: Never
) -> Callable[P, Any]:
    """As `grad`, with the value that f returned: (f(x), gradient), or ((value, anything), gradient) with `has_aux`.

    >>> value_and_grad(lambda x, y: x * y, argnums=(0, 1))(2.0, 3.0)
    (np.float64(6.0), (np.float64(3.0), np.float64(2.0)))
    """
    if foreign:
        refuse_keywords(foreign)
    run = make_value_and_gradient(f, argnums, has_aux, holomorphic)
    return TransformedFunction(f, "value and gradient", argnums, run)


def make_value_and_gradient(
    f: Callable[..., Any], argnums: Argnums, has_aux: bool, holomorphic: bool
) -> Callable[..., Any]:
    """The function that `grad` and `value_and_grad` run."""

    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        chosen = Arguments("grad", argnums, args, kwargs)
        if holomorphic:
            refuse_real(chosen)
        tape = Tape(partial(chosen.call, f), chosen.leaves, chosen.call_arguments, has_aux)
        y = tape.result
        spec = scalar_spec(y, holomorphic)
        xp = numpy_of(y) if ARRAY_CLASSES else np  # the path without devices is short
        found = hand_out_all(
            tape.pull([y], [spec.dtype.type(1) if not spec.shape and xp is np else xp.ones(spec.shape, spec.dtype)]),
            chosen.leaves,
            chosen.call_arguments,
        )
        if not holomorphic:
            found = [conj(t) if t.dtype.kind == "c" else t for t in found]
        value = hand_out_value(y, tape.level, chosen.call_arguments)
        gradient = found[0] if chosen.structure is LEAF else unflatten_arrays(chosen.structure, found)
        return (value, tape.aux) if has_aux else value, gradient

    return value_and_gradient


def elementwise_grad(f: Callable[P, Any], argnums: Argnums = 0) -> Callable[P, Any]:
    """The derivative of a function that acts on each element by itself, at all elements at once.

    It is the gradient of the sum of the results. Where a result depends on several elements, their derivatives add up.

    >>> elementwise_grad(np.tanh)(np.array([0.0, 1.0])).round(6)
    array([1.      , 0.419974])
    """

    def add_results(*args: Any, **kwargs: Any) -> Any:
        return sum_(as_operand(recording.as_read(f)(*args, **kwargs)))

    return TransformedFunction(f, "elementwise gradient", argnums, grad(add_results, argnums))


def scalar_spec(y: Any, holomorphic: bool) -> Spec:
    """The spec of a result; raise unless it is one number that has a gradient."""
    if not isinstance(y, Array):
        leaves, structure = flatten_arrays(y)
        if structure is not LEAF:
            raise user_error(
                GradientError,
                f"grad needs a function that returns one number; this one returned {structure!r}",
                "Use has_aux=True to return more than what is differentiated, or jacobian for the derivatives of all "
                "of it.",
            )
        y = leaves[0]
    if math.prod(y.shape) != 1:
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


def refuse_real(chosen: Arguments) -> None:
    """Raise if an argument of a holomorphic function is real."""
    for i, x in enumerate(chosen.leaves):
        if x.dtype.kind != "c":
            raise user_error(
                GradientError,
                f"grad with holomorphic=True: {chosen.leaf_name(i)} has dtype {x.dtype}",
                "Pass complex numbers, x + 0j.",
            )


class Tape:
    """A function recorded at some inputs: its result, and the backward pass."""

    __slots__ = ("aux", "inputs", "level", "nodes", "result")

    aux: Any

    def __init__(self, call: FlatFunction, inputs: Sequence[Any], given: Any = (), has_aux: bool = False):
        self.level = level = new_level()
        self.inputs = inputs
        self.nodes = [Leaf(x) for x in inputs]
        tracked = [Tensor(x, level, node) for x, node in zip(inputs, self.nodes, strict=True)]
        result = call_function(call, tracked, level) if recording.active else call(tracked)
        self.result, self.aux = split_aux(result) if has_aux else (result, None)
        if has_aux:
            self.aux = map_arrays(lambda y: hand_out_aux(y, level, given), self.aux)

    def pull(self, outputs: Sequence[Any], cotangents: Sequence[Any], retain: bool = False) -> list[Any]:
        """The cotangents of the inputs, for `cotangents` of `outputs` (leaves of the result).

        None for an input that the outputs do not depend on.
        """
        seeds = [
            (y.node, t)
            for y, t in zip(outputs, cotangents, strict=True)
            if isinstance(y, Tensor) and y.level == self.level and y.node is not None
        ]
        found: dict[TapeNode, Any] = {}
        if seeds:
            backward_pass(seeds, found.__setitem__, retain=retain)
        return [
            t if t is None or (t.shape == node.shape and t.dtype == node.dtype) else conform(t, node.shape, node.dtype)
            for node, t in zip(self.nodes, map(found.get, self.nodes), strict=True)
        ]
