"""Functions that capture values of some mode: the same derivatives as with these values as arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.control.closures import close_over

X = np.array([0.3, 0.7])


@wg.custom_jvp
def doubled_slope(x, w):
    return np.sin(x * w) * x


@doubled_slope.defjvp
def rule_forward(primals, tangents):
    (x, w), (dx, dw) = primals, tangents
    c = np.cos(x * w) * x
    return doubled_slope(x, w), 2.0 * (c * w + np.sin(x * w)) * dx + c * x * dw


@wg.custom_vjp
def doubled_pull(x, w):
    return np.sin(x * w) * x


def rule_backward(residuals, t):
    x, w = residuals
    c = np.cos(x * w) * x
    return 2.0 * t * (c * w + np.sin(x * w)), (t * c * x).sum()


doubled_pull.defvjp(lambda x, w: (doubled_pull(x, w), (x, w)), rule_backward)


def capturing_jvp(w):
    """A function with a rule for x that captures w, in the function and in its rule."""
    f = wg.custom_jvp(lambda x: np.sin(x * w) * x)

    @f.defjvp
    def rule(primals, tangents):
        (x,), (dx,) = primals, tangents
        return np.sin(x * w) * x, 2.0 * (np.cos(x * w) * x * w + np.sin(x * w)) * dx

    return f


def capturing_vjp(w):
    """The same with a rule that pulls cotangents."""
    f = wg.custom_vjp(lambda x: np.sin(x * w) * x)
    f.defvjp(
        lambda x: (np.sin(x * w) * x, {"x": x}),
        lambda r, t: (2.0 * t * (np.cos(r["x"] * w) * r["x"] * w + np.sin(r["x"] * w)),),
    )
    return f


CASES = {
    "checkpoint": (lambda x, w: np.sin(x * w) * x, lambda w: wg.checkpoint(lambda x: np.sin(x * w) * x)),
    "policy": (
        lambda x, w: np.sin(x * w) * x,
        lambda w: wg.checkpoint(lambda x: np.sin(x * w) * x, policy=lambda name: name == "sin"),
    ),
    "custom_jvp": (doubled_slope, capturing_jvp),
    "custom_vjp": (doubled_pull, capturing_vjp),
}
MODES: dict[str, Callable[..., Any]] = {
    "grad": lambda f: wg.grad(lambda x, w: f(x, w).sum(), (0, 1)),
    "grad of one": lambda f: wg.grad(lambda w, x: f(x, w).sum()),
    "jvp": lambda f: lambda x, w: wg.jvp(f, (x, w), (np.array([1.0, 2.0]), 0.5)),
    "taylor": lambda f: lambda x, w: wg.jet(f, (x, w), ([np.ones(2), 0.3 * X], [np.float64(0.5), np.float64(0.1)])),
    "vmap": lambda f: wg.vmap(f),
    "vmap of w": lambda f: lambda x, w: wg.vmap(f, in_axes=(None, 0))(x, np.array([0.5, 0.8, 1.1])),
    "vmap of grad": lambda f: wg.vmap(wg.grad(f, (0, 1))),
    "vmap of grad of w": lambda f: lambda x, w: wg.vmap(wg.grad(lambda w, x: f(x, w)), in_axes=(None, 0))(w, x),
    "hessian": lambda f: wg.hessian(lambda x, w: f(x, w).sum(), (0, 1)),
    "grad of jvp": lambda f: wg.grad(lambda x, w: wg.jvp(f, (x, w), (X, 0.5))[1].sum(), (0, 1)),
    "jvp of grad": lambda f: lambda x, w: wg.jvp(wg.grad(lambda x, w: f(x, w).sum(), (0, 1)), (x, w), (X, 0.5)),  # type: ignore[misc]  # of a lambda in a lambda
    "grad of grad of w": lambda f: wg.grad(lambda w, x: (wg.grad(lambda x: f(x, w).sum())(x) ** 2).sum()),
}


def apply(transform, f, w):
    batched = transform in ("vmap", "vmap of grad")
    first = transform in ("grad of one", "grad of grad of w")
    w = np.array([w, w + 0.2]) if batched else np.float64(w)
    return MODES[transform](f)(*((w, X) if first else (X, w)))


@pytest.mark.parametrize("transform", MODES)
@pytest.mark.parametrize("case", CASES)
def test_same_as_an_argument(case, transform):
    explicit, capturing = CASES[case]
    wanted = apply(transform, explicit, 1.3)
    found = apply(transform, lambda x, w: capturing(w)(x), 1.3)
    for a, b in zip(leaves(wanted), leaves(found), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("transform", [t for t in MODES if t != "taylor"])
@pytest.mark.parametrize("case", CASES)
def test_compiled(case, transform):
    explicit, capturing = CASES[case]
    wanted = apply(transform, explicit, 1.3)
    compiled = wg.compile(lambda x, w: apply_to(transform, lambda x, w: capturing(w)(x), x, w))
    batched = transform in ("vmap", "vmap of grad")
    w = np.array([1.3, 1.5]) if batched else np.float64(1.3)
    for a, b in zip(leaves(wanted), leaves(compiled(X, w)), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-14)


def apply_to(transform, f, x, w):
    first = transform in ("grad of one", "grad of grad of w")
    return MODES[transform](f)(*((w, x) if first else (x, w)))


def leaves(tree):
    return [np.asarray(x) for x in wg.core.tree.flatten(tree)[0]]


@pytest.mark.parametrize("case", CASES)
def test_the_tape(case):
    explicit, capturing = CASES[case]
    found = []
    for call in (explicit, lambda x, w: capturing(w)(x)):
        x, w = wg.tensor(X, requires_grad=True), wg.tensor(1.3, requires_grad=True)
        dx, dw = wg.autograd.grad(call(x, w * 1.0).sum(), [x, w], create_graph=True)
        (dx.sum() * dw).backward()
        found.append([dx.detach().numpy(), dw.detach().numpy(), x.grad.numpy(), w.grad.numpy()])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-13)


def test_values_of_several_transforms():
    def f(a, b, c):
        return wg.checkpoint(lambda x: np.sin(x * a) * np.exp(b * c) + a * c)(np.float64(0.4))

    plain = lambda a, b, c: np.sin(0.4 * a) * np.exp(b * c) + a * c
    nested = lambda f: wg.grad(lambda a: wg.jvp(lambda b: wg.grad(lambda c: f(a, b, c))(0.3), (0.5,), (1.0,))[1])(0.7)
    np.testing.assert_allclose(nested(f), nested(plain), rtol=1e-13)


def test_a_function_that_cannot_be_traced():
    def f(w):
        return wg.checkpoint(lambda x: x * w if x > 0.0 and w > 0.0 else -x)(np.float64(2.0))

    assert wg.grad(f)(3.0) == 2.0  # recorded in full
    bent = lambda w: wg.custom_jvp(lambda x: x * w if w > float(x) else x)
    with pytest.raises(wg.GradientError, match="Pass it as an argument"):
        wg.grad(lambda w: rule_of(bent(w))(wg.tensor(2.0)))(3.0)


def rule_of(f):
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    return f


def test_close_over():
    w = wg.tensor(2.0, requires_grad=True)
    closed, captured = close_over(lambda x, s: {"y": [x["a"] * w], "s": s + 1}, ({"a": X}, 3), "f")
    assert [v is w for v in captured] == [True]
    np.testing.assert_array_equal(closed({"a": X}, 3, [10.0 + np.zeros(())])["y"][0], 10.0 * X)
    assert closed.zeros()["y"][0].shape == (2,)
