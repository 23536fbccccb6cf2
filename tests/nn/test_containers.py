"""Lists, sequences and dictionaries of modules."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import nn


def names(module):
    return [name for name, _ in module.named_parameters()]


def test_lists():
    layers = nn.ModuleList([nn.Linear(2, 3), nn.Linear(3, 4)])
    layers.append(nn.Linear(4, 1)).extend([nn.ReLU()])
    assert len(layers) == 4
    assert [layer.out_features for layer in layers[:3]] == [3, 4, 1]
    assert layers[-1] is list(layers)[3]
    layers.insert(1, nn.Tanh())
    assert [type(layer).__name__ for layer in layers] == ["Linear", "Tanh", "Linear", "Linear", "ReLU"]
    assert names(layers) == ["0.weight", "0.bias", "2.weight", "2.bias", "3.weight", "3.bias"]
    del layers[0]
    assert names(layers)[0] == "1.weight"
    layers[0] = nn.Linear(1, 1)
    assert names(layers)[0] == "0.weight"
    with pytest.raises(TypeError, match="ModuleList takes modules, and was given a list"):
        layers.append([])
    with pytest.raises(IndexError):
        layers[9]


def test_sequences():
    model = nn.Sequential(nn.Linear(3, 4, rng=0), nn.ReLU(), nn.Linear(4, 2, rng=1))
    x = np.ones((5, 3), np.float32)
    np.testing.assert_array_equal(model(x).detach(), model[2](wg.relu(model[0](x))).detach())
    np.testing.assert_array_equal(model[:2](x).detach(), wg.relu(model[0](x)).detach())
    assert model[:2][0] is model[0]
    named = nn.Sequential({"first": nn.Linear(3, 4), "last": nn.Linear(4, 2)})
    assert names(named) == ["first.weight", "first.bias", "last.weight", "last.bias"]
    assert named(x).shape == (5, 2)
    assert len(named) == 2
    named[1] = nn.Linear(4, 1)
    assert named.last.out_features == 1
    with pytest.raises(TypeError, match="nn.ReLU"):
        nn.Sequential(wg.relu)


def test_dictionaries():
    heads = nn.ModuleDict({"a": nn.Linear(2, 1), "b": nn.Linear(2, 3)})
    heads.update([("c", nn.ReLU())])
    assert list(heads) == heads.keys() == ["a", "b", "c"]
    assert "a" in heads
    assert "d" not in heads
    assert len(heads) == len(heads.values()) == 3
    assert names(heads) == ["a.weight", "a.bias", "b.weight", "b.bias"]
    del heads["a"]
    assert names(heads) == ["b.weight", "b.bias"]
    with pytest.raises(KeyError):
        heads["a"]
    for name in ("a.b", "forward"):
        with pytest.raises(ValueError, match=name):
            heads[name] = nn.ReLU()


def test_lists_of_parameters():
    weights = nn.ParameterList([[1.0, 2.0], nn.Parameter([3.0])])
    weights.append(np.zeros(2))
    assert names(weights) == ["0", "1", "2"]
    assert len(weights) == 3
    assert [w.shape for w in weights] == [(2,), (1,), (2,)]


def test_residuals():
    model = nn.Residual(nn.Linear(3, 3, rng=0, dtype=float), nn.Tanh())
    x = np.ones((2, 3))
    np.testing.assert_allclose(model(x).detach(), x + np.tanh(model.module[0](x).detach()))
