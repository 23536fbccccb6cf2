"""Branches and loops agree with JAX's, where that is installed."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
lax, jnp = jax.lax, jax.numpy

XS = np.linspace(-1.0, 1.0, 6).reshape(3, 2)
X = np.array([0.4, -0.7])


def scan(lib, np, x):
    step = lambda s, row: (np.sin(s * row + x), np.sum(s * s))
    s, ys = lib.scan(step, x, XS, reverse=True)
    return np.sum(s) + np.sum(ys**3)


def while_loop(lib, np, x):
    return lib.while_loop(lambda s: s[0] < 5.0, lambda s: (s[0] * 1.7 + x[1] ** 2, s[1] * x[0]), (x[0], x[1]))[1]


def fori_loop(lib, np, x):
    return np.sum(lib.fori_loop(2, 6, lambda i, s: np.cos(s) * i + x, x))


def cond(lib, np, x):
    return lib.cond(x[0] > x[1], lambda x: np.sum(np.exp(x)), lambda x: x[0] * x[1], x)


def switch(lib, np, x):
    branches = [lambda x: np.sum(x), lambda x: np.sum(x**2), lambda x: np.prod(x)]
    return lib.switch((x[0] > 0).astype(int) + 7 * (x[1] > 0).astype(int), branches, x)


def associative_scan(lib, np, x):
    both = np.stack([x, x * 2.0, x + 1.0, x, x])
    return np.sum(lib.associative_scan(lambda a, b: a * b + a, both, reverse=True))


@pytest.mark.parametrize("program", [scan, fori_loop, cond, switch, associative_scan, while_loop])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_values_and_derivatives(program, sign):
    x = X * sign
    ours = lambda x: program(wg, np, x)
    theirs = lambda x: program(lax, jnp, x)
    np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-13)
    batch = np.stack([x, 1.5 * x, -x])
    np.testing.assert_allclose(wg.vmap(ours)(batch), jax.vmap(theirs)(batch), rtol=1e-13)
    np.testing.assert_allclose(wg.jacfwd(ours)(x), jax.jacfwd(theirs)(x), rtol=1e-12)
    if program is not while_loop:  # of which JAX has no gradient
        np.testing.assert_allclose(wg.grad(ours)(x), jax.grad(theirs)(x), rtol=1e-12)
        np.testing.assert_allclose(wg.compile(wg.hessian(ours))(x), jax.hessian(theirs)(x), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(wg.compile(wg.grad(ours))(x), jax.jacfwd(theirs)(x), rtol=1e-12)
