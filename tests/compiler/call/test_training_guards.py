"""Guards of a compiled training step: state that changes between calls leads to another program, or to eager code."""

import numpy as np
import pytest
from tests.compiler.call.training_model import Model, X, Y, assert_follows, assert_same, freeze, thaw

import wengert as wg
from wengert import GradientError


def drop_gradient(model):
    model.w.grad = None


def set_gradient(model):
    model.b.grad = np.ones(4)


@pytest.mark.parametrize("zero", ["start", "end", "never"])
@pytest.mark.parametrize("changes", [(freeze, thaw, freeze), (drop_gradient,), (set_gradient, drop_gradient)])
def test_state_that_changes_between_steps_leads_to_another_program(zero, changes):
    assert_follows(Model(zero), Model(zero), [(i + 1, change) for i, change in enumerate(changes)])


def test_programs_for_a_state_are_kept():
    traces = []

    def step(model, x, y):
        traces.append(model.w.requires_grad)
        return model.step(x, y)

    changes = [(1, freeze), (2, thaw), (3, freeze), (4, thaw)]
    assert_follows(
        Model("end"), model := Model("end"), changes, 6, lambda m, x, y: step(m, x, y) if m is model else m.step(x, y)
    )
    assert traces.count(True) <= 2  # each is begun without a tape
    assert traces.count(False) <= 2


def test_the_native_entry_takes_the_calls_of_a_training_loop():
    for zero in ("start", "end", "never"):
        model = Model(zero)
        step = wg.compile(model.step)
        for _ in range(3):
            step(X, Y)
        general, step.general = step.general, None  # it is not needed any more
        step(X, Y)
        model.w.requires_grad = False
        step.general = general
        for _ in range(2):
            step(X, Y)
        step.general = None
        step(X, Y)


def test_a_hook_that_is_added_or_removed_leads_to_another_program():
    model = Model()
    step = wg.compile(lambda x: (model.zero_grad(), (x @ model.w).sum().backward())[1])
    step(X)
    plain = model.w.grad.numpy().copy()
    handle = model.w.register_hook(lambda t: t * 2.0)
    step(X)
    np.testing.assert_array_equal(model.w.grad, 2.0 * plain)
    handle.remove()
    step(X)
    np.testing.assert_array_equal(model.w.grad, plain)


def test_where_the_program_cannot_be_used_the_function_runs():
    eager, compiled = Model(), Model()
    program = wg.compile(compiled.step)
    program(X, Y)
    eager.step(X, Y)
    with wg.no_grad(), pytest.raises(GradientError, match="requires_grad"):
        program(X, Y)
    x, y = wg.tensor(X, requires_grad=True), wg.tensor(X, requires_grad=True)
    program(x, Y)
    eager.step(y, Y)
    np.testing.assert_allclose(x.grad, y.grad)
    with wg.autograd.detect_anomaly():
        program(X, Y)
        eager.step(X, Y)
    program(wg.tensor(X), wg.tensor(Y))
    eager.step(X, Y)
    assert_same(eager.state(), compiled.state())


def test_a_step_inside_of_another_compiled_function():
    eager, compiled = Model(), Model()
    inner = wg.compile(compiled.step)
    inner(X, Y)
    eager.step(X, Y)

    @wg.compile
    def twice(x, y):
        return inner(x, y) + inner(x, y)

    for changes in (freeze, thaw):
        twice(X, Y)
        eager.step(X, Y)
        eager.step(X, Y)
        assert_same(eager.state(), compiled.state())
        changes(eager)
        changes(compiled)
