"""Sizes and layouts of an attention: what its functions are written for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from wengert.compiler.machine.target import sum_lanes, vector_lanes
from wengert.compiler.routines.attention.products import BlockProduct
from wengert.compiler.routines.call import Operand
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, Type
from wengert.core import machine
from wengert.graph.ir import Node, Operation


def queries() -> int:
    """The queries of a block, a multiple of the lanes of any vector."""
    return max(machine.current.queries_of_attention_block // 16, 1) * 16


class MatrixLayout(NamedTuple):
    """Where the elements of an operand are: distances along the axes of the stack, and of its matrices."""

    steps: tuple[int, ...]
    down: int
    along: int

    @classmethod
    def of(cls, operand: Operand, shape: tuple[int, ...], stack: int) -> MatrixLayout:
        """The layout of an operand that may broadcast to a stack of so many axes."""
        missing = (1,) * (stack + 2 - len(shape))
        strides = (*[0] * len(missing), *operand.strides)
        steps = [0 if n == 1 else step for n, step in zip((*missing, *shape), strides, strict=True)]
        return cls(tuple(steps[:-2]), steps[-2], steps[-1])


class Geometry(NamedTuple):
    """The sizes of an attention with `length` queries and `keys` keys of `size` numbers, and values of `width`."""

    kind: str
    stack: tuple[int, ...]
    length: int
    keys: int
    size: int
    width: int
    is_causal: bool
    mask_kind: str | None

    @property
    def name(self) -> str:
        """Its sizes, for the names of functions."""
        sizes = "x".join(map(str, (*self.stack, self.length, self.keys, self.size, self.width)))
        return f"{self.kind}.{sizes}{'.causal' if self.is_causal else ''}.{self.mask_kind or 'all'}"

    @property
    def lanes(self) -> int:
        """The lanes of vectors along queries."""
        return vector_lanes(Type(self.kind).align)

    @property
    def members(self) -> int:
        """The number of attentions in the stack."""
        return math.prod(self.stack)

    @property
    def query_blocks(self) -> int:
        """The number of blocks of queries."""
        return -(-self.length // queries())

    @property
    def block_keys(self) -> int:
        """The keys of a block: blocks have about as many, in whole tiles."""
        most, unit = machine.current.keys_of_attention_block, machine.current.keys_of_attention_tile
        even = -(-self.keys // -(-self.keys // most))
        return min(-(-even // unit) * unit, self.keys)

    def lanes_along(self, columns: int) -> int:
        """The lanes of vectors along rows of so many elements."""
        return math.gcd(columns, self.lanes)

    def sum_lanes_along(self, columns: int) -> int:
        """The lanes that are added up side by side along rows of so many elements."""
        return math.gcd(columns, sum_lanes(Type(self.kind).align))

    def to_queries(self, left: tuple[int, int], is_added: bool = False) -> BlockProduct:
        """A product of anything and a block in which lanes are queries."""
        return BlockProduct(self.kind, queries(), self.lanes, left, queries(), queries(), is_added)

    def to_rows(self, columns: int, left: tuple[int, int], right: int) -> BlockProduct:
        """A product of a block and rows of so many elements, added to rows."""
        return BlockProduct(self.kind, columns, self.lanes_along(columns), left, right, columns, True)


class Buffers:
    """The memory of one part: arrays of elements, one after the other."""

    def __init__(self, kind: str):
        self.element, self.size = Type(kind), 0
        self.starts: dict[str, int] = {}

    def add(self, name: str, size: int) -> None:
        """Add an array; they begin at multiples of 64 bytes."""
        self.starts[name] = self.size
        grain = 64 // self.element.align
        self.size += -(-size // grain) * grain

    def addresses(self, code: Code, memory: Lanes) -> dict[str, Lanes]:
        """The addresses of all arrays."""
        return {name: code.offset(memory, start, self.element) for name, start in self.starts.items()}


def grain_of(units: int) -> int:
    """The units of a part of which there are at most so many as have buffers."""
    return -(-units // machine.current.parts_of_attention)


def stack_indices(code: Code, number: Lanes, stack: tuple[int, ...]) -> list[Lanes]:
    """The index along each axis of a stack."""
    indices = []
    for n in reversed(stack):
        indices.append(code.add(f"urem {number.typed}, {n}", I64))
        number = code.add(f"udiv {number.typed}, {n}", I64)
    return indices[::-1]


def matrix_address(code: Code, pointer: Lanes, layout: MatrixLayout, indices: list[Lanes], type: Type) -> Lanes:
    """The address of one matrix of a stack."""
    for index, step in zip(indices, layout.steps, strict=True):
        if step:
            pointer = code.offset(pointer, index * step, type)
    return pointer


def geometry_of(node: Operation, query: Node, key: Node, value: Node, mask: Sequence[Node]) -> Geometry:
    """The sizes of an attention."""
    return Geometry(
        Type.from_dtype(query.dtype).kind,
        query.shape[:-2],
        query.shape[-2],
        key.shape[-2],
        query.shape[-1],
        value.shape[-1],
        node.params["is_causal"],
        Type.from_dtype(mask[0].dtype).kind if mask else None,
    )
