"""A graph run node by node: on plain arrays by NumPy, on values of any mode by that mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core.infer import is_elementwise
from wengert.core.spec import Spec
from wengert.graph.ir import PYTHON_NUMBERS, Constant, Node, Operation

if TYPE_CHECKING:
    from wengert.graph.graph import Graph


def evaluate(graph: Graph, args: Sequence[Any]) -> list:
    """The outputs for these inputs."""
    if len(args) != len(graph.inputs):
        raise TypeError(f"This graph has {len(graph.inputs)} inputs, and was given {len(args)}.")
    values: dict[Node, Any] = {}
    for i, (given, value) in enumerate(zip(graph.inputs, args, strict=True)):
        spec = Spec.of(value)
        if spec.shape != given.shape or (spec.dtype != given.dtype and given.weak is None):
            raise TypeError(f"Input {given.name or i} of this graph is {given.spec!r}, and was given {spec!r}.")
        values[given] = (
            given.weak(value) if given.weak is not None and isinstance(value, np.ndarray | np.generic) else value
        )
    uses = remaining_uses(graph)
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            if isinstance(node, Operation):
                operands = [values[a] for a in node.args]
                if any(x.__class__ in PYTHON_NUMBERS for x in operands) and not is_elementwise(node.primitive):
                    operands = [np.asarray(x)[()] if x.__class__ in PYTHON_NUMBERS else x for x in operands]
                out = node.primitive.op(*operands, **node.params)
                values[node] = node.weak(out) if node.weak and isinstance(out, np.generic) else out
                for a in node.args:
                    uses[a] -= 1
                    if not uses[a]:
                        del values[a]
            elif isinstance(node, Constant):
                values[node] = node.value
    return [values[node] for node in graph.outputs]


def remaining_uses(graph: Graph) -> dict[Node, int]:
    """How often each node is used, as an operand or as an output."""
    uses: dict[Node, int] = dict.fromkeys((*graph.inputs, *graph.nodes), 0)
    for used in (*[a for node in graph.operations for a in node.args], *graph.outputs):
        uses[used] += 1
    return uses
