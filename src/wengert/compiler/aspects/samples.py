"""Random words: the hash of a counter, as in `ops/samples/counter_words.py`, on lanes."""

from __future__ import annotations

from math import pi, prod
from typing import Any

import numpy as np

from wengert.compiler.forms.lowering import Draw, Instructions, expansion, lowering
from wengert.compiler.simd.lanes import Lanes
from wengert.ops.elementwise.arithmetic import sqrt
from wengert.ops.elementwise.exponential import log
from wengert.ops.elementwise.trigonometric import cos
from wengert.ops.samples import counter_words as ops


def signed(word: int) -> int:
    """The bits of a word as an integer with sign."""
    return word - (1 << 64) if word >> 63 else word


def write_hash(a: Lanes, b: Lanes, counter: Lanes, index: Lanes) -> Lanes:
    """The word of each lane."""
    z = a + (counter + index) * signed(ops.GAMMA)
    for k, (shift, factor) in enumerate(ops.ROUNDS):
        z = (z ^ z.logical_right(shift)) * signed(factor)
        z = z + b if k == 0 else z
    return z ^ z.logical_right(ops.LAST_SHIFT)


def write_words(a: Lanes, b: Lanes, counter: Lanes, index: Lanes, **_: Any) -> Lanes:
    """The words themselves."""
    return write_hash(a, b, counter, index)


def write_uniform(a: Lanes, b: Lanes, counter: Lanes, index: Lanes, dtype: Any, low: bool, **_: Any) -> Lanes:
    """Bits of the words as the fractions of numbers from 1 to 2, without 1 less half a step."""
    z = write_hash(a, b, counter, index)
    if dtype == np.float64:
        return (z.logical_right(12) | (0x3FF << 52)).floats() - (1.0 - 2.0**-53)
    bits = (z.logical_right(9) & 0x7FFFFF if low else z.logical_right(41)).to("i32")
    return (bits | (0x7F << 23)).floats() - (1.0 - 2.0**-24)


lowering.enter(Draw(write_words, lambda now: now.operations_of_random_word), ops.random_words)
lowering.enter(Draw(write_uniform, lambda now: now.operations_of_random_word + 3), ops.random_uniform)


@expansion(ops.random_normal)
def expand_normal(state: Any, size: tuple[int, ...], dtype: Any) -> Any:
    """Box and Muller's transform."""
    other = state if dtype == np.float32 else state + np.array([0, 0, prod(size)])
    radius = ops.random_uniform(state, size=size, dtype=dtype, low=False)
    angle = ops.random_uniform(other, size=size, dtype=dtype, low=True)
    return sqrt(-2.0 * log(radius)) * cos(2.0 * pi * angle)


def write_multiply_high(x: Lanes, y: Lanes) -> Lanes:
    """From the products of the halves of both."""
    half, mask = 32, 0xFFFFFFFF
    x0, x1, y0, y1 = x & mask, x.logical_right(half), y & mask, y.logical_right(half)
    middle = x1 * y0 + (x0 * y0).logical_right(half)
    other = x0 * y1 + (middle & mask)
    return x1 * y1 + middle.logical_right(half) + other.logical_right(half)


lowering.enter(Instructions(write_multiply_high, "i", lambda now: now.operations_of_high_product), ops.multiply_high)
