"""The derivative of `logsumexp` in native code."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.aspects.softmax import share_exponentials
from wengert.compiler.program.prepare import prepare

RNG = np.random.default_rng(0)


def gradient(axis, keepdims=False):
    return wg.grad(lambda x: (wg.logsumexp(x, axis=axis, keepdims=keepdims) ** 2).sum())


@pytest.mark.parametrize("axis", [0, 1, (0, 2), None])
@pytest.mark.parametrize("keepdims", [False, True])
def test_the_exponential_is_computed_once(axis, keepdims):
    x = RNG.standard_normal((4, 4, 4))
    f = gradient(axis, keepdims)
    names = [node.primitive.name for node in prepare(wg.trace(f, x)).operations]
    assert names.count("exp") == 1
    np.testing.assert_allclose(wg.compile(f)(x), f(x), rtol=1e-13, atol=1e-15)


def test_terms_that_are_not_finite():
    x = np.full((3, 4), -np.inf)
    x[0, 0], x[1, 1], x[2, 2] = 1.0, np.inf, np.nan
    for axis in (0, 1):
        f = wg.grad(lambda x, axis=axis: wg.logsumexp(x, axis=axis).sum())
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(wg.compile(f)(x), f(x))


def test_another_difference_stays():
    x, y = RNG.standard_normal((2, 3, 3))
    graph = wg.trace(lambda x, y: np.exp(y - wg.logsumexp(x, axis=0, keepdims=True)), x, y)
    assert share_exponentials(graph) is graph
    along_the_other_axis = lambda x: np.exp(x - wg.logsumexp(x, axis=1)[None, :])
    np.testing.assert_allclose(wg.compile(along_the_other_axis)(x), along_the_other_axis(x), rtol=1e-13)
