"""What a compiled function captures: tensors are read, and written back, at each call.

All else is a constant that can be checked.
"""

from __future__ import annotations

import copy
import threading
from functools import partial

import numpy as np
import pytest

import wengert as wg
from wengert.core.errors import GradientError, TrackedValueError

X = np.array([1.0, 2.0, -1.5])
V = np.array([0.5, -1.0, 2.0])


def total(t, x):
    return (t * x * x).sum()


TRANSFORMS = {
    "f": lambda f: f,
    "grad": wg.grad,
    "value_and_grad": wg.value_and_grad,
    "hessian": wg.hessian,
    "hvp": lambda f: lambda x: wg.hvp(f, x, V),
    "jacrev": lambda f: wg.jacrev(wg.grad(f)),
    "jacfwd": lambda f: wg.jacfwd(wg.grad(f)),
    "jvp": lambda f: lambda x: wg.jvp(f, (x,), (V,)),
    "vjp": lambda f: lambda x: wg.vjp(f, x)[1](1.0),
    "vmap of grad": lambda f: lambda x: wg.vmap(wg.grad(f))(np.stack([np.ones(3), V]) * x),
    "checkpoint": lambda f: wg.grad(wg.checkpoint(f)),
    "grad of compiled": lambda f: wg.grad(wg.compile(f)),
    "taylor": lambda f: lambda x: wg.taylor(lambda s: f(x * s), 1.0, 2)[2],
}
USES = {
    "t": lambda t, x: total(t, x),
    "2 t": lambda t, x: total(2.0 * t, x),  # computed from captured tensors alone
    "t[1:]": lambda t, x: (t[1:] * x[1:] ** 2).sum(),
    "sum(t)": lambda t, x: (np.exp(np.sum(t)) * x * x).sum(),
    "detached": lambda t, x: total(t.detach(), x),
    "in a list": lambda t, x: (wg.stack([t, t * t]) * x * x).sum(),
    "returned": lambda t, x: (x + t)[0] * t[1] * x[1],
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("name", "requires_grad"),
    [
        *[(name, False) for name in TRANSFORMS],
        *[(name, True) for name in TRANSFORMS if name != "checkpoint"],
    ],  # which refuses it, eagerly
)
def test_a_compiled_derivative_reads_captured_tensors_at_each_call(name, requires_grad, use):
    t = wg.tensor(np.full(3, 3.0), requires_grad=requires_grad)
    f = partial(USES[use], t)
    eager, compiled = TRANSFORMS[name](f), wg.compile(TRANSFORMS[name](f))
    for change in (0.0, -2.0, 0.5):
        with wg.no_grad():
            t += change
        for ours, expected in zip(leaves(compiled(X)), leaves(eager(X)), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=1e-13)


def leaves(tree):
    return [
        np.asarray(x.detach() if isinstance(x, wg.Tensor) else x)
        for x in (tree if isinstance(tree, tuple) else (tree,))
    ]


@pytest.mark.parametrize("make", [wg.sparse_hessian, lambda f, **kwargs: wg.sparse_jacobian(wg.grad(f), **kwargs)])
def test_compiled_sparse_derivatives_read_captured_tensors_at_each_call(make):
    t = wg.tensor(np.full(3, 3.0))
    H = make(partial(total, t), compile=True)
    assert np.allclose(H(X).toarray(), 6.0 * np.eye(3))
    with wg.no_grad():
        t -= 2.0
    assert np.allclose(H(X).toarray(), 2.0 * np.eye(3))


def test_operators_read_captured_tensors_at_each_call():
    t = wg.tensor(np.full(3, 3.0))
    operators = [
        wg.hessian_operator(partial(total, t), X, compile=True),
        wg.jacobian_operator(lambda x: t * x * x / X, X, compile=True),
        wg.gauss_newton_operator(lambda x: t * x, X, lambda y: (y * y / t).sum(), compile=True),
    ]
    with wg.no_grad():
        t -= 2.0
    for operator in operators:
        np.testing.assert_allclose(operator @ V, 2.0 * V)


