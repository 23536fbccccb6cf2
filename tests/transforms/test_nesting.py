"""Transforms in transforms: all mixes of forward and reverse, to third order, without confusion."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

import wengert as wg
from wengert.transforms.curvature import derivative, hvp
from wengert.transforms.gradients import grad, value_and_grad
from wengert.transforms.jacobians import jacobian
from wengert.transforms.products import directional, linearize, vjp

FIRST = {
    "reverse": grad,
    "forward": lambda f: lambda x: directional(f, x, 1.0),
    "pullback": lambda f: lambda x: vjp(f, x)[1](1.0)[0],
    "linearize": lambda f: lambda x: linearize(f, x)[1](1.0),
}


def mixes(order):
    kinds = FIRST if order == 2 else list(FIRST)[:2]
    return pytest.mark.parametrize("mix", list(itertools.product(kinds, repeat=order)), ids="-".join)


def tape_derivative(f, x, n):
    x = wg.tensor(x, requires_grad=True)
    y = f(x)
    for _ in range(n):
        (y,) = wg.autograd.grad(y, x, create_graph=True)
    return y.item()


def f(x):
    y = np.sin(x) * x
    return np.exp(-y * y) + x * np.stack([x, y * x]).prod() + np.log(x) ** 2


@mixes(2)
def test_second_order(mix):
    outer, inner = (FIRST[m] for m in mix)
    np.testing.assert_allclose(outer(inner(f))(0.7), tape_derivative(f, 0.7, 2), rtol=1e-12)


@mixes(3)
def test_third_order(mix):
    a, b, c = (FIRST[m] for m in mix)
    np.testing.assert_allclose(a(b(c(f)))(0.7), tape_derivative(f, 0.7, 3), rtol=1e-12)


@mixes(2)
def test_perturbation_confusion(mix):
    outer, inner = (FIRST[m] for m in mix)
    assert outer(lambda x: x * inner(lambda y: x + y)(1.0))(1.0) == 1.0
    assert outer(lambda x: inner(lambda y: x * y * y)(2.0))(3.0) == 4.0
    assert outer(lambda x: x * inner(lambda y: x * y)(x))(3.0) == 6.0
    assert outer(lambda x: inner(lambda y: x)(2.0))(3.0) == 0.0


@mixes(2)
def test_closures_that_rebind(mix):
    outer, inner = (FIRST[m] for m in mix)

    def g(x):
        slope = inner(lambda y: x * y)(1.0)
        x = x * x
        return slope * x

    assert outer(g)(2.0) == 12.0


@mixes(2)
def test_around_the_tape(mix):
    x = wg.tensor(0.7, requires_grad=True)
    outer, inner = (FIRST[m] for m in mix)
    outer(inner(f))(x).backward()
    np.testing.assert_allclose(x.grad.item(), tape_derivative(f, 0.7, 3), rtol=1e-12)


@mixes(2)
def test_from_threads(mix):
    outer, inner = (FIRST[m] for m in mix)
    results = {}

    def work(k):
        results[k] = {outer(lambda x: x * inner(lambda y: x + y)(1.0))(float(k)) for _ in range(30)}

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == dict.fromkeys(range(3), {1.0})


def test_a_pullback_that_outlives_its_level():
    kept = []

    def g(x):
        kept.append(vjp(lambda y: y**3, 2.0)[1])
        return x

    grad(g)(1.0)
    assert grad(lambda t: kept[0](t * t)[0])(3.0) == 72.0


def test_large_arrays():
    x = np.linspace(0.1, 1.0, 1 << 18)
    g = lambda x: (np.sin(x) * np.exp(-x) + x * x).sum()
    np.testing.assert_allclose(hvp(g, x, np.ones_like(x)), 2 - 2 * np.cos(x) * np.exp(-x))


def test_mixed_with_jacobians():
    x = np.array([0.3, 0.8])
    g = lambda x: np.sin(x) * x[::-1]
    trace = lambda x: np.trace(jacobian(g)(x))
    third = grad(lambda x: grad(trace)(x).sum())(x)
    step = 1e-6
    unit = np.array([step, 0.0])
    expected = (grad(trace)(x + unit).sum() - grad(trace)(x - unit).sum()) / (2 * step)
    np.testing.assert_allclose(third[0], expected, rtol=1e-6)


def test_high_orders():
    for n in range(6):
        np.testing.assert_allclose(derivative(np.exp, n)(0.3), np.exp(0.3))
    slope = np.sin
    for _ in range(4):
        slope = grad(slope)
    np.testing.assert_allclose(slope(0.7), np.sin(0.7))


def test_gradient_through_gradient_descent():
    def trained(rate):
        w = np.array([1.0, -2.0])
        for _ in range(5):
            value, slope = value_and_grad(lambda w: (w**2 * np.array([1.0, 3.0])).sum())(w)
            w = w - rate * slope
        return (w**2).sum()

    step = 1e-6
    np.testing.assert_allclose(
        grad(trained)(0.05), (trained(0.05 + step) - trained(0.05 - step)) / (2 * step), rtol=1e-6
    )
