"""The Fourier extension of the Array API standard: dtypes, lengths, axes, normalisation, against the reference
implementation.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.standard.calls import FLOATS, REAL_FLOATS, accepts, check, run, sample

import wengert as wg

NORMS = ["backward", "ortho", "forward"]
REAL_INPUT = ("rfft", "ihfft", "rfftn")


def dtypes_of(name: str) -> tuple[str, ...]:
    """Real transforms take real numbers; the others take real numbers too where the reference does."""
    return tuple(
        dtype
        for dtype in FLOATS
        if accepts(f"fft.{name}", sample(dtype, (3, 4))) and (name not in REAL_INPUT or dtype in REAL_FLOATS)
    )


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("norm", NORMS)
def test_one_axis(name, norm):
    for dtype in dtypes_of(name):
        x = sample(dtype, (4, 5))
        check(f"fft.{name}", x, norm=norm)
        for axis in (0, 1, -1):
            for n in (None, 3, 5, 8):
                check(f"fft.{name}", x, n=n, axis=axis, norm=norm)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize("norm", NORMS)
def test_several_axes(name, norm):
    for dtype in dtypes_of(name):
        x = sample(dtype, (3, 4, 5))
        check(f"fft.{name}", x, norm=norm)
        for axes in (None, (0,), (-1, 0), (2, 1, 0), [1, 2]):
            check(f"fft.{name}", x, axes=axes, norm=norm)
        check(f"fft.{name}", x, s=(4, 6), axes=(0, 2), norm=norm)
        check(f"fft.{name}", x, s=[2, 3], axes=[1, 2], norm=norm)


@pytest.mark.parametrize("name", ["fft", "ifft", "fftn", "ifftn", "hfft", "irfft", "irfftn"])
def test_precision_stays(name):
    assert run(wg, f"fft.{name}", sample("complex64", (4, 4))).dtype in (wg.complex64, wg.float32)
    assert run(wg, f"fft.{name}", sample("complex128", (4, 4))).dtype in (wg.complex128, wg.float64)


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies(name, n):
    check(f"fft.{name}", n)
    check(f"fft.{name}", n, d=0.25)
    for dtype in REAL_FLOATS:
        check(f"fft.{name}", n, d=2.0, dtype=np.dtype(dtype))
    device = wg.ones(1).device
    assert getattr(wg.fft, name)(n, device=device).device == device


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
@pytest.mark.parametrize("axes", [None, 0, -1, (0, 1), (1,), (2, 0)], ids=str)
def test_shifts(name, axes):
    for dtype in FLOATS:
        check(f"fft.{name}", sample(dtype, (3, 4, 5)), axes=axes)
        check(f"fft.{name}", sample(dtype, (3, 4, 5)))


def test_there_and_back():
    x = wg.asarray(sample("complex128", (3, 4)))
    for there, back in ((wg.fft.fft, wg.fft.ifft), (wg.fft.fftn, wg.fft.ifftn), (wg.fft.fftshift, wg.fft.ifftshift)):
        assert wg.all(wg.abs(back(there(x)) - x) < 1e-14)
