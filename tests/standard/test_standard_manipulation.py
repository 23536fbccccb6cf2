"""Manipulation functions of the Array API standard, in every dtype, against the reference implementation."""

from __future__ import annotations

import numpy as np
import pytest
from tests.standard.calls import DTYPES, check, plain, same_numbers, sample
from tests.standard.elementwise import PAIRS

import wengert as wg

CALLS = [
    ("broadcast_arrays", (np.zeros((2, 3)), np.ones(3)), {}),
    ("broadcast_arrays", (np.zeros((2, 1)), np.ones((1, 4)), np.ones(())), {}),
    ("broadcast_arrays", (np.zeros((2, 3)),), {}),
    ("broadcast_to", (np.zeros((3,)), (2, 3)), {}),
    ("broadcast_to", (np.zeros(()), (2, 0)), {}),
    ("broadcast_to", (np.zeros((2, 1)),), {"shape": (4, 2, 3)}),
    ("concat", ([np.zeros((2, 3)), np.ones((1, 3))],), {}),
    ("concat", ((np.zeros((2, 3)), np.ones((2, 0)), np.ones((2, 2))),), {"axis": 1}),
    ("concat", ([np.zeros((2, 3)), np.ones((2, 3))],), {"axis": -1}),
    ("concat", ([np.zeros((2, 3)), np.ones(4), np.ones(())],), {"axis": None}),
    ("concat", ([np.zeros((2, 3))],), {}),
    ("expand_dims", (np.zeros((2, 3)), 0), {}),
    ("expand_dims", (np.zeros((2, 3)),), {"axis": 2}),
    ("expand_dims", (np.zeros((2, 3)),), {"axis": -1}),
    ("expand_dims", (np.zeros(()), -1), {}),
    ("flip", (np.zeros((2, 3, 4)),), {}),
    ("flip", (np.zeros((2, 3, 4)),), {"axis": 1}),
    ("flip", (np.zeros((2, 3, 4)),), {"axis": (0, -1)}),
    ("flip", (np.zeros((2, 3)),), {"axis": None}),
    ("flip", (np.zeros(()),), {}),
    ("moveaxis", (np.zeros((2, 3, 4)), 0, -1), {}),
    ("moveaxis", (np.zeros((2, 3, 4)), (0, 1), (-1, 0)), {}),
    ("moveaxis", (np.zeros((2, 3, 4)), (), ()), {}),
    ("permute_dims", (np.zeros((2, 3, 4)), (2, 0, 1)), {}),
    ("permute_dims", (np.zeros((2, 3)),), {"axes": (1, 0)}),
    ("permute_dims", (np.zeros(()), ()), {}),
    ("repeat", (np.zeros((2, 3)), 2), {}),
    ("repeat", (np.zeros((2, 3)), 3), {"axis": 1}),
    ("repeat", (np.zeros((2, 3)), 0), {"axis": -2}),
    ("repeat", (np.zeros((2, 3)), np.array([0, 2, 1])), {"axis": 1}),
    ("repeat", (np.zeros((2, 3)), np.array([2])), {"axis": 0}),
    ("repeat", (np.zeros(3), np.array([2, 0, 1])), {}),
    ("reshape", (np.zeros((2, 3)), (3, 2)), {}),
    ("reshape", (np.zeros((2, 3)),), {"shape": (-1,)}),
    ("reshape", (np.zeros((2, 3)), (6, -1)), {"copy": True}),
    ("reshape", (np.zeros((2, 3)), (1, 6)), {"copy": False}),
    ("reshape", (np.zeros((2, 0)), (0, 5)), {"copy": None}),
    ("reshape", (np.zeros(()), ()), {}),
    ("roll", (np.zeros((2, 3)), 1), {}),
    ("roll", (np.zeros((2, 3)), -4), {"axis": 1}),
    ("roll", (np.zeros((2, 3)), (1, -1)), {"axis": (0, 1)}),
    ("roll", (np.zeros((2, 3)), 2), {"axis": (0, 1)}),
    ("roll", (np.zeros((2, 3)),), {"shift": 2, "axis": None}),
    ("roll", (np.zeros(()), 3), {}),
    ("squeeze", (np.zeros((1, 3, 1)), 0), {}),
    ("squeeze", (np.zeros((1, 3, 1)),), {"axis": (0, -1)}),
    ("squeeze", (np.zeros((1, 3, 1)), ()), {}),
    ("stack", ([np.zeros((2, 3)), np.ones((2, 3))],), {}),
    ("stack", ((np.zeros((2, 3)), np.ones((2, 3)), np.ones((2, 3))),), {"axis": 1}),
    ("stack", ([np.zeros(()), np.ones(())],), {"axis": -1}),
    ("tile", (np.zeros((2, 3)), (2, 2)), {}),
    ("tile", (np.zeros((2, 3)), (2,)), {}),
    ("tile", (np.zeros((2, 3)), (3, 1, 2)), {}),
    ("tile", (np.zeros((2, 3)), ()), {}),
    ("tile", (np.zeros((2, 3)), (0, 1)), {}),
    ("tile", (np.zeros(()), (2, 2)), {}),
    ("unstack", (np.zeros((2, 3)),), {}),
    ("unstack", (np.zeros((2, 3)),), {"axis": 1}),
    ("unstack", (np.zeros((2, 3, 4)),), {"axis": -2}),
    ("unstack", (np.zeros((0, 3)),), {}),
]


