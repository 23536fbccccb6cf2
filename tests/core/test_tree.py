from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from wengert.core import tree


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Model:
    weights: Any
    bias: Any


trees = st.recursive(
    st.integers() | st.none(),
    lambda children: (
        st.lists(children, max_size=3)
        | st.tuples(children, children)
        | st.dictionaries(st.sampled_from("abc"), children)
        | st.builds(Point, children, children)
        | st.builds(Model, children, children)
    ),
    max_leaves=12,
)


@given(trees)
def test_there_and_back(value):
    leaves, structure = tree.flatten(value)
    assert tree.unflatten(structure, leaves) == value
    assert structure.size == len(leaves)
    assert hash(structure) == hash(tree.flatten(value)[1])
    assert not any(leaf is None for leaf in leaves)


@given(trees)
def test_map(value):
    doubled = tree.map(lambda x: 2 * x, value)
    assert tree.flatten(doubled)[0] == [2 * x for x in tree.flatten(value)[0]]
    assert tree.flatten(doubled)[1] == tree.flatten(value)[1]


def test_wrong_number_of_leaves():
    structure = tree.flatten([1, 2])[1]
    with pytest.raises(ValueError, match="fewer"):
        tree.unflatten(structure, [1])
    with pytest.raises(ValueError, match="more leaves than the 2"):
        tree.unflatten(structure, [1, 2, 3])


def test_map_over_different_structures():
    with pytest.raises(ValueError, match="different structures"):
        tree.map(lambda x, y: x, [1], (1,))


class Interval:
    def __init__(self, low, high, name="x"):
        self.low, self.high, self.name = low, high, name


class TestRegister:
    tree.register(Interval, lambda x: ((x.low, x.high), x.name), lambda name, ends: Interval(ends[0], ends[1], name))

    def test_there_and_back(self):
        leaves, structure = tree.flatten([Interval(1, (2, 3), "y"), 4])
        assert leaves == [1, 2, 3, 4]
        found = tree.unflatten(structure, "abcd")[0]
        assert (found.low, found.high, found.name) == ("a", ("b", "c"), "y")
        assert repr(structure) == "list(Interval(*, tuple(*, *)), *)"
        assert list(tree.leaf_paths(structure)) == ["[0][0]", "[0][1][0]", "[0][1][1]", "[1]"]

    def test_structures_differ_by_their_data(self):
        assert tree.structure(Interval(1, 2)) == tree.structure(Interval(3, 4))
        assert tree.structure(Interval(1, 2)) != tree.structure(Interval(1, 2, "y"))

    def test_in_transforms(self):
        f = lambda interval: Interval(interval.low * interval.high, interval.high**2)
        x = Interval(2.0, 3.0)
        g = wg.grad(lambda interval: f(interval).low)(x)
        assert (g.low, g.high) == (3.0, 2.0)
        _, t = wg.jvp(f, (x,), (Interval(1.0, 0.0),))
        assert (t.low, t.high) == (3.0, 0.0)
        compiled = wg.compile(f)(x)
        assert (compiled.low, compiled.high) == (6.0, 9.0)
        batch = wg.vmap(f)(Interval(np.arange(3.0), np.ones(3)))
        assert batch.low.tolist() == [0.0, 1.0, 2.0]

    def test_errors(self):
        with pytest.raises(ValueError, match="list has its meaning in trees already"):
            tree.register(list, list, list)
        with pytest.raises(TypeError, match="register takes a class"):
            tree.register(Interval(1, 2), list, list)


class TestRavel:
    PARAMS: ClassVar = {"w": np.arange(4.0).reshape(2, 2), "b": (np.float32(7.0), 8)}

    def test_there_and_back(self):
        vector, unravel = wg.tree.ravel(self.PARAMS)
        assert vector.tolist() == [0.0, 1.0, 2.0, 3.0, 7.0, 8.0]
        back = unravel(vector)
        np.testing.assert_array_equal(back["w"], self.PARAMS["w"])
        assert back["b"] == (7.0, 8.0)
        assert back["b"][0].dtype == np.float32

    def test_derivatives(self):
        vector, unravel = wg.tree.ravel(self.PARAMS)
        f = lambda params: (params["w"] ** 2).sum() * params["b"][1]
        np.testing.assert_allclose(wg.grad(lambda v: f(unravel(v)))(vector), [0.0, 16.0, 32.0, 48.0, 0.0, 14.0])
        g = wg.grad(lambda w: wg.tree.ravel({"w": w, "b": w * 2})[0] @ np.arange(8.0))(np.ones((2, 2)))
        np.testing.assert_allclose(g, np.arange(4.0).reshape(2, 2) + 2 * np.arange(4.0, 8).reshape(2, 2))

    def test_errors(self):
        _, unravel = wg.tree.ravel(self.PARAMS)
        with pytest.raises(ValueError, match="has 6 elements, and was given a vector of shape"):
            unravel(np.ones(5))
        with pytest.raises(TypeError, match="must be real"):
            wg.tree.ravel([1j])


def test_is_leaf():
    pairs = [(1, 2), (3, 4)]
    is_pair = lambda part: isinstance(part, tuple)
    assert tree.leaves(pairs, is_leaf=is_pair) == pairs
    assert tree.structure(pairs, is_leaf=is_pair) == tree.structure([0, 0])
    assert tree.map(sum, pairs, is_leaf=is_pair) == [3, 7]
