"""How a transform is made of passes: the radices of a length, and the rows and columns of a long signal.

Costs are in instructions on vectors, or on numbers where there are no vectors.
"""

from __future__ import annotations

from typing import NamedTuple

from wengert.compiler.machine.target import cache_for_target
from wengert.compiler.routines.fourier.butterflies import transform_cost
from wengert.compiler.routines.fourier.numbers import most_lanes, planned_lanes
from wengert.core import machine

RADICES = (2, 3, 4, 5, 6, 7, 8, 11, 13)
"""Those whose numbers stay in registers, and compile fast; longer ones gain nothing. A length with other prime factors
is transformed by a convolution (`chirp.py`).
"""


@cache_for_target(4096)
def radices(n: int) -> tuple[int, ...] | None:
    """The radices of the passes that transform n numbers, from the first on; None if there are none."""
    found = _cheapest(n)
    return None if found is None else found[1] or (1,)


def has_small_factors(n: int) -> bool:
    """Whether passes can transform so many numbers."""
    return radices(n) is not None


@cache_for_target(4096)
def _cheapest(n: int) -> tuple[float, tuple[int, ...]] | None:
    """The least cost of the passes for each number, and their radices in descending order."""
    if n == 1:
        return 0.0, ()
    found = []
    for r in RADICES:
        rest = _cheapest(n // r) if n % r == 0 else None
        if rest is not None:
            cost = rest[0] + transform_cost(r) / r + machine.current.instructions_of_transform_pass
            found.append((cost, tuple(sorted((r, *rest[1]), reverse=True))))
    return min(found, default=None)


@cache_for_target(4096)
def lanes_cost(n: int, kind: str, lanes: int) -> float:
    """The cost to transform a signal of smooth length in each lane."""
    found = _cheapest(n)
    assert found is not None
    cost, steps = found
    nbytes = n * lanes * int(kind[1:]) // 2  # of two blocks
    slower = sum([more for limit, more in machine.current.instructions_of_large_transform_blocks if nbytes > limit])
    return n * (cost + max(len(steps), 1) * slower)


class Split(NamedTuple):
    """A long signal as a matrix: columns are transformed first, as many at once as there are lanes, and then rows.

    The plan is for so many `lanes`; vectors of the processor may have a part of them, its `width`.
    """

    rows: int
    columns: int
    lanes: int

    def width(self, kind: str) -> int:
        """The lanes of vectors."""
        return most_lanes(kind, self.lanes)

    def cost(self, kind: str) -> float:
        """The cost of all transforms."""
        rows, columns, lanes = self
        first = lanes_cost(rows, kind, lanes) + machine.current.instructions_of_transposed_vector * rows
        return -(-columns // lanes) * first + -(-rows // lanes) * lanes_cost(columns, kind, lanes)


@cache_for_target(1024)
def split(n: int, kind: str) -> Split | None:
    """The matrix of a signal of smooth length; None if it is too short to be one."""
    divisors = [d for d in range(2, int(n**0.5) + 1) if n % d == 0]
    shapes = [shape for d in divisors for shape in ((d, n // d), (n // d, d))]
    found = [Split(*shape, planned_lanes(kind, *shape)) for shape in shapes]
    best = min(found, key=lambda s: s.cost(kind), default=None)
    return best if best is not None and best.lanes > 1 and best.cost(kind) < lanes_cost(n, kind, 1) else None


@cache_for_target(1024)
def signal_cost(n: int, kind: str) -> float:
    """The cost of one signal of any length."""
    if not has_small_factors(n):
        return 2 * signal_cost(convolution_length(n, kind), kind) + 8 * n
    found = split(n, kind)
    return lanes_cost(n, kind, 1) if found is None else found.cost(kind)


@cache_for_target(1024)
def convolution_length(n: int, kind: str) -> int:
    """The length of the transforms for a convolution of n numbers with a chirp: at least 2 n - 1, and cheap."""
    least = 2 * n - 1
    lengths = [odd << shift for odd in (1, 3, 5, 7, 9, 15) for shift in range(least.bit_length() + 1)]
    fitting = [length for length in lengths if least <= length <= 2 * least]
    return min(fitting, key=lambda length: signal_cost(length, kind))
