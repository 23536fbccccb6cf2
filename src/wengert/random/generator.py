"""The generator: NumPy's, whose draws are differentiable with respect to their parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.random.continuous_draws import ContinuousDraws
from wengert.random.discrete_draws import DiscreteDraws
from wengert.random.draw import refuse_trace


class Generator(ContinuousDraws, DiscreteDraws):
    """A `np.random.Generator` (`.numpy`, whose state it shares) for values of all modes; `default_rng` makes one.

    >>> import wengert as wg
    >>> wg.grad(lambda scale: default_rng(3).normal(0.0, scale))(2.0) == np.random.default_rng(3).standard_normal()
    np.True_
    """

    def __init__(self, generator: np.random.Generator):
        self.numpy = generator

    @property
    def bit_generator(self) -> np.random.BitGenerator:
        """NumPy's source of random bits."""
        return self.numpy.bit_generator

    def spawn(self, n_children: int) -> list[Generator]:
        """Generators that are independent of this one and of each other."""
        return [Generator(child) for child in self.numpy.spawn(n_children)]

    def bytes(self, length: int) -> bytes:
        """Random bytes."""
        refuse_trace()
        return self.numpy.bytes(length)

    def __repr__(self) -> str:
        return f"wengert.random.{self.numpy!s}"


def default_rng(seed: Any = None) -> Generator:
    """A generator from a seed, a bit generator, or a generator of NumPy's or Wengert's, as in `np.random.default_rng`.

    >>> bool(default_rng(7).gamma(2.5) == np.random.default_rng(7).gamma(2.5))
    True
    """
    return seed if isinstance(seed, Generator) else Generator(np.random.default_rng(seed))
