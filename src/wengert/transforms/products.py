"""Products with the Jacobian, without the Jacobian: forward (`jvp`), backward (`vjp`), and as linear functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.primitive import OUTPUT, Primitive, needs
from wengert.core.spec import Spec
from wengert.modes.reverse import snapshot
from wengert.modes.tape import Node, reachable
from wengert.ops.elementwise.complex_numbers import conj
from wengert.ops.shape.casting import _stop_gradient
from wengert.transforms.arguments import Chosen, closed, directions, mapped, opened
from wengert.transforms.runs import Tape, handed_out, is_users, lowered, no_tangent, pushed, settled

__all__ = ["directional", "jvp", "linear_transpose", "linearize", "stop_gradient", "vjp"]


def jvp(f: Callable, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False, **kwargs: Any) -> tuple:
    """The value of f at `primals` and its derivative along `tangents`, in one run: (value, tangent), and (…, anything)
    with `has_aux`.

    >>> jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 0.0))
    (np.float64(6.0), np.float64(3.0))
    """
    chosen = everything("jvp", primals, kwargs)
    given = directions("tangent", sequence("tangents", tangents), chosen.structure, list(map(Spec.of, chosen.leaves)))
    value, tangent, aux = pushed(
        lambda leaves: chosen.call(f, leaves), chosen.leaves, given, (chosen.given, given), has_aux
    )
    return (value, tangent, aux) if has_aux else (value, tangent)


def directional(f: Callable, x: Any, v: Any) -> Any:
    """The derivative of f at x along v.

    >>> directional(lambda x: x**2, 3.0, 1.0)
    np.float64(6.0)
    """
    return jvp(f, (x,), (v,))[1]


def vjp(f: Callable, *primals: Any, has_aux: bool = False, **kwargs: Any) -> tuple:
    """The value of f, and the function that pulls its cotangents back to the primals: (value, pullback), and (…,
    anything) with `has_aux`.

    The pullback takes a tree like the value, returns a tuple with one gradient per primal, and can be called any number
    of times. For complex numbers it is the adjoint, as `backward(gradient)` is: it multiplies by the conjugate
    transpose of the Jacobian.

    >>> value, pullback = vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> pullback(1.0)
    (np.float64(3.0), np.float64(2.0))
    """
    chosen = everything("vjp", primals, kwargs)
    tape, outputs, pull = recorded(f, chosen, has_aux)

    def pullback(cotangent: Any) -> tuple:
        given = [conjugate(t) for t in outputs(cotangent)]
        found = handed_out(pull(given), tape.inputs, (chosen.given, given), taken=given)
        return closed(chosen.structure, [conjugate(t) for t in found])

    value = mapped(lambda y: lowered(y, tape.level, chosen.given), tape.result)
    return (value, pullback, tape.aux) if has_aux else (value, pullback)


def linearize(f: Callable, *primals: Any, **kwargs: Any) -> tuple[Any, Callable]:
    """The value of f, and its derivative as a linear function of tangents: as `jvp`, but f runs only once.

    The walk back is linear in the cotangents; recorded and walked back in its turn, it gives the forward product: the
    transpose of the transpose.

    >>> value, derivative = linearize(lambda x: x**3, 2.0)
    >>> derivative(1.0), derivative(10.0)
    (np.float64(12.0), np.float64(120.0))
    """
    chosen = everything("linearize", primals, kwargs)
    tape, _, pull = recorded(f, chosen)
    value = mapped(lambda y: lowered(y, tape.level, chosen.given), tape.result)
    leaves, structure = opened(value)
    transposed = Tape(pull, [no_tangent(y) for y in leaves])
    user = any(map(is_users, chosen.leaves))
    specs = list(map(Spec.of, chosen.leaves))

    def derivative(*tangents: Any) -> Any:
        given = directions("tangent", tangents, chosen.structure, specs)
        passed = chosen.given, given
        found = handed_out(
            transposed.pull(transposed.result, given, retain=True), transposed.inputs, passed, taken=given
        )
        return closed(structure, [settled(t, user, passed) for t in found])

    return value, derivative


def linear_transpose(f: Callable, *primals: Any, **kwargs: Any) -> Callable:
    """The transpose of a linear function: takes a cotangent of its result, returns a tuple with one for each primal.

    Of the primals only shape and dtype matter. There is no conjugation: this is the transpose, not the adjoint.

    >>> linear_transpose(lambda x: 2.0 * x[::-1], np.zeros(3))(np.arange(3.0))
    (array([4., 2., 0.]),)
    """
    chosen = everything("linear_transpose", primals, kwargs)
    inputs, chosen.leaves = chosen.leaves, [np.zeros(x.shape, x.dtype) for x in chosen.leaves]
    tape, outputs, pull = recorded(f, chosen)
    leaves = opened(tape.result)[0]
    for node in reachable([y.node for y in leaves if lives(y, tape)]):
        refuse_nonlinear(node)
    if any(np.any(bottom(y)) for y in leaves):
        raise user_error(
            GradientError, "linear_transpose: the function adds a constant (its value at zero is not zero)"
        )

    def transpose(cotangent: Any) -> tuple:
        given = outputs(cotangent)
        return closed(chosen.structure, handed_out(pull(given), inputs, (chosen.given, given), taken=given))

    return transpose


def stop_gradient(x: Any) -> Any:
    """The same tree of values, through which no derivative of any mode flows.

    >>> jvp(lambda x: x * stop_gradient(x), (3.0,), (1.0,))
    (np.float64(9.0), np.float64(3.0))
    """
    return mapped(lambda leaf: _stop_gradient(leaf) if isinstance(leaf, Array) else leaf, x)


def everything(transform: str, primals: Any, kwargs: dict[str, Any]) -> Chosen:
    """All arguments, differentiated together, in a tuple."""
    args = sequence("primals", primals)
    return Chosen(transform, range(len(args)), args, kwargs)


def sequence(name: str, values: Any) -> tuple:
    if not isinstance(values, tuple | list):
        raise user_error(
            TypeError, f"`{name}` is a tuple with one entry per argument of the function, not a {type(values).__name__}"
        )
    return tuple(values)


def recorded(
    f: Callable, chosen: Chosen, has_aux: bool = False
) -> tuple[Tape, Callable[[Any], list], Callable[[Sequence[Any]], list]]:
    """A function on a tape that stays; how to check its cotangents, and how to pull them back.

    Inputs are copied: the user may change them before the walk back.
    """
    tape = Tape(lambda leaves: chosen.call(f, leaves), [snapshot(x) for x in chosen.leaves], chosen.given, has_aux)
    leaves, structure = opened(tape.result)
    specs = [Spec(y.shape, y.dtype if y.dtype.kind in "fc" else np.dtype(float)) for y in leaves]
    return (
        tape,
        lambda cotangent: directions("cotangent", cotangent, structure, specs),
        lambda given: tape.pull(leaves, given, retain=True),
    )


def conjugate(t: Any) -> Any:
    return conj(t) if t.dtype.kind == "c" else t


def lives(y: Any, tape: Tape) -> bool:
    """Whether an output depends on the inputs of its tape."""
    return isinstance(y, Array) and y.level == tape.level and y.extra is not None


def bottom(y: Any) -> Any:
    while isinstance(y, Array):
        y = y.value
    return y


def refuse_nonlinear(node: Node) -> None:
    """A linear operation has a constant derivative: its rules need neither its live arguments nor its output."""
    primitive = node.primitive
    if primitive is None or primitive is OUTPUT:
        return
    live = {"out"} | {
        name
        for name, parent in zip(names(primitive, len(node.parents)), node.parents, strict=True)
        if parent is not None
    }
    rules = (
        [primitive.vjp]
        if primitive.vjp
        else [r for r, p in zip(primitive.rules, node.parents, strict=False) if r and p is not None]
    )
    if any(live.intersection(needs(rule)) for rule in rules):
        raise user_error(
            GradientError, f"linear_transpose: {primitive.name} is not linear in what it was applied to", "Use vjp."
        )


def names(primitive: Primitive, count: int) -> list[str]:
    """The name of each argument; a starred one stands for all that are left."""
    inputs = [name.removeprefix("*") for name in primitive.inputs]
    return inputs + inputs[-1:] * (count - len(inputs))
