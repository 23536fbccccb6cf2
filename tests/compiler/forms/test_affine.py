"""Affine positions against NumPy: an element of a view, found by its position, is that of NumPy's own view."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wengert.compiler.aspects.indexing import position_in_slice
from wengert.compiler.forms.affine import (
    ZERO,
    Affine,
    Counter,
    Guard,
    bounds_guards,
    broadcast_position,
    flat_index,
    reshape_position,
)
from wengert.compiler.forms.gather import indexed_position
from wengert.compiler.forms.lowering import Choice, View, lowering
from wengert.core.primitive import TABLE
from wengert.core.spec import Spec
from wengert.graph.ir import Input
from wengert.ops.indexing.key import Hole, Index

many = settings(max_examples=150)


def counters(shape):
    return [Counter(i, n) for i, n in enumerate(shape)]


def along(loops):
    """The position of the counters."""
    return tuple([Affine(0, ((c, 1),)) for c in loops])


def at(affine, numbers):
    """The value of an affine number for values of the counters."""
    return affine.constant + sum(k * numbers[c] for c, k in affine.terms)


def holds(guard, numbers):
    value = at(guard.value, numbers)
    return value == 0 if guard.is_zero else value >= 0


def taken(reads, operands, numbers):
    """The element of the first read whose guards hold, which must lie inside its operand."""
    for read in reads:
        if all(holds(g, numbers) for g in read.guards):
            if read.operand is None:
                return 0
            position = tuple([at(i, numbers) for i in read.position])
            assert all(0 <= i < n for i, n in zip(position, operands[read.operand].shape, strict=True))
            return operands[read.operand][position]
    raise AssertionError("no read applies")


def assert_positions(name, operands, expected, **params):
    """By counters, and by numbers, the rule of an operation gives NumPy's result."""
    rule = lowering.of(TABLE[name])
    specs = [Spec(x.shape, x.dtype) for x in operands]
    loops = counters(expected.shape)
    for position in (along(loops), None):
        for numbers in np.ndindex(expected.shape):
            here = tuple(map(Affine, numbers)) if position is None else position
            values = dict(zip(loops, numbers, strict=True))
            if isinstance(rule, View):
                found = rule.position(here, *specs, **params)
                if found is None:
                    assert position is not None
                    break
                value = operands[0][tuple([at(i, values) for i in found])]
            else:
                reads = rule.reads(here, *specs, **params)
                if reads is None:
                    assert position is not None
                    break
                value = taken(reads, operands, values)
            assert value == expected[numbers]


def numbered(shape, start=1):
    return np.arange(start, start + np.prod(shape, dtype=int)).reshape(shape)


TABLE_CASES = [
    pytest.param(primitive, k, id=f"{primitive.name}-{k}")
    for primitive in lowering
    if isinstance(rule := lowering.of(primitive), View | Choice) and not getattr(rule, "adds", False)
    for k, case in enumerate(primitive.trial.cases)
    if all(isinstance(a, tuple) for a in case.args)
]


@pytest.mark.parametrize(("primitive", "k"), TABLE_CASES)
def test_cases_of_the_table(primitive, k):
    case = primitive.trial.cases[k]
    operands = [numbered(shape, 1 + 100 * i) for i, shape in enumerate(case.args)]
    assert_positions(primitive.name, operands, np.asarray(primitive.op(*operands, **case.params)), **case.params)


shapes = st.lists(st.sampled_from([1, 1, 2, 3, 4, 5]), max_size=4).map(tuple)


@st.composite
def shapes_with_keys(draw):
    """An array's shape and a key of numbers, slices and new axes for it."""
    shape = draw(shapes)
    bound = lambda n: draw(st.none() | st.integers(-n - 1, n + 1))
    parts = []
    for n in shape:
        if draw(st.integers(0, 3)) == 0:
            parts.append(draw(st.integers(-n, n - 1)))
        else:
            parts.append(slice(bound(n), bound(n), draw(st.sampled_from([None, 1, 2, 3, -1, -2]))))
        if draw(st.integers(0, 5)) == 0:
            parts.append(None)
    if parts and draw(st.booleans()):
        cut = draw(st.integers(0, len(parts)))
        parts[cut:] = [...]
    return shape, Index(tuple(parts))


@many
@given(shapes_with_keys())
def test_keys(drawn):
    shape, key = drawn
    x = numbered(shape)
    expected = np.asarray(x[key.key])
    assert_positions("getitem", [x], expected, key=key)
    assert_positions(
        "scatter", [expected], np.asarray(TABLE["scatter"].impl(expected, key=key, shape=shape)), key=key, shape=shape
    )
    filled = x.copy()
    filled[key.key] = expected + 1000
    assert_positions("set_at", [x, expected + 1000], filled, key=key, reuse=False)


@many
@given(shapes, st.data())
def test_reshapes(shape, data):
    """Axes that are kept or joined are found from counters; from numbers, every reshape is."""
    size = int(np.prod(shape))
    new = []
    for _ in range(data.draw(st.integers(0, 3))):
        new.append(data.draw(st.sampled_from([d for d in range(1, size + 1) if size % d == 0])))
        size //= new[-1]
    new = (*new, size)
    x = numbered(shape)
    assert_positions("reshape", [x], x.reshape(new), shape=new)
    joined = numbered(new)
    for k in range(len(new) - 1):
        merged = (*new[:k], new[k] * new[k + 1], *new[k + 2 :])
        assert reshape_position(along(counters(new)), merged, new) is not None
        assert_positions("reshape", [joined.reshape(merged)], joined, shape=new)


