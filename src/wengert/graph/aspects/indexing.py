"""Reading and writing at an index."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from wengert.core.primitive import OUTPUT
from wengert.graph.ir import Node, Operation
from wengert.graph.mathematics import Expression, Writer, expression
from wengert.graph.notation import ATOM, write_literal
from wengert.graph.python_source import SourceWriter, python_block, python_call
from wengert.ops.indexing import subscripts


@expression(subscripts._getitem, subscripts.gather)
def write_item(writer: Writer, node: Operation) -> Expression:
    """`x[i]`, or `x` with an index."""
    inside = [writer.with_sign(writer.known[a]) for a in node.args[1:]]
    return Expression(writer.style.index(writer.within(writer.known[node.args[0]], ATOM), node.params["key"], inside))


def write_update(sign: str, latex: str, first: int) -> Callable[[Writer, Operation], Expression]:
    """`x with [i] ← v`: an array with some elements replaced or increased. `first` is the first index operand."""

    def write(writer: Writer, node: Operation) -> Expression:
        inside = [writer.with_sign(writer.known[a]) for a in node.args[first:]]
        at = writer.style.index("", node.params["key"], inside)
        base = writer.with_sign(writer.known[node.args[0]]) if first == 2 else "0"
        value = writer.with_sign(writer.known[node.args[first - 1]])
        words = writer.style.pick(("with", r"\ \text{with}\ ")), at, writer.style.pick((sign, latex)), value
        text = " ".join([base, *words])
        return Expression(text, 1) if first == 2 else Expression(writer.style.parentheses(text))

    return write


expression.enter(write_update("←", ":=", 2), subscripts._set_at)
expression.enter(write_update("+=", "\\mathrel{+}=", 2), subscripts._add_at)
expression.enter(write_update("←", ":=", 1), subscripts._scatter)


@expression(OUTPUT)
def write_output(writer: Writer, node: Operation) -> Expression:
    """One of several outputs, as an index, or by its own expression."""
    if node.args[0] in writer.parts:
        part: Expression = writer.parts[node.args[0]][node.params["index"]]
        return part
    return Expression(
        writer.style.subscript(writer.within(writer.known[node.args[0]], ATOM), str(node.params["index"]))
    )


@python_call(subscripts._getitem, subscripts.gather)
def call_getitem(writer: SourceWriter, node: Operation) -> str:
    """`x[key]`."""
    return f"{writer.array(node.args[0])}[{writer.key(node, 1)}]"


@python_block(subscripts._scatter)
def scatter_lines(writer: SourceWriter, node: Operation, target: str) -> list[str]:
    """Zeros, and then values written into them."""
    typed = "" if node.dtype == np.float64 else f", {write_literal(node.dtype)}"
    return [
        f"{target} = np.zeros({node.shape}{typed})",
        write_at(writer, node, target, node.args[0], 1, node.params["key"].repeats),
    ]


@python_block(subscripts._add_at)
def add_at_lines(writer: SourceWriter, node: Operation, target: str) -> list[str]:
    """A copy, and then values added to some elements."""
    return [
        f"{target} = np.array({writer.texts[node.args[0]][0]})",
        write_at(writer, node, target, node.args[1], 2, True),
    ]


@python_block(subscripts._set_at)
def set_at_lines(writer: SourceWriter, node: Operation, target: str) -> list[str]:
    """A copy, and then some elements overwritten."""
    return [
        f"{target} = np.array({writer.texts[node.args[0]][0]})",
        write_at(writer, node, target, node.args[1], 2, False),
    ]


def write_at(writer: SourceWriter, node: Operation, target: str, value: Node, first: int, adds: bool) -> str:
    """The line that writes values at a key, or adds them."""
    key = writer.key(node, first)
    if not adds:
        return f"{target}[{key}] = {writer.texts[value][0]}"
    if not node.params["key"].repeats:
        return f"{target}[{key}] += {writer.texts[value][0]}"
    return f"np.add.at({target}, np.s_[{key}], {writer.texts[value][0]})"
