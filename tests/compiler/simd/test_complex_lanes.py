"""Complex numbers in kernels: memory in every layout, reductions, products, loops, constants and reports."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.ops.indexing.updates import At

DTYPES = ("c16", "c8")
LENGTHS = (1, 2, 3, 7, 8, 9, 16, 17, 33, 1000)


def numbers(*shape: int, dtype: str = "c16", seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


def assert_native(f, *args, exact: bool = False):
    """Compiled code has NumPy's results, and NumPy runs nothing."""
    compiled = wg.compile(f)
    for found, expected in zip(compiled(*args), f(*args), strict=True):
        assert (np.shape(found), found.dtype) == (np.shape(expected), expected.dtype)
        if exact:
            np.testing.assert_array_equal(found, expected)
        else:
            tolerance = 1e-12 if expected.dtype.itemsize == 16 or expected.dtype == np.float64 else 2e-5
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    report = compiled.report(*args)
    assert report.fallbacks == []
    return report


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", LENGTHS)
def test_moved_elements_keep_their_bits(n, dtype):
    x, y = numbers(n, dtype=dtype), numbers(n, dtype=dtype, seed=1)

    def f(x, y):
        return (
            *(x[::-1], x[::2], x[::-3], np.roll(x, 2), np.pad(x, 3), np.concatenate([x, y, x[:1]])),
            *(np.stack([x, y], 0), np.stack([x, y], 1), np.repeat(x, 2), np.broadcast_to(x, (3, n)), x[None, :] + 0),
            *(np.conj(x), -x, np.real(x), np.imag(x), np.where(np.real(x) > 0, x, y), x.astype(dtype)),
        )

    assert_native(f, x, y, exact=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_axes_in_any_order(dtype):
    x = numbers(5, 9, 17, dtype=dtype)
    f = lambda x: (
        *(x.transpose(2, 0, 1), x.transpose(1, 2, 0)[::2], np.diagonal(x, 1, 0, 1), np.tril(x), x[:, ::-1, 1::3]),
        *(x.transpose(2, 1, 0) * 2, x.reshape(45, 17).T.reshape(17, 5, 9) * x.transpose(2, 0, 1)),
    )
    assert_native(f, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_indices_that_are_computed(dtype):
    x, i = numbers(30, 13, dtype=dtype), np.random.default_rng(1).integers(-30, 30, 50)
    v = numbers(50, 13, dtype=dtype, seed=2)
    f = lambda x, i, j, v: (
        *(x[i], x[i, 3], x[i, j], At(x)[i].add(v), At(x)[i[:1]].set(v[:1])),
        *(At(x)[2:5].set(1.5), At(x)[2:5].add(x[:3]), At(x)[:, 4].set(x[:, 5])),
    )
    assert_native(f, x, i, i // 3, v)
    with pytest.raises(IndexError):
        wg.compile(lambda x, i: x[i])(x, i + 100)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(7,), (1000,), (3, 17), (64, 5), (200_001,), (3, 100_001)], ids=str)
def test_reductions(shape, dtype):
    x = numbers(*shape, dtype=dtype)
    f = lambda x: (
        *(x.sum(), x.sum(0), x.sum(-1), np.mean(x), np.mean(x, 0), (x * np.conj(x)).sum(), np.linalg.norm(x.ravel())),
        *(np.any(x), np.all(x, 0), np.count_nonzero(x), np.prod(x.reshape(-1)[:5]), np.vdot(x, x), np.var(x)),
    )
    compiled = wg.compile(f)
    wide = f(x.astype("c16"))
    for found, expected, eager in zip(compiled(x), wide, f(x), strict=True):
        assert (np.shape(found), found.dtype) == (np.shape(eager), np.asarray(eager).dtype)
        tolerance = 1e-12 if dtype == "c16" else 1e-4
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.sqrt(x.size))
    assert compiled.report(x).fallbacks == []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 4, 5), (100, 8, 8), (40, 30, 20), (33, 65, 17)], ids=str)
def test_products(sizes, dtype):
    m, k, n = sizes
    x, y = numbers(m, k, dtype=dtype), numbers(k, n, dtype=dtype, seed=1)
    f = lambda x, y: (
        *(x @ y, x.T @ x, np.conj(x).T @ x, x @ y[:, 0], np.real(x) @ y, np.einsum("ij,jk->ki", x, y)),
        *(np.tensordot(x, y, 1), np.outer(x[0], y[0]), np.stack([x, x]) @ y),
    )
    assert_native(f, x, y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [2, 5, 20, 64])
