"""Random words: hashes of counters.

Word number c of a key (a, b) is, modulo 2**64, with logical shifts,

    z = a + c 0x9E3779B97F4A7C15
    z = (z ^ (z >> 32)) 0xD6E8FEB86659FD93 + b
    z = (z ^ (z >> 30)) 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) 0x94D049BB133111EB
    z ^ (z >> 31)

The first line and the last three are SplitMix64 (Steele, Lea and Flood, 2014, with Stafford's constants, variant 13).
It has one word of key, so that the sequences of different keys may overlap. Here the second word keeps them apart: it
enters after a product, and passes through all that follows.

A state is a key and the counter of the next word: three integers, the last axis of an array. What is drawn is a
function of the state, hence an operation like any other; `random/counter_generator.py` advances the counter.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from wengert.core import machine
from wengert.core.kinds import case, describe, keep_params, nondifferentiable
from wengert.core.spec import Spec

GAMMA = 0x9E3779B97F4A7C15
"""The step of z: 2**64 times the golden ratio, to the next odd number."""
ROUNDS = ((32, 0xD6E8FEB86659FD93), (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
"""Shift and factor of each product; the second word of the key is added to the first product."""
LAST_SHIFT = 31
WORD = (1 << 64) - 1
LOW_HALF, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
REASON = "random numbers do not depend on it continuously"


@cache
def _weyl_steps(count: int) -> np.ndarray:
    """The first multiples of GAMMA."""
    return np.arange(count, dtype=np.uint64) * np.uint64(GAMMA)


def mix(z: np.ndarray, b: Any, spare: np.ndarray) -> np.ndarray:
    """Hash z in place; `spare` is memory of the same size."""
    for shift, factor in ROUNDS:
        np.right_shift(z, np.uint64(shift), out=spare)
        np.bitwise_xor(z, spare, out=z)
        np.multiply(z, np.uint64(factor), out=z)
        if b is not None:
            np.add(z, b, out=z)
            b = None
    np.right_shift(z, np.uint64(LAST_SHIFT), out=spare)
    return np.bitwise_xor(z, spare, out=z)


def hash_counters(state: np.ndarray, start: int, n: int) -> np.ndarray:
    """The n words from number `start` after the counter, for each state."""
    if state.ndim == 1:
        a, b, counter = [int(s) & WORD for s in state.tolist()]
        first = np.uint64((a + (counter + start) * GAMMA) & WORD)
        steps = _weyl_steps(machine.current.block_words_of_random_numbers)
        return mix(steps[:n] + first, np.uint64(b), np.empty(n, np.uint64))
    a, b, counter = np.moveaxis(state.view(np.uint64), -1, 0)[..., None]
    z = (counter + np.arange(start, start + n, dtype=np.uint64)) * np.uint64(GAMMA) + a
    return mix(z, b, np.empty_like(z))


def fill_blocks(state: np.ndarray, size: tuple[int, ...], dtype: Any, draw: Any) -> np.ndarray:
    """An array of `size` for each state, from `draw(start, n)` for one block after the other."""
    state = np.ascontiguousarray(state, np.int64)
    lead, count = state.shape[:-1], math.prod(size)
    block = machine.current.block_words_of_random_numbers
    if count <= block:
        return draw(state, 0, count).reshape(lead + size)[()]
    out = np.empty((*lead, count), dtype)
    for start in range(0, count, block):
        n = min(block, count - start)
        out[..., start : start + n] = draw(state, start, n)
    return out.reshape(lead + size)


def to_uniform(words: np.ndarray, dtype: Any, low: bool) -> np.ndarray:
    """The middle of one of 2**52 or 2**23 equal parts of (0, 1), which bits of each word choose."""
    if dtype == np.float64:
        np.right_shift(words, np.uint64(12), out=words)
        np.bitwise_or(words, np.uint64(0x3FF << 52), out=words)  # a number from 1 to 2
        return words.view(np.float64) - (1.0 - 2.0**-53)
    bits = (words >> np.uint64(9 if low else 41)).astype(np.uint32)
    if low:
        np.bitwise_and(bits, np.uint32(0x7FFFFF), out=bits)
    np.bitwise_or(bits, np.uint32(0x7F << 23), out=bits)
    return bits.view(np.float32) - np.float32(1.0 - 2.0**-24)


def _draw_words(state: np.ndarray, size: tuple[int, ...]) -> Any:
    return fill_blocks(state, size, np.int64, lambda *block: hash_counters(*block).view(np.int64))


def _draw_uniform(state: np.ndarray, size: tuple[int, ...], dtype: Any, low: bool) -> Any:
    return fill_blocks(state, size, dtype, lambda *block: to_uniform(hash_counters(*block), dtype, low))


def _draw_normal(state: np.ndarray, size: tuple[int, ...], dtype: Any) -> Any:
    """By Box and Muller's transform, the cosine only."""
    count = math.prod(size)

    def draw(state: np.ndarray, start: int, n: int) -> np.ndarray:
        words = hash_counters(state, start, n)
        angle = words if dtype == np.float32 else hash_counters(state, count + start, n)
        angle = to_uniform(angle, dtype, low=True)
        radius = to_uniform(words, dtype, low=False)
        np.log(radius, out=radius)
        np.multiply(radius, radius.dtype.type(-2.0), out=radius)
        np.sqrt(radius, out=radius)
        np.multiply(angle, angle.dtype.type(2.0 * math.pi), out=angle)
        np.cos(angle, out=angle)
        return np.multiply(radius, angle, out=radius)

    return fill_blocks(state, size, dtype, draw)


