"""Training steps as one program: backward, gradients, updates of parameters and their state, against eager code."""

import gc
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import wengert as wg
from wengert import GradientError
from wengert.core.tree import flatten
from wengert.modes.tape import TapeNode
from wengert.modes.trace import Trace

X = np.random.default_rng(0).standard_normal((8, 3))
Y = np.random.default_rng(1).standard_normal((8, 2))


class Model:
    """A small network, its moments and its step, written by hand."""

    def __init__(self, zero="start", momentum=0.9):
        draw = np.random.default_rng(2).standard_normal
        self.w = wg.tensor(draw((3, 4)), requires_grad=True)
        self.b = wg.tensor(np.zeros(4), requires_grad=True)
        self.v = wg.tensor(draw((4, 2)), requires_grad=True)
        self.parameters = [self.w, self.b, self.v]
        self.moments = [wg.zeros(p.shape) for p in self.parameters]
        self.count = wg.tensor(0)
        self.zero, self.momentum = zero, momentum

    def zero_grad(self):
        for p in self.parameters:
            p.grad = None

    def loss(self, x, y):
        hidden = wg.maximum(x @ self.w + self.b, 0.1)
        return ((hidden @ self.v - y) ** 2).sum()

    def update(self):
        with wg.no_grad():
            self.count += 1
            for p, m in zip(self.parameters, self.moments, strict=True):
                if p.grad is not None:
                    m[...] = self.momentum * m + p.grad
                    p -= 0.01 * m

    def step(self, x, y):
        if self.zero == "start":
            self.zero_grad()
        loss = self.loss(x, y)
        loss.backward()
        self.update()
        if self.zero == "end":
            self.zero_grad()
        return loss

    def state(self):
        grads = [None if p.grad is None else p.grad.numpy().copy() for p in self.parameters]
        return [p.detach().numpy().copy() for p in (*self.parameters, *self.moments, self.count)], grads


def assert_same(a, b):
    for x, y in zip([*a[0], *a[1]], [*b[0], *b[1]], strict=True):
        assert (x is None) == (y is None)
        if x is not None:
            np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-14)


def assert_follows(eager, compiled, changes=(), steps=6, step=None):
    """Run both step by step; `changes` are applied to both models before some steps."""
    run = compiled.step if step is None else lambda x, y: step(compiled, x, y)
    program, plain = wg.compile(run), (eager.step if step is None else lambda x, y: step(eager, x, y))
    for i in range(steps):
        for when, change in changes:
            if when == i:
                change(eager)
                change(compiled)
        expected, found = plain(X, Y), program(X, Y)
        if expected is not None:
            np.testing.assert_allclose(found.detach(), expected.detach(), rtol=1e-13)
        assert_same(eager.state(), compiled.state())
    return program


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


def freeze(model):
    model.w.requires_grad = False


def thaw(model):
    model.w.requires_grad = True


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
        step(X, Y)
        step.general = None
        step(X, Y)


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


def test_a_program_writes_into_the_memory_of_its_tensors():
    model = Model()
    step = wg.compile(model.step)
    step(X, Y)
    step(X, Y)
    tensors = [*model.parameters, *model.moments, model.count, *[p.grad for p in model.parameters]]
    before = [t.value.ctypes.data for t in tensors]
    versions = [t._version for t in (*model.parameters, *model.moments)]
    del tensors
    for _ in range(3):
        step(X, Y)
    tensors = [*model.parameters, *model.moments, model.count, *[p.grad for p in model.parameters]]
    assert [t.value.ctypes.data for t in tensors] == before
    assert [t._version for t in (*model.parameters, *model.moments)] == [n + 3 for n in versions]


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


def test_a_pass_inside_of_a_branch_is_an_error():
    model = Model()

    def step(x):
        loss = (x @ model.w).sum()
        if loss > 0.0:
            loss.backward()
        return loss

    with pytest.raises((GradientError, AttributeError), match="branch"):
        wg.compile(step)(X)


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


def test_a_gradient_that_the_user_keeps_does_not_change():
    model = Model("never")
    step = wg.compile(model.step)
    step(X, Y)
    kept, numbers = model.w.grad, model.w.grad.numpy().copy()
    step(X, Y)
    np.testing.assert_array_equal(kept, numbers)
    assert not np.array_equal(model.w.grad, numbers)


