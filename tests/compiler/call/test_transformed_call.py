"""Compiled functions and transforms, either inside the other, to higher orders, against the eager results."""

from __future__ import annotations

import itertools
import weakref

import numpy as np
import pytest

import wengert as wg
from wengert.core.primitive import TABLE
from wengert.core.tree import flatten

RNG = np.random.default_rng(4)
X = RNG.uniform(0.5, 1.5, 4)
A = RNG.normal(size=(4, 4))


def scalar(x):
    """A smooth function with elementwise parts, a reduction, slices, a matrix product."""
    y = np.sin(x) * np.exp(-x * x) + A @ x
    return (y[1:] * y[:-1]).sum() + np.log(x).prod()


def vector(x):
    return np.stack([np.tanh(A @ x).sum(), (x**3).sum(), x[0] * x[1] / x[2]])


def same(got, want, rtol=1e-11):
    got, got_structure = flatten(got)
    want, want_structure = flatten(want)
    assert got_structure == want_structure
    for a, b in zip(got, want, strict=True):
        a, b = (y.detach().numpy() if isinstance(y, wg.Tensor) else np.asarray(y) for y in (a, b))
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12)


OF = {
    "grad": lambda f, c: c(wg.grad(f(scalar)))(X),
    "value_and_grad": lambda f, c: c(wg.value_and_grad(f(scalar)))(X),
    "has_aux": lambda f, c: c(wg.value_and_grad(f(lambda x: (scalar(x), {"twice": 2.0 * x})), has_aux=True))(X),
    "argnums": lambda f, c: c(wg.grad(f(lambda x, y, z: scalar(x * y) * z), argnums=(2, 0)))(X, 1.0 / X, 3.0),
    "tree": lambda f, c: c(wg.grad(f(lambda p: scalar(p["a"]) * p["b"][0] ** 2)))({"a": X, "b": [np.float64(2.0)]}),
    "grad of grad": lambda f, c: c(wg.grad(lambda x: (wg.grad(f(scalar))(x) ** 2).sum()))(X),
    "third order": lambda f, c: c(wg.grad(wg.grad(wg.grad(f(lambda x: np.sin(x) * x**4)))))(1.3),
    "hessian": lambda f, c: c(wg.hessian(f(scalar)))(X),
    "jacfwd": lambda f, c: c(wg.jacfwd(f(vector)))(X),
    "jacrev": lambda f, c: c(wg.jacrev(f(vector)))(X),
    "jacobian of jacobian": lambda f, c: c(wg.jacfwd(wg.jacrev(f(vector))))(X),
    "vmap": lambda f, c: c(wg.vmap(f(vector)))(np.stack([X, 2 * X, X + 1])),
    "vmap of jacobian": lambda f, c: c(wg.vmap(wg.jacobian(f(vector))))(np.stack([X, 2 * X])),
    "vmap of grad": lambda f, c: c(wg.vmap(wg.grad(f(scalar))))(np.stack([X, 2 * X])),
    "grad of vmap": lambda f, c: c(wg.grad(lambda x: (wg.vmap(f(vector))(x) ** 2).sum()))(np.stack([X, 2 * X])),
    "in_axes": lambda f, c: c(wg.vmap(f(lambda x, y, z: vector(x * y) + z), in_axes=(1, None, 0)))(
        np.stack([X, X + 1], axis=1), X, np.arange(2.0)
    ),
    "out_axes": lambda f, c: c(wg.vmap(f(vector), out_axes=1))(np.stack([X, X + 1])),
    "vmap of vmap": lambda f, c: c(
        wg.vmap(wg.vmap(f(lambda x, y: np.sin(x * y).sum()), in_axes=(None, 0)), in_axes=(0, None))
    )(np.ones((3, 2)), np.ones((5, 2))),
    "jvp": lambda f, c: c(lambda x, v: wg.jvp(f(vector), (x,), (v,)))(X, X * X),
    "vjp": lambda f, c: c(lambda x, t: wg.vjp(f(vector), x)[1](t))(X, np.arange(3.0)),
    "linearize": lambda f, c: c(lambda x, v: wg.linearize(f(vector), x)[1](v))(X, X),
    "hvp": lambda f, c: c(lambda x, v: wg.hvp(f(scalar), x, v))(X, X * X),
    "jet": lambda f, c: c(
        lambda x: wg.jet(
            f(lambda x: np.exp(np.sin(x)) * x), (x,), ((np.float64(1.0), np.float64(0.0), np.float64(0.5)),)
        )
    )(np.float64(0.7)),
    "taylor": lambda f, c: c(lambda x: wg.taylor(f(lambda x: np.exp(np.sin(x)) / x), x, 4))(np.float64(0.7)),
    "checkpoint": lambda f, c: c(wg.grad(lambda x: wg.checkpoint(f(scalar))(x) * 2.0))(X),
    "stop_gradient": lambda f, c: c(wg.grad(f(lambda x: (wg.stop_gradient(np.sin(x)) * x).sum())))(X),
}


