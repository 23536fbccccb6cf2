"""Errors in and around a compiled training step; the state afterwards is that from before."""

import numpy as np
import pytest
from tests.compiler.call.training_model import Model, X, Y, assert_same

import wengert as wg
from wengert import GradientError


def test_a_pass_inside_of_a_branch_is_an_error():
    model = Model()

    def step(x):
        loss = (x @ model.w).sum()
        if loss > 0.0:
            loss.backward()
        return loss

    with pytest.raises((GradientError, AttributeError), match="branch"):
        wg.compile(step)(X)


def test_an_error_half_way_leaves_the_state_as_before():
    model = Model()
    table = wg.tensor(np.arange(5.0), requires_grad=True)

    def step(i):
        model.zero_grad()
        loss = (table[i] * model.w).sum()
        loss.backward()
        model.update()
        return loss

    program = wg.compile(step)
    program(2)
    before = model.state()
    with pytest.raises(IndexError):
        program(7)
    assert_same(model.state(), before)
    program(2)
    assert model.count.item() == 2


def test_an_error_in_the_trace_leaves_the_state_as_before():
    model = Model()
    before = model.state()

    def step(x, y):
        model.step(x, y)
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        wg.compile(step)(X, Y)
    assert_same(model.state(), before)


def test_transforms_of_a_step_are_errors():
    program = wg.compile(Model().step)
    for transform in (wg.grad, lambda f: lambda x, y: wg.jvp(lambda x: f(x, y), (x,), (x,)), wg.vmap):
        with pytest.raises(GradientError, match="transform"):
            transform(program)(X, Y)


def test_a_function_with_numbers_in_it_cannot_be_traced():
    class Square(wg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, t):
            return 2.0 * t * float(ctx.saved_tensors[0].sum())

    model = Model()
    with pytest.raises(TypeError, match="custom_vjp"):
        wg.compile(lambda: Square.apply(model.w).sum().backward())()


def test_tensors_that_are_arguments_cannot_be_trained():
    with pytest.raises(AttributeError, match="capture"):
        wg.compile(lambda w, x: (x @ w).sum().backward())(Model().w, X)


def test_captured_histories_and_gradients_with_histories_are_errors():
    model = Model()
    made = model.w * 2.0
    with pytest.raises(GradientError, match="history"):
        wg.compile(lambda x: (x @ made).sum().backward())(X)
    (model.w**2).sum().backward(create_graph=True)
    with pytest.raises(GradientError, match="history"):
        wg.compile(lambda x: model.w.grad * 2.0)(X)
