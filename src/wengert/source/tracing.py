"""Traces inside a trace: the branches and steps that an operation holds, and the values that they change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.control.bodies import HeldTrace, cast_node
from wengert.control.checks import Failure
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.levels import new_level
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.graph.ir import PYTHON_NUMBERS, Input, Node, make_constant
from wengert.modes import recording
from wengert.modes.symbolic import Symbol
from wengert.source.memory import ArrayValue, ListContents, Memory
from wengert.source.rows import Row, Rows
from wengert.source.values import Undefined


class InnerTrace(HeldTrace):
    """A trace of a branch or a step that the user wrote as a statement."""


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