def test_the_gradient_with_respect_to_a_captured_tensor_follows_its_changes():
    t = wg.tensor(np.full(3, 3.0), requires_grad=True)
    f = wg.compile(lambda x: (np.sin(2.0 * t) * x).sum())
    for value in (3.0, 1.0):
        t.data = np.full(3, value)
        t.grad = None
        f(X).backward()
        np.testing.assert_allclose(t.grad, 2.0 * np.cos(2.0 * value) * X)


def test_a_tensor_made_and_changed_inside():
    def f(x):
        buffer = wg.zeros(3)
        y = (buffer * x).sum()
        buffer[0] = 5.0
        buffer += 1.0
        return y + (buffer * x).sum()

    for g in (f, wg.grad(f)):
        np.testing.assert_allclose(wg.compile(g)(X), np.asarray(g(X)))


def test_what_is_made_of_constants_has_numbers_in_a_trace():
    names = ["a", "b", "c"]

    def f(x):
        steps = wg.arange(3)
        assert bool(steps.sum() > 2)
        assert names[steps[1]] == "b"
        assert steps.tolist() == [0, 1, 2]
        return x * float(steps[2]) + int(wg.tensor(3)) + steps.numpy()[1]

    np.testing.assert_allclose(wg.compile(f)(X), 2.0 * X + 4.0)


def accumulate(t, x):
    t[...] = t + x
    return (t * x).sum()


def count_calls(t, x):
    t += 1.0
    return x * t


def momentum(t, x):
    old = t * 1.0
    t *= 0.5
    t += x
    t[0] = old[1]
    return old, t - old


@pytest.mark.parametrize("f", [accumulate, count_calls, momentum])
def test_assignment_to_a_captured_tensor_works_as_in_eager_code(f):
    ours, theirs = wg.tensor(np.arange(3.0)), wg.tensor(np.arange(3.0))
    compiled = wg.compile(partial(f, ours))
    for scale in (1.0, -2.0, 0.5):
        for a, b in zip(leaves(compiled(scale * X)), leaves(f(theirs, scale * X)), strict=True):
            np.testing.assert_allclose(a, b)
        np.testing.assert_allclose(ours, theirs)
    assert ours._version == 3


def test_a_compiled_training_step_updates_its_parameters():
    w, b = wg.tensor(np.zeros(3), requires_grad=True), wg.tensor(0.0, requires_grad=True)
    data = np.random.default_rng(0).normal(size=(50, 3))
    target = data @ [1.0, -2.0, 0.5] + 0.3

    def loss(w, b, data, target):
        return ((data @ w + b - target) ** 2).mean()

    @wg.compile
    def step(data, target):
        value, (dw, db) = wg.value_and_grad(loss, argnums=(0, 1))(w, b, data, target)
        with wg.no_grad():
            w.__isub__(0.1 * dw)
            b.__isub__(0.1 * db)
        return value

    for _ in range(300):
        step(data, target)
    np.testing.assert_allclose(w.detach(), [1.0, -2.0, 0.5], rtol=1e-6)
    assert w.is_leaf
    assert w.requires_grad


def test_history_of_what_was_assigned():
    u, t = wg.tensor(np.full(3, 2.0), requires_grad=True), wg.tensor(np.zeros(3))

    @wg.compile
    def f(x):
        t[...] = u * x
        return t.sum()

    f(X)
    (t * 2.0).sum().backward()
    np.testing.assert_allclose(u.grad, 2.0 * X)


def test_a_leaf_is_assigned_to_without_a_tape_only():
    w, calls = wg.tensor(np.ones(3), requires_grad=True), wg.tensor(0.0)

    @wg.compile
    def f(x):
        calls.__iadd__(1.0)
        w[...] = w - x
        return x

    with pytest.raises(GradientError, match="leaf"):
        f(X)
    np.testing.assert_allclose(w.detach(), 1.0)
    assert calls == 0.0
    with wg.no_grad():
        f(X)
    np.testing.assert_allclose(w.detach(), 1.0 - X)


