"""The cache lines that loops bring from farther than the nearest cache, and the time that they take.

A cache holds what some of the inner loops touch. A loop around these brings other lines, or the same ones again, unless
what it reads does not depend on it. What all loops touch is in the cache when they begin, if it fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wengert.compiler.nests.body_work import Stream, axes_of_stream
from wengert.core.machine.record import Machine


class LoopSteps(NamedTuple):
    """A loop over an axis: its number of steps, each with `width` elements; one that `is_text` is unrolled."""

    axis: int
    steps: int
    width: int
    is_text: bool = False


class CacheLines:
    """The lines of some streams in loops, the outermost first, over axes of a domain; one axis may have lanes."""

    def __init__(
        self,
        streams: Sequence[Stream],
        loops: Sequence[LoopSteps],
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
        covered, lines = self.touch(0)
        for size, picoseconds in levels:  # a smaller cache holds what fewer of the inner loops touch
            while k < len(self.loops) and sum(lines) * now.cache_line_bytes > size:
                k += 1
                covered, lines = self.touch(k)
            if k:
                missed = [
                    weight * self.missed(stream, k, n * self.share_of_line(stream, k, covered))
                    for stream, n, weight in zip(self.streams, lines, weights, strict=True)
                ]
                total += sum(missed) * 1e-12 * picoseconds
        return total

    def touch(self, k: int) -> tuple[dict[int, int], list[float]]:
        """The elements along each axis that the loops from number k on cover, and the lines of each stream."""
        covered = {} if self.axis is None else {self.axis: self.lanes}
        for loop in self.loops[k:]:
            n = max(covered.get(loop.axis, 1), loop.width) * loop.steps
            covered[loop.axis] = min(n, self.domain[loop.axis])
        return covered, [self.lines(stream, covered) for stream in self.streams]

    def lines(self, stream: Stream, covered: dict[int, int]) -> float:
        """The lines of a stream in a block, whose elements along each axis are given."""
        line, blocks = self.machine.cache_line_bytes, 1
        span, apart = self.span(stream, covered)
        for axis in (*apart, *stream.within):
            blocks *= covered.get(axis, 1)
        return min(blocks * max(span / line, 1.0), max(stream.array.nbytes / line, 1.0))

    def span(self, stream: Stream, covered: dict[int, int]) -> tuple[int, list[int]]:
        """The bytes of a run of neighbours, and the axes along which there are several runs."""
        span, apart = stream.size, []
        for axis, stride in stream.strides:
            if abs(stride) <= span + self.machine.cache_line_bytes:
                span += (covered.get(axis, 1) - 1) * abs(stride)
            else:
                apart.append(axis)
        return span, apart

    def share_of_line(self, stream: Stream, k: int, covered: dict[int, int]) -> float:
        """The share of a line that a step of the loop before number k reads, if the next step goes on in it."""
        line, step = self.machine.cache_line_bytes, abs(stream.stride(self.loops[k - 1].axis))
        return min(self.span(stream, covered)[0] / line, 1.0) if 0 < step < line else 1.0

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


def seconds_of_array(nbytes: float, machine: Machine) -> float:
    """The time of reading or writing bytes in order, from the cache where they are if they were used before."""
    levels = (
        (machine.bytes_of_nearest_cache, 0),
        (machine.bytes_of_second_cache, machine.picoseconds_of_line_from_second_cache),
        (machine.bytes_of_shared_cache, machine.picoseconds_of_line_from_shared_cache),
        (nbytes, machine.picoseconds_of_line_from_memory),
    )
    picoseconds = next(picoseconds for size, picoseconds in levels if nbytes <= size)
    return 1e-12 * picoseconds * nbytes / machine.cache_line_bytes
