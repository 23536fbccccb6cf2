"""How the target of a correlation is cut: strips for the work of one thread, and blocks that stay in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from wengert.compiler.machine.target import cache_for_target, vector_lanes, vector_registers
from wengert.compiler.routines.convolution.buffer import Buffer
from wengert.compiler.routines.convolution.correlation import AxisPhase, Correlation
from wengert.compiler.simd.types import Type
from wengert.core import machine

Block = TypeVar("Block")


class RegisterBlock(NamedTuple):
    """Target channels, rows, and vectors of a row, whose sums are in registers."""

    channels: int
    rows: int
    vectors: int

    @property
    def cycles(self) -> float:
        """The estimated time of a tap of one source channel."""
        sums, vectors = self.channels * self.rows * self.vectors, self.rows * self.vectors
        return estimate_cycles(sums, 2 * vectors + self.channels)


def estimate_cycles(products: float, reads: float) -> float:
    """The estimated time of a tap: that of its products or of its reads, or the wait for a sum."""
    now = machine.current
    longest = max(products / now.products_per_cycle, reads / now.reads_per_cycle, now.cycles_of_dependent_sum)
    return longest + now.cycles_of_tap


def find_cheapest(blocks: Sequence[Block], cycles: Callable[[Block], float]) -> Block:
    """The first block than which no other takes clearly less time: estimates are not exact."""
    found = blocks[0]
    for block in blocks[1:]:
        found = block if cycles(block) < 0.98 * cycles(found) else found
    return found


class Cut(NamedTuple):
    """The lanes, the rows of a strip along an axis, and the block of each phase."""

    lanes: int
    strip_axis: int
    strip: int
    buffer: Buffer
    blocks: tuple[RegisterBlock, ...]

    def strips(self, correlation: Correlation) -> int:
        """The number of strips; the last one ends with the target."""
        return -(-correlation.counts[self.strip_axis] // self.strip)


def fit_lanes(lanes: int, width: int) -> int:
    """The lanes along rows of a width: as many, or fewer that have room for a narrow row."""
    while lanes // 2 >= width and lanes > 2:
        lanes //= 2
    return lanes


@cache_for_target(256)
def cut_of(correlation: Correlation) -> Cut:
    """How to cut a correlation, by estimated times."""
    c, kind = correlation, correlation.kind
    width = min([phase.extent for phase in c.axis_phases[2]])
    lanes = fit_lanes(vector_lanes(Type(kind).align), max(width, 1))
    axis = 0 if c.counts[0] > 1 else 1
    strip = c.counts[axis]
    now = machine.current
    needed = lambda strip: buffer_of(c, axis, strip, lanes).channel * c.source_channels * Type(kind).align
    while strip > now.min_rows_of_convolution_strip and needed(strip) > now.source_bytes_of_convolution_strip:
        strip = -(-strip // 2)
    rows = strip if axis == 1 else c.counts[1]
    fewest = rows if len(c.axis_phases[1]) == 1 else rows - 1  # phases of one axis may differ by one row
    blocks = tuple([best_block(c.target_channels, max(fewest, 1), phase, lanes) for phase in c.phases])
    return Cut(lanes, axis, strip, buffer_of(c, axis, strip, lanes), blocks)


def best_block(channels: int, rows: int, phase: tuple[AxisPhase, ...], lanes: int) -> RegisterBlock:
    """The block of the least estimated time, for a strip of so many rows."""
    vectors, now = max(-(-phase[2].extent // lanes), 1), machine.current
    most = lambda n: now.max_vectors_of_convolution_block if n > 1 else now.max_vectors_of_one_channel
    blocks = [
        RegisterBlock(n, r, v)
        for n in range(1, min(channels, now.max_channels_of_convolution_block) + 1)
        for v in range(1, min(vectors, now.max_vectors_of_convolution_block) + 1)
        for r in range(1, min(rows, most(n) // v) + 1)
        if n * r * v + r * v + 2 <= vector_registers()  # with all of them in use, LLVM spills sums
    ]

    def cycles(block: RegisterBlock) -> float:
        rest = vectors % block.vectors
        along = vectors // block.vectors * block.cycles + (block._replace(vectors=rest).cycles if rest else 0)
        return -(-channels // block.channels) * -(-rows // block.rows) * along

    return find_cheapest(blocks, cycles)


def buffer_of(c: Correlation, axis: int, strip: int, lanes: int) -> Buffer:
    """What a strip needs of the source."""
    counts = tuple([strip if i == axis else n for i, n in enumerate(c.counts)])
    extents = tuple([(n - 1) * s + span + 1 for n, s, span in zip(counts, c.source_step, c.span, strict=True)])
    last = [(n - 1) * s + low + span for n, s, low, span in zip(c.counts, c.source_step, c.lowest, c.span, strict=True)]
    is_inside = min(c.lowest) >= 0 and all(i < n for i, n in zip(last, c.source, strict=True))
    is_wide = min([phase.extent for phase in c.axis_phases[2]]) >= lanes
    return Buffer(
        c.kind, c.source, c.lowest, extents, c.source_step[2], is_inside and is_wide and c.source_step[2] == 1
    )
