"""Statistical and utility functions of the Array API standard: reductions, cumulative functions, differences."""

from __future__ import annotations

import numpy as np
import pytest
from tests.standard.calls import COMPLEX, DTYPES, FLOATS, INTEGERS, REAL_FLOATS, REALS, accepts, check, run, sample

import wengert as wg

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

AXES = [None, 0, -1, (0,), (0, 2), (-1, 0, 1)]
TAKES = {
    "max": REALS,
    "min": REALS,
    "sum": REALS + COMPLEX,
    "prod": REALS + COMPLEX,
    "mean": FLOATS,
    "std": REAL_FLOATS,
    "var": REAL_FLOATS,
    "all": DTYPES,
    "any": DTYPES,
}


def of(name: str):
    return getattr(wg, name)


@pytest.mark.parametrize("name", TAKES)
@pytest.mark.parametrize("axis", AXES, ids=str)
def test_reductions(name, axis):
    for dtype in TAKES[name]:
        x = sample(dtype, (2, 3, 4))
        for keepdims in (False, True):
            check(name, x, axis=axis, keepdims=keepdims)
        if axis is None:
            check(name, x)
            check(name, x[0, 0, 0])


@pytest.mark.parametrize("name", TAKES)
def test_reductions_along_no_axis(name):
    """An empty tuple of axes reduces nothing."""
    for dtype in TAKES[name]:
        if name in ("max", "min", "sum", "prod", "all", "any"):
            check(name, sample(dtype), axis=())


@pytest.mark.parametrize("name", ["std", "var"])
@pytest.mark.parametrize("correction", [0, 1, 0.0, 1.0, 0.5, 2])
def test_correction(name, correction):
    for dtype in REAL_FLOATS:
        for axis in (None, 0, (0, 1)):
            check(name, sample(dtype, (4, 5)), axis=axis, correction=correction)


@pytest.mark.parametrize("name", ["sum", "prod"])
@pytest.mark.parametrize("first", REALS + COMPLEX)
def test_accumulation_dtype(name, first):
    """Small integers are summed in the default integer of their sign.

    A dtype that is asked for is the one of the result.
    """
    x = sample(first)
    expected = {"i": "int64", "u": "uint64"}.get(x.dtype.kind, first)
    assert run(wg, name, x).dtype == of(expected)
    assert run(wg, name, x, dtype=None).dtype == of(expected)
    for second in REALS + COMPLEX:
        if accepts("result_type", np.dtype(first), np.dtype(second)):
            check(name, x, dtype=np.dtype(second), axis=0)
            assert run(wg, name, x, dtype=np.dtype(second)).dtype == of(second)


@pytest.mark.parametrize("name", ["sum", "prod"])
def test_sums_of_booleans_count(name):
    x = wg.asarray([True, False, True])
    assert getattr(wg, name)(x, dtype=wg.int64).dtype == wg.int64
    assert int(wg.sum(x, dtype=wg.uint8)) == 2


@pytest.mark.parametrize("name", ["sum", "prod", "all", "any"])
def test_reductions_of_empty_arrays(name):
    for dtype in TAKES[name]:
        for shape in ((0,), (2, 0), (0, 3)):
            for axis in range(len(shape)):
                check(name, sample(dtype, shape), axis=axis)


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_extrema_of_nothing(name):
    with pytest.raises(ValueError, match="."):
        getattr(wg, name)(wg.zeros((0,)))


@pytest.mark.parametrize("name", [*TAKES, "argmax", "count_nonzero", "sort", "cumulative_sum", "diff"])
def test_axes_that_do_not_exist(name):
    with pytest.raises((ValueError, IndexError)):
        getattr(wg, name)(wg.ones((2, 3)), axis=5)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize("dtype", REALS + COMPLEX)
def test_cumulative(name, dtype):
    x = sample(dtype, (3, 4))
    for axis in (0, 1, -1):
        for include_initial in (False, True):
            check(name, x, axis=axis, include_initial=include_initial)
    check(name, x[0])
    check(name, x[0], include_initial=True)
    check(name, x[0, :0], include_initial=True)
    check(name, x[:, :0], axis=1)
    for second in REALS + COMPLEX:
        if accepts("result_type", np.dtype(dtype), np.dtype(second)):
            check(name, x, axis=0, dtype=np.dtype(second))
            check(name, x, axis=0, dtype=np.dtype(second), include_initial=True)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_cumulative_needs_the_axis(name):
    with pytest.raises(ValueError, match="."):
        getattr(wg, name)(wg.ones((2, 3)))


@pytest.mark.parametrize("dtype", REALS + COMPLEX)
def test_diff(dtype):
    x = sample(dtype, (3, 5))
    for axis in (0, 1, -1, -2):
        for n in (0, 1, 2, 3):
            check("diff", x, axis=axis, n=n)
    check("diff", x)
    check("diff", x, prepend=x[:, :2])
    check("diff", x, append=x[:, :1], n=2)
    check("diff", x, axis=0, prepend=x[:1], append=x[1:])
    check("diff", x, prepend=None, append=None)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_sums_of_large_integers_wrap_nowhere(dtype):
    """The sum of many small integers is exact."""
    x = np.full(1000, np.iinfo(dtype).max // 4 if np.dtype(dtype).itemsize < 8 else 7, dtype)
    assert int(run(wg, "sum", x)) == 1000 * int(x[0])
