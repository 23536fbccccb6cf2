"""Functions with a derivative written by hand in every mode: the same as the function without the class."""

from __future__ import annotations

import numpy as np
import pytest
from tests.autograd.functions import Between, Cube, Exp, Linear, Pair, leaf, make

import wengert as wg
from wengert.autograd import Function, once_differentiable

X = np.array([0.3, -1.2, 2.0])
V = np.array([1.0, -0.5, 0.25])


class Leaky(Function):
    """Arguments that are no tensors, attributes of several kinds, a branch on numbers, and None as a gradient."""

    @staticmethod
    def forward(ctx, x, slope, kind="leaky", scale=1.0):
        ctx.parts, ctx.kind, ctx.slope = [x, {"scale": scale}], kind, slope
        ctx.unused = np.arange(3)
        return scale * wg.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, t):
        x, options = ctx.parts
        assert ctx.needs_input_grad[1:] == (False, False, False)
        assert ctx.kind == "leaky"
        return options["scale"] * wg.where(x > 0, t, ctx.slope * t), None


class Branching(Function):
    """A branch and a loop on values, in both methods."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        if x.sum() > 0.0:
            return x * x
        return x * 3.0

    @staticmethod
    def backward(ctx, t):
        (x,) = ctx.saved_tensors
        if x.sum() > 0.0:
            return 2.0 * x * t
        return 3.0 * t


class Listed(Function):
    """Two outputs, as a list, of which only the first is used."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.set_materialize_grads(False)
        return [x * x, x * 4.0]

    @staticmethod
    def backward(ctx, t, u):
        (x,) = ctx.saved_tensors
        return 2.0 * x * t if u is None else 2.0 * x * t + 4.0 * u


