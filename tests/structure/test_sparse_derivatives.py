"""Sparse Jacobians and Hessians are the dense ones, by few products, eagerly and as native code."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.compiler.drawn_programs import Draft

import wengert as wg
from wengert.core.errors import GradientError, TrackedValueError
from wengert.structure.coloring import Coloring, color
from wengert.structure.patterns import Pattern, sparsity
from wengert.structure.sparse_derivatives import sparse_hessian, sparse_jacobian

RNG = np.random.default_rng(0)
X = RNG.normal(size=24)
TABLE_OF_PAIRS = RNG.integers(0, 24, (24, 3))


def brusselator(x, side=6):
    u, v = x.reshape(2, side, side)
    laplacian = lambda w: np.roll(w, 1, 0) + np.roll(w, -1, 0) + np.roll(w, 1, 1) + np.roll(w, -1, 1) - 4 * w
    du = 1.0 + u**2 * v - 4.4 * u + 0.1 * laplacian(u)
    dv = 3.4 * u - u**2 * v + 0.1 * laplacian(v)
    return np.stack([du, dv]).reshape(-1)


def arrow(x):
    y = x * x[0]
    return np.concatenate([y[1:] + x[1:] ** 2, np.sum(x**3).reshape(1)])


JACOBIANS = {
    "differences": (lambda x: (x[1:] - x[:-1]) ** 2, "column"),
    "sums": (lambda x: x.reshape(4, 6).sum(axis=1) ** 2, "row"),
    "arrow": (arrow, "bidirectional"),
    "matrix of results": (lambda x: np.outer(x[:3], x[20:]), "column"),
    "scalar": (lambda x: x[3] * x[4], "row"),
    "constant": (lambda x: np.ones(3), "column"),
    "permuted": (lambda x: np.sin(x[::-1].reshape(4, 6)).T, "column"),
    "cumulative": (lambda x: np.cumsum(x) * x, "column"),
    "gathered": (lambda x: x[TABLE_OF_PAIRS].prod(axis=1), None),
}
HESSIANS = {
    "chain": lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
    "arrow": lambda x: np.sum(np.sin(x[:2, None] * x)) + np.sum(x**4),
    "pairs": lambda x: np.sum(np.cos(x[:, None] * x[TABLE_OF_PAIRS])),
    "separable": lambda x: np.sum(np.exp(x)),
    "linear": lambda x: np.sum(x),
    "cliques": lambda x: np.sum(x.reshape(6, 4).prod(axis=1)),
}


def dense_jacobian(f, x):
    return np.asarray(wg.jacobian(f)(x)).reshape(-1, x.size)


@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobians(name):
    f, kind = JACOBIANS[name]
    J = sparse_jacobian(f, check=True)
    found = J(X)
    assert isinstance(found, csr_array)
    np.testing.assert_allclose(found.toarray(), dense_jacobian(f, X), rtol=1e-12, atol=1e-12)
    assert J.pattern(X) == sparsity(f, X)
    assert kind in (None, J.colors(X).kind)
    for by in ("column", "row", "bidirectional"):
        np.testing.assert_allclose(
            sparse_jacobian(f, coloring=by)(X).toarray(), found.toarray(), rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("name", HESSIANS)
def test_hessians(name):
    f = HESSIANS[name]
    H = sparse_hessian(f, check=True)
    dense = wg.hessian(f)(X)
    np.testing.assert_allclose(H(X).toarray(), dense, rtol=1e-11, atol=1e-12)
    assert H.pattern(X) == sparsity(f, X, kind="hessian")
    assert np.array_equal(H.pattern(X).toarray(), dense != 0)
    for by in ("star", "acyclic", "column", "row"):
        np.testing.assert_allclose(sparse_hessian(f, coloring=by)(X).toarray(), dense, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("name", ["differences", "arrow", "gathered", "constant"])
def test_compiled_jacobians(name):
    f, _ = JACOBIANS[name]
    for J in (sparse_jacobian(f, compile=True), wg.compile(sparse_jacobian(f))):
        for x in (X, X + 1.0):
            np.testing.assert_allclose(J(x).toarray(), dense_jacobian(f, x), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("coloring", ["star", "acyclic"])
def test_compiled_hessians(coloring):
    f = HESSIANS["pairs"]
    H = wg.compile(sparse_hessian(f, coloring=coloring))
    assert wg.compile(H) is H
    np.testing.assert_allclose(H(X).toarray(), wg.hessian(f)(X), rtol=1e-10, atol=1e-11)


def test_native_code_has_no_gaps():
    J = sparse_jacobian(brusselator, compile=True)
    x = RNG.normal(size=72)
    np.testing.assert_allclose(J(x).toarray(), dense_jacobian(brusselator, x), rtol=1e-12)
    assert J.find_plan((x,), {})[0].run.report(x).fallbacks == []


def test_figures_of_the_issue():
    assert sparsity(lambda x: (x[1:] - x[:-1]) ** 2, np.ones(50)).nnz == 98
    assert sparse_jacobian(lambda x: (x[1:] - x[:-1]) ** 2).colors(np.ones(50)).number == 2
    pattern = sparsity(lambda x: brusselator(x, 32), np.ones(2048))
    assert pattern.shape == (2048, 2048)
    assert pattern.nnz == 12288
    assert color(pattern).number <= 12


def test_several_arguments_and_results():
    f = lambda a, t, b: {"first": a * b[:, 0] * t, "second": (b.T[1:] ** 2, a[0])}
    a, b = RNG.normal(size=3), RNG.normal(size=(3, 2))
    J = sparse_jacobian(f, argnums=(0, 2), check=True)
    found = J(a, 2.0, b).toarray()
    blocks = wg.jacobian(f, argnums=(0, 2))(a, 2.0, b)
    rows = [blocks["first"], *blocks["second"]]
    dense = np.concatenate([np.concatenate([np.reshape(da, (-1, 3)), np.reshape(db, (-1, 6))], 1) for da, db in rows])
    np.testing.assert_allclose(found, dense, rtol=1e-12)
    assert J.find_plan((a, 2.0, b), {})[0] is J.find_plan((a, 3.0, b), {})[0], "a number is no part of the signature"
    g = lambda a, b: np.sum(a * b[:, 0] ** 2) + np.sum(b**4)
    found = sparse_hessian(g, argnums=(0, 1), check=True)(a, b).toarray()
    flat = lambda z: g(z[:3], z[3:].reshape(3, 2))
    np.testing.assert_allclose(found, wg.hessian(flat)(np.concatenate([a, b.reshape(-1)])), rtol=1e-12)


def test_constants_and_keywords_are_part_of_the_signature():
    f = lambda x, n, *, shift: x[n:] * x[:-n] + shift
    J = sparse_jacobian(f)
    for n in (1, 2):
        np.testing.assert_allclose(J(X, n, shift=0.5).toarray(), dense_jacobian(lambda x, n=n: f(x, n, shift=0.5), X))
    assert len(J.plans) == 2
    J(X, 1, shift=2.5)
    assert len(J.plans) == 2


def test_pattern_and_coloring_are_found_once():
    runs = []

    def f(x):
        runs.append(x.shape)
        return x**2

    J = sparse_jacobian(f, compile=True)
    J(X)
    before = len(runs)
    for _ in range(3):
        J(X)
    assert len(runs) == before
    J(X[:5])
    assert len(runs) > before


def test_float32_stays():
    found = sparse_jacobian(lambda x: x[1:] * x[:-1])(X.astype(np.float32))
    assert found.dtype == np.float32
    assert sparse_hessian(HESSIANS["chain"], check=True)(X.astype(np.float32)).dtype == np.float32
    for native in (False, True):
        assert sparse_jacobian(lambda x, t: x * t, compile=native)(X.astype(np.float32), 2.0).dtype == np.float32


def test_the_check_allows_for_the_rounding_of_the_arguments():
    matrix = RNG.normal(size=(24, 24))
    found = sparse_jacobian(lambda x: np.cos(x) @ matrix, check=True)(X.astype(np.float32))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found.toarray(), (-np.sin(X)[:, None] * matrix).T, atol=1e-5)


def test_a_jacobian_is_not_taken_for_symmetric():
    f = lambda x: np.roll(x, 1) ** 2 + 3 * np.roll(x, -1)
    coloring = color(sparsity(f, X), by="star")
    for way in ("symmetric", "star", "acyclic", coloring):
        with pytest.raises(ValueError, match="need not be symmetric, at .*test_sparse_derivatives"):
            sparse_jacobian(f, coloring=way)
    gradient = wg.grad(HESSIANS["chain"])
    known = sparse_jacobian(gradient, pattern=Pattern(sparsity(gradient, X), symmetric=True), coloring="star")
    for J in (known, wg.compile(known)):
        np.testing.assert_allclose(J(X).toarray(), wg.hessian(HESSIANS["chain"])(X), rtol=1e-12, atol=1e-12)


def test_results_are_the_users_own():
    J = sparse_jacobian(lambda x: x**2, check=True)
    first = J(X)
    first.data[:] = 0.0
    first.eliminate_zeros()
    assert first.nnz == 0
    np.testing.assert_allclose(J(X).toarray(), np.diag(2 * X))


def test_given_patterns():
    f = lambda x: x[1:] * x[:-1]
    pattern = sparsity(f, X)
    for given in (pattern, pattern.matrix, pattern.toarray()):
        np.testing.assert_allclose(sparse_jacobian(f, pattern=given)(X).toarray(), dense_jacobian(f, X))
    wider = Pattern(np.ones((23, 24)))
    np.testing.assert_allclose(sparse_jacobian(f, pattern=wider, check=True)(X).toarray(), dense_jacobian(f, X))
    coloring = color(pattern, "row")
    J = sparse_jacobian(f, pattern=pattern, coloring=coloring)
    assert J.colors(X) is coloring
    np.testing.assert_allclose(J(X).toarray(), dense_jacobian(f, X))


def test_a_pattern_that_misses_an_entry_is_detected():
    f = lambda x: x[1:] * x[:-1]
    short = sparsity(f, X).toarray()
    short[5, 6] = False
    with pytest.raises(ValueError, match=r"pattern misses an entry.*row 5.*test_sparse_derivatives.py"):
        sparse_jacobian(f, pattern=short, check=True)(X)
    g = HESSIANS["chain"]
    with pytest.raises(ValueError, match=r"sparse_hessian: the pattern misses"):
        sparse_hessian(g, pattern=np.eye(24), check=True)(X)
    zero = np.zeros(24)
    here = sparsity(f, zero, scope="local")
    assert here.nnz == 0
    sparse_jacobian(f, pattern=here, check=True)(zero)
    with pytest.raises(ValueError, match="23 of 23 rows"):
        sparse_jacobian(f, pattern=here, check=True)(X)


def test_wrong_arguments():
    f = lambda x: x**2
    with pytest.raises(TypeError, match="sparsity takes a function, and was given a int, at .*test_sparse_derivatives"):
        sparsity(3, X)
    with pytest.raises(ValueError, match="the pattern has 3 columns, and there are 24 elements"):
        sparse_jacobian(f, pattern=np.eye(3))(X)
    with pytest.raises(ValueError, match="24 results, and its pattern 3 rows"):
        sparse_jacobian(f, pattern=np.ones((3, 24)), coloring="column")(X)
    with pytest.raises(ValueError, match="does not tell all entries"):
        sparse_jacobian(f, pattern=np.ones((24, 24)), coloring=Coloring("column", [0] * 24, [-1] * 24))(X)
    with pytest.raises(ValueError, match="by='diagonal'"):
        sparse_jacobian(f, coloring="diagonal")(X)
    with pytest.raises(GradientError, match="complex128"):
        sparse_jacobian(f)(X + 1j)
    with pytest.raises(GradientError, match="int64"):
        sparse_jacobian(f)(np.arange(3))
    with pytest.raises(TypeError, match="takes a function"):
        sparse_jacobian(X)
    with pytest.raises(ValueError, match="kind='gradient'"):
        sparsity(f, X, kind="gradient")
    with pytest.raises(ValueError, match="scope='here'"):
        sparsity(f, X, scope="here")


def test_entries_in_other_transforms():
    f = lambda x: x[1:] ** 2 * x[:-1]
    J = sparse_jacobian(f)
    energy = lambda x: np.sum(J.values(x) ** 2)
    expected = wg.grad(lambda x: np.sum(wg.jacobian(f)(x) ** 2))(X)
    np.testing.assert_allclose(wg.grad(energy)(X), expected, rtol=1e-12)
    np.testing.assert_allclose(wg.compile(wg.grad(energy))(X), expected, rtol=1e-10)
    batch = np.stack([X, 2.0 * X])
    np.testing.assert_allclose(wg.vmap(J.values)(batch), np.stack([J(x).data for x in batch]))
    with pytest.raises(TrackedValueError, match=r"sparse_jacobian\(f\).values"):
        wg.grad(lambda x: J(x).sum())(X)
    np.testing.assert_allclose(J(wg.tensor(X)).toarray(), dense_jacobian(f, X))


def test_chunks_give_the_same():
    f, _ = JACOBIANS["gathered"]
    np.testing.assert_array_equal(sparse_jacobian(f, chunk_size=2)(X).toarray(), sparse_jacobian(f)(X).toarray())


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    rng = np.random.default_rng(seed)
    draft = Draft(lambda n: int(rng.integers(n)), 8)
    f, args = draft.function(), draft.inputs
    kept = [i for i, y in enumerate(f(*args)) if np.asarray(y).dtype == np.float64 and 0 < np.size(y) < 300]
    sizes = [a.size for a in args[:3]]
    if not kept or not 0 < sum(sizes) < 300:
        return
    g = lambda *x: tuple([f(*x)[k] for k in kept])
    columns = [
        wg.jvp(lambda *x: g(*x, args[3]), tuple(args[:3]), unit_vector(args[:3], j))[1] for j in range(sum(sizes))
    ]
    dense = np.array([np.concatenate([np.reshape(t, -1) for t in column]) for column in columns]).T
    for scope in ("global", "local"):
        pattern = sparsity(g, *args, argnums=(0, 1, 2), scope=scope)
        assert not (~pattern.toarray() & (dense != 0)).any(), "\n".join(draft.lines)
        found = sparse_jacobian(g, argnums=(0, 1, 2), pattern=pattern, coloring="column")(*args)
        np.testing.assert_allclose(found.toarray(), dense, rtol=1e-9, atol=1e-12)


def unit_vector(arrays, j):
    flat = np.zeros(sum(a.size for a in arrays))
    flat[j] = 1.0
    starts = np.cumsum([0, *[a.size for a in arrays]])
    return tuple([flat[i : i + a.size].reshape(a.shape) for i, a in zip(starts, arrays, strict=False)])


@pytest.mark.parametrize("seed", range(100, 130))
def test_hessians_of_random_programs(seed):
    rng = np.random.default_rng(seed)
    draft = Draft(lambda n: int(rng.integers(n)), 8)
    f, (*arrays, indices) = draft.function(), draft.inputs
    kept = [i for i, y in enumerate(f(*arrays, indices)) if np.asarray(y).dtype == np.float64 and np.size(y)]
    starts = np.cumsum([0, *[a.size for a in arrays]])
    if not kept or not 0 < starts[-1] < 100:
        return

    def energy(z):
        parts = [z[i : i + a.size].reshape(a.shape) for i, a in zip(starts, arrays, strict=False)]
        outs = f(*parts, indices)
        return sum((outs[k] ** 2).sum() for k in kept) + (z**2).sum()

    z = np.concatenate([a.reshape(-1) for a in arrays])
    dense = wg.hessian(energy)(z)
    for scope in ("global", "local"):
        pattern = sparsity(energy, z, kind="hessian", scope=scope)
        assert not (~pattern.toarray() & (dense != 0)).any(), "\n".join(draft.lines)
    np.testing.assert_allclose(sparse_hessian(energy)(z).toarray(), dense, rtol=1e-8, atol=1e-10 * np.abs(dense).max())
