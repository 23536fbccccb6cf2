"""Linear algebra of the Array API standard, in the namespace and in the extension `linalg`: dtypes, shapes, stacks,
values.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.standard.calls import COMPLEX, FLOATS, REAL_FLOATS, REALS, accepts, check, plain, run, same_numbers, sample
from tests.standard.elementwise import PAIRS

import wengert as wg

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

NUMERIC = REALS + COMPLEX
SQUARES = [(3, 3), (2, 3, 3), (2, 0, 3, 3), (1, 1), (0, 0), (2, 0, 0)]
MATRICES = [(3, 3), (2, 3), (4, 3), (2, 3, 2), (2, 2, 3), (0, 3), (3, 0), (0, 2, 3)]


def matrix(dtype: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Well-conditioned: a heavy diagonal."""
    return np.asarray(sample(dtype, shape, seed=seed) + 3 * np.eye(shape[-2], shape[-1]), dtype)


def hermitian(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    x = matrix(dtype, shape)
    return np.asarray((x + np.conj(np.swapaxes(x, -1, -2))) / 2, dtype)


def of(name: str):
    return getattr(wg, name)


@pytest.mark.parametrize("where", ["", "linalg."])
def test_matmul_promotes(where):
    for first, second in PAIRS:
        if first != "bool":
            check(f"{where}matmul", sample(first), sample(second, (3, 2), seed=1))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 1, 2, 3), (4, 3, 2)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 3)),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", NUMERIC)
def test_matmul_of_shapes(first, second, dtype):
    check("matmul", sample(dtype, first), sample(dtype, second, seed=1))
    check("linalg.matmul", sample(dtype, first), sample(dtype, second, seed=1))


@pytest.mark.parametrize(
    ("first", "second"), [((), (3,)), ((3,), ()), ((3,), (4,)), ((2, 3), (2, 3)), ((2, 2, 3), (3, 3, 1))], ids=str
)
def test_matmul_of_shapes_that_do_not_fit(first, second):
    for where in (wg, wg.linalg):
        with pytest.raises((ValueError, TypeError)):
            where.matmul(wg.ones(first), wg.ones(second))


@pytest.mark.parametrize("where", ["", "linalg."])
@pytest.mark.parametrize("dtype", NUMERIC)
def test_transposes_and_products(where, dtype):
    x, y = sample(dtype, (2, 3, 4)), sample(dtype, (2, 3, 4), seed=1)
    check(f"{where}matrix_transpose", x)
    for axis in (-1, -2, -3):
        check(f"{where}vecdot", x, y, axis=axis)
    check(f"{where}vecdot", x, y[0, 0])
    check(f"{where}vecdot", x, y)
    for axes in (0, 1, 2):
        check(
            f"{where}tensordot",
            sample(dtype, (2, 3)),
            sample(dtype, (2, 3) if axes == 2 else (3, 4), seed=1),
            axes=axes,
        )
    check(f"{where}tensordot", x, y, axes=((0, 2), (0, 2)))
    check(f"{where}tensordot", x, y, axes=((0, -1), (0, -1)))
    check(f"{where}tensordot", x, y, axes=([1], [1]))
    check(f"{where}tensordot", x[0], y[0])


@pytest.mark.parametrize("name", ["vecdot", "tensordot", "linalg.cross", "linalg.outer"])
def test_products_promote(name):
    shape = (3,) if name == "linalg.outer" else (2, 3)
    for first, second in PAIRS:
        if accepts(name, sample(first, shape), sample(second, shape)):
            check(name, sample(first, shape), sample(second, shape, seed=1))


def test_vecdot_conjugates_the_first():
    x, y = wg.asarray([1j, 2.0]), wg.asarray([1j, 1.0])
    assert complex(wg.vecdot(x, y)) == 3