@pytest.mark.parametrize("name", OF)
@pytest.mark.parametrize("where", ["outside", "inside", "both"])
def test_compile_and_transforms(name, where):
    run = OF[name]
    plain = run(lambda f: f, lambda f: f)
    inner = wg.compile if where != "outside" else lambda f: f
    outer = wg.compile if where != "inside" else lambda f: f
    same(run(inner, outer), plain)


def test_a_compiled_function_is_used_again_by_each_transform():
    traced = []

    def f(x):
        traced.append(1)
        return scalar(x)

    c = wg.compile(f)
    for scale in (1.0, 1.5):
        x = scale * X
        same(c(x), scalar(x))
        same(wg.grad(c)(x), wg.grad(scalar)(x))
        same(wg.hessian(c)(x), wg.hessian(scalar)(x))
        same(wg.vmap(c)(np.stack([x, x])), wg.vmap(scalar)(np.stack([x, x])))
    assert len(traced) == 1
    (signature,) = signatures(c)
    assert {"vjp", "vmap"} <= {kind for kind, _ in signature.known}


# Rules of the user's own


@wg.custom_jvp
def tenfold(x):
    return np.log1p(np.exp(x))


tenfold.defjvp(lambda x, t: (tenfold(x[0]), t[0] * 10.0))


@wg.custom_vjp
def clipped(x):
    return x * 1.0


clipped.defvjp(lambda x: (clipped(x), x), lambda x, t: (wg.clip(t, -0.1, 0.1),))


softened = wg.primitive("softened", lambda x: x / (1.0 + abs(x)), lambda t, x: t / (1.0 + abs(x)) ** 2)
del TABLE["softened"]  # other tests iterate over the table
OWN = {"custom_jvp": tenfold, "custom_vjp": clipped, "primitive": softened}


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("transform", ["value", "grad", "vmap of grad"])
def test_own_rules_inside(name, transform):
    f = lambda x: (OWN[name](x * 1.3) * x).sum()
    of, x = {
        "value": (lambda f: f, X),
        "grad": (wg.grad, X),
        "vmap of grad": (lambda f: wg.vmap(wg.grad(f)), np.stack([X, 2 * X])),
    }[transform]
    same(wg.compile(of(f))(x), of(f)(x))


@pytest.mark.parametrize("name", OWN)
def test_own_rules_under_transforms_of_the_compiled_function(name):
    f = lambda x: (OWN[name](x * 1.3) * x).sum()
    same(wg.grad(wg.compile(f))(X), wg.grad(f)(X))


class Straight(wg.autograd.Function):
    """Rounds, and passes the gradient as if it had not."""

    @staticmethod
    def forward(ctx, x):
        return np.rint(x)

    @staticmethod
    def backward(ctx, t):
        return t


def test_functions_of_the_eager_face_are_traced_with_their_rule():
    f = lambda x: (Straight.apply(x) ** 2).sum()
    same(wg.compile(f)(X), (np.rint(X) ** 2).sum())
    same(wg.compile(wg.grad(f))(X), 2.0 * np.rint(X))


# Nesting