def _multiply_high(x: Any, y: Any) -> Any:
    """From the products of the halves of both; no sum exceeds 64 bits."""
    x, y = np.asarray(x, np.int64).view(np.uint64), np.asarray(y, np.int64).view(np.uint64)
    with np.errstate(over="ignore"):
        x0, x1, y0, y1 = x & LOW_HALF, x >> HALF, y & LOW_HALF, y >> HALF
        middle = x1 * y0 + (x0 * y0 >> HALF)
        other = x0 * y1 + (middle & LOW_HALF)
        return (x1 * y1 + (middle >> HALF) + (other >> HALF)).astype(np.int64)[()]


_KEY = np.array([0x243F6A8885A308D3, 0x13198A2E03707344, 5])
_KEYS = np.stack([_KEY, _KEY + 1])


def _spec(state: Spec, size: tuple[int, ...], dtype: Any = np.int64, **_: Any) -> Spec:
    return Spec((*state.shape[:-1], *size), np.dtype(dtype))


random_words = nondifferentiable(
    "random_words",
    _draw_words,
    inputs=("state",),
    takes_params=True,
    batch=keep_params,
    spec=_spec,
    cases=(case(_KEY, size=(4,)), case(_KEYS, size=()), case(_KEYS, size=(2, 3)), case(_KEY, size=(0,))),
    reason=REASON,
)
"""For each state, the words from its counter on, as integers of 64 bits with sign."""

random_uniform = nondifferentiable(
    "random_uniform",
    _draw_uniform,
    inputs=("state",),
    takes_params=True,
    batch=keep_params,
    spec=_spec,
    cases=(
        case(_KEY, size=(4,), dtype=np.dtype(np.float64), low=False),
        case(_KEYS, size=(2, 3), dtype=np.dtype(np.float32), low=False),
        case(_KEYS, size=(), dtype=np.dtype(np.float32), low=True),
    ),
    reason=REASON,
)
"""Numbers from the open interval (0, 1): multiples of 2**-53 or 2**-24 that are odd.

In single precision, they are made of the high or the `low` half of a word.
"""

random_normal = nondifferentiable(
    "random_normal",
    _draw_normal,
    inputs=("state",),
    takes_params=True,
    batch=keep_params,
    spec=_spec,
    cases=(
        case(_KEY, size=(4,), dtype=np.dtype(np.float64)),
        case(_KEYS, size=(2, 3), dtype=np.dtype(np.float32)),
        case(_KEYS, size=(), dtype=np.dtype(np.float64)),
    ),
    reason=REASON,
)
"""Standard normal numbers. In single precision each is made of one word, in double precision of two."""

multiply_high = nondifferentiable(
    "multiply_high",
    _multiply_high,
    2,
    domain=None,
    batch=keep_params,
    cases=(case(np.array([-1, 5, 1 << 62]), np.array([[-1], [8]])), case(np.array(-3), np.array(7))),
    reason="works on integers",
)
describe(
    {
        multiply_high: "The high 64 bits of the product of integers without sign. "
        ">>> multiply_high(1 << 62, 12) -> np.int64(3)"
    }
)
