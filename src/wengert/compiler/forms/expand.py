"""The expansion of operations that consist of simpler ones.

Elementwise operations, views, plain reductions, matrix products and rare operations remain. The rules are written in
operations, and compute what NumPy's implementations do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.compiler.forms.lowering import SUPPORTED, expansion
from wengert.core.aspects import primitive_of
from wengert.core.primitive import OUTPUT, Primitive
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation, make_operation
from wengert.modes.symbolic import Symbol
from wengert.ops.indexing.key import Index
from wengert.ops.indexing.subscripts import _getitem
from wengert.ops.shape.joining import _unstack
from wengert.ops.shape.rearranging import _split

GETITEM, SPLIT, UNSTACK = map(primitive_of, (_getitem, _split, _unstack))


Rules = Callable[[Primitive], Callable[..., Any] | None]
"""The expansion of each operation, or None."""


def expand(graph: Graph, rules: Rules = expansion.of) -> Graph:
    """The same program in simpler operations, which may consist of simpler ones themselves."""
    while True:
        new: dict[Node, Node] = {}
        for node in graph.nodes:
            new[node] = expand_node(node, new, rules) if isinstance(node, Operation) else node
        kept = {made for node, made in new.items() if is_same_operation(made, node)}
        graph = graph.with_outputs([new[node] for node in graph.outputs])
        if not any(node not in kept and rules(node.primitive) is not None for node in graph.operations):
            return graph


def is_same_operation(new: Node, old: Node) -> bool:
    """Whether an operation stayed as it is, on operands that may be new."""
    return (
        isinstance(new, Operation)
        and isinstance(old, Operation)
        and new.primitive is old.primitive
        and new.params is old.params
    )


def expand_node(node: Operation, new: dict[Node, Node], rules: Rules = expansion.of) -> Node:
    """An operation in simpler ones; `new` has its operands."""
    args = [new[a] for a in node.args]
    if node.primitive is OUTPUT:
        return output_slice(args[0], node.params["index"], node, args)
    rule = rules(node.primitive)
    if rule is not None and all(a.spec.__class__ is Spec and a.dtype in SUPPORTED for a in args):
        result = rule(*[a.value if isinstance(a, Constant) and a.weak else Symbol(a) for a in args], **node.params)
        if result is not None:
            made = result.node if isinstance(result, Symbol) else Constant(result)
            if made.spec == node.spec:
                pass_on_source(node, args, made)
                return made
    return node if all(a is b for a, b in zip(args, node.args, strict=True)) else node.with_args(args)


def pass_on_source(node: Operation, args: Sequence[Node], made: Node) -> None:
    """Give what an operation was expanded to, from its new operands, the user's line and the name of the operation."""
    if isinstance(made, Operation) and made not in args:
        made.name = made.name or node.name
    seen, stack = set(args), [made]
    while stack:
        part = stack.pop()
        if isinstance(part, Operation) and part not in seen:
            seen.add(part)
            part.source = node.source
            stack += part.args


def output_slice(whole: Node, index: int, node: Operation, args: Sequence[Node]) -> Node:
    """One output of an operation with several: a slice, if they are parts of an array."""
    assert isinstance(whole, Operation)
    if whole.primitive not in (SPLIT, UNSTACK):
        return node if whole is node.args[0] else node.with_args(args)
    source, axis = whole.args[0], whole.params["axis"]
    lead = (slice(None),) * axis
    if whole.primitive is UNSTACK:
        return make_operation(GETITEM, [source], key=Index((*lead, index)))
    bounds = (0, *whole.params["bounds"], source.shape[axis])
    return make_operation(GETITEM, [source], key=Index((*lead, slice(bounds[index], bounds[index + 1]))))
