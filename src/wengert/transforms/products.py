"""Jacobian products, without forming the Jacobian: forward (`jvp`), reverse (`vjp`), and as linear functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.definition import needs
from wengert.core.errors import GradientError, user_error
from wengert.core.levels import bottom_array, has_user_tensor, is_own, new_level
from wengert.core.primitive import OUTPUT, Primitive
from wengert.core.spec import Spec
from wengert.modes.forward import Dual, zeros_like
from wengert.modes.in_place import snapshot
from wengert.modes.tape import TapeNode, sort_reachable
from wengert.ops.elementwise.complex_numbers import conj
from wengert.ops.shape.casting import _stop_gradient
from wengert.transforms.boundary import (
    Arguments,
    FlatFunction,
    call_function,
    check_directions,
    flatten_arrays,
    hand_out,
    hand_out_all,
    hand_out_aux,
    hand_out_copy,
    hand_out_value,
    map_arrays,
    split_aux,
    unflatten_arrays,
    zero_tangent,
)
from wengert.transforms.gradients import Tape

__all__ = ["directional", "jvp", "linear_transpose", "linearize", "stop_gradient", "vjp"]


def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False, **kwargs: Any
) -> tuple[Any, ...]:
    """The value of f at `primals` and its derivative along `tangents`, in one run: (value, tangent).

    With `has_aux`, f returns (value, anything) and the result is (value, tangent, anything).

    >>> jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 0.0))
    (np.float64(6.0), np.float64(3.0))
    """
    chosen = all_arguments("jvp", primals, kwargs)
    given = check_directions(
        "tangent", as_tuple("tangents", tangents), chosen.structure, list(map(Spec.of, chosen.leaves))
    )
    value, tangent, aux = push_forward(
        lambda leaves: chosen.call(f, leaves), chosen.leaves, given, (chosen.call_arguments, given), has_aux
    )
    return (value, tangent, aux) if has_aux else (value, tangent)


def directional(f: Callable[..., Any], x: Any, v: Any) -> Any:
    """The derivative of f at x along v.

    >>> directional(lambda x: x**2, 3.0, 1.0)
    np.float64(6.0)
    """
    return jvp(f, (x,), (v,))[1]


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False, **kwargs: Any) -> tuple[Any, ...]:
    """The value of f, and the function that pulls its cotangents back to the primals: (value, pullback).

    The pullback takes a tree like the value, returns a tuple with one gradient per primal, and can be called any number
    of times. For complex numbers it multiplies by the conjugate transpose of the Jacobian, as `backward(gradient)`
    does. With `has_aux`, f returns (value, anything) and the result is (value, pullback, anything).

    >>> value, pullback = vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> pullback(1.0)
    (np.float64(3.0), np.float64(2.0))
    """
    chosen = all_arguments("vjp", primals, kwargs)
    tape, cotangents_of, pull = record_function(f, chosen, has_aux)

    def pullback(cotangent: Any) -> Any:
        given = [conjugate(t) for t in cotangents_of(cotangent)]
        found = hand_out_all(pull(given), tape.inputs, (chosen.call_arguments, given), taken=given)
        return unflatten_arrays(chosen.structure, [conjugate(t) for t in found])

    value = map_arrays(lambda y: hand_out_copy(y, tape.level, chosen.call_arguments), tape.result)
    return (value, pullback, tape.aux) if has_aux else (value, pullback)


def linearize(f: Callable[..., Any], *primals: Any, **kwargs: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of f, and its derivative as a linear function of tangents: as `jvp`, but f runs only once.

    The backward pass is linear in the cotangents. It is recorded, and its own backward pass is the forward product: the
    transpose of the transpose.

    >>> value, derivative = linearize(lambda x: x**3, 2.0)
    >>> derivative(1.0), derivative(10.0)
    (np.float64(12.0), np.float64(120.0))
    """
    chosen = all_arguments("linearize", primals, kwargs)
    tape, _, pull = record_function(f, chosen)
    value = map_arrays(lambda y: hand_out_copy(y, tape.level, chosen.call_arguments), tape.result)
    leaves, structure = flatten_arrays(value)
    transposed = Tape(pull, [zero_tangent(y) for y in leaves])
    user = any(map(has_user_tensor, chosen.leaves))
    specs = list(map(Spec.of, chosen.leaves))

    def derivative(*tangents: Any) -> Any:
        given = check_directions("tangent", tangents, chosen.structure, specs)
        passed = chosen.call_arguments, given
        found = hand_out_all(
            transposed.pull(transposed.result, given, retain=True), transposed.inputs, passed, taken=given
        )
        return unflatten_arrays(structure, [hand_out(t, user, passed) for t in found])

    return value, derivative