def test_compile_in_compile():
    inner = wg.compile(lambda x, y: np.sin(x) * y)
    outer = wg.compile(lambda x: inner(x, 2.0) + inner(inner(x, x), 3.0))
    plain = lambda x: np.sin(x) * 2.0 + np.sin(np.sin(x) * x) * 3.0
    same(outer(X), plain(X))
    same(wg.grad(lambda x: outer(x).sum())(X), wg.grad(lambda x: plain(x).sum())(X))
    same(wg.compile(wg.compile(outer))(X), plain(X))
    closed = wg.compile(lambda x: wg.compile(lambda y: x * y)(3.0) + x)
    assert closed(2.0) == 8.0
    assert wg.grad(closed)(2.0) == 4.0


FIRST = {
    "reverse": wg.grad,
    "forward": lambda f: lambda x: wg.jvp(f, (x,), (np.float64(1.0),))[1],
    "compiled reverse": lambda f: wg.compile(wg.grad(f)),
    "reverse of compiled": lambda f: wg.grad(wg.compile(f)),
    "forward of compiled": lambda f: lambda x: wg.jvp(wg.compile(f), (x,), (np.float64(1.0),))[1],
}


@pytest.mark.parametrize("mix", list(itertools.product(FIRST, repeat=2)), ids=" - ".join)
def test_perturbation_confusion(mix):
    outer, inner = (FIRST[m] for m in mix)
    assert outer(lambda x: x * inner(lambda y: x + y)(1.0))(1.0) == 1.0
    assert outer(lambda x: inner(lambda y: x * y * y)(2.0))(3.0) == 4.0
    assert outer(lambda x: x * inner(lambda y: x * y)(x))(3.0) == 6.0


@pytest.mark.parametrize("mix", list(itertools.product(list(FIRST)[:1] + list(FIRST)[2:], repeat=3)), ids=" - ".join)
def test_third_order_in_all_mixes(mix):
    a, b, c = (FIRST[m] for m in mix)
    f = lambda x: np.sin(x) * np.exp(x * x) + x**5
    plain = wg.grad(wg.grad(wg.grad(f)))(0.7)
    np.testing.assert_allclose(a(b(c(f)))(0.7), plain, rtol=1e-12)


# Tensors


def test_backward_through_a_compiled_function():
    f = wg.compile(lambda x, w: {"loss": scalar(x * w), "other": [x + w, wg.argmax(x)]})
    x = wg.tensor(X, requires_grad=True)
    w = wg.tensor(2.0, requires_grad=True)
    out = f(x, w)
    assert not out["other"][1].requires_grad
    (out["loss"] + out["other"][0].sum()).backward()
    plain_x, plain_w = wg.grad(lambda x, w: scalar(x * w) + (x + w).sum(), argnums=(0, 1))(X, 2.0)
    np.testing.assert_allclose(x.grad.numpy(), plain_x, rtol=1e-11)
    np.testing.assert_allclose(w.grad.numpy(), plain_w, rtol=1e-11)


def test_second_order_through_tensors():
    f = wg.compile(scalar)
    x = wg.tensor(X, requires_grad=True)
    (slope,) = wg.autograd.grad(f(x), x, create_graph=True)
    (slope**2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * wg.hessian(scalar)(X) @ wg.grad(scalar)(X), rtol=1e-10)


def test_no_grad_and_tensors_without_history():
    f = wg.compile(lambda x: x * 2.0)
    x = wg.tensor(X, requires_grad=True)
    with wg.no_grad():
        y = f(x)
    assert isinstance(y, wg.Tensor)
    assert not y.requires_grad
    assert not f(wg.tensor(X)).requires_grad
    assert f(x).requires_grad
    assert f(x).shape == (4,)