def update_average(t, x):
    t[...] = 0.9 * t + 0.1 * wg.stop_gradient(x)
    return (t * x).sum()


def test_assignment_without_a_derivative_inside_a_gradient():
    ours, theirs = wg.tensor(np.ones(3)), wg.tensor(np.ones(3))
    compiled, eager = wg.compile(wg.grad(partial(update_average, ours))), wg.grad(partial(update_average, theirs))
    around = wg.grad(wg.compile(partial(update_average, wg.tensor(np.ones(3)))))
    for _ in range(2):
        expected = eager(X)
        np.testing.assert_allclose(compiled(X), expected)
        np.testing.assert_allclose(around(X), expected)
        np.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: lambda x: wg.vmap(f)(np.stack([np.ones(3), V]) * x),
        lambda f: wg.grad(f),
        lambda f: wg.grad(wg.checkpoint(f)),
        lambda f: lambda x: wg.jvp(f, (x,), (V,)),
    ],
)
def test_assignment_without_a_meaning_is_an_error(transform):
    t = wg.tensor(np.zeros(3))
    with pytest.raises(GradientError, match="captures was assigned to inside"):
        wg.compile(transform(partial(accumulate, t)))(X)
    np.testing.assert_array_equal(t, 0.0)
    wg.compile(partial(accumulate, t))(X)  # the error left nothing behind
    np.testing.assert_array_equal(t, X)


def test_a_graph_does_not_assign():
    with pytest.raises(GradientError, match="wg.compile"):
        wg.trace(partial(accumulate, wg.tensor(np.zeros(3))), X)


def test_a_value_of_a_transform_that_a_compiled_function_changes():
    def f(x):
        y = x * 2.0
        before = wg.compile(lambda v: y * v)(V)
        wg.compile(lambda v: y.__imul__(v).sum())(V)
        return (before + y).sum()

    np.testing.assert_allclose(wg.grad(f)(X), 4.0 * V)


def test_numbers_of_a_captured_tensor_are_not_known_in_a_trace():
    t = wg.tensor(np.ones(3))
    for f in (
        lambda x: x * float(t[0]),
        lambda x: x * t.sum().item(),
        lambda x: x + t.numpy(),
        lambda x: x if t.sum() > 0 else -x,
    ):
        with pytest.raises(TrackedValueError):
            wg.compile(f)(X)


def test_nested_traces_and_captured_tensors():
    t = wg.tensor(np.ones(3))
    inner = wg.compile(lambda y: y * t)
    outer = wg.compile(lambda x: x + inner(np.ones(3)))
    assigning = wg.compile(lambda y: accumulate(t, y))

    def f(x):
        assigning(np.ones(3))
        return x + t

    np.testing.assert_allclose(outer(X), X + 1.0)
    with wg.no_grad():
        t += 1.0
    np.testing.assert_allclose(outer(X), X + 2.0)
    np.testing.assert_allclose(wg.compile(f)(X), X + 3.0)
    np.testing.assert_allclose(t, 3.0)


def test_a_trace_leaves_tensors_alone_for_other_threads():
    t = wg.tensor(np.ones(3))
    inside, done, seen = threading.Event(), threading.Event(), []

    def f(x):
        t[...] = t + x
        inside.set()
        assert done.wait(10.0)
        return t.sum()

    def look():
        inside.wait(10.0)
        seen.append(np.asarray(t * 2.0))
        done.set()

    other = threading.Thread(target=look)
    other.start()
    wg.compile(f)(X)
    other.join()
    np.testing.assert_array_equal(seen[0], 2.0)
    np.testing.assert_allclose(t, 1.0 + X)


