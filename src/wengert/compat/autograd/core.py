"""Derivatives of functions of one argument, the rules of users, and vector spaces: `autograd.core`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

import numpy as np

from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.operations import SparseObject, UserOperation
from wengert.compat.autograd.spaces import VSpace, vspace
from wengert.compat.autograd.tracer import Box, JVPNode, Node, VJPNode, getval, isbox, primitive, toposort, trace
from wengert.compat.autograd.util import func, subval
from wengert.compat.differences import without
from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.spec import Spec
from wengert.core.tree import Structure
from wengert.modes import recording
from wengert.modes.forward import add_tangents
from wengert.modes.in_place import snapshot
from wengert.modes.tensor import Tensor
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import broadcast_to
from wengert.transforms.boundary import (
    check_directions,
    flatten_arrays,
    hand_out_all,
    hand_out_value,
    map_arrays,
    unflatten_arrays,
)
from wengert.transforms.gradients import Tape
from wengert.transforms.products import push_forward

__all__ = [
    "Box",
    "JVPNode",
    "Node",
    "SparseObject",
    "VJPNode",
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "func",
    "getval",
    "isbox",
    "make_jvp",
    "make_vjp",
    "primitive",
    "subval",
    "toposort",
    "trace",
    "vspace",
]

__getattr__ = without(__name__, ABSENT)


class Recorded:
    """A function of a tree, recorded at x: its value, and pulls of cotangents."""

    def __init__(self, fun: Callable[[Any], Any], x: Any, copies: bool = False):
        self.x = x
        self.inputs, self.structure = smooth_leaves(x)
        self.tape = Tape(on_leaves(fun, self.structure), [snapshot(v) for v in self.inputs] if copies else self.inputs)
        self.outputs, self.structure_out = flatten_arrays(self.tape.result)
        if not any(isinstance(y, Tensor) and y.level == self.tape.level and y.node is not None for y in self.outputs):
            warnings.warn("The output does not depend on the input; its derivative is zero.", stacklevel=4)

    @property
    def value(self) -> Any:
        """The result of the function."""
        return map_arrays(lambda y: hand_out_value(y, self.tape.level, self.x), self.tape.result)

    def pull(self, cotangents: Sequence[Any], given: Any = (), retain: bool = False) -> Any:
        """The cotangents of x. In the transpose convention, that of autograd: complex ones are not conjugated."""
        found = self.tape.pull(self.outputs, cotangents, retain)
        return unflatten_arrays(self.structure, hand_out_all(found, self.inputs, (self.x, given), taken=cotangents))


def on_leaves(fun: Callable[[Any], Any], structure: Structure) -> Callable[[Sequence[Any]], Any]:
    """A function of a tree as a function of its leaves."""
    if recording.active:
        fun = recording.as_read(fun)
    return lambda leaves: fun(unflatten_arrays(structure, leaves))


def smooth_leaves(x: Any) -> tuple[list[Any], Structure]:
    """The leaves of a tree to differentiate with respect to; integers become floats."""
    leaves, structure = flatten_arrays(x)
    for i, leaf in enumerate(leaves):
        if leaf.dtype.kind in "iu":
            leaves[i] = astype(leaf, float) if isinstance(leaf, Array) else leaf.astype(float)
        elif leaf.dtype.kind not in "fc":
            raise user_error(TypeError, f"There is no derivative with respect to values of dtype {leaf.dtype}")
    return leaves, structure


def make_vjp(fun: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """A function that pulls cotangents of the result back to x, and the result.

    >>> vjp, value = make_vjp(lambda x: x**2, np.array([1.0, 2.0]))
    >>> vjp(np.ones(2)), value
    (array([2., 4.]), array([1., 4.]))
    """
    recorded = Recorded(fun, x, copies=True)
    specs = [Spec(y.shape, y.dtype if y.dtype.kind in "fc" else np.dtype(float)) for y in recorded.outputs]

    def vjp(g: Any) -> Any:
        leaves, structure = flatten_arrays(g)
        if len(leaves) == len(specs) == 1 and not leaves[0].ndim:
            leaves = [broadcast_to(leaves[0], specs[0].shape)]  # a number stands for an array of it
        given = check_directions("cotangent", unflatten_arrays(structure, leaves), recorded.structure_out, specs)
        return recorded.pull(given, given, retain=True)

    return vjp, recorded.value


def make_jvp(fun: Callable[[Any], Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """A function that pushes a tangent of x forward: (result, tangent of the result).

    >>> make_jvp(lambda x: x**2, 3.0)(1.0)
    (np.float64(9.0), np.float64(6.0))
    """
    leaves, structure = smooth_leaves(x)
    call = on_leaves(fun, structure)

    def jvp(v: Any) -> tuple[Any, Any]:
        tangents = check_directions("tangent", v, structure, list(map(Spec.of, leaves)))
        value, tangent, _ = push_forward(call, leaves, tangents, (x, v))
        return value, tangent

    return jvp


# Rules.


def user_operation(fun: Any) -> UserOperation:
    """The operation that a rule is for; operations of the table have rules of their own."""
    if not isinstance(fun, UserOperation):
        raise user_error(
            TypeError,
            f"{getattr(fun, '__name__', fun)} was not made by `primitive`",
            "Rules are for functions that were: f = primitive(f). The functions of autograd.numpy have theirs.",
        )
    return fun


def defvjp_argnums(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """Set the rule that pulls: `vjpmaker(argnums, ans, args, kwargs)` returns a function of the cotangent."""
    user_operation(fun).vjps = vjpmaker


def defvjp_argnum(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """Set a rule for each argument at once: `vjpmaker(argnum, ans, args, kwargs)` returns a function of the cotangent.

    >>> product = primitive(lambda x, y: x * y)
    >>> defvjp_argnum(product, lambda argnum, ans, args, kwargs: lambda g: g * args[1 - argnum])
    >>> make_vjp(lambda x: product(x, 3.0), 2.0)[0](1.0)
    np.float64(3.0)
    """

    def vjps(argnums: Sequence[int], *call: Any) -> Callable[[Any], list[Any]]:
        makers = [vjpmaker(n, *call) for n in argnums]
        return lambda g: [vjp(g) for vjp in makers]

    defvjp_argnums(fun, vjps)


def defvjp(fun: Any, *vjpmakers: Callable[..., Any] | None, argnums: Iterable[int] | None = None) -> None:
    """Set rules that pull: each is `vjpmaker(ans, *args, **kwargs)`, which returns a function of the cotangent.

    None stands for a zero derivative.

    >>> cube = primitive(lambda x: x * x * x)
    >>> defvjp(cube, lambda ans, x: lambda g: 3.0 * x**2 * g)
    >>> make_vjp(cube, 2.0)[0](1.0)
    np.float64(12.0)
    """
    makers = dict(zip(count() if argnums is None else argnums, vjpmakers, strict=False))

    def make(argnum: int, ans: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[Any], Any]:
        if argnum not in makers:
            raise missing_rule(fun, argnum)
        maker = makers[argnum]
        return (lambda g: vspace(args[argnum]).zeros()) if maker is None else maker(ans, *args, **kwargs)

    defvjp_argnum(fun, make)


def missing_rule(fun: UserOperation, argnum: int) -> NotImplementedError:
    """The error for an argument without a rule."""
    return user_error(
        NotImplementedError, f"{fun.name} has no rule for its derivative with respect to argument {argnum}"
    )


def defjvp_argnums(fun: Any, jvpmaker: Callable[..., Any]) -> None:
    """Set the rule that pushes: `jvpmaker(argnums, tangents, ans, args, kwargs)` returns the tangent of the result."""
    user_operation(fun).jvps = jvpmaker


def defjvp_argnum(fun: Any, jvpmaker: Callable[..., Any]) -> None:
    """Set a rule for each argument at once: `jvpmaker(argnum, tangent, ans, args, kwargs)`."""

    def jvps(argnums: Sequence[int], tangents: Sequence[Any], *call: Any) -> Any:
        first, *others = [jvpmaker(n, t, *call) for n, t in zip(argnums, tangents, strict=True)]
        for other in others:
            first = add_tangents(first, other)
        return first

    defjvp_argnums(fun, jvps)


def defjvp(fun: Any, *jvpmakers: Any, argnums: Iterable[int] | None = None) -> None:
    """Set rules that push: each is `jvpmaker(tangent, ans, *args, **kwargs)`.

    None stands for a zero derivative, "same" for an argument in which the function is linear.

    >>> double = primitive(lambda x: 2.0 * x)
    >>> defjvp(double, "same")
    >>> make_jvp(double, 1.0)(10.0)
    (np.float64(2.0), np.float64(20.0))
    """
    makers = dict(zip(count() if argnums is None else argnums, jvpmakers, strict=False))

    def push(argnum: int, tangent: Any, ans: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if argnum not in makers:
            raise missing_rule(fun, argnum)
        maker = makers[argnum]
        if maker is None:
            return vspace(ans).zeros()
        if maker == "same":
            return fun(*subval(args, argnum, tangent), **kwargs)
        return maker(tangent, ans, *args, **kwargs)

    defjvp_argnum(fun, push)


def def_linear(fun: Any) -> None:
    """Say that a function is linear in each of its arguments."""
    defjvp_argnum(fun, lambda argnum, tangent, ans, args, kwargs: fun(*subval(args, argnum, tangent), **kwargs))
