"""Captured constants: `compile(f, check=True)` says which one has changed."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import wengert as wg

X = np.array([1.0, 2.0, -1.5])


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


class Scaled:
    def __init__(self):
        self.scale = 2.0

    @wg.compile
    def __call__(self, x):
        return x * 2.0


LAYERS, NAMES, OPTIONS, SET = [Scaled()], ["a", "b"], {"k": 2.0}, {1.0}
LOG: list[tuple[int, ...]] = []


k = 0


def log(x):
    LOG.append(x.shape)
    return x


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * WEIGHTS.sum(),
        lambda x: x * NAMES.index("b"),
        lambda x: x * OPTIONS.get("k"),
        lambda x: x * sum(OPTIONS.values()),
        log,
        lambda x: LAYERS[0](x),
        lambda x: sum([x * k for k in range(3)]),
    ],
)
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
