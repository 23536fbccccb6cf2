"""Properties that hold for all shapes, axes and programs, on examples that Hypothesis makes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.oracle import check_derivatives, numerical_gradient

import wengert as wg

few = settings(max_examples=40)


def normal(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@few
@given(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=3))
def test_gradients_have_the_shape_of_their_operands(shapes):
    arrays = [normal(shape, i) for i, shape in enumerate(shapes.input_shapes)]
    tensors = [wg.tensor(a, requires_grad=True) for a in arrays]
    x, y, z = tensors
    out = x * y + np.sin(z) * x
    assert out.shape == shapes.result_shape
    weight = normal(out.shape, 9)
    (out * weight).sum().backward()
    for i, tensor in enumerate(tensors):
        expected = numerical_gradient(lambda x, y, z: ((x * y + np.sin(z) * x) * weight).sum(), arrays, i)
        assert tensor.grad.shape == arrays[i].shape
        np.testing.assert_allclose(tensor.grad.numpy(), expected, atol=1e-8)


def apart(shape, seed):
    """Numbers in random order, no two of them as near to each other as the steps of the oracle."""
    size = np.prod(shape, dtype=int)
    return np.random.default_rng(seed).permutation(size).reshape(shape) * 0.11 - 0.97


@st.composite
def arrays_with_axes(draw):
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, max_side=3))
    axis = draw(
        st.none()
        | hnp.valid_tuple_axes(len(shape))
        | (st.integers(-len(shape), len(shape) - 1) if shape else st.none())
    )
    return apart(shape, draw(st.integers(0, 5))), axis, draw(st.booleans())


REDUCTIONS = ["sum", "mean", "var", "std", "prod", "max", "min", "ptp", "median", "nansum", "nanmean"]


@pytest.mark.parametrize("name", REDUCTIONS)
@few
@given(arrays_with_axes())
def test_reductions(name, drawn):
    x, axis, keepdims = drawn
    f = getattr(np, name)
    if axis == () and name in ("median", "nanmean", "ptp"):
        return  # NumPy's own answers disagree with its other reductions here
    expected = f(x, axis=axis, keepdims=keepdims)
    result = f(wg.tensor(x, requires_grad=True), axis=axis, keepdims=keepdims)
    assert result.shape == np.shape(expected)
    np.testing.assert_allclose(result.detach().numpy(), expected, rtol=1e-12, atol=1e-14)
    check_derivatives(lambda x: f(x, axis=axis, keepdims=keepdims), [x], [0], orders=1, rtol=1e-6)


@few
@given(arrays_with_axes(), st.integers(0, 2))
def test_variance_with_degrees_of_freedom(drawn, ddof):
    x, axis, keepdims = drawn
    count = x.size // max(np.var(x, axis=axis).size, 1)
    if count > ddof:
        np.testing.assert_allclose(
            np.var(wg.tensor(x), axis=axis, ddof=ddof, keepdims=keepdims).numpy(),
            np.var(x, axis=axis, ddof=ddof, keepdims=keepdims),
            atol=1e-14,
        )


@pytest.mark.parametrize("name", ["all", "any", "count_nonzero"])
@few
@given(arrays_with_axes())
def test_counts(name, drawn):
    x, axis, keepdims = drawn
    f = getattr(np, name)
    x = np.where(x > 0.3, x, 0.0)
    np.testing.assert_array_equal(
        f(wg.tensor(x), axis=axis, keepdims=keepdims).numpy(), f(x, axis=axis, keepdims=keepdims)
    )


@few
@given(arrays_with_axes())
def test_a_reduction_is_linear_in_its_cotangent(drawn):
    x, axis, _ = drawn
    t = wg.tensor(x, requires_grad=True)
    y = np.prod(t, axis=axis)
    a, b = normal(y.shape, 1), normal(y.shape, 2)
    pull = lambda v: wg.autograd.grad(y, [t], v, retain_graph=True)[0].numpy()
    np.testing.assert_allclose(pull(2 * a + b), 2 * pull(a) + pull(b), atol=1e-12)


UNARY = [np.sin, np.tanh, np.exp, lambda x: x * x, lambda x: 1 / (1 + x * x), np.negative]
BINARY = [np.add, np.multiply, np.subtract, np.maximum, lambda x, y: np.hypot(x, y), lambda x, y: x / (2 + np.cos(y))]


@settings(max_examples=60)
@given(st.data())
def test_random_programs(data):
    """Programs with random sharing: diamonds, long and short paths, values used many times or never."""
    steps = data.draw(
        st.lists(st.tuples(st.integers(0, 11), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=25)
    )

    def f(x, y):
        values = [x, y]
        for op, i, j in steps:
            a, b = values[i % len(values)], values[j % len(values)]
            values.append(np.tanh(UNARY[op](a) if op < 6 else BINARY[op - 6](a, b)))
        return values[-1] + 0.1 * values[len(values) // 2] + 0.01 * x * y

    check_derivatives(f, [normal(2, 3), normal(2, 4)], [0, 1], rtol=1e-6)
