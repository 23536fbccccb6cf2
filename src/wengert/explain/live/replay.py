"""A recorded run, repeated on symbols: values, tangents and adjoints as one graph of the inputs.

The rules run by the same functions as in the recorded sweeps (`explain/sweeps.py`), on symbols instead of numbers, so
the graph holds exactly the terms that the page shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.core.array import Array
from wengert.core.primitive import OUTPUT
from wengert.explain.recorder import Recording, plain_arrays
from wengert.explain.sweeps import Adjoints, adjoints, local_derivative, tangents
from wengert.graph.ir import Constant, Input, Node, Operation, topological_order
from wengert.modes.symbolic import Symbol


class Replay:
    """The symbol of every recorded node, and the sweeps over them."""

    def __init__(self, recording: Recording):
        self.recording = Recording()
        self.recording.inputs, self.recording.outputs = recording.inputs, recording.outputs
        self.inputs = [Input(node.spec, name=node.name) for node in recording.inputs]
        decided = [decision.node for decision in recording.decisions]
        self.values = self.recording.values
        self.values |= {node: Symbol(given) for node, given in zip(recording.inputs, self.inputs, strict=True)}
        for node in topological_order([*recording.outputs, *decided]):
            if node not in self.values:
                self.values[node] = self.run(node)

    def run(self, node: Node) -> Any:
        """The value of a node, as a symbol if it depends on an input."""
        if isinstance(node, Constant):
            return plain_arrays(node.value)[()] if isinstance(node.value, Array) else node.value
        assert isinstance(node, Operation)
        if node.primitive is OUTPUT:
            return self.values[node.args[0]][node.params["index"]]
        params = node.params | ({"reuse": False} if "reuse" in node.params else {})
        return node.primitive.op(*[self.values[a] for a in node.args], **params)

    def adjoints(self, seeds: Sequence[Any]) -> Adjoints:
        """The adjoints as symbols."""
        return adjoints(self.recording, seeds)

    def tangents(self, directions: Sequence[Any]) -> dict[Node, Any]:
        """The tangents as symbols."""
        return tangents(self.recording, directions)

    def local_derivative(self, node: Operation, operand: int) -> Any:
        """The derivative of one operation with respect to one operand; None if it is a matrix."""
        return local_derivative(node, operand, self.values)
