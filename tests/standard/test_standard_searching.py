"""Searching, sorting and set functions of the Array API standard, against the reference implementation and NumPy."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests.standard.calls import DTYPES, REAL_FLOATS, REALS, check, plain, run, same_numbers, sample
from tests.standard.elementwise import PAIRS, SCALARS

import wengert as wg

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
AXES = [None, 0, 1, -1, 2]
NANS = np.array([[1.0, np.nan, -0.0], [np.nan, 0.0, 1.0]])


def of(name: str):
    return getattr(wg, name)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", AXES)
def test_places_of_extrema(name, dtype, axis):
    x = sample(dtype, (3, 4, 2))
    for keepdims in (False, True):
        check(name, x, axis=axis, keepdims=keepdims)
    check(name, x[0, 0, 0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_count_nonzero(dtype):
    x = sample(dtype, (3, 4)) * sample("bool", (3, 4), seed=3)
    for axis in (None, 0, -1, (0, 1), (0,)):
        for keepdims in (False, True):
            check("count_nonzero", x.astype(dtype), axis=axis, keepdims=keepdims)
    check("count_nonzero", sample(dtype, ()))


@pytest.mark.parametrize("dtype", DTYPES)
def test_nonzero(dtype):
    for shape in ((5,), (3, 4), (2, 0), (2, 3, 2)):
        check("nonzero", (sample(dtype, shape) * sample("bool", shape, seed=3)).astype(dtype))
    assert isinstance(wg.nonzero(wg.ones(2)), tuple)


@pytest.mark.parametrize("dtype", DTYPES)
def test_nonzero_needs_an_axis(dtype):
    with pytest.raises((ValueError, TypeError)):
        wg.nonzero(wg.ones((), dtype=of(dtype)))


def test_where():
    condition = sample("bool", (2, 3))
    for first, second in PAIRS:
        check("where", condition, sample(first), sample(second, (3,), seed=1))
        check("where", condition[0, 0], sample(first), sample(second, seed=1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_where_with_python_scalars(dtype):
    condition, x = sample("bool"), sample(dtype)
    for kind, scalar in SCALARS.items():
        ranks = ["bool", "int", "float", "complex"]
        own = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}[x.dtype.kind]
        if ranks.index(kind) <= ranks.index(own) and (kind == "bool") == (own == "bool"):
            check("where", condition, x, scalar)
            check("where", condition, scalar, x)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(dtype, side):
    x1, x2 = np.sort(sample(dtype, (6,))), sample(dtype, (2, 3), seed=1)
    check("searchsorted", x1, x2, side=side)
    check("searchsorted", x1, x1, side=side)
    check("searchsorted", x1, x2[0, 0], side=side)
    unsorted = sample(dtype, (6,))
    check("searchsorted", unsorted, x2, side=side, sorter=np.argsort(unsorted))
    check("searchsorted", x1, x2)
    check("searchsorted", x1[:0], x2)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("descending", [False, True])
def test_sorting(dtype, axis, descending):
    """Ties stay in order, descending ones too."""
    x = sample(dtype, (6, 5))
    x[3:] = x[:3]
    for stable in (True, False):
        check("sort", x, axis=axis, descending=descending, stable=stable)
    check("argsort", x, axis=axis, descending=descending, stable=True)
    indices = run(wg, "argsort", x, axis=axis, descending=descending, stable=False)
    sorted_numbers = plain(run(wg, "sort", x, axis=axis, descending=descending))
    np.testing.assert_array_equal(np.take_along_axis(x, plain(indices), axis), sorted_numbers)


@pytest.mark.parametrize("name", ["sort", "argsort"])
def test_sorting_by_default(name):
    """Along the last axis, ascending, stable."""
    x = np.array([[3, 1, 3, 2], [0, 0, 5, 0]])
    check(name, x)
    check(name, x.astype("float32"))
    check(name, x[:, :0])
    assert run(wg, "argsort", x).dtype == wg.int64


def test_sorting_many_ties_is_stable():
    x = np.arange(300) % 3
    same_numbers(wg.argsort(wg.asarray(x)), np.argsort(x, stable=True))
    expected = np.concatenate([np.flatnonzero(x == k) for k in (2, 1, 0)])
    same_numbers(wg.argsort(wg.asarray(x), descending=True), expected)


def scalars(x) -> list:
    return [complex(part) for part in plain(x).ravel()]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(6,), (3, 4), (), (1,), (0,), (2, 0)], ids=str)
def test_unique(dtype, shape):
    """The distinct numbers, where they first were, how they rebuild the array, how often they were."""
    x = sample(dtype, shape)
    counted = Counter(complex(part) for part in x.ravel())
    array = wg.asarray(x)
    everything, counts, inverse = wg.unique_all(array), wg.unique_counts(array), wg.unique_inverse(array)
    assert everything._fields == ("values", "indices", "inverse_indices", "counts")
    assert counts._fields == ("values", "counts")
    assert inverse._fields == ("values", "inverse_indices")
    for values in (wg.unique_values(array), everything.values, counts.values, inverse.values):
        assert values.dtype == of(dtype)
        assert values.ndim == 1
        assert sorted(scalars(values), key=str) == sorted(counted, key=str)
    for part in (
        everything.indices,
        everything.inverse_indices,
        everything.counts,
        counts.counts,
        inverse.inverse_indices,
    ):
        assert part.dtype == wg.int64
    for result in (everything, counts):
        assert [counted[value] for value in scalars(result.values)] == [int(count) for count in result.counts]
    for result in (everything, inverse):
        assert result.inverse_indices.shape == shape
        np.testing.assert_array_equal(
            plain(wg.take(result.values, wg.reshape(result.inverse_indices, (-1,)))), x.ravel()
        )
    flat = x.ravel().tolist()
    assert [flat.index(value) for value in plain(everything.values).tolist()] == plain(everything.indices).tolist()


@pytest.mark.parametrize("dtype", REAL_FLOATS)
def test_nans_are_distinct(dtype):
    x = wg.asarray(NANS, dtype=of(dtype))
    assert int(wg.sum(wg.astype(wg.isnan(wg.unique_values(x)), wg.int64))) == 2
    for result in (wg.unique_all(x), wg.unique_counts(x)):
        isnan = plain(wg.isnan(result.values))
        assert isnan.sum() == 2
        assert plain(result.counts)[isnan].tolist() == [1, 1]
    inverse = wg.unique_inverse(x)
    rebuilt = plain(inverse.values)[plain(inverse.inverse_indices)]
    np.testing.assert_array_equal(rebuilt, NANS)
    assert plain(wg.unique_all(x).inverse_indices).shape == (2, 3)


@pytest.mark.parametrize("dtype", REAL_FLOATS)
def test_signed_zeros_are_one(dtype):
    x = wg.asarray([0.0, -0.0, 0.0], dtype=of(dtype))
    assert wg.unique_values(x).shape == (1,)
    assert plain(wg.unique_counts(x).counts).tolist() == [3]


def test_unique_of_complex_nans():
    x = wg.asarray([complex(np.nan, 1), complex(1, np.nan), complex(np.nan, 1), 1 + 0j])
    assert wg.unique_values(x).shape == (4,)
    assert wg.unique_all(x).values.shape == (4,)
    assert wg.unique_counts(x).values.shape == (4,)
    assert wg.unique_inverse(x).values.shape == (4,)