def refilled(value, dtype: str, seed: list[int]):
    """The same arguments with arrays of another dtype and of arbitrary numbers; indices and numbers of repeats stay."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        seed[0] += 1
        return sample(dtype, value.shape, seed=seed[0])
    if isinstance(value, tuple | list):
        return type(value)(refilled(part, dtype, seed) for part in value)
    return value


@pytest.mark.parametrize(("name", "args", "options"), CALLS, ids=[f"{name}-{i}" for i, (name, *_) in enumerate(CALLS)])
def test_manipulation(name, args, options):
    for dtype in DTYPES:
        check(name, *refilled(args, dtype, [0]), **options)


@pytest.mark.parametrize("name", ["concat", "stack"])
def test_joined_arrays_promote(name):
    for first, second in PAIRS:
        check(name, [sample(first), sample(second, seed=1)])


def test_unstack_gives_a_tuple():
    parts = wg.unstack(wg.ones((2, 3)))
    assert isinstance(parts, tuple)


@pytest.mark.parametrize("axis", [3, 4, -4, -9])
def test_expand_dims_beyond_the_axes(axis):
    with pytest.raises(IndexError):
        wg.expand_dims(wg.ones((2, 3)), axis=axis)


def test_squeeze_of_a_long_axis():
    for axis in (1, (0, 1), -2):
        with pytest.raises(ValueError, match="."):
            wg.squeeze(wg.ones((1, 3, 1)), axis)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("broadcast_to", (np.zeros((2, 3)), (3, 2))),
        ("reshape", (np.zeros((2, 3)), (4, 2))),
        ("concat", ([np.zeros((2, 3)), np.zeros((2, 4))],)),
        ("stack", ([np.zeros((2, 3)), np.zeros((2, 4))],)),
        ("permute_dims", (np.zeros((2, 3)), (0, 0))),
    ],
)
def test_shapes_that_do_not_fit(name, args):
    with pytest.raises(ValueError, match="."):
        check(name, *args)


def test_reshape_copies_when_asked():
    x = wg.zeros(4)
    y = wg.reshape(x, (2, 2), copy=True)
    x[0] = 5.0
    assert float(y[0, 0]) == 0.0


def test_broadcast_arrays_gives_one_shape():
    for part in wg.broadcast_arrays(wg.ones((2, 1)), wg.ones(3)):
        same_numbers(part, np.ones((2, 3)))
    assert plain(wg.broadcast_arrays(wg.ones(2))[0]).shape == (2,)
