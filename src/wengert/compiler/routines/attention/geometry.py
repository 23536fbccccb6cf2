"""Sizes of an attention, and how it is cut: blocks of queries and keys, and pieces that threads share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wengert.compiler.products.blocks import BlockProduct
from wengert.compiler.routines.parts import Parts
from wengert.compiler.simd.types import Type
from wengert.core import machine
from wengert.graph.ir import Node


def queries() -> int:
    """The queries of a block, a multiple of the lanes of any vector."""
    return max(machine.current.queries_of_attention_block // 16, 1) * 16


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

    @classmethod
    def of(cls, is_causal: bool, query: Node, key: Node, value: Node, *mask: Node) -> Geometry:
        """Those of operands, and the mask if there is one."""
        mask_kind = Type.from_dtype(mask[0].dtype).kind if mask else None
        *stack, length, size = query.shape
        sizes = length, key.shape[-2], size, value.shape[-1]
        return cls(Type.from_dtype(query.dtype).kind, tuple(stack), *sizes, is_causal, mask_kind)

    @property
    def name(self) -> str:
        """Its sizes, for the names of functions."""
        sizes = "x".join(map(str, (*self.stack, self.length, self.keys, self.size, self.width)))
        return f"{self.kind}.{sizes}{'.causal' if self.is_causal else ''}.{self.mask_kind or 'all'}"

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

    def to_queries(self, left: tuple[int, int], is_added: bool = False) -> BlockProduct:
        """A product of anything and a block in which lanes are queries."""
        return BlockProduct(self.kind, queries(), left, queries(), queries(), is_added)

    def to_rows(self, columns: int, left: tuple[int, int], right: int) -> BlockProduct:
        """A product of a block and rows of so many elements, added to rows."""
        return BlockProduct(self.kind, columns, left, right, columns, True)


class Cut:
    """The units of work: so many pieces of the blocks of queries of each attention, or fewer.

    Threads take parts of the units, each part with buffers of its own: arrays of elements, one after the other.
    """

    def __init__(self, geometry: Geometry, pieces: int, buffers: Mapping[str, int]):
        g = self.geometry = geometry
        self.blocks = -(-g.query_blocks // min(pieces, g.query_blocks))
        """The blocks of a piece."""
        self.pieces = -(-g.query_blocks // self.blocks)
        self.starts, room = {}, 0
        grain = 64 // Type(g.kind).align  # arrays begin at multiples of 64 bytes
        for name, size in buffers.items():
            self.starts[name] = room
            room += -(-size // grain) * grain
        self.parts = Parts(g.kind, g.members * self.pieces, machine.current.parts_of_attention, room)


def strides_in_stack(shape: Sequence[int], strides: Sequence[int], ndim: int) -> tuple[int, ...]:
    """The strides of an operand that broadcasts to so many axes: zero where all elements are one."""
    found = [0 if n == 1 else step for n, step in zip(shape, strides, strict=True)]
    return (*[0] * (ndim - len(shape)), *found)
