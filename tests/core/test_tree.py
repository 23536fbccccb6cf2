from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