def test_parameters_that_others_hold_do_not_change():
    model = Model()
    step = wg.compile(model.step)
    step(X, Y)
    kept = [p.numpy() for p in (model.w.detach(), model.moments[0])]
    numbers = [x.copy() for x in kept]
    saved = model.loss(X, Y)  # a history that needs the present parameters
    step(X, Y)
    for x, y in zip(kept, numbers, strict=True):
        np.testing.assert_array_equal(x, y)
    fresh = Model()
    fresh.step(X, Y)
    fresh.zero_grad()
    fresh.loss(X, Y).backward()
    model.zero_grad()
    saved.backward()
    np.testing.assert_allclose(model.w.grad, fresh.w.grad, rtol=1e-13)


@pytest.mark.parametrize("zero", ["start", "end", "never"])
def test_memory_does_not_grow(zero):
    model = Model(zero)
    step = wg.compile(model.step)
    for _ in range(10):
        step(X, Y)
    gc.collect()
    gc.disable()
    try:
        tracemalloc.start()
        for _ in range(100):
            step(X, Y)
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(1000):
            step(X, Y)
        assert tracemalloc.get_traced_memory()[0] - before < 1000
    finally:
        tracemalloc.stop()
        gc.enable()


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


def test_transforms_of_a_step_are_errors():
    program = wg.compile(Model().step)
    for transform in (wg.grad, lambda f: lambda x, y: wg.jvp(lambda x: f(x, y), (x,), (x,)), wg.vmap):
        with pytest.raises(GradientError, match="transform"):
            transform(program)(X, Y)


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


def test_a_function_with_numbers_in_it_cannot_be_traced():
    class Square(wg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, t):
            return 2.0 * t * ctx.saved_tensors[0]

    model = Model()
    with pytest.raises(TypeError, match="custom_vjp"):
        wg.compile(lambda: Square.apply(model.w).sum().backward())()


def test_tensors_that_are_arguments_cannot_be_trained():
    with pytest.raises(AttributeError, match="capture"):
        wg.compile(lambda w, x: (x @ w).sum().backward())(Model().w, X)


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


def test_captured_histories_and_gradients_with_histories_are_errors():
    model = Model()
    made = model.w * 2.0
    with pytest.raises(GradientError, match="history"):
        wg.compile(lambda x: (x @ made).sum().backward())(X)
    (model.w**2).sum().backward(create_graph=True)
    with pytest.raises(GradientError, match="history"):
        wg.compile(lambda x: model.w.grad * 2.0)(X)


def test_threads_train_models_of_their_own_with_one_function():
    results = {}

    def train(name):
        model = Model()
        step = wg.compile(model.step)
        for _ in range(20):
            step(X, Y)
        results[name] = model.state()

    threads = [threading.Thread(target=train, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in (1, 2):
        assert_same(results[0], results[i])


def test_threads_that_share_a_step_do_not_corrupt_its_state():
    model = Model()
    step = wg.compile(model.step)
    step(X, Y)

    def train():
        for _ in range(50):
            step(X, Y)

    threads = [threading.Thread(target=train) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.isfinite(x).all() for x in model.state()[0])
    assert 50 < model.count.item() <= 201


def test_arrays_have_the_dtype_objects_of_numpy():
    for _ in range(2):  # the second program comes from disk
        model = Model("never")
        step = wg.compile(model.step)
        for _ in range(3):
            loss = step(X, Y)
        for t in (*model.parameters, *model.moments, model.w.grad, loss):
            assert t.dtype is np.dtype(float)


def test_a_trace_with_a_tape_leaves_nothing_behind():
    count = lambda: sum(isinstance(x, Trace | TapeNode) for x in gc.get_objects())
    model = Model()
    gc.collect()
    before = count()
    gc.disable()
    try:
        step = wg.compile(model.step)
        step(X, Y)
        step(X, Y)
        assert count() == before
        kept = weakref.ref(step)
        del step
        assert kept() is None
    finally:
        gc.enable()
