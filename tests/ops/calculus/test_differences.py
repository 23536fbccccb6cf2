"""Calculus on samples, statistics and sets: NumPy's values for many arguments, derivatives against differences of
values.
"""

from __future__ import annotations

import inspect
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.integrate
from tests.as_numpy import assert_call, assert_same
from tests.oracle import check_derivatives

import wengert as wg
from wengert.core.array import FUNCTIONS
from wengert.ops.calculus import differences

RNG = np.random.default_rng(8)
X, Y, Z = RNG.normal(size=(4, 5)), RNG.normal(size=(4, 5)), RNG.normal(size=6)
KNOTS = np.array([0.0, 0.7, 1.5, 3.1, 4.0, 4.2])
W = np.array([0.3, 1.2, 0.7, 0.2, 0.9])
BOOLS = np.array([True, False, False, True])


VALUES: dict[str, list[tuple[Any, ...]]] = {
    "diff": [
        ((X,), {}), ((X, 2, 0), {}), ((X, 0), {}), ((X, 7), {}), ((Z,), {"prepend": 0.0}),
        ((X,), {"append": X[:, :2], "prepend": X}),
        ((X,), {"append": 3.0, "axis": 0, "n": 2}), ((np.arange(4),), {}), ((BOOLS,), {}), ((X.astype("f4"),), {}),
        ((X + 1j * Y,), {}),
        ((np.arange(4, dtype="u1")[::-1],), {}), ((Z[:0],), {}),
    ],
    "ediff1d": [((X,), {}), ((Z, 1.5, [1.0, 2.0]), {}), ((Z,), {"to_begin": X}), ((Z[:0], 1.0), {}),
    ((np.arange(3), 7), {})],
    "gradient": [
        ((X,), {}), ((X, 0.5), {}), ((X, 0.5, 2), {}), ((Z, KNOTS), {}), ((X, np.array([0.0, 1, 3, 4]), 2.0), {}),
        ((X,), {"axis": 0}),
        ((X, KNOTS[:5]), {"axis": (1,), "edge_order": 2}), ((X,), {"edge_order": 2}),
        ((X, 2.0), {"axis": (1, 0), "edge_order": 2}),
        ((np.arange(5) ** 2,), {}), ((Z.astype("f4"), KNOTS), {}), ((Z + 1j, np.arange(6)), {}),
        ((Z[:2],), {}), ((Z[:3], KNOTS[:3]), {"edge_order": 2}),
    ],
    "trapezoid": [
        ((X,), {}), ((X, KNOTS[:5]), {}), ((X, np.sort(Y)), {}), ((X,), {"dx": 0.1, "axis": 0}),
        ((X, np.arange(4)), {"axis": 0}),
        ((np.arange(4),), {}), ((Z[:1],), {}), ((Z.astype("f4"),), {}), ((Z * 1j, KNOTS), {}),
    ],
    "interp": [
        ((np.array([[-1.0, 0.0, 0.3], [4.2, 9.0, 0.7]]), KNOTS, Z), {}), ((np.array(0.5), KNOTS, Z), {}),
        ((KNOTS, KNOTS, Z), {}),
        ((np.array([-1.0, 9.0, 2.0]), KNOTS, Z, -5.0, 7.0), {}),
        ((np.array([-7.5, 0.2, 9.0]), KNOTS, Z), {"period": 5.0}),
        ((np.array([1.0, 2.0]), KNOTS, Z), {"period": -2.5}),
        ((np.array([0.5, 1.0, 2.0]), KNOTS[1:2] + 0.3, Z[:1]), {"left": -1.0}),
        ((np.array([0.5, np.nan]), KNOTS, Z + 1j), {}), ((np.array([1, 2]), np.array([0, 3]), np.array([5, 9])), {}),
        ((np.array([0.5], "f4"), KNOTS.astype("f4"), Z.astype("f4")), {}),
    ],
    "unwrap": [
        ((4 * Z,), {}), ((4 * X,), {"axis": 0}), ((4 * X, 5.0), {}), ((4 * Z,), {"period": 2.0}),
        ((np.array([0.0, np.pi, 0.0, -np.pi, 9.0]),), {}),
        ((np.array([1, 2, 5, 1, 9, 0]),), {"period": 4}), ((np.array([1, 2, 5, 1, 9, 0]),), {"period": 5}),
        ((4 * Z.astype("f4"),), {}),
    ],
    "polyval": [
        ((Z, X), {}), ((Z, np.array(0.3)), {}), ((np.arange(3), np.arange(4)), {}), ((Z[:0], X), {}),
        ((Z * 1j, X), {}), ((Z[:1], X), {}),
    ],
    "vander": [
        ((Z,), {}), ((Z, 3), {}), ((Z, 4), {"increasing": True}), ((np.arange(4), 3), {}), ((Z, 1), {}), ((Z, 0), {}),
        ((Z[:0],), {}),
        ((Z.astype("f4"), 3), {}),
    ],
    "cov": [
        ((X,), {}), ((X, Y), {}), ((X,), {"rowvar": False}), ((Z,), {}), ((Z, Z[::-1]), {}), ((X,), {"bias": True}),
        ((X,), {"ddof": 2}),
        ((X,), {"fweights": [1, 2, 1, 3, 1]}), ((X,), {"aweights": W}),
        ((X,), {"aweights": W, "fweights": [1, 2, 1, 3, 1]}),
        ((X,), {"aweights": W, "ddof": 0}), ((X + 1j * Y,), {}), ((X.astype("f4"),), {}),
        ((X.astype("f4"),), {"dtype": np.float32}),
        ((np.arange(6).reshape(2, 3),), {}), ((X, Z[:5]), {}), ((X, Y), {"rowvar": False}),
    ],
    "corrcoef": [((X,), {}), ((X, Y), {}), ((X,), {"rowvar": False}), ((Z,), {}), ((X + 1j * Y,), {}), ((Z, Z),  {})],
}  # fmt: skip


