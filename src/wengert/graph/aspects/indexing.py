"""Reading and writing at an index."""

from __future__ import annotations

import numpy as np

from wengert.core.primitive import OUTPUT
from wengert.graph.costs import flops
from wengert.graph.ir import Node, Operation
from wengert.graph.mathematics import Expression, Writer, expression
from wengert.graph.notation import ATOM, write_literal
from wengert.graph.python_source import SourceWriter, python_block, python_call
from wengert.ops.indexing.subscripts import _add_at, _getitem, _scatter, _set_at, gather


@expression(_getitem, gather)
def write_item(writer: Writer, node: Operation) -> Expression:
    inside = [writer.with_sign(writer.known[a]) for a in node.args[1:]]
    return Expression(writer.style.index(writer.within(writer.known[node.args[0]], ATOM), node.params["key"], inside))


@expression(OUTPUT)
def write_output(writer: Writer, node: Operation) -> Expression:
    return Expression(
        writer.style.subscript(writer.within(writer.known[node.args[0]], ATOM), str(node.params["index"]))
    )


@python_call(_getitem, gather)
def call_getitem(writer: SourceWriter, node: Operation) -> str:
    return f"{writer.array(node.args[0])}[{writer.key(node, 1)}]"


@python_block(_scatter)
def scatter_lines(writer: SourceWriter, node: Operation, target: str) -> list[str]:
    typed = "" if node.dtype == np.float64 else f", {write_literal(node.dtype)}"
    return [
        f"{target} = np.zeros({node.shape}{typed})",
        write_at(writer, node, target, node.args[0], 1, node.params["key"].repeats),
    ]


@python_block(_add_at)
def add_at_lines(writer: SourceWriter, node: Operation, target: str) -> list[str]:
    return [
        f"{target} = np.array({writer.texts[node.args[0]][0]})",
        write_at(writer, node, target, node.args[1], 2, True),
    ]


@python_block(_set_at)
def set_at_lines(writer: SourceWriter, node: Operation, target: str) -> list[str]:
    return [
        f"{target} = np.array({writer.texts[node.args[0]][0]})",
        write_at(writer, node, target, node.args[1], 2, False),
    ]


def write_at(writer: SourceWriter, node: Operation, target: str, value: Node, first: int, adds: bool) -> str:
    key = writer.key(node, first)
    if not adds:
        return f"{target}[{key}] = {writer.texts[value][0]}"
    if not node.params["key"].repeats:
        return f"{target}[{key}] += {writer.texts[value][0]}"
    return f"np.add.at({target}, np.s_[{key}], {writer.texts[value][0]})"


flops.enter(lambda node: node.args[0].size if node.params["key"].repeats else 0, _scatter)
flops.enter(lambda node: node.args[1].size, _add_at)
