"""Loops of elementwise steps run in registers: the numbers are those of the eager loop, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.core import machine

SHAPE = (37, 21)


def numbers(dtype=np.float64, shape=SHAPE):
    rng = np.random.default_rng(0)
    found = rng.uniform(-1.5, 1.5, shape)
    return (found + 1j * rng.uniform(-1.5, 1.5, shape) if np.dtype(dtype).kind == "c" else found).astype(dtype)


def steps(body, length=20):
    """A function of the first state that runs a loop, and returns all final states."""
    return lambda states, *constants: wg.scan(lambda s, _: (body(s, *constants), None), states, length=length)[0]


def check(function, *args, rtol=0.0):
    """Compare compiled and eager code, bit by bit unless they use vector functions; returns the report."""
    compiled = wg.compile(function)
    for found, expected in zip(compiled(*args), function(*args), strict=True):
        expected = np.asarray(expected)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol)
    return str(compiled.report(*args))


def escape(states, a, b):
    x, y, count, inside = states
    inside = inside & (x * x + y * y <= 4.0)
    return np.where(inside, x * x - y * y + a, x), np.where(inside, 2.0 * x * y + b, y), count + inside, inside


def start(shape=SHAPE, dtype=np.float64):
    zeros = np.zeros(shape, dtype)
    return zeros, zeros, np.zeros(shape, np.int64), np.ones(shape, bool)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_states_of_several_dtypes_stay_in_registers(dtype):
    a = numbers(dtype)
    report = check(steps(escape), start(dtype=dtype), a, a[::-1].copy())
    assert "1 kernels" in report
    assert "loop of" not in report


def test_constants_broadcast():
    report = check(steps(escape), start(), numbers(shape=SHAPE[1:]), numbers(shape=(SHAPE[0], 1)))
    assert "loop of" not in report
    assert "loop of" not in check(steps(escape), start(), np.array(0.1), 0.2)


def test_complex_states():
    report = check(steps(lambda s, c: (0.3 * s[0] * s[0] + c, s[0])), (numbers(complex), numbers(complex)), 0.1j)
    assert "loop of" not in report


def test_vector_functions_and_what_is_around_the_loop_are_one_kernel():
    halve = steps(lambda s, c: (np.sin(s[0]) + c * np.exp(-(s[0] ** 2)),))
    assert "1 kernels" in check(
        lambda x, c: (np.sqrt(halve((x * 2.0,), c)[0] + 5.0),), numbers(), numbers(), rtol=1e-13
    )


def test_tangents_run_beside_the_states():
    x = numbers()
    wave = lambda x: steps(lambda s: (np.sin(s[0]) + 0.5 * s[0],), 8)((x,))[0]
    tangent = lambda x: wg.jvp(wave, (x,), (np.ones_like(x),))
    assert "loop of" not in check(tangent, x, rtol=1e-13)
    slope = wg.compile(wg.grad(lambda x: np.sum(wave(x))))(x)
    np.testing.assert_allclose(slope, tangent(x)[1], rtol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 401, 1025])
def test_every_length_of_arrays(size):
    check(steps(escape), start((size,)), numbers(shape=(size,)), numbers(shape=(size,)))


def test_one_state_that_nothing_else_needs():
    pair = steps(lambda s: (s[1], np.cos(s[0])))
    check(lambda x: (pair((x, x + 1.0))[1],), numbers(), rtol=1e-13)


def test_steps_that_are_not_elementwise_remain_a_loop():
    shift = steps(lambda s: (np.roll(s[0], 1) * 0.5,))
    assert "loop of 20" in check(lambda x: shift((x,)), numbers())
    shrink = steps(lambda s: (s[0] / (1.0 + np.sum(s[0] * s[0])),))
    compiled = wg.compile(lambda x: shrink((x,)))
    np.testing.assert_allclose(compiled(numbers())[0], shrink((numbers(),))[0], rtol=1e-12)
    assert "loop of 20" in str(compiled.report(numbers()))


def test_a_long_loop_can_be_interrupted_between_its_steps():
    longest = machine.current.max_operations_of_iterated_element
    long = steps(lambda s: (s[0] * 0.999,), longest + 1)
    assert f"loop of {longest + 1}" in str(wg.compile(lambda x: long((x,))).report(numbers()))


@pytest.mark.parametrize("length", [31, 32, 33, 39, 40, 61])
@pytest.mark.parametrize(
    "body",
    [
        lambda s: (0.5 * (s[0] + 2.0 / s[0]), s[1], s[2]),  # converges
        lambda s: (-s[0], s[2], s[1]),  # comes again after two steps
        lambda s: (s[1], s[2], s[0]),  # after three
        lambda s: (np.where(s[0] > 30.0, s[0], s[0] * s[0] + s[1]), -s[1], s[2] + 1.0),  # never, as steps are counted
        lambda s: (np.log(s[0]), s[1] * -0.0, s[2]),  # to NaN, and between zeros of both signs
    ],
)
def test_states_that_come_again_are_not_computed_again(body, length):
    x = numbers() + 2.0
    with np.errstate(all="ignore"):
        check(steps(body, length), (x, x[::-1].copy(), numbers()), rtol=1e-14)


def test_points_that_escape_at_different_times_take_all_their_steps():
    a, b = np.meshgrid(np.linspace(-2.0, 0.5, 40), np.linspace(-1.25, 1.25, 30))
    check(steps(escape, 50), start(a.shape), a, b)


def test_three_vectors_at_once():
    """Their size is no power of two. Steps that wait for few others run with three vectors of elements."""
    c = numbers(complex)
    square = lambda c: steps(lambda s, c: (np.where(np.abs(s[0]) < 1e3, s[0] * s[0] + c, s[0]),))((0.0 * c,), c)[0]
    check(lambda c: wg.jvp(square, (c,), (np.ones_like(c),)), c, rtol=1e-12)
