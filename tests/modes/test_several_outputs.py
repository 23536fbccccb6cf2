"""A rule that names the outputs of an operation with several gets all of them, with histories, in every mode."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.core.kinds import general
from wengert.core.primitive import TABLE

X = np.array([0.3, 0.7])


def pulled(t, out):
    total = 0.0 if t[0] is None else t[0] * out[1]
    return (total if t[1] is None else total - t[1] * out[0],)


@pytest.fixture
def f():
    """sin(x)**2 * cos(x), summed, with both functions from one operation."""
    sincos = general(
        "sincos",
        lambda x: (np.sin(x), np.cos(x)),
        inputs=("x",),
        vjp=pulled,
        jvps=(lambda t, out: (t * out[1], -t * out[0]),),
        outputs=2,
    )

    def function(x):
        sine, cosine = sincos(x)
        return (sine * sine * cosine).sum()

    yield function
    del TABLE["sincos"]


def plain(x):
    return (np.sin(x) ** 2 * np.cos(x)).sum()


@pytest.mark.parametrize("transform", [wg.grad, wg.hessian, wg.jacfwd, lambda f: wg.grad(lambda x: wg.grad(f)(x) @ x)])
@pytest.mark.parametrize("compiled", [False, True])
def test_all_modes(f, transform, compiled):
    run = wg.compile if compiled else lambda function: function
    np.testing.assert_allclose(run(transform(f))(X), transform(plain)(X), rtol=1e-14, atol=1e-15)


def test_create_graph(f):
    x = wg.tensor(X, requires_grad=True)
    (gradient,) = wg.autograd.grad(f(x), [x], create_graph=True)
    (second,) = wg.autograd.grad(gradient.sum(), [x])
    np.testing.assert_allclose(second.numpy(), np.diag(wg.hessian(plain)(X)), rtol=1e-14)


def test_one_output_alone(f):
    unused = wg.compile(wg.grad(lambda x: TABLE["sincos"].op(x)[1].sum()))
    np.testing.assert_allclose(unused(X), -np.sin(X), rtol=1e-14)
