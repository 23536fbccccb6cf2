"""The smaller modules of autograd's layer: checks of derivatives, spaces, replayed graphs, names."""

from __future__ import annotations

import numpy as np
import pytest

import wengert.compat.autograd as autograd
import wengert.compat.autograd.numpy as anp
from wengert.compat.autograd import core, extend, test_util
from wengert.compat.autograd.builtins import DictBox, SequenceBox
from wengert.compat.autograd.misc.tracers import const_graph, full_graph
from wengert.compat.autograd.numpy import numpy_vjps
from wengert.compat.autograd.numpy.numpy_boxes import ArrayBox
from wengert.compat.autograd.tracer import getval, isbox

X = np.array([0.3, 0.7, 1.2])


def wrong_square():
    square = extend.primitive(lambda x: np.asarray(x) ** 2)
    extend.defvjp(square, lambda ans, x: lambda g: 2.1 * x * g)
    return square


@pytest.mark.parametrize("modes", [["rev"], ["fwd"]])
def test_a_wrong_rule_is_found(modes):
    with pytest.raises(AssertionError):
        test_util.check_grads(wrong_square(), modes=modes, order=1)(X)


def test_a_rule_that_is_wrong_at_second_order_is_found():
    square = extend.primitive(lambda x: np.asarray(x) ** 2)
    extend.defvjp(square, lambda ans, x: lambda g: 2.0 * getval(x) * g)
    test_util.check_grads(square, modes=["rev"], order=1)(X)
    with pytest.raises(AssertionError):
        test_util.check_grads(square, modes=["rev"], order=2)(X)


def test_an_unknown_mode_is_refused():
    with pytest.raises(AssertionError, match="'fwd' and 'rev'"):
        test_util.check_grads(anp.sin, modes=["backward"])(X)


def test_right_functions_pass_every_check():
    test_util.check_grads(lambda p: {"out": anp.sin(p["a"]) * p["b"]}, order=2)({"a": X, "b": 2.0})
    test_util.combo_check(anp.sum, [0], order=1)([X, np.ones((2, 2))], keepdims=[True, False])


def test_spaces():
    space = extend.vspace({"a": X, "b": 1.0 + 2.0j})
    assert (space.size, space.iscomplex, len(list(space.standard_basis()))) == (5, True, 5)
    assert space == extend.vspace({"a": 2.0 * X, "b": 1j})
    assert space != extend.vspace({"a": X, "b": 1.0})
    assert space.ones()["b"] == 1 + 1j
    both = space.add(space.ones(), space.scalar_mul(space.ones(), 2.0))
    assert space.inner_prod(both, both) == 3 * 9.0 + 18.0
    assert space.covector(both)["b"] == 3 - 3j
    with pytest.raises(TypeError, match="has no space"):
        extend.vspace("a")


def test_a_space_of_ones_own():
    class Names:
        pass

    class NameSpace(extend.VSpace):
        def __init__(self, value):
            super().__init__(np.zeros(7))

    NameSpace.register(Names)
    assert extend.vspace(Names()).size == 7


def test_a_graph_is_replayed_on_other_arguments():
    runs = []

    def f(a, b):
        runs.append("run")
        return anp.sum(anp.sin(a) * b)

    replayed = const_graph(f)
    assert [replayed(X, 2.0), replayed(2.0 * X, 3.0)] == pytest.approx([f(X, 2.0), f(2.0 * X, 3.0)])
    assert len(runs) == 3
    np.testing.assert_allclose(autograd.grad(replayed, 1)(X, 2.0), np.sum(np.sin(X)))
    assert full_graph(lambda a: anp.exp(a), 1.0).value == np.exp(1.0)


def test_a_graph_that_does_not_depend_on_its_argument():
    with pytest.warns(UserWarning, match="does not depend"), pytest.raises(ValueError, match="no graph"):
        const_graph(lambda a: 1.0)(X)


def test_boxes():
    seen = []

    def f(params):
        seen.append([isinstance(params, DictBox), isinstance(params["list"], SequenceBox), isinstance({}, DictBox)])
        x = params["list"][0]
        seen.append([isbox(x), isinstance(x, ArrayBox), isbox(x > 0), isbox(X), isinstance(X, ArrayBox)])
        return anp.sum(x)

    autograd.grad(f)({"list": [X]})
    assert seen == [[True, True, False], [True, True, False, False, False]]


def test_what_rules_are_written_with():
    g, count = numpy_vjps.repeat_to_match_shape(np.array([1.0, 2.0]), (2, 3), float, 1, False)
    assert (g.tolist(), count) == ([[1.0] * 3, [2.0] * 3], 3)
    assert numpy_vjps.match_complex(1j, 2.0) == 2.0 + 0j
    assert numpy_vjps.match_complex(1.0, 2.0 + 1j) == 2.0
    assert numpy_vjps.unbroadcast(np.array([1.0 + 1j, 2.0]), anp.metadata(3.0)) == 3.0
    assert numpy_vjps.replace_zero(np.array([0.0, 2.0]), 5.0).tolist() == [5.0, 2.0]
    assert numpy_vjps.balanced_eq(X, X, X).tolist() == [0.5] * 3


def test_names_that_are_not_there_name_others():
    with pytest.raises(AttributeError, match="Use `autograd.make_vjp`"):
        core.backward_pass  # noqa: B018  # the attribute is the test
    with pytest.raises(AttributeError, match=r"autograd\.numpy\.fancy is not in wengert\.compat\.autograd"):
        anp.fancy  # noqa: B018  # the attribute is the test


def test_gradients_by_name():
    assert autograd.multigrad_dict(lambda a, b=2.0: a * b)(3.0) == {"a": 2.0, "b": 3.0}
    assert autograd.grad_named(lambda a, b: a * b, "b")(2.0, 3.0) == 2.0
