"""Backward passes in a trace: cotangents that are one number stay one number."""

from __future__ import annotations

import math

import numpy as np
import pytest

import wengert as wg
from wengert.core import native
from wengert.modes.backward import conform

N = 50_000


def linear(x, b):
    """Before the sine, no cotangent depends on x."""
    return np.sum(0.5 * (2.0 * -np.sin(x)) + 1.0) - b


def squared(x, b):
    return np.sum(-(np.sin(x) * b)) + np.sum(np.where(x > 0, -x, 3.0 * x))


@pytest.mark.parametrize("f", [linear, squared])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constants_of_a_trace_are_numbers(f, dtype):
    x, b = np.linspace(-1.0, 1.0, N).astype(dtype), dtype(3.0)
    graph = wg.trace(wg.grad(f, argnums=(0, 1)), x, b)
    assert sum(node.nbytes for node in graph.constants) < 200
    for traced, eager in zip(graph.evaluate(x, b), wg.grad(f, argnums=(0, 1))(x, b), strict=True):
        assert traced.dtype == eager.dtype
        np.testing.assert_array_equal(traced, eager)


def test_operands_that_are_broadcast_have_the_sum_of_all_cotangents():
    f = lambda x, b, c: np.sum(b - (2.0 * -x + c * 0.5))
    args = np.ones((3, N)), np.float64(3.0), np.ones(N)
    a, b, c = wg.trace(wg.grad(f, argnums=(0, 1, 2)), *args).evaluate(*args)
    np.testing.assert_array_equal(a, np.full((3, N), 2.0))
    assert b == 3 * N
    np.testing.assert_array_equal(c, np.full(N, -1.5))


@pytest.mark.parametrize(
    ("given", "shape"),
    [
        ((), (4, 1)),
        ((3,), (1, 3)),
        ((3,), (2, 1, 3)),
        ((1,), (2, 1)),
        ((2, 3), (1, 3)),
        ((5, 2, 3), (2, 1)),
        ((2, 3), ()),
    ],
)
def test_cotangents_conform_to_shapes_with_more_and_fewer_axes(given, shape):
    t = np.arange(1.0, 1 + math.prod(given)).reshape(given)
    wide = t.reshape((1,) * (len(shape) - t.ndim) + given)
    wide = wide.sum(axis=tuple(range(wide.ndim - len(shape))))
    stretched = tuple([i for i, n in enumerate(shape) if n == 1])
    expected = np.broadcast_to(wide.sum(axis=stretched, keepdims=True), shape)
    np.testing.assert_array_equal(conform(t, shape, t.dtype), expected)


def test_a_number_is_the_cotangent_of_a_column():
    x = np.linspace(0.0, 1.0, 4).reshape(4, 1)
    for f in (
        lambda x: np.sum(-x),
        lambda x: np.sum(np.reshape(-x, (4,))),
        lambda x: np.sum(np.broadcast_to(-x, (4, 3))),
        lambda x: np.sum(np.concatenate([-x, x + 1.0], axis=1)),
    ):
        np.testing.assert_array_equal(wg.compile(wg.grad(f))(x), wg.grad(f)(x))


def test_a_branch_that_depends_on_nothing_has_no_backward_pass(monkeypatch):
    """Large arrays were met before, so that passes are asked for programs."""
    f = lambda x: x * x if x > 0 else 3.0
    monkeypatch.setattr(native, "met_large", True)
    assert wg.compile(wg.grad(f))(2.0) == 4.0
    assert wg.compile(wg.grad(f))(-2.0) == 0.0
    assert native.met_large  # passes of a trace leave it to those of arrays
