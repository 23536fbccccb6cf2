"""The points where formulas break, the same in reverse, forward and Taylor mode, in batches, and at second order where
it exists.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

import wengert as wg
from wengert.core.primitive import TABLE

INF = np.inf


def where_sqrt(x):
    with np.errstate(invalid="ignore"):
        return wg.where(x >= 0, x, np.sqrt(-x)).sum()


def masked_distances(p):
    apart = p[:, None] - p[None, :]
    return wg.where(~np.eye(3, dtype=bool), np.sqrt(apart**2), 0.0).sum()


TRAPS = {
    "where": (where_sqrt, [1.0, -4.0], [1.0, -0.25]),
    "masked distances": (masked_distances, [0.0, 1.0, 3.0], [-4.0, 0.0, 4.0]),
    "masked assignment": (lambda x: _root_or_zero(x).sum(), [4.0, 0.0], [0.25, 0.0]),
    "sqrt at 0": (lambda x: np.sqrt(x).sum(), [0.0, 4.0], [INF, 0.25]),
    "norm at 0": (lambda x: np.linalg.norm(x), [0.0, 0.0], [0.0, 0.0]),
    "norm squared at 0": (lambda x: np.linalg.norm(x) ** 2, [0.0, 0.0], [0.0, 0.0]),
    "std of equal numbers": (lambda x: np.std(x), [2.0, 2.0], [0.0, 0.0]),
    "x**0 at 0": (lambda x: (x**0.0).sum() + (x**0).sum(), [0.0, 2.0], [0.0, 0.0]),
    "x**y at 0": (lambda x: (x ** np.array([0.0, 1.0, 2.0])).sum(), [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
    "0**x": (lambda x: (0.0**x).sum(), [2.0, 3.0], [0.0, 0.0]),
    "negative base": (lambda x: (x**3).sum(), [-2.0, 1.0], [12.0, 3.0]),
    "abs at 0": (lambda x: abs(x).sum(), [0.0, -3.0], [0.0, -1.0]),
    "relu at 0": (lambda x: wg.relu(x).sum(), [0.0, 2.0], [0.0, 1.0]),
    "max, tied": (lambda x: np.max(x), [3.0, 1.0, 3.0], [0.5, 0.0, 0.5]),
    "maximum, tied": (lambda x: np.maximum(x, 2.0).sum(), [2.0, 5.0], [0.5, 1.0]),
    "clip, tied": (lambda x: np.clip(x, 0.0, 1.0).sum(), [-1.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 0.5]),
    "logsumexp of -inf": (lambda x: wg.logsumexp(x), [-INF, -INF], [0.0, 0.0]),
    "logsumexp, large": (lambda x: wg.logsumexp(x), [1000.0, 1000.0], [0.5, 0.5]),
    "softplus, large": (lambda x: wg.softplus(x).sum(), [-1e4, 1e4], [0.0, 1.0]),
    "prod with a zero": (lambda x: np.prod(x), [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
    "cumprod with a zero": (lambda x: np.cumprod(x).sum(), [2.0, 0.0, 3.0], [1.0, 8.0, 0.0]),
    "duplicate indices": (
        lambda x: (x[[0, 0, 2]] * np.array([1.0, 10.0, 100.0])).sum(),
        [1.0, 1.0, 1.0],
        [11.0, 0.0, 100.0],
    ),
    "overwritten twice": (lambda x: _overwritten(x), [1.0, 2.0, 3.0], [0.0, 1.0, 10.0]),
    "hypot at 0": (lambda x: np.hypot(x[0], x[1]), [0.0, 0.0], [0.0, 0.0]),
}


def _root_or_zero(x):
    y = np.sqrt(x)
    return wg.where(x == 0, 0.0, y)


def _overwritten(x):
    y = wg.zeros(2)
    y[[0, 0, 1]] = x
    return (y * np.array([1.0, 10.0])).sum()


MODES = {
    "reverse": lambda f, x: wg.grad(f)(x),
    "forward": lambda f, x: np.array([wg.jvp(f, (x,), (e,))[1] for e in np.eye(x.size)]),
    "forward, batched": lambda f, x: wg.jacfwd(f)(x),
    "Taylor": lambda f, x: np.array([wg.taylor(f, x, 1, e)[1] for e in np.eye(x.size)]),
    "batch of gradients": lambda f, x: wg.vmap(wg.grad(f))(np.stack([x, x]))[1],
    "gradient of a batch": lambda f, x: wg.grad(lambda rows: wg.vmap(f)(rows).sum())(np.stack([x, x]))[0],
    "tape": lambda f, x: _on_the_tape(f, x),
}


def _on_the_tape(f, x):
    t = wg.tensor(x, requires_grad=True)
    f(t).backward()
    return t.grad.numpy()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("trap", TRAPS)
def test_trap(trap, mode):
    f, x, expected = TRAPS[trap]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(MODES[mode](f, np.array(x)), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("derivative", [wg.grad, lambda f: lambda x: wg.jvp(f, (x,), (1.0,))[1], wg.derivative])
def test_perturbation_confusion(derivative):
    assert derivative(lambda x: x * derivative(lambda y: x + y)(1.0))(1.0) == 1.0
    for other in (wg.grad, lambda f: lambda x: wg.jvp(f, (x,), (1.0,))[1], wg.derivative):
        assert derivative(lambda x, other=other: x * other(lambda y: x * y)(1.0))(2.0) == 4.0


@pytest.mark.parametrize("mode", MODES)
def test_no_grad_inside_the_function(mode):
    def f(x):
        with wg.no_grad():
            y = x * 2
        return (y * x).sum()

    np.testing.assert_array_equal(MODES[mode](f, np.array([1.0, 2.0])), [2.0, 4.0])


@pytest.mark.parametrize("mode", [m for m in MODES if m != "tape"])
def test_no_grad_around_the_transform(mode):
    with wg.no_grad():
        np.testing.assert_array_equal(MODES[mode](lambda x: (x * x).sum(), np.array([1.0, 2.0])), [2.0, 4.0])


@pytest.mark.parametrize("mode", MODES)
def test_detach_inside_the_function(mode):
    np.testing.assert_array_equal(MODES[mode](lambda x: (x.detach() * x).sum(), np.array([1.0, 2.0])), [1.0, 2.0])


def test_tangents_are_nobody_elses():
    x, v = np.ones(3), np.ones(3)
    tangent = wg.jvp(lambda x: x + 1, (x,), (v,))[1]
    tangent *= 5
    assert v.tolist() == [1.0, 1.0, 1.0]


def test_several_outputs_in_every_mode():
    both = wg.primitive(
        "both_for_test", lambda x, y: (np.sin(x) * y, (x * y).sum()), kind="general", inputs=("x", "y"), outputs=2,
        vjp=lambda t, x, y: (np.cos(x) * y * t[0] + y * t[1], np.sin(x) * t[0] + x * t[1]),
        jvps=(lambda t, x, y: (np.cos(x) * y * t, (y * t).sum()), lambda t, x: (np.sin(x) * t, (x * t).sum())),
    )  # fmt: skip
    try:
        x = np.array([0.3, 0.8])
        f = lambda x: (lambda a, b: a.sum() * b)(*both(x, x * x))
        g = lambda x: (np.sin(x) * x * x).sum() * (x * x * x).sum()
        np.testing.assert_allclose(wg.grad(f)(x), wg.grad(g)(x))
        np.testing.assert_allclose(wg.jacfwd(f)(x), wg.grad(g)(x))
        np.testing.assert_allclose([float(c) for c in wg.taylor(f, x, 4)], [float(c) for c in wg.taylor(g, x, 4)])
        np.testing.assert_allclose(wg.hessian_diag(f)(x), wg.hessian_diag(g)(x))
    finally:
        del TABLE["both_for_test"]


def test_taylor_of_powers_at_zero():
    assert [float(c) for c in wg.taylor(lambda x: x**2.5, 0.0, 2)] == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(wg.laplacian(lambda x: (x**2.5).sum())(np.array([0.0, 1.0])), 3.75)
    assert [float(c) for c in wg.taylor(lambda x: x ** wg.tensor(3.0), 0.0, 3)] == [0.0, 0.0, 0.0, 1.0]


def test_modes_in_threads():
    results = {}

    def work(k):
        mix = [wg.grad, lambda f: lambda x: wg.jvp(f, (x,), (1.0,))[1], wg.derivative][k % 3]
        results[k] = {float(mix(lambda x: x * wg.grad(lambda y: x * y)(1.0))(float(k))) for _ in range(50)}

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {k: {2.0 * k} for k in range(6)}
