"""Draws of integers have no derivative, and say so; permutations and choices pass gradients on."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracle import check_derivatives
from tests.random.seeded_draws import DISCRETE, seeded

import wengert as wg
from wengert.random import default_rng


@pytest.mark.parametrize(("name", "parameters"), DISCRETE.items(), ids=DISCRETE)
def test_integers_have_no_derivative(name, parameters):
    real = [i for i, p in enumerate(parameters) if isinstance(p, float)]
    for i in real:
        with pytest.raises(
            wg.GradientError, match=f"What {name} draws has no derivative with respect to .*seeded_draws.py"
        ):
            seeded(name)(*[wg.tensor(p, requires_grad=True) if j == i else p for j, p in enumerate(parameters)])
        plain = seeded(name, 3)(*[wg.tensor(p) if j == i else p for j, p in enumerate(parameters)])
        np.testing.assert_array_equal(np.asarray(plain), seeded(name, 3)(*parameters))
        fixed = wg.jvp(
            lambda x, i=i: x * seeded(name)(*parameters[:i], wg.stop_gradient(x), *parameters[i + 1 :]),
            (parameters[i],),
            (1.0,),
        )
        assert fixed[1] == seeded(name)(*parameters)


def test_no_derivative_is_lost_silently():
    rng = default_rng(5)
    for name, draw in {
        "nonc": lambda x: rng.noncentral_chisquare(2.0, x),
        "dfnum": lambda x: rng.noncentral_f(x, 2.0, 2.0),
        "p": lambda x: rng.choice(2, p=[x, 1.0 - x]),
        "pvals": lambda x: rng.multinomial(3, [x, 1.0 - x]),
        "logits": lambda x: rng.categorical([x, 0.5]),
    }.items():
        for differentiate in (wg.grad(draw), lambda x, draw=draw: wg.jvp(draw, (x,), (1.0,))):
            with pytest.raises(wg.GradientError, match=f"respect to {name}, at .*test_discrete_draws.py"):
                differentiate(0.3)


def test_orders_and_choices_move_gradients():
    x = np.arange(12.0).reshape(4, 3)
    for name, kwargs in {"permutation": {"axis": 1}, "permuted": {"axis": 0}, "choice": {"size": 3, "axis": 1}}.items():
        leaf = wg.tensor(x, requires_grad=True)
        found = getattr(default_rng(5), name)(leaf, **kwargs)
        np.testing.assert_array_equal(found.detach().numpy(), getattr(np.random.default_rng(5), name)(x, **kwargs))
        (found * found.detach()).sum().backward()
        counts = np.array([[np.sum(found.detach().numpy() == v) for v in row] for row in x])
        np.testing.assert_array_equal(leaf.grad.numpy(), counts * x)
    np.testing.assert_array_equal(default_rng(5).permuted(wg.tensor(x)).numpy(), np.random.default_rng(5).permuted(x))
    leaf = wg.tensor(x, requires_grad=True)
    y, plain = leaf * 1.0, x.copy()
    default_rng(5).shuffle(y)
    np.random.default_rng(5).shuffle(plain)
    np.testing.assert_array_equal(y.detach().numpy(), plain)
    (y * plain).sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), x)


def test_gumbel_softmax():
    logits = np.array([[0.1, 1.5, -0.4], [2.0, 0.0, 0.3]])
    soft = lambda x, t: default_rng(5).gumbel_softmax(x, t)
    noise = np.random.default_rng(5).gumbel(size=(2, 3))
    weights = np.exp((logits + noise) / 0.7)
    np.testing.assert_allclose(soft(logits, 0.7), weights / weights.sum(-1, keepdims=True), rtol=1e-14)
    check_derivatives(soft, [logits, np.float64(0.7)], (0, 1))
    hard = default_rng(5).gumbel_softmax(logits, 0.7, hard=True)
    np.testing.assert_array_equal(hard, np.eye(3)[np.argmax(logits + noise, -1)])
    np.testing.assert_array_equal(default_rng(5).categorical(logits), np.argmax(hard, -1))
    slopes = wg.jacobian(lambda x: default_rng(5).gumbel_softmax(x, 0.7, hard=True))(logits)
    np.testing.assert_allclose(slopes, wg.jacobian(lambda x: soft(x, 0.7))(logits), rtol=1e-12)
    assert default_rng(5).gumbel_softmax(logits, size=(5, 4)).shape == (5, 4, 2, 3)
    indices = default_rng(5).categorical(np.log([0.2, 0.5, 0.3]), size=2000)
    np.testing.assert_allclose(np.bincount(indices) / 2000, [0.2, 0.5, 0.3], atol=0.04)
    assert set(np.unique(default_rng(5).bernoulli(0.3, size=100))) == {0, 1}
