"""Complex numbers that are infinite or NaN: what eager and compiled code must have in common.

Elementwise operations have the same parts. Products of matrices and transforms are not finite at the same elements;
which parts are infinite, and which NaN, depends on the library in NumPy, too.
"""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

PARTS = (0.0, -2.0, np.inf, -np.inf, np.nan)
SPECIAL = np.array([complex(a, b) for a in PARTS for b in PARTS])
DTYPES = (np.complex128, np.complex64)
RNG = np.random.default_rng(11)
pytestmark = pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")

ELEMENTWISE = {
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "by a real number": lambda a, b: (a.real * b, a / b.real, a.real / b),
    "parts": lambda a, b: (abs(a), np.angle(a), a.conj(), np.square(a), np.sign(b), np.isfinite(a), np.isnan(b)),
    "functions": lambda a, b: (np.exp(a), np.sin(a), np.tanh(a), np.log(b), np.sqrt(b)),
    "sums": lambda a, b: (a.reshape(25, 25).sum(0), np.prod(a.reshape(-1, 5), 1), np.var(b.reshape(-1, 5), 1)),
}
PRODUCTS = {
    "matmul": lambda x, y: x @ y,
    "stack": lambda x, y: np.stack([x, 2 * x]) @ y,
    "einsum": lambda x, y: np.einsum("ij,kj->ik", x, y),
    "three factors": lambda x, y: np.einsum("ij,jk,kl->il", x, y, x),
    "vector": lambda x, y: (x @ y[0], x[0] @ y),
    "dot": lambda x, y: (np.dot(x[0], y[:, 1]), np.vdot(x[0], y[0]), np.inner(x, y)),
    "tensordot": lambda x, y: np.tensordot(x, y, 1),
    "convolve": lambda x, y: np.convolve(x[0], y[0, :3]),
    "kron": lambda x, y: np.kron(x[:2], y[:2]),
}
TRANSFORMS = {
    "fft": np.fft.fft,
    "ifft": np.fft.ifft,
    "fft2": np.fft.fft2,
    "rfft": lambda z: np.fft.rfft(z.real),
    "irfft": np.fft.irfft,
    "hfft": np.fft.hfft,
}


def both(f, *args):
    """Eager and compiled results, in pairs."""
    eager, compiled = (g(*args) for g in (f, wg.compile(f)))
    pairs = zip(*(r if isinstance(r, tuple) else (r,) for r in (eager, compiled)), strict=True)
    return [tuple(map(np.asarray, pair)) for pair in pairs]


def parts_of(a):
    """What each part is: infinite, with its sign, NaN or finite."""
    parts = np.stack([a.real, a.imag]) * 1.0
    return np.where(np.isnan(parts), 2.0, np.where(np.isinf(parts), np.sign(parts), 0.0))


def near(a, b):
    """Equal where they are finite."""
    known = np.isfinite(a)
    return np.allclose(a[known], b[known], rtol=1e-12 if a.dtype.itemsize > 8 else 1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_operations_have_the_same_parts(name, dtype):
    a, b = (m.ravel().astype(dtype) for m in np.meshgrid(SPECIAL, SPECIAL))
    for eager, compiled in both(ELEMENTWISE[name], a, b):
        np.testing.assert_array_equal(parts_of(compiled), parts_of(eager))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [2, 5, 24])
@pytest.mark.parametrize("name", PRODUCTS)
def test_the_same_elements_of_products_are_not_finite(name, n, dtype):
    x, y = ((RNG.normal(size=(n, n)) + 1j * RNG.normal(size=(n, n))).astype(dtype) for _ in range(2))
    for value in (np.inf, complex(0.0, -np.inf), complex(np.inf, np.nan), np.nan):
        x[0, 1] = value
        for eager, compiled in both(PRODUCTS[name], x, y):
            assert not np.isfinite(eager).all()
            np.testing.assert_array_equal(np.isfinite(compiled), np.isfinite(eager))
            assert near(compiled, eager)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [4, 9, 17, 60])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_same_transforms_are_not_finite(name, n, dtype):
    z = (RNG.normal(size=(len(SPECIAL) + 1, n)) + 1j * RNG.normal(size=(len(SPECIAL) + 1, n))).astype(dtype)
    z[np.arange(len(SPECIAL)), np.arange(len(SPECIAL)) % n] = SPECIAL
    for eager, compiled in both(TRANSFORMS[name], z):
        eager_finite, compiled_finite = np.isfinite(eager), np.isfinite(compiled)
        if name in ("irfft", "hfft"):  # NumPy leaves elements finite that do not read an infinite part
            eager_finite, compiled_finite = eager_finite.all(1), compiled_finite.all(1)
            eager, compiled = eager[eager_finite], compiled[eager_finite]
        np.testing.assert_array_equal(compiled_finite, eager_finite)
        assert near(compiled, eager)


@pytest.mark.parametrize("name", ["matmul", "vector", "fft", "irfft"])
def test_calls_before_have_no_influence_on_them(name, at_once):
    f = PRODUCTS.get(name) or (lambda x, y: TRANSFORMS[name](x * y))
    x, y = (RNG.normal(size=(6, 6)) + 1j * RNG.normal(size=(6, 6)) for _ in range(2))
    x[2, 3] = complex(0.0, np.inf)
    found = set()
    for _ in range(30):
        tensors = [wg.tensor(a, requires_grad=True) for a in (x, y)]
        result = f(*tensors)
        total = sum(np.abs(r).sum() for r in (result if isinstance(result, tuple) else (result,)))
        total.backward()
        found.add(b"".join(parts_of(t.grad.numpy()).tobytes() for t in tensors))
    assert len(found) == 1