def linear_transpose(f: Callable[..., Any], *primals: Any, **kwargs: Any) -> Callable[..., Any]:
    """The transpose of a linear function: takes a cotangent of its result, returns a tuple with one for each primal.

    Only the shapes and dtypes of the primals matter. Complex numbers are not conjugated.

    >>> linear_transpose(lambda x: 2.0 * x[::-1], np.zeros(3))(np.arange(3.0))
    (array([4., 2., 0.]),)
    """
    chosen = all_arguments("linear_transpose", primals, kwargs)
    inputs, chosen.leaves = chosen.leaves, [zeros_like(x) for x in chosen.leaves]
    tape, cotangents_of, pull = record_function(f, chosen)
    leaves = flatten_arrays(tape.result)[0]
    for node in sort_reachable([y.node for y in leaves if has_node(y, tape)]):
        refuse_nonlinear(node)
    if any(np.any(bottom_array(y)) for y in leaves):
        raise user_error(
            GradientError, "linear_transpose: the function adds a constant (its value at zero is not zero)"
        )

    def transpose(cotangent: Any) -> Any:
        given = cotangents_of(cotangent)
        return unflatten_arrays(
            chosen.structure, hand_out_all(pull(given), inputs, (chosen.call_arguments, given), taken=given)
        )

    return transpose


def stop_gradient(x: Any) -> Any:
    """The same tree of values, as constants to derivatives of all modes.

    >>> jvp(lambda x: x * stop_gradient(x), (3.0,), (1.0,))
    (np.float64(9.0), np.float64(3.0))
    """
    return map_arrays(lambda leaf: _stop_gradient(leaf) if isinstance(leaf, Array) else leaf, x)


def all_arguments(transform: str, primals: Any, kwargs: dict[str, Any]) -> Arguments:
    """All positional arguments, to be differentiated together."""
    args = as_tuple("primals", primals)
    return Arguments(transform, range(len(args)), args, kwargs)


def as_tuple(name: str, values: Any) -> tuple[Any, ...]:
    """A list or tuple of arguments as a tuple."""
    if not isinstance(values, tuple | list):
        raise user_error(TypeError, f"`{name}` is a tuple with one element per argument, not a {type(values).__name__}")
    return tuple(values)


def record_function(
    f: Callable[..., Any], chosen: Arguments, has_aux: bool = False
) -> tuple[Tape, Callable[[Any], list[Any]], Callable[[Sequence[Any]], list[Any]]]:
    """A function on a tape that is kept, a function that checks cotangents, and one that pulls them back.

    Inputs are copied, because the user may change them before the backward pass.
    """
    tape = Tape(
        lambda leaves: chosen.call(f, leaves), [snapshot(x) for x in chosen.leaves], chosen.call_arguments, has_aux
    )
    leaves, structure = flatten_arrays(tape.result)
    specs = [Spec(y.shape, y.dtype if y.dtype.kind in "fc" else np.dtype(float)) for y in leaves]
    return (
        tape,
        lambda cotangent: check_directions("cotangent", cotangent, structure, specs),
        lambda given: tape.pull(leaves, given, retain=True),
    )


def conjugate(t: Any) -> Any:
    """The conjugate of a complex array; a real one as it is."""
    return conj(t) if t.dtype.kind == "c" else t


def has_node(y: Any, tape: Tape) -> bool:
    """Whether an output depends on the inputs of its tape."""
    return is_own(y, Array, tape.level) and y.extra is not None


def refuse_nonlinear(node: TapeNode) -> None:
    """Raise unless the rules of an operation are constant: they must need neither live arguments nor the output."""
    primitive = node.primitive
    if primitive is None or primitive is OUTPUT:
        return
    live = {"out"} | {
        name
        for name, parent in zip(argument_names(primitive, len(node.parents)), node.parents, strict=True)
        if parent is not None
    }
    if primitive.definition.vjp:
        rules = [primitive.definition.vjp]
    else:
        rules = [r for r, p in zip(primitive.definition.rules, node.parents, strict=False) if r and p is not None]
    if any(live.intersection(needs(rule)) for rule in rules):
        raise user_error(
            GradientError, f"linear_transpose: {primitive.name} is not linear in what it was applied to", "Use vjp."
        )


def argument_names(primitive: Primitive, count: int) -> list[str]:
    """The name of each argument; a starred one stands for all remaining ones."""
    inputs = [name.removeprefix("*") for name in primitive.inputs]
    return inputs + inputs[-1:] * (count - len(inputs))


def push_forward(
    call: FlatFunction, inputs: Sequence[Any], tangents: Sequence[Any], given: Any, has_aux: bool = False
) -> tuple[Any, Any, Any]:
    """The result of a function, its tangent, and its auxiliary result; all trees."""
    level = new_level()
    result = call_function(call, [Dual(x, t, level) for x, t in zip(inputs, tangents, strict=True)], level)
    aux = None
    if has_aux:
        result, aux = split_aux(result)
        aux = map_arrays(lambda y: hand_out_aux(y, level, given), aux)
    user = any(map(has_user_tensor, inputs))
    taken = set(map(id, tangents))

    def hand_out_tangent(y: Any) -> Any:
        t = hand_out(y.tangent if is_own(y, Dual, level) else zero_tangent(y), user, given)
        if t.__class__ is np.ndarray:
            t = t.copy() if id(t) in taken else t
            taken.add(id(t))
            kept.append(t)
        return t

    kept: list[Any] = []  # keeps them alive, so that ids stay unique
    tangent = map_arrays(hand_out_tangent, result)
    return map_arrays(lambda y: hand_out_value(y, level, given), result), tangent, aux
