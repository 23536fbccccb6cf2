"""Loops of elementwise steps: each element runs through all steps in registers, and only its final states are stored.

Such a loop is one elementwise operation for each of its final states. So it fuses with what is before and after it, has
SIMD lanes, and runs on all cores, where a loop over whole arrays would read and write them at every step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiler.forms.classify import Form, form_of, operation_cost, scalar_operations
from wengert.control.loop import LOOP, Shape, run_loop
from wengert.core import machine
from wengert.core.definition import Definition
from wengert.core.primitive import OUTPUT, Primitive
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation, is_a, make_operation
from wengert.graph.passes.rewrite import rebuild
from wengert.ops.shape.reshaping import _broadcast_to


def _iterate(*operands: Any, body: Graph, shape: Shape, index: int) -> Any:
    return run_loop(*operands, body=body, condition=None, shape=shape)[index]


def _iterated_spec(*operands: Spec, body: Graph, index: int, **_: Any) -> Spec:
    return Spec(np.broadcast_shapes(*[x.shape for x in operands]), body.outputs[index].dtype)


ITERATED = Primitive(
    Definition(
        name="iterated",
        impl=_iterate,
        kind="nondifferentiable",
        inputs=("*operands",),
        takes_params=True,
        spec=_iterated_spec,
        reason="a compiled program has it where no derivative is asked for",
    )
)
"""The state of number `index` after all steps of a loop of elementwise steps."""


def iterate_elements(graph: Graph, prepare_body: Callable[[Graph], Graph]) -> Graph:
    """Replace loops whose steps are elementwise; `prepare_body` gives a body as it is scheduled."""
    loops = [node for node in graph.operations if runs_in_registers(node, prepare_body)]
    found: dict[Node, Graph] = {node: prepare_body(node.params["body"]) for node in loops}
    if not found:
        return graph

    def rule(node: Operation, before: Operation) -> Node | None:
        body = found.get(before.args[0]) if before.primitive is OUTPUT else None
        if body is None:
            return None
        loop = node.args[0]
        assert isinstance(loop, Operation)
        return make_operation(ITERATED, loop.args, body=body, shape=loop.params["shape"], **node.params)

    return rebuild(graph, rule)


def runs_in_registers(node: Operation, prepare_body: Callable[[Graph], Graph]) -> bool:
    """Whether an operation is a loop that is replaced: no step of it reads or writes memory."""
    return node.primitive is LOOP and has_only_states(node) and is_elementwise(node, prepare_body(node.params["body"]))


def has_only_states(node: Operation) -> bool:
    """Whether a loop takes a known number of steps from states of one shape to others, and has no sequences."""
    shape, states = node.params["shape"], node.spec
    return (
        bool(shape.length)
        and node.params["condition"] is None
        and len(node.args) == shape.last
        and len({spec.shape for spec in states}) == 1
        and len(states) == shape.states
        and states[0].size > 1
    )


def is_elementwise(node: Operation, body: Graph) -> bool:
    """Whether every operation of a body is elementwise: all values have the position of the states, or broadcast."""
    operations = body.operations
    work = sum(map(operation_cost, operations)) * node.params["shape"].length
    return (
        sum(map(scalar_operations, operations)) > machine.current.min_operations_of_iterated_body
        and work <= machine.current.max_operations_of_iterated_element
        and all(form_of(step, ()) is Form.ELEMENT or is_a(step, _broadcast_to) for step in operations)
        and all(a.size == 1 for a in body.nodes if isinstance(a, Constant))
    )