def test_no_grad_inside_a_compiled_function():
    def f(x):
        with wg.no_grad():
            y = x * x
        return (y * x).sum()

    np.testing.assert_allclose(wg.grad(wg.compile(f))(X), X * X)
    np.testing.assert_allclose(wg.compile(wg.grad(f))(X), X * X)
    np.testing.assert_allclose(wg.jvp(wg.compile(f), (X,), (V,))[1], (X * X * V).sum())
    compiled = wg.compile(lambda x: (x * x).sum())
    with wg.no_grad():
        compiled(X)  # traced here, it is differentiable all the same
    np.testing.assert_allclose(wg.grad(compiled)(X), 2.0 * X)


def test_tensors_that_require_gradients_are_not_made_inside():
    with pytest.raises(GradientError, match=r"wg\.grad"):
        wg.compile(lambda x: wg.tensor(2.0, requires_grad=True) * x)(X)
    with pytest.raises(AttributeError, match=r"wg\.grad"):
        wg.compile(lambda x: (x * x).sum().backward())(X)


SCALE, WEIGHTS = 2.0, np.ones(3)


class Model:
    def __init__(self):
        self.power, self.weights, self.options = 2.0, np.ones(3), {"sizes": [1, 2]}

    def weigh(self, x):
        return x**self.power * self.weights * self.options["sizes"][0]

    def __call__(self, x):
        return self.weigh(x).sum()


def scaled(x):
    return x * SCALE


@pytest.mark.parametrize("transform", [lambda f: f, wg.grad, wg.hessian, partial, wg.compile])
def test_check_says_which_constant_has_changed(transform, monkeypatch):
    model, offset = Model(), 1.0

    def f(x):
        return (scaled(x) * WEIGHTS).sum() * offset + model(x)

    compiled = wg.compile(transform(f), check=True)
    first = compiled(X)
    np.testing.assert_array_equal(compiled(X), first)

    def changes(name):
        with pytest.raises(RuntimeError, match=rf"with {name} as a constant"):
            compiled(X)

    with monkeypatch.context() as patch:
        patch.setitem(globals(), "SCALE", 3.0)
        changes("SCALE")
    WEIGHTS[0] = 7.0
    changes("WEIGHTS")
    WEIGHTS[0] = 1.0
    model.power = 3.0
    changes(r"self\.power")
    model.power = 2.0
    model.options["sizes"][0] = 5
    changes(r"self\.options")
    model.options["sizes"][0] = 1
    np.testing.assert_array_equal(compiled(X), first)
    offset = 2.0
    changes("offset")


def test_check_lets_tensors_change():
    t = wg.tensor(np.ones(3))
    f = wg.compile(lambda x: x * t, check=True)
    f(X)
    with wg.no_grad():
        t *= 3.0
    np.testing.assert_allclose(f(X), 3.0 * X)


@pytest.mark.parametrize("n", [3, 100, 1000, 1001, 1 << 17])
def test_parameters_are_updated_in_their_own_buffers(n):
    w, v = wg.tensor(np.ones(n)), wg.tensor(np.zeros(n))

    def step(w, v, x):
        slope = 2.0 * (w - x)
        v[...] = 0.9 * v + slope
        w -= 0.1 * v
        return (slope * slope).sum()

    compiled = wg.compile(partial(step, w, v))
    theirs = wg.tensor(np.ones(n)), wg.tensor(np.zeros(n))
    x, addresses = np.linspace(0.0, 1.0, n), set()
    for _ in range(4):
        np.testing.assert_allclose(compiled(x), np.asarray(step(*theirs, x)), rtol=1e-12)
        np.testing.assert_array_equal(w, theirs[0])
        np.testing.assert_array_equal(v, theirs[1])
        addresses.add(w.numpy().ctypes.data)
    if n in (1000, 1 << 17):
        assert len(addresses) == 1