def test_products_in_loops(n, dtype):
    x = numbers(n, n, dtype=dtype) / n
    f = lambda x: (wg.fori_loop(0, 4, lambda i, s: x @ s + np.conj(s) @ x.T, x),)
    report = assert_native(f, x)
    assert not any("gemm" in step for step in report.steps)


def test_triangular_systems():
    x, y = np.tril(numbers(9, 9)) + 3 * np.eye(9), numbers(9, 4, seed=1)
    report = assert_native(lambda x, y: (wg.linalg.solve_triangular(x, y, lower=True),), x, y)
    assert any("trsm" in step for step in report.steps)
    x[4, 4] = 0
    with pytest.raises(np.linalg.LinAlgError):
        wg.compile(lambda x, y: wg.linalg.solve_triangular(x, y, lower=True))(x, y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_loops_with_complex_states(dtype):
    z = numbers(40, dtype=dtype) * 0.1

    def mandelbrot(c):
        return (wg.fori_loop(0, 20, lambda i, z: z * z * 0.5 + c, c),)

    assert_native(mandelbrot, z)
    assert_native(lambda c: (wg.fori_loop(0, 20, lambda i, z: z * z * 0.5 + c[0], c[0]),), z)
    g = wg.grad(lambda c: np.sum(np.abs(mandelbrot(c)[0]) ** 2))
    np.testing.assert_allclose(wg.compile(g)(z), g(z), rtol=1e-9 if dtype == "c16" else 1e-3)


def test_gradients():
    x = numbers(6, 7)

    def f(x):
        y = np.exp(1j * np.real(x)) * np.sqrt(x + 5.0) / (x + 3.0j)
        return np.sum(np.abs(y)) + np.sum(np.real(np.log(x + 4.0) * np.conj(y @ y.T)[:, :1]))

    compiled = wg.compile(wg.grad(f))
    np.testing.assert_allclose(compiled(x), wg.grad(f)(x), rtol=1e-11)
    assert compiled.report(x).fallbacks == []


def test_constants():
    x, table = numbers(20), numbers(20, seed=1)
    f = lambda x: (x * 2j + (1 - 1j), x * table, np.complex64(2j) * x, x * np.array([1j]), 3.0 * x + 1)
    report = assert_native(f, x)
    assert report.constant_bytes >= table.nbytes
    assert "kernel" in str(report)


def test_real_and_complex_numbers_in_one_kernel():
    x, z, k = np.linspace(0.1, 2.0, 37), numbers(37), np.arange(37)
    f = lambda x, z, k: (
        *(x + z, x * z, z / x, x / z, k * z, z - k, np.exp(1j * x), x**z, z**k, np.where(x > 1, x, z)),
        *(np.concatenate([x, z]), np.abs(z) * x, np.angle(z) + k, z == x, x.astype(np.complex64), z.astype("c8") * x),
    )
    report = assert_native(f, x, z, k)
    assert len(report.kernels) <= 2


def test_what_has_no_order_or_loses_parts_is_left_to_numpy():
    z = numbers(9)
    compiled = wg.compile(lambda z: (np.max(z), np.sort(z), np.maximum(z, 0.5)))
    for found, expected in zip(compiled(z), (np.max(z), np.sort(z), np.maximum(z, 0.5)), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(100, 20), (33, 7), (1000, 5), (64, 16), (3, 300)], ids=str)
def test_matrices_and_vectors(shape, dtype):
    m, n = shape
    x, v, w = numbers(m, n, dtype=dtype), numbers(n, dtype=dtype, seed=1), numbers(m, dtype=dtype, seed=2)
    assert_native(lambda x, v, w: (x @ v, w @ x, np.conj(x.T) @ (x @ v - w)), x, v, w)


@pytest.mark.parametrize("qubit", range(8))
@pytest.mark.parametrize("dtype", DTYPES)
def test_gates(qubit, dtype):
    """A 2 x 2 matrix times one axis of a state, which is strided in every way."""
    gate, state = numbers(2, 2, dtype=dtype), numbers(256, dtype=dtype, seed=1)

    def f(gate, state):
        pairs = state.reshape(2**qubit, 2, -1)
        a, b = pairs[:, 0], pairs[:, 1]
        turned = np.stack([gate[0, 0] * a + gate[0, 1] * b, gate[1, 0] * a + gate[1, 1] * b], axis=1)
        return np.einsum("ab,lbr->lar", gate, pairs).reshape(-1), turned.reshape(-1)

    assert_native(f, gate, state)
    g = wg.grad(lambda gate, state: sum([np.sum(np.abs(y - 0.5) ** 2) for y in f(gate, state)]), (0, 1))
    for found, expected in zip(wg.compile(g)(gate, state), g(gate, state), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10 if dtype == "c16" else 1e-3, atol=1e-3 * (dtype == "c8"))
