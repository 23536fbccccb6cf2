"""Sets of numbers: NumPy's values, and gradients that go to the first of equal elements."""

from __future__ import annotations

import numpy as np
import pytest
from tests.as_numpy import assert_call, assert_same

import wengert as wg
from wengert.ops.samples import sets


def named(calls):
    return [pytest.param(name, args, kwargs, id=f"{name}-{i}") for i, (name, args, kwargs) in enumerate(calls)]


A, B = np.array([3.0, 1.0, 2.0, 3.0, 7.0, 1.0]), np.array([[2.0, 9.0], [1.0, 2.0]])


SETS = [
    ("unique", (A,), {}), ("unique", (B,), {"return_index": True, "return_inverse": True, "return_counts": True}),
    ("unique", (np.array([[1, 2], [1, 2], [0, 5]]),), {"axis": 0, "return_inverse": True}),
    ("unique", (B[:, :1],), {"axis": -1}),
    ("unique", (np.array([np.nan, 1.0, np.nan]),), {}),
    ("unique", (np.array([np.nan, 1.0, np.nan]),), {"equal_nan": False}),
    ("unique", (A[:0],), {"return_counts": True}), ("union1d", (A, B), {}), ("intersect1d", (A, B), {}),
    ("setdiff1d", (A, B), {}),
    ("intersect1d", (A, B), {"return_indices": True}),
    ("intersect1d", (A[1:5], A[2:]), {"assume_unique": True, "return_indices": True}),
    ("setdiff1d", (A[:3], B), {"assume_unique": True}), ("setxor1d", (A, B), {}),
    ("setxor1d", (A[:3], B.ravel()[:2]), {"assume_unique": True}),
    ("isin", (B, A), {}), ("isin", (A, B), {"invert": True}), ("intersect1d", (A[:0], B), {}),
    ("setxor1d", (A[:0], B), {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "kwargs"), named(SETS))
def test_sets(name, args, kwargs):
    assert_call(name, *args, **kwargs)


def test_sets_of_the_array_api():
    for x in (B, np.array([np.nan, 1.0, np.nan])):
        for name in ("unique_all", "unique_counts", "unique_inverse"):
            found, expected = getattr(np, name)(wg.tensor(x)), getattr(np, name)(x)
            assert found._fields == expected._fields
            assert_same(found, expected)
        assert_same(sets.unique_values(x), np.sort(np.unique_values(x)))


def test_the_gradient_of_a_unique_element_goes_to_the_first_of_its_like():
    np.testing.assert_array_equal(
        wg.grad(lambda x: (np.unique(x) * [1.0, 10.0, 100.0, 1000.0]).sum())(A), [100.0, 1.0, 10.0, 0.0, 1000.0, 0.0]
    )


def test_isin_is_compiled():
    np.testing.assert_array_equal(wg.compile(lambda x: np.isin(x, A))(B), np.isin(B, A))
