"""Which rows of a program are unrolled: those that are short, with enough operations in them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from wengert.compiler.forms.classify import UNROLLED_TERMS, Form, scalar_operations
from wengert.compiler.schedule.short_rows import in_rows, is_outer_product, keeps_rows, values_at_ends
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation

LONGEST_REDUCTION, SHORT_REDUCTION = 48, 12
"""Rows with a longer reduction are not unrolled, and only shorter reductions are a reason to unroll them: lanes along
the row do the same (`row_kernels.py`).
"""
ROW_OPERATIONS, ROW_INTENSITY = 6000, 6
"""The most operations that are unrolled for one row, and the fewest for each element that is read or stored: lanes read
elements that are a row apart. Those of rows of one element are neighbours, and do not count.
"""
NARROW_INTENSITY = 1
"""The fewest operations in narrow rows that are reduced: there would be few lanes along the row."""


def can_unroll(graph: Graph, rows: tuple[int, ...], forms: Mapping[Node, Form]) -> bool:
    """Whether to unroll rows: operations within them mix their elements, and they are short, but not trivial."""
    count = math.prod(rows)
    members = [node for node in graph.operations if in_rows(node, rows)]
    terms = [reduced_terms(node) for node in members if forms[node] is Form.UNROLLED]
    if any(forms[node] is Form.CHOICE and not keeps_rows(node, rows) for node in members):
        return False  # a stencil across rows: each element would ask for its row
    is_mixing = min(terms, default=LONGEST_REDUCTION) <= SHORT_REDUCTION or any(
        forms[node] in (Form.CHOICE, Form.MATRIX) for node in members
    )
    if not is_mixing or max(terms, default=0) > LONGEST_REDUCTION:
        return False
    per_row = sum(scalar_operations(node) // count for node in members if forms[node] is not Form.VIEW)
    moved = sum(node.size // count for node in values_at_ends(graph, rows) if node.size > count)
    is_narrow = max([node.size // count for node in members], default=0) <= SHORT_REDUCTION
    has_sums = max(terms, default=0) > UNROLLED_TERMS
    intensity = NARROW_INTENSITY if is_narrow and has_sums else ROW_INTENSITY
    return intensity * moved <= per_row <= ROW_OPERATIONS


def reduced_terms(node: Operation) -> int:
    """The number of elements that a reduction folds to one; those of a product of matrices do not count."""
    (operand,) = node.args
    return 0 if is_outer_product(operand) else operand.size // max(node.size, 1)
