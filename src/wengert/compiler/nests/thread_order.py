"""The order of threads: the axis along which neighbouring threads are neighbours, and what each of them has.

The threads of a warp read at once. A read takes as many turns as it touches lines of the cache: one if all threads read
the same element, two for 32 neighbours in double precision, and up to 32 where they are apart. A thread may have all
elements along a short axis, its *tile*: what does not depend on that axis is then read once for all of them. Of all
orders, the one with the fewest turns for an element is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from wengert.compiler.forms.affine import Affine, flat_index
from wengert.compiler.nests.nest import Nest
from wengert.core import machine

THREADS, WARP = 256, 32
"""The threads of a block, and those that run in step and exchange registers."""
VECTOR_BYTES = 16
"""The bytes that a thread reads and writes at once; arrays begin at multiples of them."""
CACHE_LINE = 128
"""The bytes that a warp reads or writes in one turn."""


class Access(NamedTuple):
    """Where a kernel reads or writes memory for each element: an index, and the bytes of a number."""

    at: Affine
    itemsize: int


class ThreadOrder(NamedTuple):
    """The axis along which neighbouring threads are neighbours, and the axis whose elements each thread has all."""

    along: int
    tile_axis: int | None = None


class OrderSearch:
    """The orders of the threads of one kernel, and the turns that they take.

    `inner` are the axes of its loops, and `reduced` those of them that are reduced; `serial` terms are folded by one
    thread, at the least. Fewer turns than the arithmetic of an element takes, by its `cost`, do not matter.
    """

    def __init__(
        self,
        domain: Sequence[int],
        inner: Sequence[int],
        reduced: Sequence[int],
        accesses: Sequence[Access],
        serial: int,
        cost: int,
    ):
        self.domain, self.inner, self.reduced, self.serial, self.cost = domain, inner, reduced, serial, cost
        self.accesses: dict[tuple[tuple[int, ...], int], int] = {}  # coefficients and bytes, and how often they are
        for index, itemsize in accesses:
            coefficients = [0] * len(domain)
            for counter, k in index.terms:
                coefficients[counter.axis] = k
            key = tuple(coefficients), itemsize
            self.accesses[key] = self.accesses.get(key, 0) + 1

    def find_order(self) -> ThreadOrder:
        """The order with the fewest turns, without tiles; of equal ones, that along the last axis."""
        orders = [ThreadOrder(axis) for axis in reversed(self.inner) if self.domain[axis] > 1]
        return min(orders, key=self.turns) if len(orders) > 1 else (*orders, ThreadOrder(len(self.domain) - 1))[0]

    def find_tiles(self, plain: ThreadOrder) -> ThreadOrder:
        """The order with the fewest turns, with tiles if they are worthwhile beside a plain one."""
        best = min(self.tiled_orders(), key=self.turns, default=plain)
        return best if self.turns(best) <= machine.current.worthwhile_share_of_turns * self.turns(plain) else plain

    def tiled_orders(self) -> Iterator[ThreadOrder]:
        """Orders with tiles of a few elements, which leave enough threads."""
        kept = [axis for axis in self.inner if axis not in self.reduced and self.domain[axis] > 1]
        elements = math.prod([self.domain[axis] for axis in self.inner])
        terms = min(math.prod([self.domain[axis] for axis in self.reduced]), self.serial)
        now = machine.current
        for tile_axis in kept:
            length = self.domain[tile_axis]
            threads = elements // (terms * length)
            if length <= now.max_elements_of_device_tile and threads >= now.min_threads_of_tiled_device:
                yield from [ThreadOrder(axis, tile_axis) for axis in reversed(kept) if axis != tile_axis]

    def turns(self, order: ThreadOrder) -> float:
        """The turns of a warp for one element of each thread; what does not depend on terms is read once for all."""
        positions = self.positions(order)
        length = 1 if order.tile_axis is None else self.domain[order.tile_axis]
        terms = min(math.prod([self.domain[axis] for axis in self.reduced]), self.serial)
        total = 0.0
        for (coefficients, itemsize), count in self.accesses.items():
            offsets = sum((k * positions[axis] for axis, k in enumerate(coefficients) if k), start=np.zeros(WARP, int))
            lines = len(np.unique(offsets * itemsize // CACHE_LINE))
            is_for_each_term = any(coefficients[axis] for axis in self.reduced)
            is_for_each_element = order.tile_axis is not None and coefficients[order.tile_axis] != 0
            total += count * lines * (length if is_for_each_element else 1) / (1 if is_for_each_term else terms)
        return max(total / length, self.cost / machine.current.device_operations_per_turn)

    def positions(self, order: ThreadOrder) -> list[np.ndarray]:
        """The counters of the threads of a warp, for each axis."""
        kept = [axis for axis in self.inner if axis not in self.reduced and axis != order.tile_axis]
        fastest = [order.along, *[axis for axis in reversed(kept) if axis != order.along]]
        numbers, found = np.arange(WARP), [np.zeros(WARP, int) for _ in self.domain]
        for axis in fastest:
            n = self.domain[axis]
            if axis in self.reduced:
                n = -(-n // self.serial)
                n = power_above(n)
            found[axis] = numbers % n
            numbers = numbers // n
        return found


def memory_accesses(nest: Nest) -> list[Access]:
    """What the body of a nest reads and writes."""
    written = [(node, position) for node in nest.kernel.maps for position in nest.stored_positions(node)]
    read = [element for element in nest.requested_elements() if nest.sources.is_stored(element[0])]
    return [Access(flat_index(position, node.shape), node.dtype.itemsize) for node, position in written + read]


def power_above(n: int) -> int:
    """The smallest power of two that is at least n.

    >>> power_above(5), power_above(8)
    (8, 8)
    """
    return 1 << max(n - 1, 0).bit_length()
