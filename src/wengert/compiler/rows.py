"""Rows: arrays with few elements behind their first axes.

A loop then goes over the first axes only, its lanes are neighbouring rows, and the elements of a row are written out one by one. So what
mixes the elements of a row (small products, reductions, slices, joins) happens in registers: a batch of small problems is one loop.
"""

from __future__ import annotations

import math

from wengert.compiler.index import CHOICES, VIEWS, Affine, Counter
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation

ROW, LONGEST_ROW = 48, 128
"""Arrays with so many elements behind their first axes are rows: loops go over the first axes only, and the elements of a row are written
out. The axes are chosen by arrays with short rows; then those with longer ones take part."""
ROW_OPERATIONS, ROW_INTENSITY = 6000, 6
"""So many operations may be written out for one row, and at least so many for each number that is read or stored: the lanes read numbers
that are a row apart."""


def candidates(graph: Graph) -> list[tuple[int, ...]]:
    """The first axes of arrays with short rows, those of most elements first."""
    sizes: dict[tuple[int, ...], int] = {}
    for node in graph.operations:
        if node.spec.__class__ is Spec and node.ndim > 1 and node.size:
            rank = next(r for r in range(node.ndim + 1) if math.prod(node.shape[r:]) <= ROW)
            if 0 < rank < node.ndim and math.prod(node.shape[:rank]) >= 64:
                rows = node.shape[:rank]
                sizes[rows] = sizes.get(rows, 0) + node.size
    return sorted(sizes, key=sizes.__getitem__, reverse=True)[:2]


def in_rows(node: Node, rows: tuple[int, ...]) -> bool:
    """Whether a value has these first axes, and few elements behind them."""
    rank = len(rows)
    return bool(rows) and node.shape[:rank] == rows and math.prod(node.shape[rank:]) <= LONGEST_ROW


def keeps_rows(node: Operation, rows: tuple[int, ...]) -> bool:
    """Whether a view or choice takes each row of its result from the same row of its operands."""
    if not in_rows(node, rows):
        return False
    lead = tuple([Affine(0, ((Counter(i, n), 1),)) for i, n in enumerate(rows)])
    place = lead + (Affine(0),) * (node.ndim - len(rows))
    name, specs = node.primitive.name, [a.spec for a in node.args]
    if name in VIEWS:
        found = [(0, VIEWS[name](place, *specs, **node.params))]
    else:
        found = [(r.operand, r.place) for r in CHOICES[name](place, *specs, **node.params) or () if r.operand is not None]
    return all(inner is not None and (not in_rows(node.args[k], rows) or inner[: len(rows)] == lead) for k, inner in found)
