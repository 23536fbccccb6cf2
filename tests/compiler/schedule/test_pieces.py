"""Arrays that are joined of pieces: one loop computes all pieces and stores each where it belongs."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

RNG = np.random.default_rng(0)
LENGTHS = [1, 3, 4, 7, 33]
"""With and without a remainder, and shorter than a vector."""


def numbers(*shape: int) -> np.ndarray:
    """Complex numbers."""
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


def loops(f, *args) -> list[str]:
    """The loops of a program over more than one element."""
    return [step for step in wg.compile(f).report(*args).steps if "loop over" in step and "over []" not in step]


def rotate(state: np.ndarray, q: int, angle) -> np.ndarray:
    """Pairs of elements of a state, combined: the butterfly of a Fourier transform, or a gate of a quantum circuit."""
    pairs = state.reshape(2**q, 2, -1)
    a, b = pairs[:, 0], pairs[:, 1]
    return np.stack([np.cos(angle) * a - b, a + np.cos(angle) * b], axis=1).reshape(-1)


def exchange(state: np.ndarray, q: int) -> np.ndarray:
    """Half of the state with pairs exchanged."""
    fours = state.reshape(2**q, 2, 2, -1)
    return np.stack([fours[:, 0], np.flip(fours[:, 1], (1,))], axis=1).reshape(-1)


@pytest.mark.parametrize("q", [0, 3, 8, 9])
def test_pairs_are_combined_in_one_loop(q):
    state = numbers(1024)
    f = lambda s: rotate(s, q, 0.3)
    assert len(loops(f, state)) == 1
    np.testing.assert_array_equal(wg.compile(f)(state), f(state))


@pytest.mark.parametrize("q", [0, 3, 7, 8])
def test_exchanges_have_no_conditions(q):
    """Each half is copied by itself, so that no element asks for the half that it is in."""
    state = numbers(1024)
    f = lambda s: exchange(s, q)
    assert len(loops(f, state)) == 1
    kernel = wg.compile(f).report(state).llvm.split("define void @kernel.0(", 1)[1].split("}", 1)[0]
    assert "store" in kernel
    assert "select" not in kernel
    np.testing.assert_array_equal(wg.compile(f)(state), f(state))


def test_a_gate_has_one_loop_forward_and_one_backward():
    """The backward loop reads the cotangent once, and has the sums of the angle beside the next cotangent."""
    state = numbers(1024)

    def energy(angle):
        after = rotate(rotate(rotate(state, 4, angle), 5, angle), 6, angle)
        return np.sum(np.abs(after) ** 2)

    f = wg.value_and_grad(energy)
    assert len(loops(f, 0.3)) <= 7
    for got, expected in zip(wg.compile(f)(0.3), f(0.3), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)


JOINS = {
    "stack": lambda x: np.stack([np.sqrt(x), x * x]),
    "stack in the middle": lambda x: np.stack([np.sqrt(x), x * x, x + 1.0], axis=1),
    "stack at the end": lambda x: np.stack([np.sqrt(x), x * x], axis=-1),
    "three at the end": lambda x: np.stack([np.sqrt(x), x * x, x + 1.0], axis=-1),
    "five at the end": lambda x: np.stack([np.sqrt(x), x * x, x + 1.0, -x, x / 3.0], axis=-1),
    "two dtypes": lambda x: np.stack([x > 1.0, np.sqrt(x)], axis=-1),
    "booleans": lambda x: np.stack([x > 1.0, x < 0.5], axis=-1),
    "concatenation": lambda x: np.concatenate([np.sqrt(x), x * x], axis=1),
    "what is computed of it": lambda x: 2.0 * np.stack([np.sqrt(x), x * x], axis=-1) + x[:, :, None],
    "with numbers of its shape": lambda x: np.stack([np.sqrt(x), x * x]) / np.stack([x, x + 1.0]),
}


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("name", JOINS)
def test_pieces(name, n):
    f, x = JOINS[name], RNG.uniform(0.1, 2.0, (300, n))
    assert len(loops(f, x)) == 1
    assert f"loop over [300, {n}]" in loops(f, x)[0]
    np.testing.assert_array_equal(wg.compile(f)(x), f(x))


def test_expensive_pieces_are_computed_once():
    """What another loop reads of all pieces is stored, and not computed for each element of the whole."""
    x = RNG.uniform(0.1, 2.0, (40, 50))
    f = lambda x: np.stack([np.exp(np.sin(x)), np.sin(x)]).sum(axis=0)
    np.testing.assert_allclose(wg.compile(f)(x), f(x), rtol=1e-14)
    f = lambda x: np.sum(np.stack([np.exp(np.sin(x)), np.sin(x)]))
    assert len(loops(f, x)) == 2
    np.testing.assert_allclose(wg.compile(f)(x), f(x), rtol=1e-13)


@pytest.mark.parametrize("columns", [2, 3, 4, 5, 9])
@pytest.mark.parametrize("dtype", ["c16", "c8"])
def test_columns_of_complex_numbers(columns, dtype):
    z = numbers(67, columns).astype(dtype)
    f = lambda z: z[:, 0] - z[:, columns - 1]
    np.testing.assert_array_equal(wg.compile(f)(z), f(z))


SHAPES = [(2, 20_000), (4, 5000, 2), (8, 16, 400), (1, 40_000), (3, 20_000), (33, 1000), (32, 1001), (16, 2500)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_pieces_of_reductions_have_all_elements(shape):
    """Long reductions are cut along their first axes, into parts that need not be equal."""
    x = RNG.integers(-9, 10, (*shape[:1], 2, *shape[1:])).astype(np.float64)
    f = lambda x: np.sum(x[:, 0] * (x[:, 1] + 3.0))
    assert wg.compile(f)(x) == f(x)


def test_short_last_pieces():
    """Where the first axes do not divide the number of pieces, the longest axis is cut."""
    x = RNG.integers(-9, 10, (5, 2, 9001)).astype(np.float64)
    f = lambda x: (np.sum(x[:, 0] * x[:, 1]), np.sum(x[:, 0] + x[:, 1], axis=(0, 1)))
    for got, expected in zip(wg.compile(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("shape", [(8, 31, 31), (20, 20), (128, 31, 5), (3, 40, 7)])
def test_a_choice_reads_reshaped_pieces_across_rows(shape):
    """A loop over other rows than those of the pieces has no affine positions in them: they are stored."""
    x = np.random.default_rng(0).standard_normal(shape)

    def f(x):
        pairs = np.stack([0.0 + np.pad(x, [(0, 0)] * (x.ndim - 1) + [(i, 1 - i)]) for i in (0, 1)], axis=-1)
        joined = pairs.reshape(*x.shape[:-1], -1)
        return np.pad(joined, [(0, 0)] * (x.ndim - 2) + [(1, 0), (0, 0)])

    np.testing.assert_array_equal(wg.compile(f)(x), f(x))
