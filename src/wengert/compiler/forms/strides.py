"""Operands of routines that are read where they are: views of values in memory, with a stride for each axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from wengert.compiler.forms.affine import flat_index, loop_position
from wengert.compiler.forms.classify import Form
from wengert.compiler.forms.lowering import View, lowering_of
from wengert.graph.ir import Node, Operation


class Strides(NamedTuple):
    """Where the elements of a view are: in which value, from which element on, and how far apart along each axis."""

    base: Node
    offset: int
    strides: tuple[int, ...]


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a whole array."""
    strides = [1]
    for n in shape[:0:-1]:
        strides.append(strides[-1] * n)
    return tuple(reversed(strides[: len(shape)]))


def layout_of(
    node: Node,
    forms: Mapping[Node, Form],
    aliases: Mapping[Node, Node],
    is_stored: Callable[[Node], bool],
    is_readable: Callable[[tuple[int, ...], tuple[int, ...]], bool],
) -> Strides | None:
    """The layout of a view of a value that is in memory, or would be as large; None if it is not readable."""
    position, base = loop_position(node.shape), node
    while forms[base] is Form.VIEW and not is_stored(base) and base not in aliases:
        assert isinstance(base, Operation)
        found = lowering_of(base, View).position(position, base.args[0].spec, **base.params)
        if found is None:
            return None
        position, base = found, base.args[0]
    index = flat_index(position, base.shape)
    steps = {counter.axis: step for counter, step in index.terms}
    strides = tuple([steps.get(axis, 0) for axis in range(node.ndim)])
    base = aliases.get(base, base)
    is_at_hand = forms[base] in (Form.GIVEN, Form.ROUTINE) or is_stored(base) or base.size <= node.size
    return Strides(base, index.constant, strides) if is_at_hand and is_readable(node.shape, strides) else None


def is_factor(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether a product can read a vector, or matrices by rows or by columns, at these strides."""
    if min(strides, default=0) < 0 or 0 in shape:
        return False
    if len(shape) < 2:
        return strides == (1,)
    return matrix_stride(shape, strides) is not None


def is_summand(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether a product can be added to a vector, or to matrices by rows, which may all be one row."""
    if min(strides, default=0) < 0 or 0 in shape:
        return False
    if len(shape) < 2 or shape[-1] == 1:
        return strides[-min(len(shape), 2)] == 1
    return strides[-1] == 1 and (strides[-2] == 0 or strides[-2] >= shape[-1] or shape[-2] == 1)


def is_by_rows(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether a matrix is stored by rows that do not overlap."""
    return 0 not in shape and strides[-1] == 1 and strides[-2] >= shape[-1]


def matrix_stride(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[bool, int] | None:
    """Whether the matrices are stored by columns, and the distance between two columns, or rows."""
    (m, n), (down, along) = shape[-2:], strides[-2:]
    if along == 1 or n == 1:
        stride = down if m > 1 else n
        return (False, stride) if stride >= n else None
    if down == 1 or m == 1:
        return (True, along) if along >= m else None
    return None
