"""Fourier transforms in compiled functions: all lengths, axes, norms and dtypes, on any number of threads."""

from __future__ import annotations

import pickle

import mpmath
import numpy as np
import pytest

import wengert as wg
from wengert.compiler.machine.tables import Table
from wengert.compiler.routines.fourier import plan, tables
from wengert.compiler.threads import pool as threads

LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 30, 31, 32, 60, 64, 77, 97, 100, 128, 169, 210, 243, 512]
"""Those of each radix, of products of them, with large prime factors, and of signals that are matrices."""
LAYOUTS = [((40, 16), 1), ((41, 15), -1), ((33, 7), 1), ((5, 64), 1), ((16, 40), 0), ((15, 41), 0), ((3, 9, 2), 1)]
LAYOUTS += [((2, 12, 19), 1), ((17, 3), 0), ((2, 17), 1), ((1000, 3), 1), ((9, 1), 0), ((4, 1), 1)]


def numbers(shape, dtype, seed=0):
    """Normal numbers."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return (x if np.dtype(dtype).kind == "c" else x.real).astype(dtype)


def check(f, *operands):
    """Compare a compiled function with NumPy in double precision; NumPy runs none of its operations."""
    compiled = wg.compile(f)
    assert not compiled.report(*operands).fallbacks
    double = [x.astype("c16" if x.dtype.kind == "c" else "f8") for x in operands]
    results = zip(compiled(*operands), f(*operands), f(*double), strict=True)
    for number, (result, same, expected) in enumerate(results):
        assert result.dtype == same.dtype, number
        assert result.shape == expected.shape, number
        bound = 8 * np.finfo(result.dtype).eps * max(abs(expected).max(), 1e-300)
        np.testing.assert_allclose(result, expected, rtol=0, atol=bound, err_msg=str(number))


def all_transforms(z, half, x, n, axis, norm="backward"):
    """One of each kind."""
    fft, ifft, rfft, irfft = np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft
    options = {"axis": axis, "norm": norm}
    return fft(z, **options), ifft(z, **options), rfft(x, **options), irfft(half, n, **options), fft(x, **options)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("n", LENGTHS)
def test_one_signal(n, single):
    z, half = numbers(n, "c8" if single else "c16"), numbers(n // 2 + 1, "c8" if single else "c16", 1)
    check(lambda z, half, x: all_transforms(z, half, x, n, 0), z, half, z.real.copy())


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(("shape", "axis"), LAYOUTS)
def test_many_signals_along_any_axis(shape, axis, single):
    n = shape[axis]
    part = list(shape)
    part[axis] = n // 2 + 1
    z, half = numbers(shape, "c8" if single else "c16"), numbers(part, "c8" if single else "c16", 1)
    check(lambda z, half, x: all_transforms(z, half, x, n, axis), z, half, z.real.copy())


def test_stacks_of_different_sizes_in_one_program():
    shapes = [(40, 16), (41, 16), (9, 16), (2, 16), (16, 40), (16, 41)]
    axes = [1, 1, 1, 1, 0, 0]
    f = lambda *operands: tuple([np.fft.fft(z, axis=axis) for z, axis in zip(operands, axes, strict=True)])
    check(f, *[numbers(shape, "c16") for shape in shapes])


@pytest.mark.parametrize("norm", ["ortho", "forward"])
@pytest.mark.parametrize("n", [10, 15, 34, 320])
def test_norms(n, norm):
    z, half = numbers(n, "c16"), numbers(n // 2 + 1, "c16", 1)
    check(lambda z, half, x: all_transforms(z, half, x, n, 0, norm), z, half, z.real.copy())


@pytest.mark.parametrize("n", [1, 7, 12, 20])
def test_lengths_that_cut_or_fill(n):
    check(
        lambda z, x: all_transforms(np.fft.fft(z, n), z, np.fft.ihfft(x, n).real, n, 0),
        numbers(12, "c16"),
        numbers(12, "f8"),
    )


def test_several_axes():
    z = numbers((6, 9, 16), "c16")
    check(
        lambda z, x: (
            np.fft.fftn(z),
            np.fft.ifftn(z, axes=(0, 2)),
            np.fft.fft2(x),
            np.fft.rfftn(x),
            np.fft.irfftn(z),
            np.fft.fftn(z, axes=(1, 1)),
            np.fft.fftshift(np.fft.fft2(x)),
        ),
        z,
        z.real.copy(),
    )


def test_integers_and_other_kinds_of_operands():
    x = np.arange(24).reshape(4, 6)
    f = lambda x: (np.fft.fft(x), np.fft.ifft(x), np.fft.rfft(x), np.fft.irfft(x), np.fft.ifft2(x), np.fft.hfft(x))
    compiled = wg.compile(f)
    assert not compiled.report(x).fallbacks
    for result, expected in zip(compiled(x), f(x), strict=True):
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, atol=1e-13)


def test_no_numbers():
    x = np.zeros((0, 8), complex)
    assert wg.compile(lambda x: np.fft.fft(x))(x).shape == (0, 8)
    assert wg.compile(lambda x: np.fft.rfft(x))(x.real.copy()).shape == (0, 5)


def test_nan_and_infinity_reach_all_frequencies():
    for value in (np.nan, np.inf):
        for n in (16, 17, 60, 512):
            x = np.zeros(n, complex)
            x[n // 2] = value
            assert not np.isfinite(wg.compile(lambda x: np.fft.fft(x))(x)).any()


def exact_transform(x):
    """The transform in long doubles, by its definition."""
    n = len(x)
    angles = 2 * np.longdouble("3.14159265358979323846264338327950288") * np.arange(n) / n
    roots = np.cos(angles) - 1j * np.sin(angles)
    return (roots[np.outer(np.arange(n), np.arange(n)) % n] * x.astype(np.clongdouble)).sum(1)


@pytest.mark.parametrize("n", [60, 512, 729, 1000, 1009, 1024])
def test_errors_are_those_of_numpy(n):
    z = numbers(n, "c16")
    exact = exact_transform(z)
    error = lambda x: float(np.sqrt(np.mean(abs(x - exact) ** 2) / np.mean(abs(exact) ** 2)))
    assert error(wg.compile(lambda x: np.fft.fft(x))(z)) < 1.3 * error(np.fft.fft(z)) + 1e-17
    x = z.real.copy()
    exact = exact_transform(x)[: n // 2 + 1]
    assert error(wg.compile(lambda x: np.fft.rfft(x))(x)) < 1.3 * error(np.fft.rfft(x)) + 1e-17


def energy(x, w):
    return np.sum(w * np.abs(np.fft.rfft(x)) ** 2)


@pytest.mark.parametrize("n", [64, 63, 34, 1])
def test_the_gradient_of_an_energy_is_two_transforms_and_a_kernel(n):
    x, w = numbers(n, "f8"), np.arange(n // 2 + 1.0)
    compiled = wg.compile(wg.value_and_grad(energy))
    steps = [step.split(":")[0].split(".")[0] for step in compiled.report(x, w).steps]
    assert steps.count("rfft") == steps.count("irfft") == 1
    assert set(steps) == {"rfft", "irfft", "kernel"}
    value, gradient = compiled(x, w)
    expected = wg.value_and_grad(energy)(x, w)
    np.testing.assert_allclose(value, expected[0], rtol=1e-13)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-12, atol=1e-12 * abs(expected[1]).max())


def test_transforms_in_loops_and_batches():
    z = numbers((5, 32), "c16")

    def filtered(z):
        step = lambda z, _: (np.fft.ifft(np.fft.fft(z) * np.linspace(0.0, 1.0, 32)), None)
        return wg.scan(step, z, length=4)[0]

    compiled = wg.compile(wg.vmap(filtered))
    assert not compiled.report(z).fallbacks
    expected = np.fft.ifft(np.fft.fft(z) * np.linspace(0.0, 1.0, 32) ** 4)
    np.testing.assert_allclose(compiled(z), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((1 << 17,), 0), ((99_991,), 0), ((3, 20_000), 1), ((20_000, 5), 0), ((4000, 24), 1), ((64, 1000), 0)],
)
def test_the_number_of_threads_changes_no_bit(shape, axis, monkeypatch):
    z = numbers(shape, "c16")
    f = lambda z, x: (np.fft.fft(z, axis=axis), np.fft.rfft(x, axis=axis), np.fft.irfft(z, axis=axis))
    operands, results = (z, z.real.copy()), []
    for count in ("1", "2", "5"):
        monkeypatch.setenv("WENGERT_NUM_THREADS", count)
        compiled = wg.compile(f)
        results.append([compiled(*operands) for _ in range(3)][-1])
    threads.LIMITS.threads = 1
    for others in results[1:]:
        for x, y in zip(results[0], others, strict=True):
            assert x.tobytes() == y.tobytes()
    np.testing.assert_allclose(results[0][0], np.fft.fft(z, axis=axis), rtol=0, atol=1e-15 * shape[axis])


# Plans and tables


@pytest.mark.parametrize("n", [1, 2, 3, 8, 12, 49, 60, 1001, 1024, 44_100])
def test_radices_have_the_length_as_product(n):
    assert np.prod(plan.radices(n)) == n
    assert plan.radices(n * 17) is None


@pytest.mark.parametrize("n", [64, 100, 1000, 1024, 44_100, 1 << 18])
def test_long_signals_are_matrices(n):
    rows, columns, lanes = plan.split(n, "f64")
    assert rows * columns == n
    assert lanes <= min(rows, columns)


@pytest.mark.parametrize("n", [17, 19, 97, 1009, 99_991])
def test_convolutions_have_a_smooth_length_without_overlap(n):
    length = plan.convolution_length(n, "f64")
    assert 2 * n - 1 <= length <= 4 * n
    assert plan.has_small_factors(length)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 12, 17, 24, 1000, 1001, 44_100, 99_991])
def test_roots_of_unity_are_rounded_once(n):
    k = np.arange(0, n, max(n // 50, 1))
    with mpmath.workprec(100):
        exact = [mpmath.expjpi(-2 * mpmath.mpf(int(i)) / n) for i in k]
        errors = [mpmath.mpc(complex(x)) - y for x, y in zip(tables.roots_of_unity(k, n), exact, strict=True)]
        # half a unit in the last place below 1 is 0.555e-16
        assert max([max(abs(error.real), abs(error.imag)) for error in errors]) < 0.6e-16


@pytest.mark.parametrize("n", [1, 2, 4, 7, 8, 30, 1000, 1002, 44_100, 1 << 14])
def test_some_roots_of_unity_are_the_first_of_all(n):
    every = tables.first_roots_of_unity(n, n)
    for count in {1, n // 3 + 1, n // 4 + 1, n // 2 + 1, n - 1} - {0}:
        np.testing.assert_array_equal(tables.first_roots_of_unity(count, n), every[:count])
    for part in (2, 4):
        if n % part == 0:
            assert every[n // part] == {2: -1, 4: -1j}[part]
            turned = every[: n - n // part] * every[n // part]
            np.testing.assert_array_equal(every[n // part :], turned)


@pytest.mark.parametrize(("rows", "columns"), [(16, 24), (15, 21), (8, 8)])
def test_factors_between_the_steps_are_products_of_two_short_tables(rows, columns):
    order = (0, 1, 4, 5, 2, 3, 6, 7)
    starts = tables.start_roots(rows, columns, 8, "f64").view(complex)
    steps = tables.lane_roots(rows, columns, order, 1, "f64")[0]
    first = np.minimum(np.arange(0, columns, 8), columns - 8)
    found = starts.reshape(-1, rows, 1) * (steps[:, 0] + 1j * steps[:, 1])
    exponents = np.arange(rows)[:, None] * (first[:, None, None] + np.array(order))
    np.testing.assert_allclose(found, tables.roots_of_unity(exponents, rows * columns), rtol=0, atol=4e-16)
    assert starts.size == rows * -(-columns // 8)


def test_tables_are_made_once_and_are_small_on_disk():
    table = Table(tables.first_roots, (4096, 8192, "f64"))
    assert np.asarray(table) is np.asarray(table)
    assert len(pickle.dumps(table)) < 200
    assert np.asarray(pickle.loads(pickle.dumps(table))).ctypes.data % 64 == 0
