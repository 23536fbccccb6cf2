"""Better bodies: what a loop need not compute in each step, or not at all.

Outputs that are not used, and states that nothing depends on, disappear. States that never change become constants.
What depends on constants only is computed before the loop, and sums of products after it. A choice whose index is known
is the branch itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from wengert.control.aspects.summed_products import sum_products
from wengert.control.branches import SWITCH
from wengert.control.loop import LOOP, Shape
from wengert.core import machine
from wengert.core.primitive import OUTPUT
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Input, Node, Operation, make_operation
from wengert.graph.passes import REWRITES, run_until_stable
from wengert.graph.passes.bodies import improvement


def never_raises(node: Operation) -> bool:
    """Whether an operation can be computed although it is not certain that it is needed."""
    kind = node.primitive.kind
    return kind in ("elementwise", "multilinear", "reduction") or (kind == "linear" and len(node.args) == 1)


@lru_cache(512)
def rewrite_body(body: Graph) -> Graph:
    """A body after the passes; itself if they change nothing."""
    return run_until_stable(body, REWRITES)


machine.on_change(rewrite_body.cache_clear)


def find_reads(graph: Graph) -> dict[Node, int]:
    """The inputs that each node depends on, as the bits of a number."""
    reads: dict[Node, int] = {node: 1 << i for i, node in enumerate(graph.inputs)}
    for node in graph.nodes:
        if node not in reads:
            reads[node] = 0
            for a in node.args if isinstance(node, Operation) else ():
                reads[node] |= reads[a]
    return reads


class Parts(NamedTuple):
    """A loop in parts: operands beside the inputs of the body, which are numbered in their order."""

    steps: list[Node]
    operands: list[Node]
    body: Graph
    condition: Graph | None
    shape: Shape

    @staticmethod
    def of(node: Operation) -> Parts:
        """The parts of a loop."""
        shape, condition = node.params["shape"], node.params["condition"]
        known = condition is not None or shape.length is not None
        return Parts(list(node.args[: not known]), list(node.args[not known :]), node.params["body"], condition, shape)

    def make(self, source: Operation) -> Operation:
        """The loop of these parts."""
        args = [*self.steps, *self.operands]
        node = make_operation(LOOP, args, body=self.body, condition=self.condition, shape=self.shape)
        node.name, node.source = source.name, source.source
        return node


@improvement(LOOP)
def improve_loop(node: Operation, used: set[int]) -> dict[int, Node] | None:
    """The used outputs of a loop with a better body; None if there is nothing to gain."""
    summed = sum_products(node)
    if summed is not None:
        return {k: summed[k] for k in used}
    old = Parts.of(node)
    condition = None if old.condition is None else rewrite_body(old.condition)
    rewritten = old._replace(body=rewrite_body(old.body), condition=condition)
    parts = hoist_invariants(rewritten)
    constants = constant_states(parts)
    carried = [k for k in needed_states(parts, used) if k not in constants]
    outputs = [k for k in range(parts.shape.states, len(parts.body.outputs)) if k in used]
    better = select_parts(parts, constants, carried, outputs)
    if better is None:
        if same_graphs(rewritten, old):
            return None
        better = parts
    first, last = parts.shape.constants, len(parts.body.outputs)
    loop = better.make(node)
    positions = {k: i for i, k in enumerate([*carried, *outputs, last])}
    return {
        k: parts.operands[first + k] if k in constants else make_operation(OUTPUT, [loop], index=positions[k])
        for k in used
    }


def same_graphs(a: Parts, b: Parts) -> bool:
    """Whether two loops have the same body and condition."""
    return a.body is b.body and a.condition is b.condition


def needed_states(parts: Parts, used: set[int]) -> list[int]:
    """The states that used outputs, used final states or the condition depend on."""
    body, shape = parts.body, parts.shape
    reads, first = find_reads(body), parts.shape.constants
    reached = 0 if parts.condition is None else find_reads(parts.condition)[parts.condition.outputs[0]]
    for k in used:
        reached |= 1 << (first + k) if k < shape.states else 0
        reached |= reads[body.outputs[k]] if shape.states <= k < len(body.outputs) else 0
    while True:
        needed = [k for k in range(shape.states) if reached >> (first + k) & 1]
        more = reached
        for k in needed:
            more |= reads[body.outputs[k]]
        if more == reached:
            return needed
        reached = more


def constant_states(parts: Parts) -> list[int]:
    """The states that a step leaves as they are."""
    first = parts.shape.constants
    return [k for k in range(parts.shape.states) if parts.body.outputs[k] is parts.body.inputs[first + k]]


def hoist_invariants(parts: Parts) -> Parts:
    """The loop with what depends on constants only, views apart, computed before it."""
    body, shape, first = parts.body, parts.shape, parts.shape.constants
    fixed = [*range(first), *[first + k for k in constant_states(parts)]]
    outside: dict[Node, Node] = {body.inputs[i]: parts.operands[i] for i in fixed}
    outside |= {node: node for node in body.constants}
    for node in body.operations:
        if all(a in outside for a in node.args) and (shape.length or never_raises(node)):
            outside[node] = node.with_args([outside[a] for a in node.args])
    new: dict[Node, Node] = {node: node for node in (*body.inputs, *body.constants)}
    moved: dict[Node, Input] = {}
    for node in body.operations:
        if node not in outside or is_view(node):
            new[node] = node.with_args([take_inside(a, new, moved) for a in node.args])
    results = [take_inside(y, new, moved) for y in body.outputs]
    if not moved:
        return parts
    more = list(moved.values())

    def widen(graph: Graph) -> Graph:
        return Graph([*graph.inputs[:first], *more, *graph.inputs[first:]], graph.outputs)

    operands = [*parts.operands[:first], *[outside[node] for node in moved], *parts.operands[first:]]
    condition = None if parts.condition is None else widen(parts.condition)
    return parts._replace(
        operands=operands,
        body=widen(Graph(body.inputs, results)),
        condition=condition,
        shape=shape._replace(constants=first + len(more)),
    )


def is_view(node: Node) -> bool:
    """Whether a node only reads its operand in another way, which costs nothing."""
    return isinstance(node, Operation) and node.primitive.facts.view and node.primitive is not OUTPUT


def take_inside(node: Node, new: dict[Node, Node], moved: dict[Node, Input]) -> Node:
    """A node as the body knows it: its own, or an input for what is computed before the loop."""
    if node not in new:
        new[node] = moved[node] = Input(node.spec)
    return new[node]


def select_parts(parts: Parts, constants: list[int], carried: list[int], outputs: list[int]) -> Parts | None:
    """The loop with these states and outputs, and the operands that they need; None if that is all of it."""
    first, last = parts.shape.constants, parts.shape.last
    results = [parts.body.outputs[k] for k in (*carried, *outputs)]
    graphs = [Graph(parts.body.inputs, results), *([] if parts.condition is None else [parts.condition])]
    read = {i for graph in graphs for i, given in enumerate(graph.inputs) if given in set(graph.nodes)}
    fixed = [i for i in (*range(first), *[first + k for k in constants]) if i in read]
    slices = [i for i in range(last, len(parts.operands)) if i in read]
    order = [*fixed, *[first + k for k in carried], *slices]
    if order == list(range(len(parts.operands))) and len(results) == len(parts.body.outputs):
        return None
    shape = parts.shape._replace(constants=len(fixed), states=len(carried))
    condition = parts.condition
    if condition is not None:
        condition = Graph([condition.inputs[i] for i in order], condition.outputs)
    body = Graph([parts.body.inputs[i] for i in order], results)
    return parts._replace(operands=[parts.operands[i] for i in order], body=body, condition=condition, shape=shape)


@improvement(SWITCH)
def improve_switch(node: Operation, used: set[int]) -> dict[int, Node] | None:
    """The used outputs of a choice with better branches; None if there is nothing to gain."""
    index, *operands = node.args
    old: Sequence[Graph] = node.params["branches"]
    branches = [rewrite_body(branch) for branch in old]
    if isinstance(index, Constant) and not index.is_captured:
        return inline(branches[min(max(int(index.value), 0), len(branches) - 1)], operands, used)
    kept = sorted(used)
    graphs = [Graph(branch.inputs, [branch.outputs[k] for k in kept]) for branch in branches]
    read = [i for i in range(len(operands)) if any(graph.inputs[i] in set(graph.nodes) for graph in graphs)]
    is_whole = len(read) == len(operands) and len(kept) == len(old[0].outputs)
    if is_whole and all(a is b for a, b in zip(branches, old, strict=True)):
        return None
    bodies = tuple([Graph([graph.inputs[i] for i in read], graph.outputs) for graph in graphs])
    choice = make_operation(SWITCH, [index, *[operands[i] for i in read]], branches=bodies)
    choice.name, choice.source = node.name, node.source
    return {k: make_operation(OUTPUT, [choice], index=i) for i, k in enumerate(kept)}


def inline(branch: Graph, operands: Sequence[Node], used: set[int]) -> dict[int, Node]:
    """The used outputs of a branch that is certain to be taken."""
    new: dict[Node, Node] = dict(zip(branch.inputs, operands, strict=True))
    for node in branch.operations:
        new[node] = node.with_args([new.get(a, a) for a in node.args])
    return {k: new.get(branch.outputs[k], branch.outputs[k]) for k in used}