@pytest.mark.parametrize("dtype", NUMERIC)
def test_cross_and_outer(dtype):
    x, y = sample(dtype, (4, 3, 3)), sample(dtype, (4, 3, 3), seed=1)
    for axis in (-1, -2):
        check("linalg.cross", x, y, axis=axis)
    check("linalg.cross", x[0], y)
    check("linalg.cross", x[0, 0], y[0, 0])
    check("linalg.outer", x[0, 0], y[1, :2, 0])


@pytest.mark.parametrize("shape", [(2,), (4,), (3, 2)], ids=str)
def test_cross_needs_three_components(shape):
    with pytest.raises(ValueError, match="."):
        wg.linalg.cross(wg.ones(shape), wg.ones(shape))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SQUARES, ids=str)
def test_square_matrices(dtype, shape):
    x = matrix(dtype, shape)
    for name in ("det", "inv", "slogdet"):
        check(f"linalg.{name}", x)
    for n in (0, 1, 2, 3, -1, -2):
        check("linalg.matrix_power", x, n)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SQUARES, ids=str)
def test_hermitian_matrices(dtype, shape):
    """Eigenvalues as the reference has them; eigenvectors by what they must satisfy."""
    x = hermitian(dtype, shape)
    check("linalg.eigvalsh", x)
    values, vectors = out = run(wg, "linalg.eigh", x)
    assert out._fields == ("eigenvalues", "eigenvectors")
    assert (values.shape, vectors.shape) == (shape[:-1], shape)
    assert vectors.dtype == of(dtype)
    assert values.dtype == of({"complex64": "float32", "complex128": "float64"}.get(dtype, dtype))
    tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-10
    np.testing.assert_allclose(x @ plain(vectors), plain(vectors) * plain(values)[..., None, :], atol=tolerance)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SQUARES, ids=str)
def test_cholesky(dtype, shape):
    x = matrix(dtype, shape)
    definite = x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1], dtype=dtype)
    for upper in (False, True):
        check("linalg.cholesky", definite, upper=upper)


@pytest.mark.parametrize("dtype", FLOATS)
def test_solve(dtype):
    """For a vector, for several columns, and for stacks."""
    for first, second in (
        ((3, 3), (3,)),
        ((3, 3), (3, 2)),
        ((2, 3, 3), (2, 3, 2)),
        ((2, 3, 3), (3, 2)),
        ((3, 3), (2, 3, 2)),
        ((2, 3, 3), (3,)),
        ((0, 0), (0,)),
    ):
        check("linalg.solve", matrix(dtype, first), sample(dtype, second, seed=1))


def test_solve_promotes():
    check("linalg.solve", matrix("float32", (3, 3)), sample("float64", (3, 2)))
    check("linalg.solve", matrix("complex64", (3, 3)), sample("complex128", (3,)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", MATRICES, ids=str)
def test_decompositions(dtype, shape):
    """Names, shapes and dtypes of the factors, and that they multiply to the matrix."""
    x = matrix(dtype, shape)
    rows, columns = shape[-2:]
    rank = min(rows, columns)
    tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-10
    real = of({"complex64": "float32", "complex128": "float64"}.get(dtype, dtype))
    for mode in ("reduced", "complete"):
        q, r = out = run(wg, "linalg.qr", x, mode=mode)
        inner = rank if mode == "reduced" else rows
        assert out._fields == ("Q", "R")
        assert (q.shape, r.shape) == (shape[:-1] + (inner,), shape[:-2] + (inner, columns))
        assert q.dtype == r.dtype == of(dtype)
        np.testing.assert_allclose(plain(q) @ plain(r), x, atol=tolerance)
    for full in (True, False):
        u, s, vh = out = run(wg, "linalg.svd", x, full_matrices=full)
        assert out._fields == ("U", "S", "Vh")
        assert u.shape == shape[:-1] + (rows if full else rank,)
        assert vh.shape == shape[:-2] + (columns if full else rank, columns)
        assert s.shape == shape[:-2] + (rank,)
        assert u.dtype == vh.dtype == of(dtype)
        assert s.dtype == real
        np.testing.assert_allclose(
            (plain(u)[..., :rank] * plain(s)[..., None, :]) @ plain(vh)[..., :rank, :], x, atol=tolerance
        )
    check("linalg.svdvals", x)
    check("linalg.pinv", x)
    assert run(wg, "linalg.qr", x).Q.shape == shape[:-1] + (rank,)
    assert run(wg, "linalg.svd", x).U.shape == shape[:-1] + (rows,)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [shape for shape in MATRICES if 0 not in shape[-2:]], ids=str)
def test_matrix_norms(dtype, shape):
    x = sample(dtype, shape)
    for order in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        for keepdims in (False, True):
            check("linalg.matrix_norm", x, ord=order, keepdims=keepdims)
    check("linalg.matrix_norm", x)


@pytest.mark.parametrize("order", ["fro", "nuc", 2])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 3)], ids=str)
def test_matrix_norms_of_nothing(order, shape):
    check("linalg.matrix_norm", sample("float64", shape), ord=order)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), (0, 2), (0, 1, 2), (1,)], ids=str)