def test_a_split_axis_is_divided_where_its_index_divides():
    whole, part = Counter(0, 12), Counter(1, 4)
    assert reshape_position((Affine(0, ((whole, 1),)),), (3, 4), (12,)) is None
    four = Affine(8, ((part, 1),))
    assert reshape_position((four,), (3, 4), (12,)) == (Affine(2), Affine(0, ((part, 1),)))
    steps = Affine(1, ((Counter(0, 3), 4),))
    assert reshape_position((steps,), (3, 4), (12,)) == (Affine(0, ((steps.terms[0][0], 1),)), Affine(1))


@many
@given(shapes.filter(len), st.data())
def test_choices(shape, data):
    x = numbered(shape)
    axis = data.draw(st.integers(0, len(shape) - 1))
    lengths = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    pieces = [numbered((*shape[:axis], n, *shape[axis + 1 :]), 1 + 1000 * i) for i, n in enumerate(lengths)]
    if sum(lengths):
        assert_positions("concatenate", pieces, np.concatenate(pieces, axis), axis=axis)
    assert_positions("stack", [x, x + 500, x + 900], np.stack([x, x + 500, x + 900], axis), axis=axis)
    widths = tuple([(data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))) for _ in shape])
    assert_positions("pad", [x], np.pad(x, widths), pad_width=widths)
    shift = data.draw(st.integers(-7, 7))
    other = data.draw(st.integers(0, len(shape) - 1))
    assert_positions("roll", [x], np.roll(x, (shift, 2), (axis, other)), shift=(shift, 2), axis=(axis, other))
    if len(shape) > 1:
        k = data.draw(st.integers(-4, 4))
        assert_positions("tril", [x], np.tril(x, k), k=k)
        assert_positions("triu", [x], np.triu(x, k), k=k)
        axes = {"offset": k, "axis1": axis, "axis2": (axis + 1) % len(shape)}
        assert_positions("diagonal", [x], np.diagonal(x, *axes.values()), **axes)


@many
@given(shapes, st.data())
def test_gathers(shape, data):
    """Keys with index arrays, among slices and numbers."""
    x = numbered(shape)
    parts, arrays = [], []
    count = data.draw(st.integers(1, 3))
    for n in shape:
        kind = data.draw(st.sampled_from(["array", "row", "slice", "number", "scalar"]))
        if kind == "slice":
            parts.append(slice(None, None, data.draw(st.sampled_from([1, 2, -1]))))
        elif kind == "number":
            parts.append(data.draw(st.integers(-n, n - 1)))
        else:
            size = {"array": (2, count), "row": (count,), "scalar": ()}[kind]
            arrays.append(
                np.array(
                    data.draw(
                        st.lists(st.integers(-n, n - 1), min_size=int(np.prod(size)), max_size=int(np.prod(size)))
                    )
                ).reshape(size)
            )
            parts.append(Hole.ARRAY)
    if not arrays or not any(a.ndim for a in arrays):
        return
    key = Index(tuple(parts), True)
    expected = x[key.fill(arrays)]
    loops = counters(expected.shape)
    found = indexed_position(shape, key, [Input(Spec(a.shape, a.dtype)) for a in arrays], along(loops))
    for numbers in np.ndindex(expected.shape):
        values = dict(zip(loops, numbers, strict=True))
        position = []
        for axis in found.axes:
            if axis.operand is None:
                position.append(at(axis.affine, values))
            else:
                index = arrays[axis.operand]
                position.append(index[tuple([at(i, values) for i in broadcast_position(found.in_arrays, index.shape)])])
        assert x[tuple(position)] == expected[numbers]


def test_affine_numbers():
    i, j = Counter(0, 4), Counter(1, 3)
    x = Affine(2, ((i, 3),))
    y = Affine(-1, ((i, -3), (j, 2)))
    for a in range(4):
        for b in range(3):
            values = {i: a, j: b}
            assert at(x.plus(y), values) == at(x, values) + at(y, values)
            assert at(x.times(-2).plus(5), values) == -2 * at(x, values) + 5
    assert x.plus(y).terms == ((j, 2),)  # what cancels is gone
    assert x.times(0) == ZERO
    assert x.range == (2, 11)
    assert y.range == (-10, 3)
    assert x.is_within(12)
    assert not x.is_within(11)
    assert not y.is_within(12)
    assert x.divide(3) == (Affine(0, ((i, 1),)), Affine(2))
    assert x.divide(2) is None


def test_flat_index_is_the_order_of_memory():
    shape = (2, 3, 4)
    loops = counters(shape)
    whole = flat_index(along(loops), shape)
    for k, numbers in enumerate(np.ndindex(shape)):
        assert at(whole, dict(zip(loops, numbers, strict=True))) == k


def test_what_is_known_of_guards():
    i = Counter(0, 4)
    low, high = bounds_guards(Affine(0, ((i, 1),)), 4)
    assert low.outcome is True
    assert high.outcome is True
    assert Guard(Affine(-2, ((i, 1),))).outcome is None
    assert Guard(Affine(-4, ((i, 1),))).outcome is False
    assert Guard(Affine(-2, ((i, 1),)), is_zero=True).outcome is None
    assert Guard(Affine(1, ((i, 1),)), is_zero=True).outcome is False
    assert Guard(Affine(0), is_zero=True).outcome is True


def test_steps_need_a_division_only_for_counters():
    key = Index((slice(1, None, 2),))
    assert position_in_slice(along(counters((6,))), key, (6,)) is None
    guards, position = position_in_slice((Affine(3),), key, (6,))
    assert position == (Affine(1),)
    assert all(g.outcome for g in guards)
    guards, _ = position_in_slice((Affine(2),), key, (6,))
    assert any(g.outcome is False for g in guards)
