"""Functions that transforms return show what they are, and stay functions to everyone else."""

from __future__ import annotations

import gc
import inspect
import pickle
import weakref
from functools import partial

import numpy as np
import pytest

import wengert as wg


def cubes(x, scale=1.0):
    """The sum of cubes."""
    return (x**3).sum() * scale


@wg.vmap
def double(x):
    return 2.0 * x


class Model:
    scale = 3.0

    def loss(self, x):
        return (x * x).sum() * self.scale

    slope = wg.grad(loss, argnums=1)


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (wg.grad(cubes), "<gradient of cubes with respect to argument 0>"),
        (wg.grad(cubes, (0, 1)), "<gradient of cubes with respect to arguments 0 and 1>"),
        (wg.value_and_grad(cubes), "<value and gradient of cubes with respect to argument 0>"),
        (wg.jacobian(cubes), "<Jacobian of cubes with respect to argument 0>"),
        (wg.hessian(cubes), "<Hessian of cubes with respect to argument 0>"),
        (wg.laplacian(cubes), "<Laplacian of cubes with respect to argument 0>"),
        (wg.derivative(np.sin, 2), "<derivative of order 2 of sin>"),
        (wg.vmap(wg.grad(cubes)), "<vmap of (gradient of cubes with respect to argument 0)>"),
        (wg.compile(cubes), "<compiled cubes>"),
        (wg.compile(wg.grad(cubes)), "<compiled gradient of cubes with respect to argument 0>"),
        (wg.grad(lambda x: x), "<gradient of <lambda> with respect to argument 0>"),
        (wg.grad(partial(cubes, scale=2.0)), "<gradient of partial with respect to argument 0>"),
        (wg.grad(Model().loss), "<gradient of Model.loss with respect to argument 0>"),
    ],
)
def test_representations(made, shown):
    assert repr(made) == shown


def test_what_callers_of_functions_ask_for():
    slope = wg.grad(cubes)
    assert slope.__name__ == "cubes"
    assert slope.__doc__ == "The sum of cubes."
    assert list(inspect.signature(slope).parameters) == ["x", "scale"]
    np.testing.assert_array_equal(Model().slope(np.ones(2)), [6.0, 6.0])
    assert pickle.loads(pickle.dumps(double)) is double


def test_no_cycles():
    gc.disable()
    try:
        for make in (wg.grad, wg.value_and_grad, wg.vmap, wg.jacobian, wg.hessian):
            made = make(cubes)
            made(np.ones((2, 3)))
            alive = weakref.ref(made)
            del made
            assert alive() is None
    finally:
        gc.enable()


def test_a_compiled_function_sees_what_a_transformed_one_captures():
    factor = [2.0]

    def f(x):
        return (x * x).sum() * factor[0]

    slope = wg.compile(wg.grad(f), check=True)
    np.testing.assert_array_equal(slope(np.ones(2)), [4.0, 4.0])
    factor[0] = 3.0
    with pytest.raises(RuntimeError, match="factor as a constant, which has changed"):
        slope(np.ones(2))
