"""What a convolution adds up: one description of results and of the cotangents of signals.

Both are sums over channels and *taps* of a source at shifted positions, times elements of the filters. Along each axis,
element j of a phase of the target is the sum over taps of `source[j * step + shift]`; outside of the source are zeros.
Results have one phase, and the step is the stride. The cotangents of signals have a phase for each remainder of a
position modulo the stride, with the taps that reach it, and the source, the cotangent of the results, is read with
steps of 1: nothing is scattered.
"""

from __future__ import annotations

import math
from itertools import product
from typing import NamedTuple

from wengert.compiler.simd.types import Type
from wengert.graph.ir import Operation
from wengert.ops.signal.window_arguments import reach

AXES = 3
"""All problems have so many axes; those of signals and images are 1."""

Lengths = tuple[int, ...]


class Tap(NamedTuple):
    """An element of filters along one axis: by how much it shifts the source, and its offset in the filters."""

    shift: int
    offset: int


class AxisPhase(NamedTuple):
    """Elements `first + i * step` of an axis of the target, for i below `extent`, and their taps in rising order."""

    first: int
    extent: int
    taps: tuple[Tap, ...]


class Geometry(NamedTuple):
    """Shapes and options of a convolution, with `AXES` axes.

    A stack has filters for each item; `is_shared` says which operands are the same for all items. If the filters are,
    the stack of the signals joins the batch.
    """

    kind: str
    stack: int
    is_shared: tuple[bool, ...]
    batch: int
    groups: int
    channels: int  # of a group
    filters: int  # of a group
    lengths: Lengths
    size: Lengths
    positions: Lengths
    stride: Lengths
    before: Lengths  # how much padding there is before each axis
    dilation: Lengths

    @classmethod
    def of(cls, node: Operation, signals: Lengths, filters: Lengths) -> Geometry:
        """That of a node, whose signals and filters have these shapes."""
        params, ndim = node.params, len(node.params["stride"])
        groups = params["groups"]
        extents = reach(filters[-ndim:], params["dilation"])
        axes = zip(signals[-ndim:], extents, params["padding"], params["stride"], strict=True)
        positions = tuple([(n + sum(added) - extent) // s + 1 for n, extent, added, s in axes])
        stack = math.prod(filters[: -ndim - 2])
        whole = lambda values, filled: (filled,) * (AXES - ndim) + tuple(values)
        return cls(
            Type.from_dtype(node.dtype).kind,
            stack,
            tuple([math.prod(a.shape[: -ndim - 2]) < stack for a in node.args]),
            signals[-ndim - 2] if stack > 1 else math.prod(signals[: -ndim - 1]),
            groups,
            signals[-ndim - 1] // groups,
            filters[-ndim - 2] // groups,
            whole(signals[-ndim:], 1),
            whole(filters[-ndim:], 1),
            whole(positions, 1),
            whole(params["stride"], 1),
            whole([before for before, _ in params["padding"]], 0),
            whole(params["dilation"], 1),
        )

    @property
    def products(self) -> int:
        """The number of multiplications, counting those with padding."""
        pairs = self.stack * self.batch * self.groups * self.filters * self.channels
        return pairs * math.prod(self.size) * math.prod(self.positions)

    @property
    def elements(self) -> Lengths:
        """The offset of the next element of a filter along each axis."""
        return tuple([math.prod(self.size[i + 1 :]) for i in range(AXES)])

    @property
    def name(self) -> str:
        """What the names of its functions end with."""
        return ".".join(["x".join(map(str, x)) if isinstance(x, tuple) else str(x) for x in self])


class Correlation(NamedTuple):
    """Sums of a source at shifted positions times elements of filters, for each phase of each axis of the target.

    `strides` are those of the filters: from one group, target channel and source channel to the next.
    """

    name: str
    geometry: Geometry
    source_channels: int
    target_channels: int
    source: Lengths
    target: Lengths
    source_step: Lengths
    target_step: Lengths
    strides: tuple[int, int, int]
    axis_phases: tuple[tuple[AxisPhase, ...], ...]

    @property
    def kind(self) -> str:
        """The kind of the numbers."""
        return self.geometry.kind

    @property
    def lots(self) -> int:
        """The number of groups of channels of all elements of all batches."""
        return self.geometry.stack * self.geometry.batch * self.geometry.groups

    @property
    def phases(self) -> list[tuple[AxisPhase, ...]]:
        """One for each way to choose a phase of each axis."""
        return list(product(*self.axis_phases))

    @property
    def shifts(self) -> list[list[int]]:
        """The shifts of all taps along each axis, or zero."""
        return [[tap.shift for phase in phases for tap in phase.taps] or [0] for phases in self.axis_phases]

    @property
    def lowest(self) -> Lengths:
        """The smallest shift along each axis."""
        return tuple(map(min, self.shifts))

    @property
    def span(self) -> Lengths:
        """By how much the largest shift along each axis exceeds the smallest one."""
        return tuple([max(shifts) - min(shifts) for shifts in self.shifts])

    @property
    def counts(self) -> Lengths:
        """The largest number of elements of a phase along each axis."""
        return tuple([max([phase.extent for phase in phases]) for phases in self.axis_phases])

    @property
    def products(self) -> int:
        """The number of multiplications."""
        sums = [sum([phase.extent * len(phase.taps) for phase in phases]) for phases in self.axis_phases]
        return self.lots * self.source_channels * self.target_channels * math.prod(sums)


def result_sums(g: Geometry) -> Correlation:
    """The results of a convolution."""
    element = math.prod(g.size)
    phases = [
        (AxisPhase(0, count, tuple([Tap(r * d - before, r * offset) for r in range(size)])),)
        for count, size, d, before, offset in zip(g.positions, g.size, g.dilation, g.before, g.elements, strict=True)
    ]
    strides = g.filters * g.channels * element, g.channels * element, element
    source, target = (g.channels, g.filters), (g.lengths, g.positions)
    return Correlation("results", g, *source, *target, g.stride, (1,) * AXES, strides, tuple(phases))


def signal_sums(g: Geometry) -> Correlation:
    """The cotangents of signals, from those of the results."""
    element = math.prod(g.size)
    phases = []
    for length, size, s, before, d, offset in zip(
        g.lengths, g.size, g.stride, g.before, g.dilation, g.elements, strict=True
    ):
        found = []
        for first in range(min(s, length)):
            reaching = [r for r in reversed(range(size)) if (first + before - r * d) % s == 0]
            taps = [Tap((first + before - r * d) // s, r * offset) for r in reaching]
            found.append(AxisPhase(first, -(-(length - first) // s), tuple(taps)))
        phases.append(tuple(found))
    strides = g.filters * g.channels * element, element, g.channels * element
    source, target = (g.filters, g.channels), (g.positions, g.lengths)
    return Correlation("signals", g, *source, *target, (1,) * AXES, g.stride, strides, tuple(phases))