def named(calls):
    return [pytest.param(name, args, kwargs, id=f"{name}-{i}") for i, (name, args, kwargs) in enumerate(calls)]


@pytest.mark.parametrize(
    ("name", "args", "kwargs"), named([(name, *call) for name, calls in VALUES.items() for call in calls])
)
def test_values(name, args, kwargs):
    assert_call(name, *args, **kwargs)


INSIDE = np.array([[0.3, 2.2], [3.9, 5.0]])
SMOOTH = {
    "diff": (lambda x: np.diff(x, 2, 0), [X]),
    "diff with ends": (lambda x, y: np.diff(x, prepend=y, append=y[:, :1] ** 2), [X, Y]),
    "ediff1d": (lambda x, y, z: np.ediff1d(x, y, z), [X, Z[:2], Z[2:4]]),
    "gradient": (lambda x: np.gradient(x), [X]),
    "gradient, second order at the edges": (lambda x: np.gradient(x, 0.5, edge_order=2), [X]),
    "gradient in uneven spacing": (np.gradient, [Z, KNOTS]),
    "gradient in uneven spacing, second order": (lambda f, h: np.gradient(f, h, axis=1, edge_order=2), [X, KNOTS[:5]]),
    "gradient in one spacing": (lambda f, h: np.gradient(f, h, axis=0, edge_order=2), [X, np.array(0.7)]),
    "trapezoid": (np.trapezoid, [X, KNOTS[:5]]),
    "trapezoid, one x for each": (lambda y, x: np.trapezoid(y, x, axis=0), [X, Y]),
    "trapezoid in dx": (lambda y, dx: np.trapezoid(y, dx=dx), [X, np.array(0.3)]),
    "cumulative_trapezoid": (lambda y, x: differences.cumulative_trapezoid(y, x, initial=0), [X, KNOTS[:5]]),
    "interp": (np.interp, [INSIDE, KNOTS, Z]),
    "interp outside": (
        lambda x, xp, fp, low, high: np.interp(x, xp, fp, low, high),
        [INSIDE - 2, KNOTS, Z, np.array(2.0), np.array(3.0)],
    ),
    "interp, periodic": (lambda x, xp, fp, p: np.interp(x, xp, fp, period=p), [INSIDE, KNOTS, Z, np.array(3.37)]),
    "interp, complex": (np.interp, [INSIDE, KNOTS, Z + 1j * Z[::-1]]),
    "unwrap": (np.unwrap, [4 * Z]),
    "unwrap in the period": (lambda p, period: np.unwrap(p, axis=0, period=period), [4 * X, np.array(3.0)]),
    "polyval": (np.polyval, [Z, X]),
    "vander": (lambda x: np.vander(x, 4), [np.array([0.0, 0.5, -1.2])]),
    "cov": (np.cov, [X, Y]),
    "cov of columns": (lambda x: np.cov(x, rowvar=False, bias=True), [X]),
    "cov with weights": (lambda x, w: np.cov(x, aweights=w, fweights=[1, 2, 1, 3, 1]), [X, W]),
    "cov with weights, no freedom lost": (lambda x, w: np.cov(x, aweights=w, ddof=0), [X, W]),
    "cov, complex": (np.cov, [X + 1j * Y]),
    "corrcoef": (np.corrcoef, [X]),
    "corrcoef, complex": (np.corrcoef, [X[:2] + 1j * Y[:2]]),
    "convolve, same": (lambda a, v: np.convolve(a, v, "same"), [Z, Z[:4]]),
    "correlate": (np.correlate, [Z, Z[:4]]),
    "correlate, same, longer second": (lambda a, v: np.correlate(a, v, "same"), [Z[:3], Z]),
    "correlate, complex": (lambda a, v: np.correlate(a, v, "full"), [Z + 1j, Z[:4] - 2j * Z[1:5]]),
    "quantile": (lambda a: np.quantile(a, [0.1, 0.45], axis=1), [X]),
    "quantile in q": (np.quantile, [X, np.array([0.13, 0.77])]),
    "percentile": (lambda a, q: np.percentile(a, q, axis=(0, 1), keepdims=True, method="hazen"), [X, np.array(37.0)]),
    "nanquantile": (lambda a: np.nanquantile(np.where(X > 0.9, np.nan, a), 0.3, axis=0), [X]),
    "weighted quantile": (lambda a: np.quantile(a, [0.2, 0.6], axis=1, weights=W, method="inverted_cdf"), [X]),
    "weighted histogram": (lambda w: np.histogram(Z, 3, weights=w)[0], [Z**2]),
    "density in the weights": (lambda w: np.histogram(Z, 3, weights=w, density=True)[0], [Z**2]),
    "unique": (lambda x: np.unique(x), [Z]),
    "setdiff1d": (lambda x: np.setdiff1d(x, [5.0]), [Z]),
}


