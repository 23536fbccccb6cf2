"""The cache lines that loops bring from farther than the nearest cache, and the time that they take.

A cache holds what some of the inner loops touch. A loop around these brings other lines, or the same ones again, unless
what it reads does not depend on it. What all loops touch is in the cache when they begin, if it fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wengert.compiler.nests.body_work import Stream, axes_of_stream
from wengert.core.machine.record import Machine


class Loop(NamedTuple):
    """A loop over an axis in so many steps, each of which has `width` elements; one that `is_text` is written out."""

    axis: int
    steps: int
    width: int
    is_text: bool = False


class CacheLines:
    """The lines of some streams in loops, the outermost first, over axes of a domain; one axis may have lanes."""

    def __init__(
        self,
        streams: Sequence[Stream],
        loops: Sequence[Loop],
        domain: Sequence[int],
        lanes: tuple[int | None, int],
        machine: Machine,
    ):
        self.streams, self.loops, self.domain, self.machine = streams, loops, domain, machine
        self.axis, self.lanes = lanes

    def seconds(self) -> float:
        """The time of all lines: those that miss a cache come from the next one, more slowly."""
        now, total, k = self.machine, 0.0, 0
        second, shared = now.picoseconds_of_line_from_second_cache, now.picoseconds_of_line_from_shared_cache
        levels = (
            (now.bytes_of_shared_cache, now.picoseconds_of_line_from_memory - shared),
            (now.bytes_of_second_cache, shared - second),
            (now.bytes_of_nearest_cache, second),
        )
        weights = [self.weight(stream) for stream in self.streams]
        lines = self.lines_within(0)
        for size, picoseconds in levels:  # a smaller cache holds what fewer of the inner loops touch
            while k < len(self.loops) and sum(lines) * now.cache_line_bytes > size:
                k += 1
                lines = self.lines_within(k)
            if k:
                missed = [self.missed(s, k, n) * w for s, n, w in zip(self.streams, lines, weights, strict=True)]
                total += sum(missed) * 1e-12 * picoseconds
        return total

    def lines_within(self, k: int) -> list[float]:
        """The lines of each stream that the loops from number k on touch."""
        covered = {} if self.axis is None else {self.axis: self.lanes}
        for loop in self.loops[k:]:
            n = max(covered.get(loop.axis, 1), loop.width) * loop.steps
            covered[loop.axis] = min(n, self.domain[loop.axis])
        around = self.loops[k - 1].axis if k else None
        return [self.lines(stream, covered, around) for stream in self.streams]

    def lines(self, stream: Stream, covered: dict[int, int], around: int | None) -> float:
        """The lines of a stream in so many elements along each axis, in a loop around them along another one."""
        line = self.machine.cache_line_bytes
        span, blocks, goes_on = stream.size, 1, False
        for axis, stride in stream.strides:
            n, step = covered.get(axis, 1), abs(stride)
            goes_on = goes_on or (axis == around and step < line)  # the next step is in the same line
            if step <= span + line:
                span += (n - 1) * step
            else:
                blocks *= n
        for axis in stream.within:
            blocks *= covered.get(axis, 1)
        found = blocks * (span / line if goes_on or span > line else 1.0)
        return min(found, max(stream.array.nbytes / line, 1.0))

    def missed(self, stream: Stream, k: int, lines: float) -> float:
        """The lines that the loops before number k bring, each time or if the stream depends on them."""
        axes, is_kept = axes_of_stream(stream), True
        for loop in reversed(self.loops[:k]):
            is_kept = is_kept and loop.axis not in axes
            lines *= 1 if is_kept else loop.steps
        return lines

    def weight(self, stream: Stream) -> float:
        """The time of a line, in lines that are read in order: the first of a run is not known before."""
        now, line = self.machine, self.machine.cache_line_bytes
        span = stream.size * (self.lanes if self.axis is not None and stream.stride(self.axis) else 1)
        late = now.lines_of_unexpected_line - 1.0
        for loop in reversed(self.loops):
            step = abs(stream.stride(loop.axis)) * loop.width
            if loop.axis in stream.within:
                return 1.0 + late * line / max(span, line)
            if step > span + line and not loop.is_text and loop.steps > 1:
                return 1.0 + (late * line / max(span, line) if step > now.bytes_read_ahead else 0.0)
            if 0 < step <= span + line:
                span += (loop.steps - 1) * step
        return 1.0
