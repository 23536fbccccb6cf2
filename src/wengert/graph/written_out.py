"""A graph without loops and choices: each step of a loop is written out, and all branches of a choice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wengert.core.aspects import primitive_of
from wengert.core.errors import user_error
from wengert.core.primitive import OUTPUT
from wengert.graph.graph import Graph
from wengert.graph.held import NEXT, OPERAND, SHARD, SLICE, STATE, Held, graphs_of
from wengert.graph.ir import Constant, Node, Operation, is_a, make_operation
from wengert.ops.elementwise.choices import _where
from wengert.ops.elementwise.predicates import less_equal
from wengert.ops.indexing.key import Index
from wengert.ops.indexing.subscripts import _getitem
from wengert.ops.shape.casting import _astype_discrete
from wengert.ops.shape.joining import _stack


def write_out(graph: Graph, limit: int) -> Graph:
    """The graph without loops and choices, if that has at most `limit` operations; the graph itself if it has none."""
    if not any(graphs_of(node) for node in graph.operations):
        return graph
    return graph.with_outputs(Expander(limit).inline(graph, graph.inputs))


class Expander:
    """Writes out what graphs hold; `left` is the number of operations that may still be written."""

    def __init__(self, limit: int):
        self.limit = self.left = limit

    def inline(self, graph: Graph, given: Sequence[Node]) -> list[Node]:
        """The outputs of a graph on other nodes."""
        new: dict[Node, Node] = dict(zip(graph.inputs, given, strict=True))
        parts: dict[Node, Sequence[Node]] = {}
        for node in graph.operations:
            if node.primitive is OUTPUT and node.args[0] in parts:
                new[node] = parts[node.args[0]][node.params["index"]]
                continue
            now = node.with_args([new.get(a, a) for a in node.args])
            self.left -= 1
            if self.left < 0:
                raise user_error(
                    ValueError,
                    f"Written out, this graph has more than {self.limit:,} operations",
                    "Use python() or mathematics(), which write loops as loops.",
                )
            if held := graphs_of(now):
                parts[node] = self.choose(now, held) if held[0].alternative else self.repeat(held)
            else:
                new[node] = now
        return [new.get(y, y) for y in graph.outputs]

    def choose(self, node: Operation, branches: Sequence[Held]) -> list[Node]:
        """All branches, and a selection by the index."""
        results = [self.inline(branch.graph, [a for _, a in branch.inputs]) for branch in branches]
        index, chosen = node.args[0], results[-1]
        if is_a(index, _astype_discrete) and index.args[0].dtype.kind == "b" and len(results) == 2:
            return [select(index.args[0], y, z) for y, z in zip(results[1], results[0], strict=True)]
        for k in reversed(range(len(results) - 1)):
            here = make_operation(primitive_of(less_equal), [index, Constant(k)])
            chosen = [select(here, y, z) for y, z in zip(results[k], chosen, strict=True)]
        return chosen

    def repeat(self, held: Sequence[Held]) -> list[Node]:
        """All steps of a loop: the last states, and the stacked outputs."""
        step = held[-1]
        if any(role == SHARD for role, _ in step.inputs):
            raise user_error(
                NotImplementedError,
                "A sum over shards cannot be written out",
                because="its data are no part of the program.",
            )
        if not isinstance(step.runs, int):
            raise user_error(
                NotImplementedError,
                "A loop cannot be written out if the number of its steps depends on numbers",
                "Use python() or mathematics(), which write loops as loops.",
            )
        states = [a for role, a in step.inputs if role == STATE]
        rows: dict[int, list[Node]] = {}
        for i in reversed(range(step.runs)) if step.reverse else range(step.runs):
            current = iter(states)
            given = [take(role, a, next(current) if role == STATE else a, i) for role, a in step.inputs]
            outs = self.inline(step.graph, given)
            states = [y for y, role in zip(outs, step.outputs, strict=True) if role == NEXT]
            rows[i] = [y for y, role in zip(outs, step.outputs, strict=True) if role != NEXT]
        return [*states, *self.stack_rows(step, rows)]

    def stack_rows(self, step: Held, rows: dict[int, list[Node]]) -> list[Node]:
        """The outputs of all steps."""
        specs = [y.spec for y, role in zip(step.graph.outputs, step.outputs, strict=True) if role != NEXT]
        if not rows:
            return [Constant(np.empty((0, *spec.shape), spec.dtype)) for spec in specs]
        columns = zip(*[rows[i] for i in range(len(rows))], strict=True)
        return [make_operation(primitive_of(_stack), column, axis=0) for column in columns]


def take(role: str, operand: Node, state: Node, i: int) -> Node:
    """An input of step i."""
    if role == SLICE:
        if is_a(operand, _stack) and operand.params["axis"] == 0:
            return operand.args[i]
        return make_operation(primitive_of(_getitem), [operand], key=Index(i))
    return operand if role == OPERAND else state


def select(condition: Node, x: Node, y: Node) -> Node:
    """x where a condition holds, else y."""
    return make_operation(primitive_of(_where), [condition, x, y])