@pytest.mark.parametrize(("f", "args"), SMOOTH.values(), ids=SMOOTH)
def test_derivatives(f, args):
    check_derivatives(f, args, range(len(args)))


TRACED = {name: problem for name, problem in SMOOTH.items() if name not in ("unique", "setdiff1d")}


@pytest.mark.parametrize(("f", "args"), TRACED.values(), ids=TRACED)
def test_compiled_gradients(f, args):
    total = lambda *a: sum((wg.real(y) ** 2).sum() for y in (f(*a) if isinstance(f(*a), tuple) else (f(*a),)))
    g = wg.grad(total, tuple(range(len(args))))
    for found, expected in zip(wg.compile(g)(*args), g(*args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("f", "args"), TRACED.values(), ids=TRACED)
def test_batches_and_tangents(f, args):
    """A batch of two, each as alone; and the tangents of all of it."""
    batch = [np.stack([a, a * 1.01]) for a in args]
    leaves = lambda out: out if isinstance(out, tuple) else (out,)
    for found, one, two in zip(
        leaves(wg.vmap(f)(*batch)), leaves(f(*args)), leaves(f(*[b[1] for b in batch])), strict=True
    ):
        np.testing.assert_allclose(found, np.stack([one, two]), rtol=1e-12, atol=1e-12)
    steps = tuple(np.cos(np.arange(a.size)).reshape(a.shape) for a in args)
    h = 1e-6
    ahead, behind = (leaves(f(*[a + s * h * v for a, v in zip(args, steps, strict=True)])) for s in (1, -1))
    tangents = leaves(wg.jvp(f, tuple(args), steps)[1])
    for tangent, a, b in zip(tangents, ahead, behind, strict=True):
        np.testing.assert_allclose(tangent, (a - b) / (2 * h), rtol=1e-5, atol=1e-6)


def test_cumulative_trapezoid_is_that_of_scipy():
    theirs = scipy.integrate.cumulative_trapezoid
    calls = [
        ((X,), {}),
        ((X, KNOTS[:5]), {}),
        ((X,), {"dx": 0.2, "axis": 0, "initial": 0}),
        ((X, Y), {"initial": 0}),
        ((Z[:1],), {"initial": 0}),
    ]
    for args, kwargs in calls:
        assert_same(differences.cumulative_trapezoid(*args, **kwargs), theirs(*args, **kwargs))
        assert_same(differences.cumulative_trapezoid(*map(wg.tensor, args), **kwargs), theirs(*args, **kwargs))
    with pytest.raises(ValueError, match="`initial` must be None or 0"):
        differences.cumulative_trapezoid(X, initial=1.0)


def test_interpolation_at_the_samples_has_the_slope_on_the_right():
    xp, fp = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 3.0])
    slopes = wg.grad(lambda x: np.interp(x, xp, fp).sum())(np.array([0.0, 1.0, 2.0, -1.0, 5.0]))
    np.testing.assert_array_equal(slopes, [1.0, 2.0, 0.0, 0.0, 0.0])


