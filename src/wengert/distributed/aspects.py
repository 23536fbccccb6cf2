"""What other layers know of sums over shards: the graphs that they hold, how these improve, and how they print."""

from __future__ import annotations

from wengert.compiler.forms.lowering import lowering
from wengert.control.aspects.improvement import rewrite_body
from wengert.control.aspects.loop_formulas import write_graph
from wengert.core.errors import user_error
from wengert.core.primitive import OUTPUT
from wengert.distributed.operation import DISTRIBUTED_SUM, Bodies
from wengert.graph.graph import Graph
from wengert.graph.held import ADD, OPERAND, SHARD, Held, held_graphs
from wengert.graph.ir import Node, Operation, make_operation
from wengert.graph.mathematics import Expression, Writer, expression
from wengert.graph.notation import ATOM, PRODUCT, SUM
from wengert.graph.passes.bodies import improvement
from wengert.graph.python_source import SourceWriter, python_call


@held_graphs(DISTRIBUTED_SUM)
def graphs_of_sum(node: Operation) -> list[Held]:
    """The function, for each kind of shard."""
    bodies: Bodies = node.params["bodies"]
    shards = node.params["shards"]
    count = len(node.args)
    return [
        Held(
            f"shards of kind {k}" if len(bodies) > 1 else "shard",
            body,
            [*[(OPERAND, a) for a in node.args], *[(SHARD, given) for given in body.inputs[count:]]],
            [ADD] * len(body.outputs),
            shards.layout.kind_of.count(k),
        )
        for k, body in enumerate(bodies)
    ]


@improvement(DISTRIBUTED_SUM)
def improve_sum(node: Operation, used: set[int]) -> dict[int, Node] | None:
    """The used sums, of better bodies; operands that no body reads are not sent. None if there is nothing to gain."""
    old: Bodies = node.params["bodies"]
    bodies, kept, count = [rewrite_body(body) for body in old], sorted(used), len(node.args)
    graphs = [Graph(body.inputs, [body.outputs[k] for k in kept]) for body in bodies]
    read = [i for i in range(count) if any(graph.inputs[i] in set(graph.nodes) for graph in graphs)]
    is_whole = len(read) == count and len(kept) == len(old[0].outputs)
    if is_whole and all(a is b for a, b in zip(bodies, old, strict=True)):
        return None
    better = tuple([Graph([*[g.inputs[i] for i in read], *g.inputs[count:]], g.outputs) for g in graphs])
    found = make_operation(DISTRIBUTED_SUM, [node.args[i] for i in read], **node.params | {"bodies": better})
    found.name, found.source = node.name, node.source
    return {k: make_operation(OUTPUT, [found], index=i) for i, k in enumerate(kept)}


@expression(DISTRIBUTED_SUM)
def write_distributed_sum(writer: Writer, node: Operation) -> Expression:
    """Each result as a sum; kinds of shards differ in their lengths only, so one of them is written."""
    body: Graph = node.params["bodies"][0]
    shard = [Expression(writer.new_name(given.name or "s"), ATOM) for given in body.inputs[len(node.args) :]]
    rows, outs = write_graph(writer, body, [*[writer.known[a] for a in node.args], *shard], "")
    sign = writer.style.pick(("Σ", r"\sum"))
    terms = [Expression(f"{sign} {writer.within(y, PRODUCT)}", SUM) for y in outs]
    writer.rows[node], writer.parts[node] = rows, terms
    return Expression("")


@python_call(DISTRIBUTED_SUM)
def refuse_source(writer: SourceWriter, node: Operation) -> str:  # noqa: ARG001  # those of the aspect
    """An error: the data are no part of the program."""
    raise user_error(
        TypeError, "A sum over shards has no form as Python source", because="its data are no part of the program."
    )


lowering.without("the native code of what it holds runs on the shards", DISTRIBUTED_SUM)