class Marked(Function):
    """An output that is marked as not differentiable."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y, constant = x**2, x * 7.0
        ctx.mark_non_differentiable(constant)
        return y, constant

    @staticmethod
    def backward(ctx, t, _):
        return 2.0 * ctx.saved_tensors[0] * t


class Pushed(Function):
    """A jvp of its own, which counts."""

    calls = 0

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(y, x)
        return x * y

    @staticmethod
    def backward(ctx, t):
        x, y = ctx.saved_tensors
        return t * y, t * x

    @staticmethod
    def jvp(ctx, t, u):
        Pushed.calls += 1
        y, x = ctx.saved_tensors
        return t * y + x * u


class Once(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    @once_differentiable
    def backward(ctx, t):
        return 3.0 * ctx.saved_tensors[0] ** 2 * t


def pair(x):
    product, total, top = Pair.apply(x, 2.0 * x)
    return (product * total).sum() + top


def fused_linear(x):
    return (Linear.apply(x[None], np.ones((2, 3)) * x, x[:2]) ** 2).sum()


def plain_linear(x):
    return ((x[None] @ (np.ones((2, 3)) * x).T + x[:2]) ** 2).sum()


CASES = {
    "cube": (lambda x: (Cube.apply(x) ** 2).sum(), lambda x: (x**6).sum()),
    "saved output": (lambda x: Exp.apply(0.5 * x).sum(), lambda x: np.exp(0.5 * x).sum()),
    "several outputs": (pair, lambda x: (6.0 * x**3).sum() + 2),
    "linear": (fused_linear, plain_linear),
    "no tensors": (lambda x: Leaky.apply(x, 0.1, scale=2.0).sum(), lambda x: (2.0 * np.where(x > 0, x, 0.1 * x)).sum()),
    "branches": (lambda x: Branching.apply(x).sum(), lambda x: (x * x).sum()),
    "other branch": (lambda x: Branching.apply(x - 5.0).sum(), lambda x: (3.0 * (x - 5.0)).sum()),
    "a list": (lambda x: (Listed.apply(x)[0] * x).sum(), lambda x: (x**3).sum()),
    "marked": (lambda x: np.multiply(*Marked.apply(x)).sum(), lambda x: (x**2 * wg.stop_gradient(7.0 * x)).sum()),
    "a jvp": (lambda x: Pushed.apply(x, np.sin(x)).sum(), lambda x: (x * np.sin(x)).sum()),
    "a captured tensor": (lambda x: Linear.apply(wg.tensor(np.eye(3)), x[None]).sum(), lambda x: x.sum()),
    "in a scan": (
        lambda x: wg.scan(lambda s, k: (0.5 * Cube.apply(s) + x + k, None), x, np.arange(2.0))[0].sum(),
        lambda x: (0.5 * (0.5 * x**3 + x) ** 3 + x + 1.0).sum(),
    ),
    "in a checkpoint": (lambda x: wg.checkpoint(lambda x: Cube.apply(x) * x)(x).sum(), lambda x: (x**4).sum()),
    "in a branch": (
        lambda x: wg.cond(x[0] > 0, lambda x: Cube.apply(x).sum(), lambda x: x.sum(), x),
        lambda x: (x**3).sum(),
    ),
    "nested": (lambda x: Exp.apply(Cube.apply(0.5 * x)).sum(), lambda x: np.exp((0.5 * x) ** 3).sum()),
}
FIRST = {
    "grad": lambda f: wg.grad(f)(X),
    "compile, then grad": lambda f: wg.grad(wg.compile(f))(X),
    "grad, then compile": lambda f: wg.compile(wg.grad(f))(X),
    "jacfwd": lambda f: wg.jacfwd(f)(X),
    "jvp": lambda f: wg.jvp(f, (X,), (V,)),
    "jvp, then compile": lambda f: wg.compile(lambda x: wg.jvp(f, (x,), (V,)))(X),
    "vmap": lambda f: wg.vmap(f)(np.stack([X, X + 0.1])),
    "vmap of grad": lambda f: wg.vmap(wg.grad(f))(np.stack([X, X + 0.1])),
    "grad of vmap": lambda f: wg.grad(lambda x: wg.vmap(f)(x).sum())(np.stack([X, X + 0.1])),
    "compile": lambda f: wg.compile(f)(X),
    "checkpoint": lambda f: wg.compile(wg.grad(wg.checkpoint(f)))(X),
}
SECOND = {
    "hessian": lambda f: wg.hessian(f)(X),
    "hessian, then compile": lambda f: wg.compile(wg.hessian(f))(X),
    "grad of grad": lambda f: wg.grad(lambda x: (wg.grad(f)(x) ** 2).sum())(X),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("mode", [*FIRST, *SECOND])
def test_every_mode(case, mode):
    with_class, without = CASES[case]
    run = {**FIRST, **SECOND}[mode]
    if case in ("other branch", "branches") and mode in ("vmap", "vmap of grad", "grad of vmap"):
        with pytest.raises(wg.TrackedValueError):
            run(with_class)  # as for a function without a class
        return
    found, wanted = run(with_class), run(without)
    for a, b in zip(wg.tree.leaves(found), wg.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_finite_differences(case):
    f = CASES[case][0]
    size = 1e-6
    wanted = (wg.compile(f)(X + size * V) - wg.compile(f)(X - size * V)) / (2.0 * size)
    if case == "marked":  # whose second output has no derivative by decree
        wanted = (2.0 * X * 7.0 * X * V).sum()
    np.testing.assert_allclose(wg.compile(wg.grad(f))(X) @ V, wanted, rtol=1e-6)
    np.testing.assert_allclose(wg.jvp(f, (X,), (V,))[1], wanted, rtol=1e-6)


def test_forward_mode_uses_the_jvp_of_the_class():
    before = Pushed.calls
    np.testing.assert_allclose(wg.jvp(Pushed.apply, (X, V), (V, X))[1], V * V + X * X)
    assert Pushed.calls == before + 1


def test_the_derivative_is_that_of_the_class():
    doubled = make(lambda ctx, x: x * 1.0, lambda ctx, t: 2.0 * t)
    f = lambda x: doubled.apply(x).sum()
    for found in (wg.grad(f)(X), wg.compile(wg.grad(f))(X), wg.grad(wg.compile(f))(X), wg.jacfwd(f)(X)):
        np.testing.assert_array_equal(found, [2.0, 2.0, 2.0])


def test_second_derivatives_of_values_in_between_are_those_of_backward():
    f = lambda x: Between.apply(x).sum()
    np.testing.assert_allclose(wg.compile(wg.hessian(f))(X), np.diag(6.0 * X), rtol=1e-12)


@pytest.mark.parametrize("compiled", [False, True])
def test_once_differentiable(compiled):
    f = lambda x: Once.apply(x).sum()
    run = wg.compile if compiled else lambda f: f
    np.testing.assert_allclose(run(wg.grad(f))(X), 3.0 * X**2)
    np.testing.assert_allclose(run(wg.vmap(wg.grad(Once.apply)))(X), 3.0 * X**2)
    np.testing.assert_allclose(run(lambda x: wg.jvp(f, (x,), (V,))[1])(X), (3.0 * X**2) @ V)
    with pytest.raises(wg.GradientError, match="second derivative of Once.*once_differentiable"):
        run(wg.grad(lambda x: wg.grad(f)(x).sum()))(X)
    with pytest.raises(wg.GradientError, match="second derivative of Once.*once_differentiable"):
        run(wg.hessian(f))(X)


def test_complex_gradients():
    product = make(
        lambda ctx, x, y: ctx.save_for_backward(x, y) or x * y,
        lambda ctx, t: (t * ctx.saved_tensors[1].conj(), t * ctx.saved_tensors[0].conj()),
    )
    z = np.array([1.0 + 2.0j, -0.5j])
    for f in (lambda u: abs(product.apply(u, u * 1j)).sum(), lambda u: product.apply(u, u).real.sum()):
        wanted = wg.grad(f)(z)
        np.testing.assert_allclose(wg.compile(wg.grad(f))(z), wanted)
        np.testing.assert_allclose(wg.vmap(wg.grad(f))(z[:, None])[:, 0], wanted)
    _, t = wg.jvp(lambda u: product.apply(u, u), (z,), (np.ones(2, complex),))
    np.testing.assert_allclose(t, 2.0 * z)


class Scaled(Function):
    @staticmethod
    def forward(ctx, layer, x):
        ctx.layer = layer
        ctx.save_for_backward(x)
        return layer(x) + x * x

    @staticmethod
    def backward(ctx, t):
        (x,) = ctx.saved_tensors
        return None, t @ ctx.layer.weight + 2.0 * x * t


def test_modules_are_arguments_without_a_gradient():
    layer = wg.nn.Linear(3, 3, rng=0)
    weight = layer.weight.detach().numpy()
    wanted = np.ones((1, 3)) @ weight + 2.0 * X
    x = leaf(X[None])
    Scaled.apply(layer, x).sum().backward()
    np.testing.assert_allclose(x.grad, wanted)
    assert layer.weight.grad is None
    f = lambda x: Scaled.apply(layer, x).sum()
    for found in (wg.grad(f)(X[None]), wg.compile(wg.grad(f))(X[None]), wg.jacfwd(f)(X[None])):
        np.testing.assert_allclose(wg.stop_gradient(found), wanted)
    y = wg.compile(f)(leaf(X[None]))
    y.backward()
    assert layer.weight.grad is None or not layer.weight.grad.numpy().any()


class Net(wg.nn.Module):
    def __init__(self):
        self.layer = wg.nn.Linear(3, 1, rng=0)

    def forward(self, x):
        return Cube.apply(self.layer(x))


class PlainNet(Net):
    def forward(self, x):
        return self.layer(x) ** 3


def test_fit():
    x = np.random.default_rng(0).normal(size=(32, 3))
    y = (x @ [[0.5], [-0.2], [0.1]]) ** 3
    weights = []
    for kind in (Net, PlainNet):
        model = kind()
        optimizer = wg.optim.SGD(model.parameters(), lr=1e-3)
        wg.nn.fit(model, wg.nn.MSELoss(), wg.data.Batches((x, y), 8, rng=0), optimizer, 2, progress=False)
        weights.append(model.layer.weight.detach().numpy())
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-5)


def test_methods_that_need_numbers_name_custom_vjp():
    numbers = make(lambda ctx, x: np.sin(x.numpy()), lambda ctx, t: t)
    backward = make(lambda ctx, x: x * 1.0, lambda ctx, t: np.asarray([float(c) for c in t]))
    for run in (wg.compile(numbers.apply), wg.vmap(numbers.apply)):
        with pytest.raises(wg.TrackedValueError, match=r"Made.forward needs numbers.*wg\.custom_vjp"):
            run(X)
    for run in (
        wg.compile(wg.grad(lambda x: (backward.apply(x) * x).sum())),
        lambda x: wg.jvp(backward.apply, (x,), (x,)),
        wg.vmap(wg.grad(lambda x: (backward.apply(x[None]) * x).sum())),
    ):
        with pytest.raises(wg.TrackedValueError, match=r"Made.backward needs numbers.*wg\.custom_vjp"):
            run(X)


def test_values_of_other_modes_in_containers():
    F = make(lambda ctx, x, many: x * many[0], lambda ctx, t: t)
    with pytest.raises(wg.GradientError, match="inside a container"):
        wg.compile(lambda x: F.apply(x, [x]))(X)
    with pytest.raises(wg.GradientError, match="inside a container"):
        wg.jvp(lambda x: F.apply(x, [x]), (X,), (V,))