def test_only_what_is_wanted_is_differentiated():
    f = wg.compile(lambda x, y, n: ((x * y).sum(), n + 1, x - 1.0))
    x = wg.tensor(X, requires_grad=True)
    loss, count, other = f(x, X, 3)
    assert count == 4
    loss.backward(retain_graph=True)  # the call is one operation, with one history
    np.testing.assert_allclose(x.grad.numpy(), X)
    x.grad = None
    other.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.ones(4))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_of_gradients(dtype):
    f = lambda x, a, n: (np.sin(x * a) ** n * 2.0).sum()
    x = X.astype(dtype)
    for transform in (
        lambda f: wg.grad(f),
        lambda f: lambda *args: wg.jvp(lambda x: f(x, *args[1:]), (args[0],), (np.ones_like(args[0]),)),
        lambda f: wg.vmap(f, in_axes=(0, None, None)),
        lambda f: wg.grad(lambda *args: wg.grad(f)(*args).sum()),
    ):
        for other in ((2.0, 3), (2, 2.0)):
            same(
                transform(wg.compile(f))(x, *other),
                transform(f)(x, *other),
                rtol=1e-5 if dtype == np.float32 else 1e-12,
            )


# Complex numbers


def test_complex_functions():
    z = X + 1j * X[::-1]
    holomorphic = lambda z: (np.exp(z) * z**2 + np.sin(z)).sum()
    real = lambda z: (wg.absolute(z) ** 2 + wg.real(z * z)).sum()
    same(wg.compile(holomorphic)(z), holomorphic(z))
    for c in (lambda f: f, wg.compile):
        for d in (lambda f: f, wg.compile):
            same(c(wg.grad(d(holomorphic), holomorphic=True))(z), wg.grad(holomorphic, holomorphic=True)(z))
            same(c(wg.grad(d(real)))(z), wg.grad(real)(z))
    same(wg.jvp(wg.compile(holomorphic), (z,), (1j * z,)), wg.jvp(holomorphic, (z,), (1j * z,)))
    same(wg.vmap(wg.compile(lambda z: z * z.conj()))(z), z * z.conj())
    t = wg.tensor(z, requires_grad=True)
    wg.compile(real)(t).backward()
    plain = wg.tensor(z, requires_grad=True)
    real(plain).backward()
    same(t.grad, plain.grad)


# What the backward pass keeps


def signatures(compiled):
    """The signatures that a compiled function has been called with."""
    return [signature for found in compiled.known.values() for signature in found]


def test_the_backward_pass_does_not_compute_the_call_again():
    f = wg.compile(lambda x, w: np.tanh(x @ w))
    x, w = wg.tensor(np.ones((2, 4)), requires_grad=True), wg.tensor(np.eye(4), requires_grad=True)
    f(x, w).sum().backward()
    (derived,) = [function for s in signatures(f) for key, function in s.known.items() if key[0] == "backward pass"]
    assert "tanh" not in [node.primitive.name for s in signatures(derived) for node in s.graph.operations]
    np.testing.assert_allclose(x.grad.numpy(), np.full((2, 4), 1.0 / np.cosh(1.0) ** 2), rtol=1e-14)


def test_kept_values_are_freed_with_the_result():
    f = wg.compile(lambda x: np.exp(x).sum())
    x = wg.tensor(X, requires_grad=True)
    y = f(x)
    (call,) = y.node.parents
    kept = [weakref.ref(a) for a in call.params["gradient"].arrays]
    del call
    assert kept
    y.backward()
    del y
    assert not [r for r in kept if r() is not None]


def test_powers_of_numbers_that_are_kept_stay_weak():
    f = lambda x, a: (x * a**3.5 + np.sin(x * a**3.5)).sum()
    x = wg.tensor(X.astype(np.float32), requires_grad=True)
    wg.compile(f)(x, 2.0).backward()
    assert x.grad.dtype == np.float32
    np.testing.assert_allclose(x.grad.numpy(), wg.grad(f)(X.astype(np.float32), 2.0), rtol=1e-5)


def test_nothing_is_kept_without_a_tape():
    f = wg.compile(lambda x, w: np.tanh(x @ w))
    x, w = wg.tensor(np.ones((2, 4)), requires_grad=True), wg.tensor(np.eye(4), requires_grad=True)
    with wg.no_grad():
        assert not f(x, w).requires_grad
    assert not [key for s in signatures(f) for key in s.known]
