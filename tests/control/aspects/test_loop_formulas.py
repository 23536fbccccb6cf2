"""Loops and choices in formulas and in SymPy."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

STEPS = np.array([1.0, 2.0, 3.0])


def quadratic(x):
    return wg.scan(lambda s, u: (s * s + u, s), x, STEPS)[0]


def test_a_loop_is_a_recurrence():
    graph = wg.trace(lambda x, w: wg.scan(lambda h, u: (wg.sin(h) * w + u, h), x, STEPS)[0], 1.0, 2.0)
    assert graph.mathematics() == (
        "h[0] = x\nh[k] = sin(h[k − 1]) w + (1, 2, 3)[k],  k = 1, …, 3\ny[k] = h[k − 1],  k = 1, …, 3\nf = h[3]"
    )


def test_the_loop_back_begins_at_the_end():
    written = wg.trace(wg.grad(quadratic), 1.0).mathematics().splitlines()
    assert "s₁[4] = 1" in written
    assert written[-1] == "f = s₁[1]"
    assert any("k = 3, …, 1" in line for line in written)


def test_a_loop_with_a_condition_says_it():
    written = wg.trace(lambda x: wg.while_loop(lambda s: s < 100.0, lambda s: s * x, x), 2.0)
    assert written.mathematics() == "s[0] = x\ns[k] = s[k − 1]x,  k = 1, …, K,  while s[k − 1] < 100\nf = s[K]"
    assert r"\quad \text{while }s^{(k - 1)} < 100" in written.latex()


def test_in_latex_the_step_is_a_superscript_that_is_no_power():
    assert (
        r"s^{(k)} &= (s^{(k - 1)})^{2} + (1, 2, 3)^{(k)}, \quad k = 1, \ldots, 3 \\" in wg.trace(quadratic, 1.0).latex()
    )


def test_a_choice_is_written_by_cases():
    graph = wg.trace(lambda x: wg.cond(x > 0, wg.sin, lambda x: -x, x), 1.0)
    assert graph.mathematics() == "f = {sin x if x > 0, else −x}"
    assert graph.latex() == r"f = \begin{cases}\sin x & x > 0 \\ -x & \text{otherwise}\end{cases}"
    graph = wg.trace(lambda i, x: wg.switch(i, [wg.sin, wg.cos, wg.exp], x), 1, 1.0)
    assert "sin x if" in graph.mathematics()
    assert "≤ 0, else {cos x if" in graph.mathematics()


def test_loops_in_loops_have_other_indices_and_names():
    def f(x):
        return wg.fori_loop(0, 2, lambda i, s: wg.fori_loop(0, 3, lambda j, s: s * x + j, s), x)

    written = wg.trace(f, 2.0).mathematics()
    assert "j = 1, …, 3" in written
    assert "k = 1, …, 2" in written
    assert len({line.split(" = ")[0] for line in written.splitlines()}) == len(written.splitlines())


# SymPy


def test_sympy_gets_the_steps_written_out():
    sympy = pytest.importorskip("sympy")
    x = sympy.Symbol("x", real=True)
    assert sympy.simplify(wg.trace(quadratic, 1.0).to_sympy() - (((x**2 + 1) ** 2 + 2) ** 2 + 3)) == 0
    assert (
        sympy.simplify(wg.trace(wg.grad(quadratic), 1.0).to_sympy() - wg.trace(quadratic, 1.0).to_sympy().diff(x)) == 0
    )


def test_sympy_gets_a_choice_as_piecewise():
    sympy = pytest.importorskip("sympy")
    x, i = sympy.Symbol("x", real=True), sympy.Symbol("i", integer=True)
    found = wg.trace(lambda x: wg.cond(x > 0, wg.sin, wg.cos, x), 1.0).to_sympy()
    assert found == sympy.Piecewise((sympy.sin(x), x > 0), (sympy.cos(x), True))
    found = wg.trace(lambda i, x: wg.switch(i, [wg.sin, wg.cos, wg.exp], x), 1, 1.0).to_sympy()
    for k, function in [(-3, sympy.sin), (0, sympy.sin), (1, sympy.cos), (2, sympy.exp), (9, sympy.exp)]:
        assert found.subs({i: k}) == function(x)


def test_what_sympy_cannot_have_is_an_error_that_says_what_to_do():
    pytest.importorskip("sympy")
    with pytest.raises(NotImplementedError, match=r"depends on numbers.*Use python\(\)"):
        wg.trace(lambda x: wg.while_loop(lambda s: s < 9.0, lambda s: s * s, x), 2.0).to_sympy()
    with pytest.raises(ValueError, match=r"more than 20,000 operations.*Use python\(\)"):
        wg.trace(lambda x: wg.fori_loop(0, 10**6, lambda i, s: s * x, x), 2.0).to_sympy()
