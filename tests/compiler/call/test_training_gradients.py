"""Gradients in a compiled training step: backward and grad, their arguments, hooks and rules, against eager code."""

import numpy as np
import pytest
from tests.compiler.call.training_model import Model, X, Y, assert_follows

import wengert as wg
from wengert import GradientError


def test_gradients_accumulate_over_calls():
    def accumulate(model, x, y):
        loss = model.loss(x, y)
        loss.backward()
        return loss

    def apply(model):
        model.update()
        model.zero_grad()

    changes = [(i, apply) for i in (2, 4)]
    assert_follows(Model(), Model(), changes, 6, accumulate)


def test_two_passes_in_one_step_accumulate():
    def step(model, x, y):
        model.zero_grad()
        model.loss(x, y).backward()
        loss = model.loss(x + 1.0, y)
        loss.backward()
        model.update()
        return loss

    assert_follows(Model(), Model(), step=step)


def test_a_loop_over_batches_with_a_pass_in_each():
    def step(model, x, y):
        for a, b in zip(x.reshape(4, 2, 3), y.reshape(4, 2, 2), strict=True):
            model.zero_grad()
            model.loss(a, b).backward()
            model.update()

    assert_follows(Model(), Model(), step=step)


def test_parameters_that_are_used_again_after_an_update():
    def step(model, x, y):
        model.zero_grad()
        model.loss(x, y).backward()
        model.update()
        loss = model.loss(x, y)  # with the new parameters
        loss.backward()
        return loss

    assert_follows(Model(), Model(), step=step)


@pytest.mark.parametrize("retain", [True, False])
def test_a_second_pass_needs_the_history(retain):
    def step(model, x, y):
        model.zero_grad()
        loss = model.loss(x, y)
        loss.backward(retain_graph=retain)
        loss.backward()
        return loss

    if retain:
        assert_follows(Model(), Model(), step=step)
    else:
        with pytest.raises(GradientError, match="retain_graph"):
            wg.compile(lambda x, y: step(Model(), x, y))(X, Y)


def test_arguments_of_backward():
    def step(model, x, y):
        model.zero_grad()
        hidden = x @ model.w
        hidden.backward(gradient=wg.ones(hidden.shape) * 2.0, inputs=[model.w])
        return hidden.sum()

    assert_follows(Model(), Model(), step=step)


def test_a_gradient_with_a_history():
    def step(model, x, y):
        model.zero_grad()
        loss = (wg.tanh(x @ model.w) ** 2).sum()
        (slope,) = wg.autograd.grad(loss, [model.w], create_graph=True)
        (slope**2).sum().backward()
        model.update()
        return loss

    assert_follows(Model(), Model(), step=step)


def test_create_graph_fills_gradients_with_histories():
    def step(model, x, y):
        model.zero_grad()
        (wg.tanh(x @ model.w) ** 2).sum().backward(create_graph=True)
        penalty = (model.w.grad**2).sum()
        model.w.grad = None
        penalty.backward()
        return penalty

    assert_follows(Model(), Model(), step=step)


def test_gradients_of_values_that_do_not_change_grad():
    model = Model()
    found = wg.compile(lambda x, y: wg.autograd.grad(model.loss(x, y), [model.w, model.v]))(X, Y)
    expected = wg.autograd.grad(model.loss(X, Y), [model.w, model.v])
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
    assert model.w.grad is None


def test_no_grad_and_detach_stop_gradients():
    def step(model, x, y):
        model.zero_grad()
        with wg.no_grad():
            fixed = x @ model.w
        loss = ((fixed + model.b.detach() + x @ model.w) ** 2).sum()
        assert not fixed.requires_grad
        assert loss.requires_grad
        loss.backward()
        return loss

    assert_follows(Model(), Model(), step=step)


def test_hooks_are_traced():
    def step(model, x, y):
        model.zero_grad()
        hidden = x @ model.w
        hidden.register_hook(lambda t: t * 3.0)
        hidden.retain_grad()
        (hidden**2).sum().backward()
        model.b.grad = hidden.grad.sum(axis=0)

    def hook(model):
        model.w.register_hook(lambda t: t * 2.0)

    assert_follows(Model(), Model(), [(0, hook)], step=step)


def test_custom_rules_are_used():
    @wg.custom_vjp
    def clip_gradient(x):
        return x

    clip_gradient.defvjp(lambda x: (x, None), lambda _, t: (wg.clip(t, -0.1, 0.1),))

    def step(model, x, y):
        model.zero_grad()
        clip_gradient((x @ model.w).sum() * 5.0).backward()

    eager, compiled = Model(), Model()
    assert_follows(eager, compiled, step=step)
    np.testing.assert_allclose(compiled.w.grad, 0.5 * np.broadcast_to(X.sum(axis=0)[:, None], (3, 4)))


def test_branches_and_loops_in_the_forward_pass():
    def step(model, x, y):
        model.zero_grad()
        h = x @ model.w
        if h.sum() > 0.0:
            h = h * 2.0
            h = h + model.b
        else:
            h = h - model.b
        h = wg.scan(lambda c, _: (wg.tanh(c + model.b), None), h, None, length=5)[0]
        loss = (h**2).sum()
        loss.backward()
        model.update()
        return loss

    assert_follows(Model(), Model(), step=step)


def test_data_in_a_step():
    def step(model, x, y):
        for p in model.parameters:
            if p.grad is not None:
                p.grad[...] = 0.0
        loss = model.loss(x, y)
        loss.backward()
        for p in model.parameters:
            p.data = p.data - 0.01 * p.grad.data
        return loss.data

    assert_follows(Model(), Model(), step=step)
