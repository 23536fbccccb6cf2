"""Comparisons of compiled programs with the evaluation of their graphs."""

import numpy as np

from wengert.core import tree


def assert_same(found, expected):
    """The same leaves: shapes and dtypes, and numbers up to the order of sums."""
    found, expected = tree.flatten(found)[0], tree.flatten(expected)[0]
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert (np.shape(x), np.asarray(x).dtype) == (np.shape(y), np.asarray(y).dtype)
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


def total(result):
    """One number of all results."""
    return sum(np.sum(np.sin(leaf)) for leaf in tree.flatten(result)[0])