def test_what_others_hold_is_not_overwritten():
    w = wg.tensor(np.ones(1024))
    seen, twin = w.numpy(), w.detach()
    step = wg.compile(lambda x: w.__imul__(x).sum())
    assert step(2.0) == 2048.0
    np.testing.assert_array_equal(seen, 1.0)
    np.testing.assert_array_equal(twin, 1.0)
    np.testing.assert_array_equal(w, 2.0)
    old = wg.compile(lambda x: (w * 1.0, w.__imul__(x))[0])
    np.testing.assert_array_equal(old(3.0), 2.0)
    np.testing.assert_array_equal(w, 6.0)
    shifted = wg.compile(lambda x: w.__iadd__(np.roll(w, 1) * x).sum())
    w.data = np.arange(1024.0)
    expected = np.arange(1024.0) + np.roll(np.arange(1024.0), 1)
    shifted(1.0)
    np.testing.assert_array_equal(w, expected)


def test_after_an_error_a_tensor_is_what_it_was():
    w = wg.tensor(np.ones(1024))

    def f(i):
        w.__imul__(2.0)
        return w[i]

    compiled = wg.compile(f)
    compiled(np.array([3]))
    with pytest.raises(IndexError):
        compiled(np.array([5000]))
    np.testing.assert_array_equal(w, 2.0)


def test_a_tensor_that_is_assigned_to_and_never_read():
    t = wg.tensor(np.zeros(3))

    @wg.compile
    def f(x):
        t.data = x * 2.0
        return x.sum()

    for scale in (1.0, 2.0, 3.0):
        assert f(scale * X) == (scale * X).sum()
        np.testing.assert_array_equal(t, 2.0 * scale * X)


@pytest.mark.parametrize("n", [3, 1024])
def test_tensors_that_change_places(n):
    def swap(a, b, x):
        old = a * 1.0
        a[...] = b + x
        b[...] = old
        return a

    ours, theirs = [[wg.tensor(np.arange(float(n))), wg.tensor(np.zeros(n))] for _ in range(2)]
    compiled, results = wg.compile(partial(swap, *ours)), []
    for x in (1.0, 2.0, 3.0):
        results.append((compiled(x), np.asarray(swap(*theirs, x)).copy()))
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(a, b)
    for found, expected in results:  # which later calls leave alone
        np.testing.assert_array_equal(found, expected)


# Found by attacking it.


def test_detach_stops_gradients_in_a_compiled_function():
    f = lambda x: (x * x.detach()).sum()
    x, expected = wg.tensor(X, requires_grad=True), X
    wg.compile(f)(x).backward()
    np.testing.assert_allclose(x.grad, expected)
    np.testing.assert_allclose(wg.grad(wg.compile(f))(X), expected)
    t = wg.tensor(np.full(3, 3.0), requires_grad=True)
    wg.compile(lambda x: (t.detach() * x * t).sum())(X).backward()
    np.testing.assert_allclose(t.grad, 3.0 * X)


@pytest.mark.parametrize(
    "inner",
    [
        lambda x: wg.jvp(lambda v: v**3, (x,), (x,))[1],
        lambda x: wg.vjp(lambda v: v**3, x)[0],
        lambda x: wg.hvp(lambda v: (v**3).sum(), x, x),
        wg.compile(lambda x: x * x),
    ],
)
def test_no_grad_stops_what_transforms_and_compiled_functions_give(inner):
    def f(x):
        with wg.no_grad():
            y = inner(x)
        return (y * x).sum()

    for transform in (wg.grad, wg.hessian, lambda f: lambda x: wg.jvp(f, (x,), (V,))[1]):
        expected = transform(f)(X)
        np.testing.assert_allclose(transform(wg.compile(f))(X), expected, atol=1e-14)
        np.testing.assert_allclose(wg.compile(transform(f))(X), expected, atol=1e-14)


