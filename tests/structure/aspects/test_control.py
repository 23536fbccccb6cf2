"""Patterns through loops and choices, against dense derivatives and the written-out program."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.core import machine

X = np.linspace(0.1, 1.0, 6)
BAND = np.triu(np.tril(np.ones((6, 6)), 1), -1)


def diffuse(x, steps):
    """Each step mixes neighbours, so after k steps the band has half-width k."""
    return wg.scan(lambda s, u: (wg.sin(BAND @ s) + u, s[0]), x, np.ones((steps, 6)))


def shifted(s):
    return wg.concatenate([s[:2] * 2.0, s[2:] * s[:4]])


EXACT = {
    "final state": lambda x: diffuse(x, 3)[0],
    "outputs": lambda x: diffuse(x, 3)[1],
    "a sequence": lambda x: wg.scan(lambda s, u: (s * u, s + u), 1.0, x)[1],
    "a sequence from the end": lambda x: wg.scan(lambda s, u: (s * u, s + u), 1.0, x, reverse=True)[1],
    "map": lambda x: wg.map(wg.sin, x),
    "map of rows": lambda x: wg.map(lambda row: row * row[0], x.reshape(2, 3)),
    "a constant": lambda x: wg.scan(lambda s, u: (s + x[1] * u, s * x[2]), x[0], np.arange(4.0) + 1.0)[1],
    "an index": lambda x: wg.fori_loop(0, 3, lambda i, s: s + x[i] * wg.sin(x[i + 1]), 0.0),
    "an index of many steps": lambda x: wg.scan(lambda s, i: (s, s + x[i]), 0.0, np.arange(100) % 3)[1],
    "no steps": lambda x: wg.scan(lambda s, _: (s * x[0], s), x, length=0)[0],
    "two states": lambda x: wg.fori_loop(0, 2, lambda i, s: (s[1], s[0] * x[0]), (x[1], x[2]))[0],
    "while": lambda x: wg.while_loop(lambda s: s.sum() < 50.0, shifted, x + 1.0),
    "a choice whose index is known": lambda x: wg.switch(1, [lambda x: x[::-1] * 2.0, lambda x: x * x], x),
    "a loop in a loop": lambda x: wg.fori_loop(
        0, 2, lambda i, s: wg.fori_loop(0, 2, lambda j, s: wg.sin(BAND @ s), s), x
    ),
    "a loop in a choice in a loop": lambda x: wg.fori_loop(
        0, 2, lambda i, s: wg.cond(s[0] > 5.0, lambda s: s * s, lambda s: diffuse(s, 1)[0], s), x
    ),
}


def dense(f, x):
    return np.asarray(wg.jacobian(f)(x)).reshape(-1, x.size) != 0


@pytest.mark.parametrize("name", EXACT)
def test_patterns_are_those_of_dense_jacobians(name):
    f = EXACT[name]
    np.testing.assert_array_equal(wg.sparsity(f, X).toarray(), dense(f, X))
    np.testing.assert_array_equal(wg.sparsity(f, X, scope="local").toarray(), dense(f, X))


@pytest.mark.parametrize("name", EXACT)
def test_sparse_jacobians_are_dense_ones(name):
    f = EXACT[name]
    expected = np.asarray(wg.jacobian(f)(X)).reshape(-1, X.size)
    np.testing.assert_allclose(wg.sparse_jacobian(f)(X).toarray(), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "steps", [machine.current.max_steps_of_exact_pattern, machine.current.max_steps_of_exact_pattern + 1]
)
def test_few_and_many_steps_have_the_same_pattern(steps):
    f = lambda x: wg.scan(lambda s, u: (wg.sin(s) + wg.roll(s, 1) * u, s[1]), x, np.ones((steps, 200)))
    x = np.ones(200)
    final, rows = wg.sparsity(lambda x: f(x)[0], x), wg.sparsity(lambda x: f(x)[1], x)
    assert final.nnz == 200 * (steps + 1)
    assert rows.nnz == sum(range(1, steps + 1))


def test_a_choice_depends_on_what_any_branch_does():
    f = lambda x: wg.cond(x[0] > 0, lambda x: x * x, lambda x: x[::-1] * 2.0, x)
    expected = np.eye(6, dtype=bool) | np.eye(6, dtype=bool)[::-1]
    np.testing.assert_array_equal(wg.sparsity(f, X).toarray(), expected)
    np.testing.assert_array_equal(wg.sparsity(f, X, scope="local").toarray(), np.eye(6, dtype=bool))


def test_a_loop_of_unknown_length_has_the_dependences_of_any_number_of_steps():
    f = lambda x: wg.while_loop(lambda s: s[0] < 5.0, lambda s: wg.roll(s, 1) + s, x)
    assert wg.sparsity(f, X).density == 1.0
    once = lambda x: wg.while_loop(lambda s: s[0] < 5.0, lambda s: s * x[::-1], x)
    np.testing.assert_array_equal(wg.sparsity(once, X).toarray(), np.eye(6, dtype=bool) | np.eye(6, dtype=bool)[::-1])


HESSIANS = {
    "scan": lambda x: wg.scan(lambda s, u: (s + u * u, s), 0.0, x)[0],
    "neighbours": lambda x: wg.scan(lambda s, u: (u, s * u), 0.0, x)[1].sum(),
    "while": lambda x: wg.while_loop(lambda s: s.sum() < 50.0, shifted, x + 1.0).sum(),
    "cond": lambda x: wg.cond(x[0] > 0, lambda x: (x * x).sum(), lambda x: x[::-1].sum(), x),
}


@pytest.mark.parametrize("name", HESSIANS)
def test_patterns_of_hessians(name):
    f = HESSIANS[name]
    expected = wg.hessian(f)(X)
    found = wg.sparsity(f, X, kind="hessian").toarray()
    np.testing.assert_array_equal(found, expected != 0)
    np.testing.assert_allclose(wg.sparse_hessian(f)(X).toarray(), expected, rtol=1e-12, atol=1e-12)


def test_a_thousand_steps_run_the_body_once():
    calls = []

    def f(x):
        def step(s, u):
            calls.append(None)
            return wg.sin(BAND @ s) + u, s[0]

        return wg.scan(step, x, np.ones((1000, 6)))[1]

    pattern = wg.sparsity(f, X)
    assert len(calls) == 1
    assert pattern.shape == (1000, 6)
    np.testing.assert_array_equal(pattern.toarray().sum(axis=1)[:6], [1, 2, 3, 4, 5, 6])
