"""Dropout: frequencies, scales, seeds, compiled steps that continue the same sequence."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.nn import functional as F  # noqa: N812  # as programs of PyTorch call it


def test_a_fraction_is_zero_and_the_rest_is_scaled():
    x = np.ones((400, 50))
    out = F.dropout(x, 0.2, rng=0)
    kept = out != 0
    assert abs(kept.mean() - 0.8) < 0.01
    np.testing.assert_array_equal(out[kept], 1.0 / 0.8)
    assert F.dropout(x.astype(np.float32), 0.5, rng=0).dtype == np.float32


@pytest.mark.parametrize(("layer", "shape"), [(nn.Dropout1d, (50, 8, 3)), (nn.Dropout2d, (50, 8, 3, 2))])
def test_channels_are_zero_together(layer, shape):
    out = layer(0.5, rng=0)(np.ones(shape)).reshape(50, 8, -1)
    assert (out == out[..., :1]).all()
    assert 0.35 < (out[..., 0] == 0).mean() < 0.65


def test_alpha_dropout_keeps_mean_and_variance():
    x = np.random.default_rng(0).normal(size=200_000)
    out = nn.AlphaDropout(0.3, rng=1)(x)
    assert abs(out.mean()) < 0.01
    assert abs(out.var() - 1.0) < 0.02


def test_the_ends():
    x = np.array([1.0, -2.0])
    assert F.dropout(x, 1.0).tolist() == [0.0, 0.0]
    np.testing.assert_array_equal(F.dropout(x, 0.0), x)
    np.testing.assert_array_equal(nn.Dropout(0.9).eval()(x), x)


def test_a_seed_decides():
    x = np.ones(100)
    first, second = nn.Dropout(rng=3), nn.Dropout(rng=3)
    a, b = first(x), first(x)
    np.testing.assert_array_equal(second(x), a)
    assert (a != b).any()
    later = copy.deepcopy(first)
    np.testing.assert_array_equal(later(x), first(x))
    shared = wg.random.counter_rng(0)
    model = nn.Sequential(nn.Dropout(rng=shared), nn.Dropout(rng=shared))
    assert (model[0](x) != model[1](x)).any()


def test_the_gradient_is_that_of_what_was_kept():
    x = wg.tensor(np.arange(1.0, 21.0), requires_grad=True)
    out = nn.Dropout(0.5, rng=0)(x)
    out.sum().backward()
    np.testing.assert_allclose(x.grad, (out.detach() / x.detach()))


def test_compiled_functions_continue_the_sequence():
    layer, other = nn.Dropout(0.5, rng=5), nn.Dropout(0.5, rng=5)
    compiled = wg.compile(lambda x: layer(x) * 2.0)
    x = np.ones(40)
    drawn = []
    for _ in range(3):
        drawn.append(compiled(x))
        np.testing.assert_array_equal(drawn[-1], other(x) * 2.0)
    assert (drawn[0] != drawn[1]).any()
    np.testing.assert_array_equal(layer(x), other(x))
    model = nn.Sequential(nn.Linear(40, 3, rng=0, dtype=float), nn.Dropout(0.5, rng=1))
    twin = copy.deepcopy(model)
    run = wg.compile(lambda m, x: m(x))
    for _ in range(2):
        np.testing.assert_allclose(run(model, x).detach(), twin(x).detach(), rtol=1e-14)
    model.eval()
    np.testing.assert_allclose(run(model, x).detach(), model[0](x).detach(), rtol=1e-14)


def test_bad_input():
    with pytest.raises(ValueError, match=r"p=1\.5"):
        nn.Dropout(1.5)
    with pytest.raises(TypeError, match="int64"):
        nn.Dropout(0.5)(np.ones(3, int))
    with pytest.raises(ValueError, match=r"dropout2d was given an input of shape \(3,\)"):
        nn.Dropout2d(0.5)(np.ones(3))
