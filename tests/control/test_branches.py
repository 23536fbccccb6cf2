"""cond and switch: what runs, what is chosen, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg


class TestCond:
    def test_trees(self):
        f = lambda x: wg.cond(x > 0, lambda x: {"a": (x, -x)}, lambda x: {"a": (x * 2.0, x)}, x)
        for x in (np.float64(1.0), np.float64(-1.0)):
            assert wg.compile(f)(x) == f(x)

    def test_only_one_branch_runs(self):
        """A singular matrix is inverted in the other one, also where the branch captured it."""

        def f(x):
            matrix = x * np.eye(2)
            return wg.cond(x > 0, lambda: np.linalg.inv(matrix).sum(), lambda: x * 3.0)

        for g in (f, wg.grad(f), wg.grad(lambda x: wg.jvp(f, (x,), (np.float64(1.0),))[1])):
            assert wg.compile(g)(np.float64(0.0)) == g(np.float64(0.0))
            assert wg.compile(g)(np.float64(2.0)) == g(np.float64(2.0))

    def test_no_nan_from_the_side_not_taken(self):
        f = lambda x: wg.cond(x > 0, np.sqrt, lambda x: x * 2.0, x)
        xs = np.array([4.0, -1.0, 0.0])
        np.testing.assert_array_equal(wg.vmap(f)(xs), [2.0, -2.0, 0.0])
        np.testing.assert_array_equal(wg.vmap(wg.grad(f))(xs), [0.25, 2.0, 2.0])
        np.testing.assert_array_equal(wg.compile(wg.vmap(wg.grad(f)))(xs), [0.25, 2.0, 2.0])
        np.testing.assert_array_equal(wg.grad(lambda x: np.sum(wg.vmap(f)(x)))(xs), [0.25, 2.0, 2.0])

    @pytest.mark.parametrize("pred", [np.array([True, False]), np.ones((1,))])
    def test_a_predicate_that_is_no_scalar(self, pred):
        with pytest.raises(TypeError, match=r"shape .* wg.where"):
            wg.cond(pred, lambda: 1.0, lambda: 2.0)

    @pytest.mark.parametrize(
        ("other", "message"),
        [(lambda x: (x, x), "Branch"), (lambda x: np.ones(2) * x, r"f64\[2\]"), (lambda x: x > 0, "bool")],
    )
    def test_branches_that_differ(self, other, message):
        with pytest.raises(TypeError, match=message):
            wg.trace(lambda x: wg.cond(x > 0, other, lambda x: x, x), np.float64(1.0))


class TestSwitch:
    def test_an_index_out_of_range_is_clamped(self):
        branches = [lambda x: x, lambda x: x * 2.0, lambda x: x * 3.0]
        f = lambda i, x: wg.switch(i, branches, x)
        for i in range(-2, 6):
            expected = np.clip(i, 0, 2) + 1.0
            assert f(i, 1.0) == wg.compile(f)(np.int64(i), np.float64(1.0)) == expected
        np.testing.assert_array_equal(wg.vmap(lambda i: f(i, 1.0))(np.array([-1, 1, 7])), [1.0, 2.0, 3.0])

    def test_refused(self):
        with pytest.raises(TypeError, match="integer"):
            wg.switch(0.5, [lambda: 1.0])
        with pytest.raises(ValueError, match="branch"):
            wg.switch(0, [])
