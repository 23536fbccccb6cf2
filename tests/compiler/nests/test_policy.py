"""Decisions by others than the policy: `wg.compile(f, decide=...)`."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.nests.decisions import Decision
from wengert.compiler.nests.policy import decide

X = np.random.default_rng(36).normal(size=(40, 30))


def f(x):
    return np.tanh(x) + x[:, :1]


def test_loops_run_as_decided_with_the_same_bits():
    g = wg.compile(f, decide=lambda nest, machine: [Decision("outer", 1), Decision("lanes", 0, 4)])
    (text,) = g.report(X).nests
    assert text.splitlines()[:2] == ["for i1 in 0..30, outer:", "  for i0 in 0..40, lanes 4:"]
    np.testing.assert_array_equal(g(X), wg.compile(f)(X))
    np.testing.assert_array_equal(wg.compile(f, decide=lambda nest, machine: [])(X), wg.compile(f)(X))


def test_a_policy_may_change_that_of_the_package():
    g = wg.compile(f, decide=lambda nest, machine: [d for d in decide(nest, machine) if d.kind != "threads"])
    np.testing.assert_array_equal(g(X), wg.compile(f)(X))


def test_derivatives_of_it_have_the_same_policy():
    asked = []

    def policy(nest, machine):
        asked.append(nest)
        return []

    g = wg.grad(lambda x: wg.compile(f, decide=policy)(x).sum())
    np.testing.assert_allclose(g(X), wg.grad(lambda x: f(x).sum())(X))
    assert asked


def test_what_is_not_possible_is_refused_with_the_reason():
    with pytest.raises(ValueError, match=r"lanes 4 along i0 .* not possible: it is reduced.*test_policy.py"):
        wg.compile(lambda x: np.sum(np.exp(x), 0), decide=lambda nest, machine: [Decision("lanes", 0, 4)])(X)


def test_nests_are_shown():
    (text,) = wg.compile(lambda x: np.sum(x[::2] * 2.0 - 1.0, axis=0)).report(X).nests
    assert text.splitlines()[1].strip() == "fold along i0 in 0..20:"
    assert "[i0, i1] = multiply(%0[2*i0, i1], 2.0)" in text
    assert "[i1] sum= %" in text.splitlines()[-2]
    assert text.splitlines()[-1].startswith("takes ")