def test_the_derivative_of_unwrap_is_the_identity_where_a_step_is_half_a_period():
    p = np.array([0.0, 1.0, 0.0, 5.0, 4.0])
    np.testing.assert_array_equal(wg.jacobian(lambda p: np.unwrap(p, period=2.0))(p), np.eye(5))


@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolution_of_all_lengths(name, mode):
    for n, m in product(range(1, 7), range(1, 7)):
        a, v = np.cos(np.arange(n) + 1), np.sin(np.arange(m) + 2)
        assert_call(name, a, v, mode)
        assert_call(name, a + 1j * v[0], v * (1 - 2j), mode)
        assert_call(name, np.arange(n), np.arange(m), mode)
    if name == "convolve":
        assert_call(name, np.array(2.0), Z, mode)
    assert_call(name, Z.astype("f4"), Z[:2].astype("f4"), mode)


@pytest.mark.parametrize(
    "f", [np.unique, lambda x: np.union1d(x, Z), lambda x: np.setdiff1d(x, Z), lambda x: np.histogram(x, "auto")]
)
def test_what_depends_on_numbers_is_refused_in_a_trace(f):
    with pytest.raises(wg.TrackedValueError, match=r"depends on the numbers in it.*test_differences\.py:\d+"):
        wg.compile(f)(Z)


