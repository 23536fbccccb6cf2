"""Products with a tall, narrow matrix, written out as sums in a loop over its rows.

Where a program has two of them, such as `z = x @ w` and `x.T @ r`, and r is computed from z element by element, each
row is read once: z and r stay in registers, and the second product is a reduction.
"""

from __future__ import annotations

from collections.abc import Iterator

from wengert.compiler.aspects.contraction import write_out
from wengert.compiler.forms.classify import Form, form_of
from wengert.core import machine
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, is_a
from wengert.modes.symbolic import Symbol
from wengert.ops.contraction.products import matmul


def in_narrow_rows(graph: Graph) -> tuple[tuple[int, ...], Graph] | None:
    """The rows of a loop, and the graph with narrow products written out; None if that gains nothing."""
    products = [node for node in graph.operations if is_product(node)]
    tall = {node.shape[0] for node in products if is_by_rows(node)}
    tall |= {m for node in products if node.ndim == 1 and is_over_rows(node, m := node.args[0].shape[1])}
    if len(tall) != 1:
        return None
    (m,) = tall
    new: dict[Node, Node] = {}
    for node in graph.operations:
        args = [new.get(a, a) for a in node.args]
        if node in products and (is_by_rows(node) and node.shape[0] == m or is_over_rows(node, m)):
            x, y = map(Symbol, args)
            new[node] = write_out(x, y, is_over_rows(node, m)).node
        elif any(x is not y for x, y in zip(args, node.args, strict=True)):
            new[node] = node.with_args(args)
    found = graph.with_outputs([new.get(node, node) for node in graph.outputs])
    longest = machine.current.max_elements_of_short_row
    return ((m,), found) if all(length <= longest for length in lengths_in_memory(found, m)) else None


def is_product(node: Operation) -> bool:
    """Whether this is a product of a real matrix by a matrix or vector that a routine would compute."""
    return (
        is_a(node, matmul) and node.args[0].ndim == 2 and node.dtype.kind == "f" and form_of(node, ()) is Form.ROUTINE
    )


def is_by_rows(node: Operation) -> bool:
    """Whether each row of the product is computed from one row of a tall matrix."""
    (m, k), now = node.args[0].shape, machine.current
    return m >= now.min_rows_of_narrow_product and k * node.size <= now.max_products_of_narrow_row * m and 4 * k <= m


def is_over_rows(node: Operation, m: int) -> bool:
    """Whether the product sums over the rows of tall matrices."""
    now, fewest = machine.current, 4 * node.shape[0]
    is_tall = node.args[0].shape[1] == m >= max(now.min_rows_of_narrow_product, fewest)
    return is_tall and node.size <= now.max_products_of_narrow_row


def lengths_in_memory(graph: Graph, m: int) -> Iterator[int]:
    """The lengths of rows that are stored: results, and operands of other steps."""
    for node in graph.outputs:
        yield from length_of_rows(node, m)
    for node in graph.operations:
        if form_of(node, ()) in (Form.ROUTINE, Form.FALLBACK, Form.LOOP):
            for a in (node, *[a for a in node.args if isinstance(a, Operation)]):
                yield from length_of_rows(a, m)


def length_of_rows(node: Node, m: int) -> Iterator[int]:
    """The length of the rows of a value, for their number."""
    if node.spec.__class__ is Spec and node.ndim > 1 and node.shape[0] == m:
        yield node.size // m