def test_numbers_changed_under_no_grad_keep_their_derivative():
    def f(x):
        y = x * 2.0
        with wg.no_grad():
            y += 1.0
        return (y * y).sum()

    expected = wg.grad(f)(X)
    np.testing.assert_allclose(wg.compile(wg.grad(f))(X), expected)
    np.testing.assert_allclose(wg.grad(wg.compile(f))(X), expected)
    assert wg.compile(f)(X) == f(wg.tensor(X))
    with pytest.raises(TrackedValueError, match="no_grad"):
        wg.jvp(f, (X,), (V,))


def test_what_a_program_cannot_know_of_a_tensor():
    w = wg.tensor(np.ones(3), requires_grad=True)
    (w * w).sum().backward()
    for f in (lambda x: x * w.grad, lambda x: x * copy.copy(w), lambda x: setattr(w, "grad", x)):
        with pytest.raises(GradientError, match="captured tensor"):
            wg.compile(f)(X)


def test_symbolic_gradients_know_what_a_tensor_was():
    t = wg.tensor(np.ones(3))

    def f(x):
        y = (t * x * x).sum()
        t[...] = t + 1.0
        return wg.gradients(y, x)

    np.testing.assert_allclose(wg.compile(f)(X), 2.0 * X)


@pytest.mark.parametrize(
    "transform", [wg.grad, lambda f: wg.vmap(f, in_axes=0), lambda f: lambda x: wg.jvp(f, (x,), (V,))]
)
def test_transforms_around_a_compiled_function_that_assigns(transform):
    t = wg.tensor(np.zeros(()))
    compiled = wg.compile(lambda x: (t.__iadd__(x.sum()), (x * 2.0).sum())[1])
    with pytest.raises(GradientError, match="assigns to a tensor"):
        transform(compiled)(X)
    assert type(t) is wg.Tensor
    assert t == 0.0


def test_values_of_a_trace_that_has_ended():
    kept = []
    wg.compile(lambda x: (kept.append(x * 2.0), x)[1])(X)
    for use in (lambda: kept[0] + 1.0, lambda: wg.compile(lambda x: x + kept[0])(X)):
        with pytest.raises(TrackedValueError, match="after the trace had ended"):
            use()


def test_captured_tensors_in_another_order_of_bytes():
    t = wg.tensor(np.arange(3.0).astype(">f8"))
    np.testing.assert_allclose(wg.compile(lambda x: t * x)(X), np.arange(3.0) * X)


class Scaled:
    def __init__(self):
        self.scale = 2.0

    @wg.compile
    def __call__(self, x):
        return x * 2.0


LAYERS, NAMES, OPTIONS, LOG, SET = [Scaled()], ["a", "b"], {"k": 2.0}, [], {1.0}
k = 0


def log(x):
    LOG.append(x.shape)
    return x


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * WEIGHTS.sum(), lambda x: x * NAMES.index("b"), lambda x: x * OPTIONS.get("k"), lambda x: x * sum(OPTIONS.values()),
        log, lambda x: LAYERS[0](x), lambda x: sum([x * k for k in range(3)]),
    ],
)  # fmt: skip
def test_check_raises_no_false_alarm(f, monkeypatch):
    compiled = wg.compile(f, check=True)
    compiled(X)
    monkeypatch.setitem(globals(), "k", 7)
    compiled(X)


def test_check_looks_into_containers_and_defaults():
    def default(x, numbers=[2.0]):  # noqa: B006  # that it can change is the point
        return x * numbers[0]

    changes = {
        lambda x: x * LAYERS[0].scale: lambda: setattr(LAYERS[0], "scale", LAYERS[0].scale + 1.0),
        lambda x: x * sum(SET): lambda: SET.add(5.0),
        default: lambda: default.__defaults__[0].append(3.0),
    }
    for f, change in changes.items():
        compiled = wg.compile(f, check=True)
        compiled(X)
        change()
        with pytest.raises(RuntimeError, match="changed"):
            compiled(X)
