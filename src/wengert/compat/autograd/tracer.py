"""Boxes and traces: `autograd.tracer`.

A box of autograd is a value of Wengert. `trace` runs a function on values with nodes of the user's class, one for each
operation: a mode of its own, for programs that look at what a function does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.operations import UserOperation
from wengert.compat.autograd.util import toposort as toposort
from wengert.compat.differences import without
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.levels import bottom_array, find_own, is_own, new_level, payloads, strip_level
from wengert.core.primitive import OUTPUT, Primitive, gives_constants
from wengert.transforms.boundary import flatten_arrays, map_arrays, unflatten_arrays

__all__ = ["Box", "Node", "getval", "isbox", "notrace_primitive", "primitive", "register_notrace", "toposort", "trace"]

__getattr__ = without(__name__, ABSENT)


class BoxClass(type):
    """The class of `Box` and its like: their instances are the values of Wengert that can have a derivative."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isbox(instance)


class Box(metaclass=BoxClass):
    """A value that is being differentiated.

    >>> isinstance(1.0, Box)
    False
    """

    @classmethod
    def register(cls, value_type: type) -> None:
        """Refuse a type: trees and arrays are boxed already, and there are no boxes for others."""
        raise user_error(
            TypeError,
            f"A {value_type.__name__} cannot be boxed",
            "A dataclass, dict, list or tuple of arrays can be differentiated as it is.",
        )


def isbox(x: Any) -> bool:
    """Whether x is being differentiated.

    >>> isbox(1.0)
    False
    """
    return isinstance(x, Array) and x.dtype.kind in "fc"


def getval(x: Any) -> Any:
    """The numbers of a value, without its derivatives; anything else as it is."""
    return bottom_array(x)


def primitive(fun: Callable[..., Any]) -> UserOperation:
    """A function whose derivative is given by rules; see `autograd.extend.defvjp` and `defjvp`.

    >>> cube = primitive(lambda x: x**3)
    >>> cube(2.0)
    8.0
    """
    return UserOperation(fun)


def notrace_primitive(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gets the numbers of values, so that no derivative flows through it.

    >>> notrace_primitive(round)(2.7)
    3
    """

    @wraps(fun)
    def on_numbers(*args: Any, **kwargs: Any) -> Any:
        return fun(*map(bottom_array, args), **kwargs)

    return on_numbers


def register_notrace(trace_type: type, primitive_fun: Any) -> None:  # noqa: ARG001  # one rule for both modes
    """Say that no derivative flows through a function that was made by `primitive`."""
    if not isinstance(primitive_fun, UserOperation):
        raise user_error(TypeError, f"{primitive_fun!r} was not made by `primitive`")
    primitive_fun.is_constant = True


class Node:
    """One operation of a traced function. A subclass says what is kept of it."""

    __slots__ = ()

    def __init__(
        self,
        value: Any,
        fun: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        parent_argnums: tuple[int, ...],
        parents: tuple[Any, ...],
    ):
        raise NotImplementedError  # each class defines it

    def initialize_root(self, *args: Any, **kwargs: Any) -> None:
        """Set up the node of the argument."""
        raise NotImplementedError  # each class defines it

    @classmethod
    def new_root(cls, *args: Any, **kwargs: Any) -> Any:
        """The node of the argument."""
        root = cls.__new__(cls)
        root.initialize_root(*args, **kwargs)
        return root


class VJPNode(Node):
    """Stands for reverse mode in `register_notrace`."""

    __slots__ = ()


class JVPNode(Node):
    """Stands for forward mode in `register_notrace`."""

    __slots__ = ()


class Traced(Array):
    """A value with a node of the user's class."""

    if TYPE_CHECKING:
        node: Any
    else:
        __slots__ = ()
        node = Array.extra

    def __init__(self, value: Any, level: int, node: Any):
        self.value, self.level, self.node = value, level, node

    @staticmethod
    def process(primitive: Primitive, level: int, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        own = find_own(args, Traced, level)
        values = payloads(args, own)
        out = primitive.op(*values, **params)
        if gives_constants(primitive):
            return out
        argnums = tuple([i for i, mine in enumerate(own) if mine])
        parents = tuple([args[i].node for i in argnums])
        make = type(parents[0])
        node = make(out, primitive.op, tuple(values), params, argnums, parents)
        if primitive.outputs == 1:
            return Traced(out, level, node)
        parts = [make(y, OUTPUT.op, (out,), {"index": i}, (0,), (node,)) for i, y in enumerate(out)]
        return tuple([Traced(y, level, part) for y, part in zip(out, parts, strict=True)])

    def detach(self) -> Any:
        """The payload."""
        return self.value

    def __repr__(self) -> str:
        return f"traced({self.value!r})"


def trace(start_node: Any, fun: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """Run a function on x with the node `start_node`: its result, and the node of that.

    Each operation makes a node of the class of `start_node`. The node is None if the result does not depend on x.

    >>> class Names(Node):
    ...     def __init__(self, value, fun, args, kwargs, parent_argnums, parents):
    ...         self.name, self.parents = fun.__name__, parents
    ...
    ...     def initialize_root(self):
    ...         self.name, self.parents = "x", ()
    >>> _, end = trace(Names.new_root(), lambda x: -x * 2.0, 3.0)
    >>> [node.name for node in toposort(end)]
    ['multiply', 'negative', 'x']
    """
    level = new_level()
    leaves, structure = flatten_arrays(x)
    is_tree = len(leaves) != 1 or leaves[0] is not x
    nodes = [start_node] * len(leaves)
    if is_tree and structure.children:
        make = type(start_node)
        nodes = [make(leaf, take_leaf, (x, i), {}, (0,), (start_node,)) for i, leaf in enumerate(leaves)]
    values = [Traced(leaf, level, node) for leaf, node in zip(leaves, nodes, strict=True)]
    result = fun(unflatten_arrays(structure, values))
    if is_own(result, Traced, level):
        return result.value, result.node
    stripped = map_arrays(lambda y: strip_level(y, level), result)
    if any(is_own(y, Traced, level) for y in tree.leaves(result)):
        raise user_error(TypeError, "A traced function returns one array", "Return one, for example by np.concatenate.")
    warnings.warn("The output does not depend on the input.", stacklevel=2)
    return stripped, None


def take_leaf(x: Any, i: int) -> Any:
    """Leaf i of a tree."""
    return tree.leaves(x)[i]
