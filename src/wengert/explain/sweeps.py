"""Derivatives of everything that was recorded: tangents from the top down, adjoints from the bottom up, term by term.

Both use the rules of the table, by the same functions as forward and reverse mode, and keep all intermediate results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.primitive import OUTPUT
from wengert.explain.recorder import Recording
from wengert.graph.ir import Node, Operation
from wengert.modes.backward import pull_node
from wengert.modes.forward import push
from wengert.modes.tape import Leaf
from wengert.modes.tape import TapeNode as TapeNode
from wengert.ops.elementwise.predicates import logical_and
from wengert.transforms.tracing import record_node


class Term(NamedTuple):
    """What one use of a value contributes to its adjoint: the consumer, the index of the operand, and the number."""

    consumer: Operation
    operand: int
    value: Any


class Adjoints(NamedTuple):
    """The adjoint of each node, the seeds of results, and the terms that nodes receive.

    `order` has the operations in the order of the backward pass. `kept` are the bytes of values that the rules need, by
    the operation that first keeps them.
    """

    values: dict[Node, Any]
    seeds: dict[Node, Any]
    terms: dict[Node, list[Term]]
    order: list[Operation]
    kept: dict[Node, int]


def adjoints(recording: Recording, seeds: Sequence[Any]) -> Adjoints:
    """The derivative of the results, weighted by seeds, with respect to all nodes that a derivative flows to."""
    graph, values = recording.graph, recording.values
    tape: dict[Node, TapeNode] = {node: Leaf(values[node]) for node in graph.inputs if node.dtype.kind in "fc"}
    kept_bytes: dict[Node, int] = {}
    seen: set[int] = set()
    for node in graph.operations:
        made = record_node(node, tape, values.__getitem__) if any(a in tape for a in node.args) else None
        if made is not None:
            tape[node] = made
            kept_bytes[node] = keep_values(made.saved, seen)
    owners = {kept: node for node, kept in tape.items()}
    found: dict[Node, Any] = {}
    terms: dict[Node, list[Term]] = {}
    dead: dict[Node, Any] = {}
    for out, seed in zip(graph.outputs, seeds, strict=True):
        if out in tape:
            t = np.broadcast_to(np.asarray(seed, out.dtype), out.shape)[()]
            found[out] = found[out] + t if out in found else t
    seeded, order = dict(found), list[Operation]()
    with np.errstate(all="ignore"):
        for node in reversed(graph.operations):
            if node not in tape or node not in found:
                continue
            order.append(node)
            if node.primitive is OUTPUT:
                whole = node.args[0]
                parts = found.setdefault(whole, [None] * len(whole.spec))
                parts[node.params["index"]] = found[node]
                continue
            kept = tape[node]
            for i, (parent, value, mask) in enumerate_terms(kept, found[node], dead.get(node)):
                arg = owners[parent]
                terms.setdefault(arg, []).append(Term(node, i, value))
                dead[arg] = mask if arg not in found else merge_dead_masks(dead.get(arg), mask)
                found[arg] = found[arg] + value if arg in found else value
    return Adjoints(found, seeded, terms, order, kept_bytes)


def keep_values(saved: Any, seen: set[int]) -> int:
    """The bytes of saved values that nothing before them kept."""
    found = 0
    for part in saved if isinstance(saved, tuple) else (saved,):
        if hasattr(part, "nbytes") and id(part) not in seen:
            seen.add(id(part))
            found += part.nbytes
    return found


def enumerate_terms(kept: TapeNode, t: Any, dead: Any) -> list:
    """The contributions of an operation, with the indices of the operands that receive them."""
    found = list(pull_node(kept, t, kept.saved, dead, None))
    indices = [i for i, parent in enumerate(kept.parents) if parent is not None]
    return list(zip(indices, found, strict=True))


def merge_dead_masks(x: Any, y: Any) -> Any:
    """The elements that are dead in both masks."""
    return None if x is None or y is None else logical_and(x, y)


def tangents(recording: Recording, directions: Sequence[Any]) -> dict[Node, Any]:
    """The tangents of all nodes that vary along a direction of the inputs."""
    graph, values = recording.graph, recording.values
    found: dict[Node, Any] = {}
    for given, t in zip(graph.inputs, directions, strict=True):
        if t is not None and given.dtype.kind in "fc":
            found[given] = np.broadcast_to(np.asarray(t, given.dtype), given.shape)[()]
    with np.errstate(all="ignore"):
        for node in graph.operations:
            if not any(a in found for a in node.args):
                continue
            if node.primitive is OUTPUT:
                found[node] = found[node.args[0]][node.params["index"]]
                continue
            pushed = push(
                node.primitive,
                [values[a] for a in node.args],
                [found.get(a) for a in node.args],
                values[node],
                node.params,
            )
            if pushed is not None:
                found[node] = pushed
    return found


def local_derivative(node: Operation, operand: int, values: dict[Node, Any]) -> Any:
    """The derivative of an operation with respect to one operand: an array like the operand.

    None if the derivative is a matrix: unless the operation is elementwise, or maps a number to a number.
    """
    arg = node.args[operand]
    if node.primitive.kind != "elementwise" and (arg.size != 1 or node.spec.size != 1):
        return None
    with np.errstate(all="ignore"):
        one = np.ones(arg.shape, arg.dtype)[()]
        parts = [one if i == operand else None for i in range(len(node.args))]
        return push(node.primitive, [values[a] for a in node.args], parts, values[node], node.params)
