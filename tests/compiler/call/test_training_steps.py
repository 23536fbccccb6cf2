"""Training steps as one program: backward, gradients, updates of parameters and their state, against eager code."""

import numpy as np
import pytest
from tests.compiler.call.training_model import Model, X, Y, assert_follows, assert_same

import wengert as wg
from wengert import GradientError
from wengert.core.tree import flatten


@pytest.mark.parametrize("zero", ["start", "end", "never"])
def test_a_step_does_what_eager_code_does(zero):
    assert_follows(Model(zero), Model(zero))


def test_a_step_has_the_same_bits_as_eager_code_where_the_arithmetic_is_the_same():
    eager, compiled = Model(), Model()

    def step(model, x):
        model.w.grad = None
        loss = (model.w * x).sum()
        loss.backward()
        with wg.no_grad():
            model.w -= 0.1 * model.w.grad
            model.w.grad *= 0.5

    x = np.random.default_rng(3).standard_normal((3, 4))
    program = wg.compile(lambda x: step(compiled, x))
    for _ in range(3):
        step(eager, x)
        program(x)
        np.testing.assert_array_equal(compiled.w.detach(), eager.w.detach())
        np.testing.assert_array_equal(compiled.w.grad, eager.w.grad)


def test_the_result_is_a_tensor_without_history():
    loss = wg.compile(Model().step)(X, Y)
    assert isinstance(loss, wg.Tensor)
    assert not loss.requires_grad
    with pytest.raises(GradientError):
        loss.backward()


@pytest.mark.parametrize("result", [lambda loss: None, lambda loss: {"loss": loss}, lambda loss: (loss, None, [loss])])
def test_results_of_any_structure(result):
    eager, compiled = Model(), Model()
    step = wg.compile(lambda x, y: result(compiled.step(x, y)))
    for _ in range(3):
        expected, found = result(eager.step(X, Y)), step(X, Y)
        leaves, structure = flatten(expected)
        assert flatten(found)[1] == structure
        for a, b in zip(flatten(found)[0], leaves, strict=True):
            np.testing.assert_allclose(a, b.detach(), rtol=1e-13)
        assert_same(eager.state(), compiled.state())
    step.general = None
    step(X, Y)


def test_buffers_that_are_assigned_in_the_forward_pass():
    eager, compiled = Model(), Model()
    for model in (eager, compiled):
        model.mean = wg.zeros(4)
        model.moments.append(model.mean)

    def step(model, x, y):
        model.zero_grad()
        h = x @ model.w
        with wg.no_grad():
            model.mean[...] = 0.9 * model.mean + 0.1 * h.mean(axis=0)
        loss = ((h - model.mean) ** 2).sum()
        loss.backward()
        return loss

    assert_follows(eager, compiled, step=step)


def test_two_functions_that_share_tensors():
    eager, compiled = Model("never"), Model("never")
    backward = wg.compile(lambda x, y: compiled.loss(x, y).backward())
    update, clear = wg.compile(compiled.update), wg.compile(compiled.zero_grad)
    for _ in range(4):
        backward(X, Y)
        backward(X + 1.0, Y)
        update()
        clear()
        eager.loss(X, Y).backward()
        eager.loss(X + 1.0, Y).backward()
        eager.update()
        eager.zero_grad()
        assert_same(eager.state(), compiled.state())
