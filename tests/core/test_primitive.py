"""What a node saves, and how an operation finds the mode that runs it."""

from __future__ import annotations

import pickle
import textwrap

import numpy as np
import pytest
from tests.fresh_python import run_python

import wengert as wg
from wengert.core.kinds import elementwise
from wengert.core.primitive import TABLE, apply, lookup


def saved(y):
    """What the node of a value keeps, by name."""
    return {name: value for name, value in y.grad_fn.metadata["saved"].items() if value is not None}


def leaf(*shape):
    return wg.tensor(np.ones(shape), requires_grad=True)


class TestOnlyWhatIsNeededIsKept:
    def test_addition_keeps_nothing(self):
        assert saved(leaf(3) + leaf(3)) == {}

    def test_exponential_keeps_its_output(self):
        y = np.exp(leaf(3))
        assert list(saved(y)) == ["out"]
        assert saved(y)["out"] is y.value

    def test_product_keeps_both_factors_or_the_constant_one(self):
        x, y, c = leaf(3), leaf(3), wg.tensor(np.ones(3))
        assert set(saved(x * y)) == {"x", "y"}
        assert set(saved(x * c)) == {"y"}
        assert set(saved(c * x)) == {"x"}

    def test_division_by_a_constant_keeps_only_it(self):
        assert set(saved(leaf(3) / wg.tensor(2.0))) == {"y"}

    def test_matrix_product_with_data_keeps_the_data(self):
        data, weights = wg.tensor(np.ones((5, 3))), leaf(3, 2)
        kept = saved(data @ weights)
        assert kept["x"] is data.value
        assert "y" not in kept

    def test_sum_keeps_only_the_spec(self):
        assert repr(saved(leaf(2, 3).sum())["x_spec"]) == "f64[2,3]"


class TestApply:
    def test_plain_arrays_stay_plain(self):
        assert type(wg.sin(np.ones(2))) is np.ndarray
        assert type(wg.add(1.0, 2.0)) is np.float64

    def test_result_is_a_value_exactly_if_an_argument_is(self):
        assert isinstance(wg.add(np.ones(2), wg.tensor(1.0)), wg.Tensor)

    def test_the_one_way_in(self):
        x = wg.tensor([1.0, 2.0], requires_grad=True)
        y = apply(lookup("sum"), x, axis=(0,), keepdims=True)
        assert y.shape == (1,)
        assert y.grad_fn.name == "sum"

    def test_names_are_unique(self):
        with pytest.raises(ValueError, match="already has an operation named 'sin'"):
            elementwise("sin", np.sin, lambda t, x: t * wg.cos(x))

    def test_primitives_pickle_by_name(self):
        assert pickle.loads(pickle.dumps(TABLE["sin"])) is TABLE["sin"]


def test_a_new_operation_is_one_edit():
    cube = elementwise("cube_for_test", lambda x: x * x * x, lambda t, x: t * (3.0 * x * x))
    try:
        x = wg.tensor([1.0, 2.0], requires_grad=True)
        (g,) = wg.autograd.grad(cube(x).sum(), [x], create_graph=True)
        (h,) = wg.autograd.grad(g.sum(), [x])
        np.testing.assert_array_equal(g.detach().numpy(), [3.0, 12.0])
        np.testing.assert_array_equal(h.numpy(), [6.0, 12.0])
    finally:
        del TABLE["cube_for_test"]


def test_operations_that_are_registered_late_are_found_by_name():
    code = """
        import contextlib, importlib, pkgutil
        import wengert
        from wengert.core.primitive import TABLE, lookup
        early = set(TABLE)
        try:
            lookup("no such operation")
        except KeyError:
            found = set(TABLE)
        for module in pkgutil.walk_packages(wengert.__path__, "wengert."):
            if not module.name.endswith("__main__"):
                with contextlib.suppress(ModuleNotFoundError):  # of an extra
                    importlib.import_module(module.name)
        print("loop" in early, "loop" in found, found == set(TABLE))
    """
    done = run_python(textwrap.dedent(code))
    assert done.stdout.split() == ["False", "True", "True"]
