"""The error function in single precision."""

from __future__ import annotations

import numpy as np
import scipy.special

import wengert as wg
from wengert.core import machine


def test_the_error_function_of_many_singles():
    near = np.logspace(-38, 1, 3000)
    x = np.concatenate([-near, near, [0.0, -0.0, np.inf, -np.inf, np.nan]]).astype(np.float32)
    assert x.size > machine.current.min_singles_of_rational_erf
    found, exact = wg.special.erf(x), scipy.special.erf(x.astype(float))
    assert found.dtype == np.float32
    errors = np.abs(found - exact)[:-1] / np.spacing(np.abs(exact[:-1]).astype(np.float32))
    assert errors.max() < 0.6
    assert np.isnan(found[-1])
    assert np.signbit(found[-4])
    np.testing.assert_array_equal(wg.special.erf(x[::-1])[::-1], found)