def test_errors_name_the_line():
    x = wg.tensor(X)
    calls = [
        (lambda: np.diff(x, -1), ValueError, "order that is not negative"),
        (lambda: np.diff(wg.tensor(1.0)), ValueError, "at least one axis"),
        (lambda: np.gradient(x, 1, 2, 3), TypeError, "one spacing"),
        (lambda: np.gradient(x, edge_order=3), ValueError, "edge_order"),
        (lambda: np.gradient(x[:1]), ValueError, "at least 2 samples"),
        (lambda: np.gradient(x, Z, axis=0), ValueError, "4 positions"),
        (lambda: np.interp(x, KNOTS, Z[:2]), ValueError, "as many xp as fp"),
        (lambda: np.interp(x, KNOTS, Z, period=0), ValueError, "non-zero"),
        (lambda: np.vander(x), ValueError, "needs a vector"),
        (lambda: np.convolve(x, Z), ValueError, "needs vectors"),
        (lambda: np.correlate(x[0], Z[:0]), ValueError, "not empty"),
        (lambda: np.convolve(x[0], Z, "other"), ValueError, "'full', 'same' or 'valid'"),
        (lambda: np.cov(x[None]), ValueError, "two axes"),
        (lambda: np.cov(x, aweights=[1.0]), RuntimeError, "each of 5 observations"),
        (lambda: np.cov(x, fweights=[1, 1, 1.5, 1, 1]), TypeError, "integer"),
        (lambda: np.quantile(x, 1.5), ValueError, "between 0 and 1"),
        (lambda: np.percentile(x, 101), ValueError, "between 0 and 100"),
        (lambda: np.quantile(x, 0.5, method="other"), ValueError, "not a method"),
        (lambda: np.quantile(x * 1j, 0.5), TypeError, "real numbers"),
        (lambda: np.quantile(x, 0.5, weights=X), ValueError, "inverted_cdf"),
        (lambda: np.quantile(x[:, :0], 0.5), IndexError, "no numbers"),
        (lambda: np.histogram(x, weights=Z), ValueError, "shape"),
        (lambda: np.histogram(x * 1j), TypeError, "real numbers"),
        (lambda: np.ediff1d(wg.tensor([1, 2]), 0.5), TypeError, "`to_end`"),
    ]
    for call, error, message in calls:
        with pytest.raises(error, match=message + r".*test_differences\.py:\d+"):
            call()


OURS = [f for f in FUNCTIONS if FUNCTIONS[f].__module__ == "wengert.ops.calculus.differences"]


@pytest.mark.parametrize("function", OURS, ids=lambda f: f.__name__)
def test_signatures_are_those_of_numpy(function):
    """By name, and by kind except where the array API standard takes an argument by position only."""
    assert getattr(wg, function.__name__) is FUNCTIONS[function]
    ours, theirs = [
        [p for p in inspect.signature(f).parameters.values() if p.kind is not p.VAR_KEYWORD]  # which are refused
        for f in (FUNCTIONS[function], function)
    ]
    assert [p.name for p in ours] == [p.name for p in theirs]
    assert all(mine.kind in (yours.kind, mine.POSITIONAL_ONLY) for mine, yours in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("mode", [wg.tensor, lambda x: x], ids=["tensor", "array"])
def test_interp_takes_no_complex_points(mode):
    with pytest.raises(TypeError):
        np.interp(mode(np.array([1.0 + 1.0j])), [0.0, 2.0], [0.0, 1.0])
    with pytest.raises(TypeError):
        differences.interp(mode(np.array([1.0])), np.array([0.0, 2.0 + 1j]), [0.0, 1.0])
    found = differences.interp(mode(np.array([1.5])), [0.0, 2.0], [0.0, 1.0j])
    np.testing.assert_allclose(np.asarray(found.detach() if isinstance(found, wg.Tensor) else found), [0.75j])


def test_interp_of_complex_points_is_refused_in_every_mode():
    f = lambda x: wg.real(np.interp(x, [0.0, 2.0], [0.0, 1.0]).sum())
    z = np.array([1.0 + 1.0j])
    for run in (wg.grad(f), wg.compile(f), lambda z: wg.jvp(f, [z], [z]), lambda z: wg.vmap(f)(z[None])):
        with pytest.raises(TypeError, match="real numbers x"):
            run(z)
