"""Which rows of a program are unrolled: those that are short, with enough operations in them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from wengert.compiler.forms.classify import Form, form_of, scalar_operations
from wengert.compiler.forms.short_rows import asked_rows, in_rows, is_outer_product, keeps_rows, values_at_ends
from wengert.core import machine
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, is_a
from wengert.ops.elementwise.arithmetic import multiply
from wengert.ops.reductions.sums import _sum


def can_unroll(graph: Graph, rows: tuple[int, ...], forms: Mapping[Node, Form]) -> bool:
    """Whether to unroll rows: operations within them mix their elements, and they are short, but not trivial."""
    count, now = math.prod(rows), machine.current
    members = [node for node in graph.operations if in_rows(node, rows)]
    terms = [reduced_terms(node) for node in members if forms[node] is Form.UNROLLED]
    if any(forms[node] is Form.CHOICE and not keeps_rows(node, rows) for node in members):
        return False  # a stencil across rows: each element would ask for its row
    is_mixing = min(terms, default=math.inf) <= now.max_terms_of_mixing_reduction or any(
        forms[node] in (Form.CHOICE, Form.MATRIX) for node in members
    )
    if not is_mixing or max(terms, default=0) > now.max_terms_of_row_reduction:
        return False
    per_row = sum(scalar_operations(node) // count for node in members if forms[node] is not Form.VIEW)
    choices = [node for node in members if forms[node] is Form.CHOICE]
    asked = per_row + sum([asked_rows(node, rows) * (node.size // count) for node in choices])
    if asked > now.max_operations_of_unrolled_row:
        return False  # a stack of rows: each element would ask for its own
    apart = read_apart(graph, rows)
    moved = sum(node.size // count for node in values_at_ends(graph, rows) if node.size > count and node not in apart)
    is_narrow = max([node.size // count for node in members], default=0) <= now.max_terms_of_mixing_reduction
    has_sums = max(terms, default=0) > now.max_unrolled_terms
    is_reduced = is_narrow and has_sums
    intensity = now.min_operations_per_narrow_row_element if is_reduced else now.min_operations_per_row_element
    return intensity * moved <= per_row


def read_apart(graph: Graph, rows: tuple[int, ...]) -> set[Node]:
    """The values whose elements a loop over rows reads one by one anyway, for reductions that are always written out.

    To unroll other operations on them costs no reads: `x @ w` and `x.T @ r` of a few columns read each row once.
    """
    stack = [
        a for node in graph.operations if form_of(node, ()) is Form.UNROLLED for a in node.args if in_rows(a, rows)
    ]
    found: set[Node] = set()
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            if form_of(node, ()) in (Form.ELEMENT, Form.VIEW):
                assert isinstance(node, Operation)
                stack += [a for a in node.args if in_rows(a, rows)]
    return found


def reduced_terms(node: Operation) -> int:
    """The number of elements that a reduction folds to one; those of a product of matrices do not count."""
    (operand,) = node.args
    return 0 if is_outer_product(operand) else operand.size // max(node.size, 1)


def narrow_rows(graph: Graph, forms: Mapping[Node, Form]) -> tuple[int, ...] | None:
    """The rows of tall, narrow matrices whose products are sums, if all rows in memory are short.

    Where a program has two of them, such as `z = x @ w` and `x.T @ r`, and r is computed from z element by element,
    each row is read once: z and r stay in registers.
    """
    now = machine.current
    tall = {node.args[0].shape[0] for node in graph.operations if is_narrow_product(node)}
    if len(tall) != 1:
        return None
    stored = [*graph.outputs]
    for node in graph.operations:
        if forms[node] in (Form.ROUTINE, Form.FALLBACK, Form.LOOP):
            stored += [node, *[a for a in node.args if isinstance(a, Operation)]]
    arrays = [node for node in stored if node.spec.__class__ is Spec and node.ndim > 1 and node.shape[0] in tall]
    return (*tall,) if all(x.size <= now.max_elements_of_short_row * x.shape[0] for x in arrays) else None


def is_narrow_product(node: Operation) -> bool:
    """Whether this is a sum of products along the rows of a tall matrix or over them; one factor broadcasts."""
    if not is_a(node, _sum):
        return False
    (terms,), now = node.args, machine.current
    if not is_a(terms, multiply) or terms.ndim < 2 or terms.dtype.kind != "f":
        return False
    is_tall = terms.shape[0] >= now.min_rows_of_fused_tall_product
    is_narrow = terms.shape[0] < terms.size <= now.max_products_of_narrow_row * terms.shape[0]
    return is_tall and is_narrow and any(x.size < terms.size for x in terms.args)
