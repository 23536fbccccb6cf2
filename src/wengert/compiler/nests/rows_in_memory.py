"""Rows in memory: the terms of a sum are neighbouring elements, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wengert.compiler.forms.affine import Affine, Position, lane_stride
from wengert.compiler.forms.classify import Form
from wengert.compiler.nests.element_sources import Element, ElementSources
from wengert.graph.ir import Constant, Node


class RowInMemory(NamedTuple):
    """Neighbouring elements in memory; `stride` is the distance to those of the next lane."""

    node: Node
    first: Affine
    stride: int
    length: int


def find_row(elements: ElementSources, terms: Sequence[Element]) -> RowInMemory | None:
    """The neighbours in memory that these elements are, in order."""
    start = in_memory(elements, *terms[0])
    if start is None:
        return None
    node, first = start
    if any(in_memory(elements, *element) != (node, first.plus(i)) for i, element in enumerate(terms)):
        return None
    return RowInMemory(node, first, lane_stride(first)[0], len(terms))


def find_factor_rows(elements: ElementSources, terms: Sequence[Element]) -> tuple[RowInMemory, RowInMemory] | None:
    """The rows in memory whose products are added up; the factors of each term come one after the other."""
    left, right = find_row(elements, terms[::2]), find_row(elements, terms[1::2])
    return None if left is None or right is None else (left, right)


def in_memory(elements: ElementSources, node: Node, position: Position) -> tuple[Node, Affine] | None:
    """The array that an element is read from, behind views, and the index there."""
    while not elements.is_stored(node):
        if elements.schedule.forms[node] is not Form.VIEW:
            return None
        ((node, position),) = elements.sources(node, position)
    if isinstance(node, Constant) and (node.weak or node.size == 1):
        return None
    is_within = all(i.is_within(n) for i, n in zip(position, node.shape, strict=True))
    return (node, elements.memory_index(node, position)) if is_within else None
