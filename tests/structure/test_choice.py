"""The automatic choice of a way to a derivative: it counts passes, says why, and every way gives the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import issparse
from tests.fresh_python import run_python

import wengert as wg

X = np.linspace(0.1, 1.3, 300)
WEIGHTS = np.sin(np.arange(300.0 * 300.0)).reshape(300, 300)


def band(x):
    return np.sin(x[1:] * x[:-1])


def energy(x):
    return np.cos(x[1:] * x[:-1]).sum()


def looks_at_numbers(x):
    return band(x) if x[0] > 0 else x


@pytest.mark.parametrize(
    ("f", "mode", "passes", "why"),
    [
        (band, "sparse", 2, "2 colours of a pattern with 598 nonzeros"),
        (
            lambda x: WEIGHTS @ x,
            "forward",
            300,
            "300 inputs are not more than 300 outputs; 100% of the matrix may be nonzero",
        ),
        (lambda x: x[:10] * x[10:20], "reverse", 10, "10 outputs are fewer"),
        (looks_at_numbers, "reverse", 299, "its pattern is not known"),
    ],
)
def test_jacobian_takes_the_fewest_passes(f, mode, passes, why, capsys):
    plan = wg.jacobian(f).explain(X)
    assert (plan.mode, plan.passes) == (mode, passes)
    assert why in plan.why
    np.testing.assert_allclose(wg.jacobian(f, explain=True)(X), wg.jacfwd(f)(X), rtol=1e-14)
    assert f"jacobian: {mode}, {passes} passes: " in capsys.readouterr().out


def test_few_passes_are_not_worth_a_pattern():
    assert wg.jacobian(band).explain(X[:50]).mode == "reverse"


def test_jacobian_of_trees_through_colours():
    f = lambda p: {"u": band(p["a"]) * p["b"][1:], "v": p["b"].reshape(10, 30) ** 2}
    p = {"a": X, "b": X + 1}
    assert wg.jacobian(f).explain(p).mode == "sparse"
    auto, forward = wg.jacobian(f)(p), wg.jacfwd(f)(p)
    for i in "uv":
        for j in "ab":
            assert auto[i][j].shape == forward[i][j].shape
            np.testing.assert_allclose(auto[i][j], forward[i][j], rtol=1e-14)


@pytest.mark.parametrize(
    "around",
    [
        lambda J: wg.grad(lambda x: (J(x) ** 2).sum()),
        lambda J: wg.compile(J),
        lambda J: lambda x: wg.jvp(J, (x,), (np.ones_like(x),))[1],
        lambda J: lambda x: wg.vmap(J)(np.stack([x, x + 1])),
    ],
    ids=["grad", "compile", "jvp", "vmap"],
)
def test_colours_nest_with_other_transforms(around):
    np.testing.assert_allclose(around(wg.jacobian(band))(X), around(wg.jacfwd(band))(X), rtol=1e-12, atol=1e-14)


def test_one_jacobian_for_several_shapes():
    J = wg.jacobian(band)
    for n in (260, 300, 20):
        np.testing.assert_allclose(J(X[:n]), wg.jacfwd(band)(X[:n]), rtol=1e-14)


def test_derivatives():
    value, gradient, hessian = found = wg.derivatives(energy, X)
    assert value == energy(X)
    np.testing.assert_array_equal(gradient, wg.grad(energy)(X))
    assert issparse(hessian)
    np.testing.assert_allclose(hessian.toarray(), wg.hessian(energy)(X), rtol=1e-13, atol=1e-14)
    assert found.plans["hessian"].passes <= 3
    assert "sparse" in found.explain().splitlines()[2]
    assert len(found) == 3
    assert found.hessian is hessian


def test_derivatives_of_a_function_with_several_outputs():
    value, jacobian = wg.derivatives(band, X, want=("value", "jacobian"))
    np.testing.assert_array_equal(value, band(X))
    assert issparse(jacobian)
    np.testing.assert_allclose(jacobian.toarray(), wg.jacfwd(band)(X), rtol=1e-14)
    (small,) = wg.derivatives(band, X[:5], want=("jacobian",))
    assert isinstance(small, np.ndarray)


def test_a_dense_hessian_stays_dense():
    dense = wg.derivatives(lambda x: (x.sum()) ** 2, X, want=("hessian",))
    np.testing.assert_allclose(dense.hessian, np.full((300, 300), 2.0))
    assert "may be nonzero" in dense.plans["hessian"].why
    (small,) = wg.derivatives(energy, X[:4], want=("hessian",))
    np.testing.assert_allclose(small, wg.hessian(energy)(X[:4]))


def test_what_was_not_asked_for_is_named():
    (gradient,) = wg.derivatives(energy, X, want="gradient")
    np.testing.assert_array_equal(gradient, wg.grad(energy)(X))
    with pytest.raises(ValueError, match="want='curvature'.*Choose among"):
        wg.derivatives(energy, X, want=("curvature",))
    with pytest.raises(AttributeError, match="hessian was not asked for"):
        _ = wg.derivatives(energy, X, want=("value",)).hessian


def test_a_small_jacobian_brings_no_compiler_along():
    code = (
        "import sys, numpy as np, wengert as wg; wg.jacobian(lambda x: x**2)(np.ones(3)); "
        "print('llvmlite' in sys.modules)"
    )
    run = run_python(code)
    assert run.stdout.strip() == "False"


def test_captured_arrays_may_change():
    stencil = np.zeros((300, 300))
    stencil[np.arange(300), np.arange(300)] = 2.0
    f = lambda x: stencil @ np.sin(x)
    for J in (wg.jacobian(f), wg.jacobian(lambda x: wg.jvp(f, (x,), (x,))[1])):
        assert J.explain(X).mode == "sparse"
        stencil[0, 299] = 0.0
        J(X)
        stencil[0, 299] = 5.0
        assert J(X)[0, 299] != 0.0
