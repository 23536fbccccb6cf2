"""Loops that are written out: each element of large arrays runs through all elementwise steps in registers.

A loop reads and writes its states at every step. Written out, all steps are one kernel: it reads the states before the
first step, and stores those after the last one. The results of each step, which the loop keeps for its derivative, are
computed where the derivative needs them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence, Set

from wengert.compiler.forms.classify import Form, form_of
from wengert.compiler.forms.iterations import runs_in_registers
from wengert.control.loop import LOOP, Shape
from wengert.core import machine
from wengert.core.aspects import primitive_of
from wengert.core.primitive import OUTPUT
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation, is_a, make_constant, make_operation
from wengert.graph.passes.fold import fold_operation
from wengert.graph.passes.rewrite import can_replace
from wengert.ops.indexing.key import Hole, Index
from wengert.ops.indexing.subscripts import _add_at, _getitem, _scatter, _set_at, gather
from wengert.ops.shape.joining import _stack
from wengert.ops.shape.reshaping import _broadcast_to

GETITEM, GATHER, STACK = map(primitive_of, (_getitem, gather, _stack))
INDEXED = {GATHER: 1, primitive_of(_scatter): 1, primitive_of(_set_at): 2, primitive_of(_add_at): 2}
"""Operations with a key, and the number of their operands that are not indices."""
APART = (Form.ROUTINE, Form.FALLBACK, Form.LOOP)
"""What is a step of its own, between kernels."""


def write_out_loops(graph: Graph, prepare_body: Callable[[Graph], Graph]) -> Graph:
    """The graph with the steps of loops in place of the loops, where that saves memory traffic; as many as fit.

    `prepare_body` gives a body as it is scheduled: loops that run in registers have no traffic.
    """
    left, chosen = machine.current.max_operations_of_written_out_loops, set()
    for node in graph.operations:
        if node.primitive is LOOP and has_large_elements(node) and not runs_in_registers(node, prepare_body):
            count = node.params["shape"].length * len(node.params["body"].operations)
            if count <= left:
                left -= count
                chosen.add(node)
    if not chosen:
        return graph
    new: dict[Node, Node] = {}
    results: dict[Node, list[Node]] = {}
    for node in graph.operations:
        args = [new.get(a, a) for a in node.args]
        if node in chosen:
            results[node] = write_out_loop(node, args)
        elif node.primitive is OUTPUT and node.args[0] in results:
            new[node] = results[node.args[0]][node.params["index"]]
        else:
            new[node] = node.with_args(args)
    return graph.with_outputs([new.get(y, y) for y in graph.outputs])


# Which loops


def has_large_elements(node: Operation) -> bool:
    """Whether a loop has a known number of steps, each elementwise on states that are beyond the cache.

    The step may add up such states, if no later step of their elements waits for that.
    """
    shape, body = node.params["shape"], node.params["body"]
    is_known = node.params["condition"] is None and shape.length
    if not is_known or any(y.spec.__class__ is not Spec for y in body.nodes):
        return False
    states = body.outputs[: shape.states]
    domain = max([y.shape for y in states], key=math.prod, default=())
    if max([y.nbytes for y in states], default=0) < machine.current.min_bytes_of_written_out_loop:
        return False
    forms = {step: form_of(step, ()) for step in body.operations}
    large = {x for x in body.nodes if x.size >= math.prod(domain)}
    steps = [step for step in body.operations if step in large]
    if any(form in APART for form in forms.values()) or any(step.shape != domain for step in steps):
        return False
    if not all(forms[step] is Form.ELEMENT or is_a(step, _broadcast_to) for step in steps):
        return False
    return not large & wait_for_all(body, shape, large)


def wait_for_all(body: Graph, shape: Shape, large: Set[Node]) -> set[Node]:
    """The values of a step that wait for a smaller one for which all elements of a large one are needed."""
    found: set[Node] = set()
    states = list(zip(body.inputs[shape.constants : shape.last], body.outputs, strict=False))
    count = -1
    while len(found) > count:
        count = len(found)
        for step in body.operations:
            if any(a in found or (a in large and step not in large) for a in step.args):
                found.add(step)
        found.update(x for x, y in states if y in found)
    return found


# Writing


def write_out_loop(loop: Operation, operands: Sequence[Node]) -> list[Node]:
    """The results of a loop: its last states, and the stacks of its outputs."""
    shape, body = loop.params["shape"], loop.params["body"]
    constants, states, sequences = shape.split(operands)
    columns: list[list[Node]] = [[] for _ in body.outputs[shape.states :]]
    for i in shape.indices(shape.length):
        outs = write_step(body, [*constants, *states, *[element_of(x, i) for x in sequences]])
        states = outs[: shape.states]
        for column, y in zip(columns, outs[shape.states :], strict=True):
            column.append(y)
    order = -1 if shape.reverse else 1
    return [*states, *[make_operation(STACK, column[::order], axis=0) for column in columns]]


def write_step(body: Graph, operands: Sequence[Node]) -> list[Node]:
    """The results of one step. What its number determines is computed here, so that its indices are known."""
    new: dict[Node, Node] = dict(zip(body.inputs, operands, strict=True))
    for node in body.operations:
        made = fill_indices(node.with_args([new.get(a, a) for a in node.args]))
        folded = fold_operation(made) if made.args and made.size == 1 else None
        new[node] = folded if folded is not None and can_replace(folded, made) else made
    return [new.get(y, y) for y in body.outputs]


def element_of(sequence: Node, i: int) -> Node:
    """A slice of a sequence: of one that was written out, the value itself."""
    if is_a(sequence, _stack) and sequence.params["axis"] == 0:
        return sequence.args[i]
    if isinstance(sequence, Constant) and not sequence.is_captured:
        return make_constant(sequence.value[i])
    return make_operation(GETITEM, [sequence], key=Index(i))


def fill_indices(node: Operation) -> Operation:
    """An operation with its indices in the key, if all of them are known numbers within the array."""
    count = INDEXED.get(node.primitive)
    if count is None or len(node.args) == count or node.params["key"].key.__class__ is not tuple:
        return node
    key, indices = node.params["key"], node.args[count:]
    extents = node.args[0].shape if "shape" not in node.params else node.params["shape"]
    is_known = all(isinstance(i, Constant) and not i.is_captured and not i.ndim for i in indices)
    if not is_known or len(key.key) != len(indices) or any(part is not Hole.SCALAR for part in key.key):
        return node
    numbers = [int(i.value) for i in indices]  # type: ignore[attr-defined]  # constants
    if not all(-n <= k < n for k, n in zip(numbers, extents, strict=False)):
        return node
    params = node.params | {"key": Index(numbers[0] if len(numbers) == 1 else tuple(numbers))}
    made = make_operation(GETITEM if node.primitive is GATHER else node.primitive, node.args[:count], **params)
    made.name, made.source = node.name, node.source
    return made
