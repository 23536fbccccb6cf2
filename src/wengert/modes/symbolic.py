"""Symbolic mode: Symbol, a value whose numbers are not known yet. Operations on it become a graph.

Symbols are below the levels of all transforms that are started on them, so derivatives of functions of symbols consist
of symbols again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core.array import Array
from wengert.core.aspects import primitive_of
from wengert.core.errors import TrackedValueError, user_error, user_line
from wengert.core.infer import infer, is_elementwise
from wengert.core.primitive import OUTPUT, Primitive
from wengert.core.source import source
from wengert.graph.graph import Graph
from wengert.graph.ir import (
    PYTHON_NUMBERS,
    Constant,
    Input,
    Node,
    Operation,
    make_constant,
    weak_type,
)
from wengert.modes import recording
from wengert.ops.indexing.key import Hole
from wengert.ops.indexing.subscripts import gather
from wengert.ops.shape.casting import _stop_gradient

if TYPE_CHECKING:
    from wengert.modes.trace import Trace

__all__ = ["Symbol"]

GATHER, STOP_GRADIENT = primitive_of(gather), primitive_of(_stop_gradient)
SYMBOLS = 1
"""The level of the symbols that users make, above their tensors and below all transforms."""


OF_TENSORS = frozenset(("backward", "grad", "requires_grad", "requires_grad_", "retain_grad", "register_hook"))


class Symbol(Array):
    """A value whose numbers are not known yet: a node of a graph, with a shape and a dtype.

    `value` is the node, `extra` the trace that it belongs to; None for a symbol that the user made.

    >>> import wengert as wg
    >>> x = wg.symbol("x", 3)
    >>> isinstance(x, Symbol), x.shape
    (True, (3,))
    """

    __slots__ = ()

    def __init__(self, node: Node, level: int = SYMBOLS, trace: Trace | None = None):
        self.value, self.level, self.extra = node, level, trace

    @property
    def node(self) -> Node:
        node: Node = self.value
        return node

    @staticmethod
    def process(primitive: Primitive, level: int, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if (capturing := recording.capturing_trace(level)) is not None:
            return capturing.run(primitive, args, params)
        nodes: list[Node] = []
        trace = None
        if primitive is GATHER and Hole.MASK in params["key"].key:
            key, indices = params["key"].without_masks(args[0].shape, args[1:])
            args, params = (args[0], *indices), {"key": key}
        for a in args:
            if isinstance(a, Symbol) and a.level == level:
                nodes.append(a.value)
                trace = a.extra
            else:
                nodes.append(a)
        if trace is not None and trace.is_closed:
            raise user_error(
                TrackedValueError,
                "A value of a traced function was used after the trace had ended",
                because="it has no numbers. Return it from the function, or assign it to a tensor that the function "
                "captures (t[...] = v).",
            )
        if len(nodes) > 1:
            current = recording.current_trace()
            if (
                current is not None
                and (current is not trace or trace.tape > 0)
                and any(isinstance(a, Array) and not a.level for a in args)
            ):
                return current.run(primitive, args, params)  # it has the values of the user's tensors
            make = trace.node_of if trace is not None else make_constant
            nodes = [a if isinstance(a, Node) else make(as_strong(a, primitive)) for a in nodes]
        return record_operation(primitive, nodes, params, level, trace)

    def _plain(self, what: str) -> np.ndarray:
        """The numbers, if the symbol is computed from constants only."""
        graph = Graph([], [self.node])
        if not any(
            isinstance(node, Input) or (isinstance(node, Constant) and node.is_captured) for node in graph.nodes
        ):
            return np.asarray(graph.run(())[0])
        kind = "captured tensor, which is read at each call," if isinstance(self.node, Constant) else "traced value"
        raise user_error(
            TrackedValueError,
            f"{what} needs numbers, but of a {kind} only the shape {self.shape} and dtype {self.dtype} are known",
            "Use an operation of wengert or NumPy instead (wg.stack for a list of values), or pass the argument as a "
            "constant (static_argnums).",
        )

    def __bool__(self) -> bool:
        try:
            return bool(self._plain("The truth of a value"))
        except TrackedValueError:
            raise user_error(
                TrackedValueError,
                "The truth of a traced value (`if`, `while`, `and`, `or`, `not`, `assert`) is not known yet",
                "Choose between values with wg.where(condition, x, y), branch with wg.cond(condition, f, g), loop with "
                "wg.while_loop or a fixed number of times, or pass what decides as a constant (static_argnums). The "
                "statements of functions in files are read (wg.source), those of functions without source are not.",
            ) from None

    def numpy(self) -> np.ndarray:
        """The numbers, if the symbol is computed from constants only; otherwise an error."""
        return self._plain("numpy()")

    def item(self, *index: Any) -> Any:
        return self._plain("item()").item(*index)

    def tolist(self) -> Any:
        return self._plain("tolist()").tolist()

    def __format__(self, format_spec: str) -> str:
        if format_spec:
            return format(self._plain(f"A number in the format {format_spec!r}")[()], format_spec)
        return str(self)

    def detach(self) -> Symbol:
        """The same value without a derivative."""
        node, trace = self.node, self.extra
        stopped = Operation(STOP_GRADIENT, (node,), {}, node.spec, node.weak) if trace is None else trace.stop(node)
        return Symbol(stopped, self.level, trace)

    @property
    def data(self) -> Symbol:
        """The same value without a derivative."""
        return self.detach()

    def _become(self, new: Array) -> None:
        trace = self.extra
        if (
            trace is not None
            and recording.active
            and not recording.is_recording()
            and trace.stopped.get(self.node) is not self.node
        ):
            trace.has_rules = True  # the numbers change but not the derivative, which a graph cannot express
        super()._become(new)

    def __getattr__(self, name: str) -> Any:
        trace = self.extra
        if name in OF_TENSORS and trace is not None and not trace.is_closed:
            trace = trace.tape_holder()
            if name == "requires_grad" and trace.tape > 0:
                return False
        advice = (
            "It was not computed from a captured tensor that requires a gradient, or is inside a branch or loop. Let "
            "the function capture the tensor instead of taking it as an argument, or use wg.grad."
            if name in OF_TENSORS
            else ""
        )
        raise user_error(AttributeError, f"A traced value has no attribute {name!r}", advice)

    def __repr__(self) -> str:
        node = self.node
        what = node.name or (node.primitive.name if isinstance(node, Operation) else "constant")
        return f"symbol({what}: {node.spec!r})"


def as_strong(x: Any, primitive: Primitive) -> Any:
    """An argument as an operation takes it: all but elementwise operations treat a Python number as an array."""
    return np.asarray(x)[()] if x.__class__ in PYTHON_NUMBERS and not is_elementwise(primitive) else x


def record_operation(
    primitive: Primitive, nodes: Sequence[Node], params: dict[str, Any], level: int, trace: Trace | None
) -> Any:
    """Add an operation to the graph; returns the symbols of its results."""
    if params.get("reuse"):
        params = params | {"reuse": False}  # there is no array to reuse yet
    stops = trace is not None and recording.active and not recording.is_recording()
    if trace is not None and stops:
        nodes = [trace.stop(node) for node in nodes]
    try:
        spec = infer(primitive, tuple([n.operand for n in nodes]), params)
    except IndexError as error:
        error.add_note(f"This was {primitive.name} of a value of shape {nodes[0].shape}, at {user_line()}.")
        raise
    node = Operation(primitive, tuple(nodes), params, spec, weak_type(primitive, nodes, spec), None, source())
    if trace is not None and stops:
        trace.stopped[node] = node
    if primitive.outputs == 1:
        return Symbol(node, level, trace)
    parts = [Operation(OUTPUT, (node,), {"index": i}, s) for i, s in enumerate(spec)]
    return tuple([Symbol(part, level, trace) for part in parts])
