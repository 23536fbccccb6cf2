"""Chains of operations that only move elements of one array are one read at known indices."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.forms.moves import compose_moves
from wengert.core import machine
from wengert.ops.indexing.subscripts import gather

RNG = np.random.default_rng(0)


def numbers(n: int, dtype: str = "c16") -> np.ndarray:
    """Numbers with zeros of both signs, infinities and NaN among them."""
    x = (RNG.normal(size=n) + (1j * RNG.normal(size=n) if dtype[0] == "c" else 0.0)).astype(dtype)
    x[:4] = [0.0, -0.0, np.inf, np.nan]
    return x


def exchange(state, q: int):
    """Half of the state with pairs exchanged: a CNOT gate."""
    fours = state.reshape(2**q, 2, 2, -1)
    return np.stack([fours[:, 0], np.flip(fours[:, 1], (1,))], axis=1).reshape(-1)


def entangle(state, gates: int):
    for q in range(gates):
        state = exchange(state, q)
    return state


def reverse_bits(x, bits: int):
    """The elements in the order of their reversed numbers, by halves."""
    for q in range(bits - 1):
        rows = x.reshape(2**q, -1)
        x = np.concatenate([rows[:, ::2], rows[:, 1::2]], axis=1).reshape(-1)
    return x


def gathers(f, *args) -> int:
    """The gathers of a graph after its moves are composed."""
    return sum(node.primitive.op is gather for node in compose_moves(wg.trace(f, *args)).validate().operations)


@pytest.mark.parametrize("dtype", ["c16", "c8", "f8", "f4", "i8"])
@pytest.mark.parametrize("n", [32, 1024])
def test_gates_are_one_read(dtype, n):
    x = numbers(n, dtype) if dtype != "i8" else np.arange(n)
    f = wg.compile(lambda x: entangle(x, 4))
    now = machine.current
    is_long = 4 * x.itemsize >= now.min_bytes_moved_instead_of_gather
    is_one_read = n >= now.min_elements_of_composed_moves and is_long
    assert gathers(lambda x: entangle(x, 4), x) == is_one_read
    assert (len(f.report(x).kernels) == 1) == (is_one_read or n == 32)
    np.testing.assert_array_equal(f(x).view("u1"), entangle(x, 4).view("u1"))


@pytest.mark.parametrize("bits", [6, 10])
def test_bits_are_reversed_at_once(bits):
    x = numbers(2**bits, "f8")
    order = [int(f"{i:0{bits}b}"[::-1], 2) for i in range(2**bits)]
    found = wg.compile(lambda x: reverse_bits(x, bits))
    assert gathers(lambda x: reverse_bits(x, bits), x) == (bits > 6)
    np.testing.assert_array_equal(found(x), x[order])


def test_cotangents_move_back_at_once():
    x, w = RNG.normal(size=(2, 1024)) + 1j * RNG.normal(size=(2, 1024))
    f = lambda x: np.sum(np.abs(w * entangle(x, 8)) ** 2)
    value, slope = wg.compile(wg.value_and_grad(f))(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-14)
    np.testing.assert_allclose(slope, wg.grad(f)(x), rtol=1e-14)
    assert len(wg.compile(wg.value_and_grad(f)).report(x).kernels) <= 3


def test_arrays_that_are_read_in_between_stay():
    """Those moves are computed anyway, and chains begin anew after them."""
    x = numbers(1024)

    def f(x):
        early = entangle(x, 2)
        late = exchange(exchange(early, 2), 3)
        return -early, -late, -entangle(late, 3)

    assert gathers(f, x) == 1  # two gates, two more, and three more
    for found, expected in zip(wg.compile(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_parts_of_two_arrays_are_joined_as_they_are():
    x, y = numbers(256), numbers(256)
    f = lambda x, y: entangle(np.stack([entangle(x, 2), entangle(y, 2)]).reshape(-1), 2)
    assert gathers(f, x, y) == 0
    np.testing.assert_array_equal(wg.compile(f)(x, y), f(x, y))


def test_joins_without_reshapes_are_no_passes():
    """Their elements are found by comparing indices, in the loop that reads them."""
    x = numbers(1024)

    def turn(x):
        for _ in range(4):
            x = np.concatenate([x[1:], x[:1]])
        return x

    assert gathers(turn, x) == 0
    np.testing.assert_array_equal(wg.compile(turn)(x), turn(x))


def test_long_arrays_have_no_table():
    large = np.zeros(2 * machine.current.max_elements_of_composed_moves, np.complex128)
    assert gathers(lambda x: entangle(x, 5), large) == 0


def test_equal_moves_share_a_table():
    x = numbers(4096)
    f = lambda x: entangle(-entangle(-entangle(x, 9), 9), 9)
    report = wg.compile(f).report(x)
    assert report.constant_bytes == 4 * x.size


@pytest.mark.parametrize("n", [3, 8, 1001])
@pytest.mark.parametrize("dtype", ["c16", "c8"])
def test_complex_numbers_at_indices(n, dtype):
    """Both parts are read at once, and indices that are known count from the end as others do."""
    x, index = numbers(100, dtype), RNG.integers(-100, 100, n)
    np.testing.assert_array_equal(wg.compile(lambda x: x[index])(x), x[index])
    np.testing.assert_array_equal(wg.compile(lambda x, i: x[i])(x, index), x[index])


def test_known_indices_are_checked():
    index = np.array([0, 1, 200, 3])
    with pytest.raises(IndexError):
        wg.compile(lambda x: -x[index])(np.ones(100))
