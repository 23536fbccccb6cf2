"""Reductions that leave NaNs out: NumPy's values, and the gradient of a reduction without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.as_numpy import assert_as_numpy, calls, check_modes

import wengert as wg

RNG = np.random.default_rng(22)
X, Y = RNG.normal(size=(4, 5)), RNG.normal(size=(4, 5))
HOLES = X > 0.8
GAPS = np.where(HOLES, np.nan, X)
SINGLE = GAPS.astype("f4")
N = np.arange(20).reshape(4, 5) % 7

VALUES: dict[str, list[tuple[Any, ...]]] = {
    "nanmax": [
        (GAPS, 1), (GAPS,), (SINGLE, (0, 1), None, True), (GAPS, 0, None, False, 5.0),
        (GAPS, 0, {"initial": -3.0, "where": X > 0}), (N, 1),
    ],
    "nanmin": [(GAPS, 1), (GAPS,), (SINGLE, 0, None, True), (N, 1), (GAPS, (0, 1))],
    "nanprod": [(GAPS, 1), (GAPS, {"keepdims": True}), (N, 0), (GAPS, 0, {"where": X > 0}), (SINGLE, 1)],
    "nancumsum": [(GAPS,), (GAPS, 1), (N, 0), (SINGLE, 1)],
    "nancumprod": [(GAPS,), (GAPS, 1), (SINGLE, 0), (N, 0)],
    "nanmedian": [(GAPS, 1), (GAPS,), (SINGLE, 0, None, False, True), (N, (0, 1)), (GAPS[:1], 1)],
    "nanvar": [
        (GAPS, 1), (GAPS, {"ddof": 1}), (SINGLE, 0, {"keepdims": True}), (GAPS + 1j * Y, 1), (GAPS, {"where": X > -1}),
        (N, 0, {"correction": 1}), (GAPS, 0, {"mean": np.nanmean(GAPS, 0, keepdims=True)}),
    ],
    "nanstd": [(GAPS, 1), (GAPS, {"ddof": 1}), (SINGLE, 0, {"keepdims": True}), (N, 0)],
    "nanargmax": [(GAPS, 1), (GAPS,), (N, 0, {"keepdims": True})],
    "nanargmin": [(GAPS, 1), (GAPS,), (N, 0)],
}  # fmt: skip


@calls(VALUES)
def test_values(name, args, kwargs):
    assert_as_numpy(name, args, kwargs)


SMOOTH = {
    "nanmax": lambda x: np.nanmax(x, axis=1),
    "nanmin": lambda x: np.nanmin(x),
    "fmax.reduce": lambda x: np.fmax.reduce(x, axis=1),
    "fmin.reduce": lambda x: np.fmin.reduce(x),
    "nanprod": lambda x: np.nanprod(x, axis=1),
    "nancumsum": lambda x: np.nancumsum(x, axis=1),
    "nancumprod": lambda x: np.nancumprod(x, axis=1),
    "nanmedian": lambda x: np.nanmedian(x, axis=1),
    "nanvar": lambda x: np.nanvar(x, axis=0, ddof=1),
    "nanvar, complex": lambda x: np.nanvar(x + 1j * x * x, axis=0),
    "nanstd": lambda x: np.nanstd(x, axis=0),
}


@pytest.mark.parametrize("f", SMOOTH.values(), ids=SMOOTH)
def test_derivatives(f):
    check_modes(lambda x: f(np.where(HOLES, np.nan, x)), [X])


def test_ties_share_and_nans_get_nothing():
    x = wg.tensor([2.0, np.nan, 2.0, -np.inf], requires_grad=True)
    np.nanmax(x).backward()
    assert x.grad.tolist() == [0.5, 0.0, 0.5, 0.0]
    low = wg.tensor([-np.inf, np.nan], requires_grad=True)
    np.nanmax(low).backward()
    assert low.grad.tolist() == [1.0, 0.0]


def test_where_all_are_nan():
    x = wg.tensor([[np.nan, np.nan], [1.0, np.nan]], requires_grad=True)
    top = np.nanmax(x, axis=1)
    np.testing.assert_array_equal(top.detach().numpy(), [np.nan, 1.0])
    top.sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0], [1.0, 0.0]]
    np.testing.assert_array_equal(np.nanmedian(x, axis=1).detach().numpy(), [np.nan, 1.0])
    with pytest.raises(ValueError, match=r"All-NaN slice.*test_without_nan\.py:\d+"):
        np.nanargmin(x, axis=1)
    with pytest.raises(ValueError, match=r"`initial`"):
        np.nanmin(x, where=[True, False])


def test_a_spread_of_zero_has_the_derivative_zero():
    x = wg.tensor([1.0, np.nan, 1.0], requires_grad=True)
    np.nanstd(x).backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]
