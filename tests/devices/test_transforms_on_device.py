"""Transforms of functions of arrays on a device: what they give on the CPU, without a copy to it."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.core.devices import device_of, move
from wengert.core.tree import leaves

X = np.array([0.3, 1.2, 0.7])


def scalar(x):
    return np.sum(np.exp(-x * x) * x) + np.prod(x) * wg.logsumexp(x)


def vector(x):
    return np.sin(x) * x[::-1] + np.cumsum(x)


def rollout(x):
    return wg.scan(lambda s, u: (wg.tanh(s * u) + x, s), x, wg.stack([x, 2.0 * x]))[0]


@wg.custom_vjp
def doubled(x):
    return 2.0 * x


doubled.defvjp(lambda x: (2.0 * x, None), lambda _, t: (2.0 * t,))

TRANSFORMS = {
    "grad": lambda x: wg.grad(scalar)(x),
    "value_and_grad": lambda x: wg.value_and_grad(scalar)(x),
    "grad of a constant": lambda x: wg.grad(lambda x: np.sum(x * 0.0 + 1.0))(x),
    "unused argument": lambda x: wg.grad(lambda x, y: np.sum(x), argnums=(0, 1))(x, x),
    "jacfwd": lambda x: wg.jacfwd(vector)(x),
    "jacrev": lambda x: wg.jacrev(vector)(x),
    "jacobian": lambda x: wg.jacobian(vector)(x),
    "hessian": lambda x: wg.hessian(scalar)(x),
    "hvp": lambda x: wg.hvp(scalar, x, x),
    "vjp": lambda x: wg.vjp(vector, x)[1](x),
    "jvp": lambda x: wg.jvp(vector, (x,), (x,)),
    "linearize": lambda x: wg.linearize(vector, x)[1](x),
    "jet": lambda x: wg.jet(vector, [x], [[x, x]]),
    "taylor": lambda x: wg.jet(scalar, [x], [[x, 0.5 * x, x]]),
    "vmap": lambda x: wg.vmap(lambda v: v * v[0])(np.stack([x, 2.0 * x])),
    "vmap of grad": lambda x: wg.vmap(wg.grad(scalar))(np.stack([x, 2.0 * x])),
    "laplacian": lambda x: wg.laplacian(scalar)(x),
    "scan": lambda x: wg.grad(lambda x: np.sum(rollout(x)))(x),
    "checkpoint": lambda x: wg.grad(lambda x: np.sum(wg.checkpoint(vector)(x)))(x),
    "custom rule": lambda x: wg.grad(lambda x: np.sum(doubled(x) * x))(x),
    "nested": lambda x: wg.grad(lambda x: np.sum(wg.jvp(vector, (x,), (x,))[1] ** 2))(x),
    "trees": lambda x: wg.grad(lambda p: np.sum(p["a"] * p["b"][0]))({"a": x, "b": [x + 1.0]}),
    "linspace": lambda x: wg.grad(lambda x: np.sum(np.linspace(x[0], x[1], 4) ** 2))(x),
    "fft": lambda x: wg.grad(lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 2))(x),
    "complex modulus at 0": lambda x: wg.grad(lambda x: np.sum(np.abs((x - x) * (1.0 + 1.0j))))(x),
    "median": lambda x: wg.grad(lambda x: np.median(x) + np.percentile(x, 30.0))(x),
    "solve": lambda x: wg.jacrev(lambda x: wg.linalg.solve(wg.diag(x) + 0.1 * x, x))(x),
    "eigh": lambda x: wg.grad(lambda x: np.sum(wg.linalg.eigh(np.outer(x, x) + wg.diag(x))[0] ** 3))(x),
    "interp": lambda x: wg.grad(lambda x: np.sum(np.convolve(x, x) + np.diff(x, append=x[:1])[0]))(x),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name, cuda, host_copies):
    expected = leaves(TRANSFORMS[name](X))
    x = move(X, cuda)
    host_copies.clear()
    found = leaves(TRANSFORMS[name](x))
    assert host_copies == []
    for a, b in zip(found, expected, strict=True):
        assert device_of(a) == cuda
        assert a.shape == np.shape(b)
        np.testing.assert_allclose(move(a, "cpu"), b, rtol=1e-10, atol=1e-12)
