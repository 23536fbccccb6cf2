"""Calls with a rule in a graph that is compiled: the operations of the function, as its derivative is taken already."""

from __future__ import annotations

from wengert.control.call import Call
from wengert.core.primitive import OUTPUT
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, make_constant
from wengert.modes.symbolic import Symbol


def inline_calls(graph: Graph) -> Graph:
    """The graph with the operations of the functions that it calls."""
    if not any(isinstance(node.params.get("call"), Call) for node in graph.operations):
        return graph
    new: dict[Node, Node] = {}
    results: dict[Node, list[Node]] = {}
    for node in graph.operations:
        args = [new.get(a, a) for a in node.args]
        call = node.params.get("call")
        if isinstance(call, Call):
            outs = call.run_inline([Symbol(a) for a in args])
            results[node] = [y.node if isinstance(y, Symbol) else make_constant(y) for y in outs]
        elif node.primitive is OUTPUT and node.args[0] in results:
            new[node] = results[node.args[0]][node.params["index"]]
        else:
            new[node] = node.with_args(args)
    return inline_calls(graph.with_outputs([new.get(y, y) for y in graph.outputs]))
