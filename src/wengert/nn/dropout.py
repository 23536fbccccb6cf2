"""Dropout layers. Each has a generator, whose state is a tensor: compiled steps draw the same numbers as eager ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from wengert.nn import functional
from wengert.nn.functional.dropping import refuse_probability
from wengert.nn.module import Module
from wengert.random.counter_generator import CounterGenerator, counter_rng


class DropoutBase(Module):
    """The base of dropout layers: a probability and a generator."""

    function: ClassVar[Callable[..., Any]]
    rng: CounterGenerator

    def __init__(self, p: float = 0.5, inplace: bool = False, *, rng: Any = None):
        refuse_probability(p)
        self.p, self.inplace = p, inplace
        self.rng = counter_rng(rng)

    def forward(self, input: Any) -> Any:
        function = type(self).function
        return function(input, self.p, self.training, rng=self.rng)


class Dropout(DropoutBase):
    """Zeros with probability p in training, and x / (1 - p) elsewhere; x after `eval()`.

    `rng` is a seed or a generator (`wg.random.counter_rng`); None draws with fresh entropy. A generator that several
    layers share draws other numbers for each.

    >>> Dropout(0.5, rng=0).eval()([1.0, 2.0])
    array([1., 2.])
    """

    function = functional.dropout


class Dropout1d(DropoutBase):
    """Zeros for whole channels of signals (batch, channels, length); see `Dropout`.

    >>> Dropout1d(1.0)([[[1.0, 2.0]]]).tolist()
    [[[0.0, 0.0]]]
    """

    function = functional.dropout1d


class Dropout2d(DropoutBase):
    """Zeros for whole channels of images (batch, channels, height, width); see `Dropout`.

    >>> Dropout2d(1.0)([[[[1.0, 2.0]]]]).tolist()
    [[[[0.0, 0.0]]]]
    """

    function = functional.dropout2d


class Dropout3d(DropoutBase):
    """Zeros for whole channels of volumes (batch, channels, depth, height, width); see `Dropout`.

    >>> Dropout3d(1.0)([[[[[1.0, 2.0]]]]]).tolist()
    [[[[[0.0, 0.0]]]]]
    """

    function = functional.dropout3d


class AlphaDropout(DropoutBase):
    """Dropout that keeps mean and variance of a standard normal input, as `SELU` does.

    >>> AlphaDropout(0.5).eval()([1.0, 2.0])
    array([1., 2.])
    """

    function = functional.alpha_dropout
