"""Functions whose operations are recorded once and replayed: `autograd.misc.tracers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.tracer import Node, trace
from wengert.compat.autograd.util import subvals, toposort
from wengert.compat.autograd.wrap_util import wraps
from wengert.compat.differences import without
from wengert.core.errors import user_error

__all__ = ["ConstGraphNode", "FullGraphNode", "const_graph", "const_graph_unary", "full_graph"]

__getattr__ = without(__name__, ABSENT)


class ConstGraphNode(Node):
    """An operation that can be run again on other arguments."""

    __slots__ = ("parents", "partial_fun")

    def __init__(self, value: Any, fun: Any, args: Any, kwargs: Any, parent_argnums: Any, parents: Any):  # noqa: ARG002  # those of autograd
        self.parents = parents
        self.partial_fun = lambda live: fun(*subvals(args, zip(parent_argnums, live, strict=True)), **kwargs)

    def initialize_root(self) -> None:
        self.parents = ()


def const_graph_unary(fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of one argument that runs once; later calls repeat the operations of the first.

    >>> calls = []
    >>> replayed = const_graph_unary(lambda x: calls.append("run") or x * 2.0 + 1.0)
    >>> replayed(1.0), replayed(10.0), calls
    (np.float64(3.0), np.float64(21.0), ['run'])
    """
    order: list[Any] = []

    def run_or_replay(x: Any) -> Any:
        if not order:
            value, end = trace(ConstGraphNode.new_root(), fun, x)
            if end is None:
                raise user_error(ValueError, "The result does not depend on the argument, so there is no graph")
            order.extend([*toposort(end)][::-1])
            return value
        root, *steps = order
        found = {root: x}
        for node in steps:
            found[node] = node.partial_fun([found[parent] for parent in node.parents])
        return found[order[-1]]

    return run_or_replay


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """As `const_graph_unary`, for a function of several arguments; those given here stay."""
    replayed = const_graph_unary(lambda live: fun(*args, *live, **kwargs))

    @wraps(fun)
    def run(*live: Any) -> Any:
        return replayed(live)

    return run


class FullGraphNode(Node):
    """An operation with its value, its function, its arguments and its parents."""

    __slots__ = ("recipe", "value")

    def __init__(self, value: Any, fun: Any, args: Any, kwargs: Any, parent_argnums: Any, parents: Any):
        self.value, self.recipe = value, (fun, args, kwargs, [*zip(parent_argnums, parents, strict=True)])

    def initialize_root(self) -> None:
        self.value, self.recipe = None, (lambda x: x, (), {}, [])


def full_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The node of the result of a function, from which its whole graph can be reached."""
    return trace(FullGraphNode.new_root(), lambda live: fun(*live, **kwargs), args)[1]
