"""Traces inside a trace: the branches and steps that an operation holds, and the values that they change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.control.bodies import Closed, name_of
from wengert.control.checks import Failure
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.aspects import primitive_of
from wengert.core.errors import GradientError, user_error
from wengert.core.infer import is_elementwise
from wengert.core.levels import new_level
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import PYTHON_NUMBERS, Constant, Input, Node, Operation, make_constant, make_operation
from wengert.modes import recording
from wengert.modes.symbolic import Symbol
from wengert.modes.trace import Trace
from wengert.ops.shape.casting import _astype, _astype_discrete
from wengert.source.memory import ArrayValue, ListContents, Memory
from wengert.source.rows import Row, Rows
from wengert.source.values import Undefined

ASTYPE, ASTYPE_DISCRETE = primitive_of(_astype), primitive_of(_astype_discrete)


class InnerTrace(Trace):
    """A trace inside another: symbols that stand for Python numbers do so here too."""

    def node_of(self, value: Any) -> Node:
        node = super().node_of(value)
        if isinstance(value, Symbol) and isinstance(node, Constant):
            node.weak = value.node.weak
        return node


class Inner:
    """One run of a function in a trace of its own; what it changed is in `changes`, and all is as it was before.

    Nothing is computed outside of it: a branch may be one that is not taken.
    """

    def __init__(self, memory: Memory, function: Callable[[Inner], Any]):
        self.level, self.memory = new_level(), memory
        self.trace = InnerTrace(self.level, is_held=True)
        self.result: Any = None
        self.changes: dict[int, Any] = {}
        self.error: Exception | None = None
        self.updated: dict[int, Any] = {}  # the new values of objects that were changed in place
        around = recording.current_trace()
        try:
            with recording.override(trace=self.trace, enabled=True, inference=False):
                result = function(self)
                self.changes = {k: self.materialize(k, new) for k, new in memory.changes().items()}
                places = [(memory.places[k], new) for k, new in self.changes.items()]
                self.updated = {id(place.target): new for place, new in places if isinstance(place, ArrayValue)}
                self.result = self.keep(result)
        except Exception as error:
            if not getattr(error, "is_raised_by_user", False):
                raise
            self.error = error
        finally:
            memory.restore()
            assignments = self.trace.close()
        if assignments:
            raise user_error(
                GradientError,
                "A branch or loop on traced values assigns to a tensor that the function captures",
                because="its value afterwards is not defined. Give it as an argument, and return the new value.",
            )
        if around is not None:
            around.has_rules |= self.trace.has_rules

    def keep(self, value: Any) -> Any:
        """A value with the new values of objects that were changed in place, which are as before again."""
        if not self.updated or value is None or isinstance(value, Undefined):
            return value
        leaves, structure = tree.flatten(value)
        if not any(id(x) in self.updated for x in leaves):
            return value
        return tree.unflatten(structure, [self.updated.get(id(x), x) for x in leaves])

    def materialize(self, k: int, contents: Any) -> Any:
        """Contents in which the rows of arrays of this trace are values."""
        if isinstance(self.memory.places[k], ListContents):
            known = set(map(id, self.memory.before[k]))
            return [x.value() if isinstance(x, Row) and id(x) not in known else x for x in contents]
        return Rows(contents) if isinstance(contents, Rows) else contents

    @property
    def checks(self) -> list[tuple[Node, Failure]]:
        """What must hold when the program runs."""
        return self.trace.checks

    def input(self, spec: Spec, weak: type | None = None, name: str | None = None) -> Symbol:
        """A value that the function is given."""
        return Symbol(Input(spec, weak, name), self.level, self.trace)

    def contents(self, k: int) -> Any:
        """The contents of a place after the run."""
        if isinstance(self.memory.places[k], ArrayValue):
            return self.changes.get(k, self.memory.before[k])
        return self.keep(self.changes[k] if k in self.changes else self.memory.before[k])

    def node_of(self, x: Any, dtype: Any = None) -> Node:
        """The node of a result; a Python number may take a dtype."""
        if x.__class__ in PYTHON_NUMBERS:
            return make_constant(np.asarray(x, dtype)[()])
        if isinstance(x, Symbol) and x.level == self.level:
            node = x.node
        else:
            if isinstance(x, Array) and x.level > self.level:
                raise user_error(GradientError, "A value of a transform that has ended is used")
            node = self.trace.node_of(as_operand(x))
        return node if dtype is None or node.dtype == dtype else cast_node(node, dtype)


def cast_node(node: Node, dtype: Any) -> Node:
    """A node in another dtype."""
    smooth = node.dtype.kind in "fc" and np.dtype(dtype).kind in "fc"
    return make_operation(ASTYPE if smooth else ASTYPE_DISCRETE, [node], dtype=np.dtype(dtype))


def close_graph(inputs: Sequence[Node], outputs: Sequence[Node]) -> Closed:
    """A graph with captured values as further inputs, and these values; nothing in it is a Python number any more."""
    graph = Graph(inputs, outputs)  # type: ignore[arg-type]  # inputs
    captured: dict[int, tuple[Any, Input]] = {}
    new: dict[Node, Node] = {node: Input(node.spec, None, node.name) for node in inputs}
    for constant in graph.constants:
        if constant.is_captured:
            value = constant.value
            new[constant] = captured.setdefault(id(value), (value, Input(Spec.of(value), None, name_of(constant))))[1]
    for operation in graph.operations:  # all of them, so that they keep their order
        new[operation] = strong_operation(operation, new)
    lifted = [x for _, x in captured.values()]
    return Closed(
        Graph([*[new[node] for node in inputs], *lifted], [new.get(y, y) for y in graph.outputs]),  # type: ignore[list-item]  # inputs
        [value for value, _ in captured.values()],
    )


def strong_operation(node: Operation, new: dict[Node, Node]) -> Operation:
    """An operation on new nodes, in which Python numbers have the dtype that they take from the other operands."""
    args = [new.get(a, a) for a in node.args]
    own = [a.weak for a in node.args]
    strong = [a.dtype for a, w in zip(args, own, strict=True) if w is None]
    if strong and any(own) and is_elementwise(node.primitive):
        dtype = np.result_type(*strong, *[w(0) for w in own if w is not None])
        args = [
            cast_node(a, dtype) if w is not None and not isinstance(a, Constant) and a.dtype != dtype else a
            for a, w in zip(args, own, strict=True)
        ]
    return Operation(node.primitive, tuple(args), node.params, node.spec, None, node.name, node.source)


def register_check(holds: Any, failure: Failure) -> None:
    """Note that something must hold when the program of the trace runs."""
    trace = recording.current_trace()
    if trace is None:
        return  # a pattern of dependences, which has no numbers
    while isinstance(holds, Array) and not (isinstance(holds, Symbol) and holds.level == trace.level):
        if not isinstance(holds.value, Array):
            break
        holds = holds.value
    node = holds.node if isinstance(holds, Symbol) and holds.level == trace.level else trace.node_of(holds)
    trace.checks.append((node, failure))
