"""Fourier transforms: NumPy's values for all arguments, derivatives against differences of values."""

from __future__ import annotations

import inspect
from itertools import product

import numpy as np
import pytest
from tests.oracle import check_derivatives

import wengert as wg
from wengert import fft

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY = ("fftn", "ifftn", "rfftn", "irfftn")
TWO = ("fft2", "ifft2", "rfft2", "irfft2")
OF_REALS = ("rfft", "ihfft", "rfftn", "rfft2")
NORMS = (None, "backward", "ortho", "forward")


def signal(shape, name="rfft", dtype=None):
    """Real numbers for the transforms that take no others, else complex ones."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=shape)
    x = x if name in OF_REALS else x + 1j * rng.normal(size=shape)
    return x if dtype is None else x.astype(dtype)


def assert_as_numpy(name, x, *args, **kwargs):
    expected = getattr(np.fft, name)(x, *args, **kwargs)
    for found in (getattr(fft, name)(x, *args, **kwargs), getattr(np.fft, name)(wg.tensor(x), *args, **kwargs).numpy()):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        tolerance = 1e-13 if expected.dtype in (np.float64, np.complex128) else 1e-5
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ONE)
def test_values_along_one_axis(name, norm):
    for length, n in product((2, 5, 6), (None, 1, 2, 3, 5, 6, 8, 9)):
        assert_as_numpy(name, signal((length,), name), n, norm=norm)
        assert_as_numpy(name, signal((2, length, 3), name), n=n, axis=1, norm=norm)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", MANY)
def test_values_along_several_axes(name, norm):
    x = signal((3, 4, 5), name)
    for s, axes in [
        (None, None), (None, (0,)), (None, (2, 0)), ((4, 3, 6), (0, 1, 2)),
        ((2, 7), (-1, 0)), ((-1, 4), (0, 1)), (None, [1, 1]), ((5, -1), (1, 2)),
    ]:  # fmt: skip
        assert_as_numpy(name, x, s=s, axes=axes, norm=norm)


@pytest.mark.parametrize("name", TWO)
def test_values_along_two_axes(name):
    x = signal((2, 4, 5), name)
    assert_as_numpy(name, x)
    assert_as_numpy(name, x, (3, 6), norm="ortho")
    assert_as_numpy(name, x, axes=(1, 0))


@pytest.mark.parametrize("name", ONE + MANY + TWO)
def test_dtypes(name):
    dtypes = ("f4", "f8", "i4", "i8", "?") if name in OF_REALS else ("f4", "f8", "c8", "c16", "i8")
    for dtype in dtypes:
        with np.errstate(all="ignore"):
            x = signal((4, 6), "rfft" if np.dtype(dtype).kind != "c" else name, dtype)
        assert_as_numpy(name, x)


def test_lengths_without_axes_are_deprecated_as_in_numpy():
    x = signal((3, 4), "fft")
    with pytest.warns(DeprecationWarning, match="`axes` should not be `None`"):
        found = fft.fftn(x, (2,))
    np.testing.assert_allclose(found, np.fft.fftn(x, (2,), (-1,)))
    with pytest.warns(DeprecationWarning, match="axes") as warning:
        np.fft.rfftn(wg.tensor(x.real), (2, 2))
    assert warning[0].filename == __file__


LENGTHS = [(length, n) for length in (4, 5) for n in (None, 2, 3, 6, 7)]


@pytest.mark.parametrize(("length", "n"), LENGTHS)
@pytest.mark.parametrize("name", ONE)
def test_gradients_with_even_odd_cut_and_filled_lengths(name, length, n):
    f = getattr(np.fft, name)
    for norm in NORMS[1:]:
        check_derivatives(lambda x, norm=norm: f(x, n, norm=norm), [signal((length,), name)], [0])
    check_derivatives(lambda x: f(x, n, axis=0), [signal((length, 2), "rfft")], [0])


@pytest.mark.parametrize(("s", "axes"), [(None, None), ((3, 4), (0, 1)), ((4, 5), (1, 0)), ((5,), (0,)), (None, (1,))])
@pytest.mark.parametrize("name", MANY)
def test_gradients_along_several_axes(name, s, axes):
    check_derivatives(lambda x: getattr(np.fft, name)(x, s, axes, "ortho"), [signal((3, 4), name)], [0])


def test_gradients_are_in_the_dtype_of_the_operand():
    for name in ONE + MANY:
        x = wg.tensor(signal((3, 4), "rfft", "f4"), requires_grad=True)
        np.abs(getattr(np.fft, name)(x)).sum().backward()
        assert x.grad.dtype == np.float32


def test_the_imaginary_parts_that_play_no_part_get_no_gradient():
    for n in (6, 7):
        x = signal((4,), "irfft")
        gradient = wg.grad(lambda x, n=n: (np.fft.irfft(x, n) ** 3).sum())(x)
        assert gradient[0].imag == 0
        assert (gradient[-1].imag == 0) == (n % 2 == 0)


def test_parseval():
    """The energy of a signal is that of its spectrum, so the gradient of the latter is 2 n x."""
    for n in (8, 9):
        x = signal((n,))
        np.testing.assert_allclose(wg.grad(lambda x: (np.abs(np.fft.fft(x)) ** 2).sum())(x), 2 * n * x, atol=1e-12)


@pytest.mark.parametrize("name", ONE + MANY)
def test_batches_need_no_loop(name):
    x = signal((7, 4, 3), name)
    f = lambda x: getattr(np.fft, name)(x, norm="ortho")
    np.testing.assert_allclose(wg.vmap(f)(x), np.stack([f(row) for row in x]), atol=1e-14)
    np.testing.assert_allclose(wg.vmap(f, 2)(x), np.stack([f(x[..., i]) for i in range(3)]), atol=1e-14)
    operations = len(wg.trace(wg.vmap(f), x).operations)
    assert operations == len(wg.trace(wg.vmap(f), signal((2, 4, 3), name)).operations) <= 4


def test_compiled_convolution_by_the_convolution_theorem():
    x, y = signal((16,)), signal((5,))

    def f(x, y):
        n = x.size + y.size - 1
        return (np.fft.irfft(np.fft.rfft(x, n) * np.fft.rfft(y, n), n) ** 2).sum()

    g = wg.grad(f, (0, 1))
    direct = np.convolve(x, y)
    expected = 2 * np.correlate(direct, y), 2 * np.correlate(direct, x)
    for found in (g(x, y), wg.compile(g)(x, y)):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-11)


def test_frequencies():
    for n, d in product((1, 2, 5, 8), (1.0, 0.1)):
        np.testing.assert_array_equal(fft.fftfreq(n, d), np.fft.fftfreq(n, d))
        np.testing.assert_array_equal(fft.rfftfreq(n, d), np.fft.rfftfreq(n, d))
    check_derivatives(lambda d: fft.fftfreq(5, d), [np.array(0.7)], [0])
    check_derivatives(lambda d: fft.rfftfreq(6, d), [np.array(0.7)], [0])


@pytest.mark.parametrize("axes", [None, 0, -1, (1,), (0, 1), [1, 0]])
def test_shifts(axes):
    for shape in ((4, 5), (5, 4)):
        x = signal(shape)
        for name in ("fftshift", "ifftshift"):
            assert_as_numpy(name, x, axes)
            check_derivatives(lambda x, name=name: getattr(np.fft, name)(x, axes) ** 2, [x], [0])
        np.testing.assert_array_equal(fft.ifftshift(fft.fftshift(x, axes), axes), x)


def test_errors_name_the_line():
    x = wg.tensor(signal((4,), "fft"))
    for call, error, message in [
        (lambda: np.fft.fft(x, 0), ValueError, "Invalid number of FFT data points"),
        (lambda: np.fft.fft(x, norm="other"), ValueError, "Invalid norm value other"),
        (lambda: np.fft.rfft(x), TypeError, "rfft is for real numbers"),
        (lambda: np.fft.rfftn(x), TypeError, "rfft is for real numbers"),
        (lambda: np.fft.fftn(x, (1, 2), (0,)), ValueError, "different lengths"),
        (lambda: fft.fft(x, out=np.zeros(4, complex)), TypeError, "`out=`"),
        (lambda: fft.irfft(x[:1]), ValueError, r"data points \(0\)"),
    ]:
        with pytest.raises(error, match=message + r".*test_fourier\.py:\d+"):
            call()
    with pytest.raises(np.exceptions.AxisError):
        np.fft.fft(x, axis=1)


@pytest.mark.parametrize("name", [*ONE, *MANY, *TWO, "fftshift", "ifftshift"])
def test_signatures_are_those_of_numpy(name):
    parameters = lambda f: [(p.name, p.default) for p in inspect.signature(f).parameters.values()]
    assert parameters(getattr(fft, name)) == parameters(getattr(np.fft, name))
