"""Hashes of counters: the formula, in integers of any size, and the quality of the numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import wengert as wg
from wengert.core import machine
from wengert.ops.samples.counter_words import multiply_high, random_normal, random_uniform, random_words

BLOCK = machine.current.block_words_of_random_numbers

WORD = (1 << 64) - 1
KEYS = {
    "zero": (0, 0),
    "one": (0, 1),
    "negative": (-1, -(1 << 63)),
    "random": (0x3C6EF372FE94F82B, -0x5AB00AC5A0E2A90F),
}
F4, F8 = np.dtype(np.float32), np.dtype(np.float64)


def word(a: int, b: int, counter: int) -> int:
    """The formula of the module's docstring."""
    z = (a + counter * 0x9E3779B97F4A7C15) & WORD
    z = ((z ^ (z >> 32)) * 0xD6E8FEB86659FD93 + b) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def words_of(key: tuple[int, int], n: int, counter: int = 0) -> np.ndarray:
    return random_words(np.array([*key, counter]), size=(n,)).view(np.uint64)


def signs(words: np.ndarray) -> np.ndarray:
    """Bits as -1 and 1."""
    return ((words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).astype(np.float32) * 2.0 - 1.0


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("counter", [0, 5, (1 << 63) - 2])
def test_the_formula(key, counter):
    expected = [word(*key, counter + i) for i in range(4)]
    assert words_of(key, 4, counter).tolist() == expected
    batch = random_words(np.array([[*key, counter], [1, 2, 3]]), size=(2, 2))
    assert batch[0].view(np.uint64).ravel().tolist() == expected
    assert batch[1, 1, 1].view(np.uint64) == word(1, 2, 6)


@pytest.mark.parametrize("n", [BLOCK - 1, BLOCK, 2 * BLOCK + 3])
@pytest.mark.parametrize("draw", [random_uniform, random_normal])
def test_blocks_join(draw, n):
    more = {"low": False} if draw is random_uniform else {}
    state = np.array([3, 4, 5])
    whole = draw(state, size=(n,), dtype=F4, **more)
    part = draw(state + np.array([0, 0, n - 7]), size=(7,), dtype=F4, **more)
    np.testing.assert_array_equal(whole[-7:], part)
    pair = draw(np.stack([state, state + 1]), size=(n,), dtype=F4, **more)
    np.testing.assert_array_equal(pair[0], whole)


def test_uniform_numbers_are_the_middles_of_equal_parts():
    state = np.array([1, 2, 3])
    words = words_of((1, 2), 1000, 3)
    double = random_uniform(state, size=(1000,), dtype=F8, low=False)
    np.testing.assert_array_equal(double, ((words >> np.uint64(12)).astype(float) + 0.5) * 2.0**-52)
    for low, shift in ((False, 41), (True, 9)):
        single = random_uniform(state, size=(1000,), dtype=F4, low=low)
        bits = (words >> np.uint64(shift)) & np.uint64(0x7FFFFF)
        np.testing.assert_array_equal(single, ((bits.astype(float) + 0.5) * 2.0**-23).astype(np.float32))


@pytest.mark.parametrize("size", [(), (7,), (3, 5), (40, 33), (2, 3, 4)])
@pytest.mark.parametrize("lead", [(), (2,)])
def test_native_code_gives_the_same_bits(size, lead):
    state = np.broadcast_to(np.array([-9, 8, 7]), (*lead, 3))
    for draw in (
        lambda s: random_words(s, size=size),
        lambda s: random_uniform(s, size=size, dtype=F8, low=False),
        lambda s: random_uniform(s, size=size, dtype=F4, low=False),
        lambda s: random_uniform(s, size=size, dtype=F4, low=True) * np.float32(2.0),
    ):
        compiled = wg.compile(draw)
        np.testing.assert_array_equal(compiled(state), draw(state), strict=True)
        assert not compiled.report(state).fallbacks


@pytest.mark.parametrize(("dtype", "rtol"), [(F4, 1e-6), (F8, 1e-14)])
def test_native_normal_numbers(dtype, rtol):
    draw = wg.compile(lambda s: random_normal(s, size=(50, 9), dtype=dtype))
    state = np.array([[1, 2, 3], [4, 5, 6]])
    np.testing.assert_allclose(draw(state), random_normal(state, size=(50, 9), dtype=dtype), rtol=rtol, atol=rtol)
    assert not draw.report(state).fallbacks


def test_multiply_high():
    rng = np.random.default_rng(0)
    x, y = rng.integers(-(1 << 63), (1 << 63) - 1, (2, 500))
    expected = [(int(a) & WORD) * (int(b) & WORD) >> 64 for a, b in zip(x, y, strict=True)]
    assert multiply_high(x, y).view(np.uint64).tolist() == expected
    compiled = wg.compile(multiply_high)
    assert compiled(x, y).view(np.uint64).tolist() == expected
    assert not compiled.report(x, y).fallbacks


# Quality. Each statistic is standard normal for independent bits, and the largest of 64**2 of them is below 6 with
# probability 1 - 1e-5.


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_bits_are_balanced_and_uncorrelated(key):
    n = 1 << 15
    words = words_of(key, n + 1)
    bits = signs(words)
    assert np.abs(bits.sum(0)).max() < 5 * np.sqrt(n)
    for lag in (0, 1):
        products = bits[:n].T @ bits[lag : lag + n]
        if not lag:
            np.fill_diagonal(products, 0.0)
        assert np.abs(products).max() < 6 * np.sqrt(n)
    for shift in range(0, 64, 8):
        counts = np.bincount(((words >> np.uint64(shift)) & np.uint64(255)).astype(int), minlength=256)
        assert 1e-4 < stats.chisquare(counts).pvalue < 1.0 - 1e-4


@pytest.mark.parametrize("change", [(1, 0), (0, 1), (1 << 62, 0), (0, 1 << 62), (0x9E3779B97F4A7C15 - (1 << 64), 1)])
def test_neighbouring_keys_are_independent(change):
    """The last change makes the sequences of z overlap."""
    n, key = 1 << 15, (3, 4)
    other = (key[0] + change[0], key[1] + change[1])
    for counter in (0, 1):
        x, y = signs(words_of(key, n, counter)), signs(words_of(other, n))
        assert np.abs(x.T @ y).max() < 6 * np.sqrt(n)


@pytest.mark.parametrize("dtype", [F4, F8])
def test_moments_of_normal_numbers(dtype):
    n = 1 << 18
    z = random_normal(np.array([1, 2, 3]), size=(n,), dtype=dtype).astype(float)
    errors = [z.mean(), (z.var() - 1.0) / np.sqrt(2.0), stats.skew(z) / np.sqrt(6.0), stats.kurtosis(z) / np.sqrt(24.0)]
    assert np.abs(errors).max() * np.sqrt(n) < 4.0
    assert np.abs(z[1:] @ z[:-1]) / np.sqrt(n) < 4.0
    assert stats.kstest(z[: 1 << 14], "norm").pvalue > 1e-3
