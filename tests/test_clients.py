"""Libraries of others on values that are being differentiated: what docs/clients.md says of some of them."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import sympy
from tests.oracle import check_derivatives

import wengert as wg

A = np.arange(6.0).reshape(2, 3) + 1.0
WAYS = {"grad": wg.grad, "forward": wg.jacfwd, "compiled": lambda f: wg.compile(wg.grad(f))}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_opt_einsum(way):
    contract = pytest.importorskip("opt_einsum", reason="opt_einsum is not installed").contract
    np.testing.assert_allclose(way(lambda x: contract("ij,kj->ik", x, x).sum())(A), 2.0 * A.sum(0) * np.ones((2, 1)))


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("modules", ["numpy", "scipy"])
def test_sympy(way, modules):
    a, b = sympy.symbols("a b")
    f = sympy.exp(a) * sympy.sin(b) + sympy.sqrt(a**2 + b**2) + sympy.Max(a, b) + sympy.Piecewise((a, a > 0), (b, True))
    at = {a: 0.7, b: 1.3}
    expected = [float(f.diff(s).subs(at)) for s in (a, b)]
    function = sympy.lambdify((a, b), f, modules)
    np.testing.assert_allclose(way(lambda x: function(x[0], x[1]))(np.array([0.7, 1.3])), expected, rtol=1e-14)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_matrices_of_sympy(way):
    a, b = sympy.symbols("a b")
    function = sympy.lambdify((a, b), sympy.Matrix([[a, b], [b, a * b]]), [{"array": wg.array}, "numpy"])
    found = way(lambda x: function(x[0], x[1]).sum())(np.array([0.7, 1.3]))
    np.testing.assert_allclose(found, [2.3, 2.7], rtol=1e-14)


@pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn is not installed")
def test_scikit_learn():
    """In a process of its own, because SciPy reads the variable when it is imported."""
    code = """
import numpy as np, sklearn
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.preprocessing import MinMaxScaler
from tests.oracle import check_derivatives
rows = np.array([[1.0, 5.0], [2.5, 1.0], [4.0, 2.0]])
with sklearn.config_context(array_api_dispatch=True):
    for f in (lambda x: cosine_similarity(x), lambda x: MinMaxScaler().fit_transform(x)):
        check_derivatives(f, [rows], [0])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1],
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


XARRAY = {
    "mean": lambda x: x.mean("a"),
    "deviation": lambda x: x.std("b"),
    "selection": lambda x: x.sel(b=20) ** 2,
    "groups": lambda x: x.groupby("kind").sum() ** 2,
    "choice": lambda x: x.where(x > 2.5, 0.0),
    "ufunc": lambda x: np.sin(x),
}


@pytest.mark.parametrize("f", XARRAY.values(), ids=XARRAY)
def test_xarray(f):
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    coordinates = {"b": [10, 20, 30], "kind": ("b", ["u", "v", "u"])}
    check_derivatives(lambda x: f(xarray.DataArray(x, dims=("a", "b"), coords=coordinates)).data, [A], [0])


def test_pint():
    pint = pytest.importorskip("pint", reason="pint is not installed")
    quantity = pint.UnitRegistry().Quantity
    found = wg.grad(lambda x: (quantity(x, "m") ** 2).to("cm**2").magnitude.sum())(A)
    np.testing.assert_allclose(found, 2e4 * A)
    with pytest.raises(TypeError, match=r"type pint\.\w+ is not a number .*test_clients\.py"):
        wg.tensor(A) * pint.UnitRegistry().meter


def test_uncertainties():
    uncertainties = pytest.importorskip("uncertainties", reason="uncertainties is not installed")
    wrapped = uncertainties.wrap(lambda x: float(np.tanh(x)), [lambda x: float(wg.grad(np.tanh)(float(x)))])
    found = wrapped(uncertainties.ufloat(1.0, 0.1))
    assert found.std_dev == pytest.approx(0.1 / np.cosh(1.0) ** 2, rel=1e-14)
    with pytest.raises(TypeError, match=r"type uncertainties\.\w+ is not a number .*test_clients\.py"):
        wg.tensor(2.0) * uncertainties.ufloat(1.0, 0.1)