def test_vector_norms(dtype, axis):
    x = sample(dtype, (2, 3, 4))
    for order in (0, 1, 2, 3, 2.5, -1, -2, math.inf, -math.inf):
        for keepdims in (False, True):
            check("linalg.vector_norm", x, axis=axis, ord=order, keepdims=keepdims)
    check("linalg.vector_norm", x, axis=axis)
    check("linalg.vector_norm", sample(dtype, (0,)))
    check("linalg.vector_norm", sample(dtype, ()))


@pytest.mark.parametrize("dtype", FLOATS)
def test_rank_and_tolerance(dtype):
    x = matrix(dtype, (2, 3, 4))
    x[1, 2] = x[1, 0]
    check("linalg.matrix_rank", x)
    check("linalg.matrix_rank", x[0])
    check("linalg.matrix_rank", x, rtol=0.5)
    real = np.dtype({"complex64": "float32", "complex128": "float64"}.get(dtype, dtype))
    check("linalg.matrix_rank", x, rtol=np.array([0.5, 1e-6], real))
    check("linalg.pinv", x, rtol=0.5)
    check("linalg.pinv", x, rtol=np.array([0.5, 1e-4], real))
    check("linalg.pinv", x[0], rtol=np.asarray(1e-3, real))
    assert run(wg, "linalg.matrix_rank", x).dtype == wg.int64


@pytest.mark.parametrize("dtype", ["bool", *NUMERIC])
@pytest.mark.parametrize("shape", MATRICES, ids=str)
def test_diagonals(dtype, shape):
    x = sample(dtype, shape)
    for offset in (0, 1, -1, 5, -5, 10_000, -10_000):
        check("linalg.diagonal", x, offset=offset)
        if dtype != "bool":
            check("linalg.trace", x, offset=offset)
    if dtype != "bool":
        check("linalg.trace", x)
        for second in NUMERIC:
            if accepts("result_type", np.dtype(dtype), np.dtype(second)):
                check("linalg.trace", x, dtype=np.dtype(second))


@pytest.mark.parametrize("name", ["inv", "det", "cholesky", "eigh", "eigvalsh", "slogdet"])
def test_square_matrices_are_needed(name):
    with pytest.raises((ValueError, np.linalg.LinAlgError)):
        getattr(wg.linalg, name)(wg.ones((2, 3)))


@pytest.mark.parametrize("dtype", REAL_FLOATS)
def test_stacks_are_mapped(dtype):
    """What a function makes of a stack is the stack of what it makes of each matrix."""
    x = wg.asarray(matrix(dtype, (3, 2, 2)))
    for function in (wg.linalg.det, wg.linalg.inv, wg.linalg.svdvals, wg.linalg.matrix_norm, wg.linalg.trace):
        stacked = function(x)
        for i in range(3):
            same_numbers(stacked[i], plain(function(x[i])))
