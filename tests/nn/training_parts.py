"""A small model, data and an optimiser for tests of the loop: what `fit` needs of them, and nothing more."""

from __future__ import annotations

import numpy as np

import wengert as wg

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.sin(X[:, 0]) * X[:, 1]


class Net(wg.nn.Module):
    """Two layers; in training, noise from a generator, and a buffer that counts the calls."""

    def __init__(self, seed=0, noise=0.0):
        rng = np.random.default_rng(seed)
        self.first = Layer(2, 8, rng)
        self.last = Layer(8, 1, rng)
        self.calls = wg.tensor(0)
        self.noise, self.rng = noise, np.random.default_rng(seed)

    def forward(self, x):
        hidden = np.tanh(self.first(x))
        if self.training:
            self.calls = self.calls + 1
            hidden = hidden + self.noise * self.rng.standard_normal(hidden.shape)
        return self.last(hidden)[:, 0]


class Layer(wg.nn.Module):
    def __init__(self, n, m, rng):
        self.weight = wg.nn.Parameter(rng.normal(size=(n, m)))
        self.bias = wg.nn.Parameter(np.zeros(m))

    def forward(self, x):
        return x @ self.weight + self.bias


class Momentum:
    """Gradient descent with momentum: an optimiser of one's own."""

    def __init__(self, params, lr=0.05):
        self.param_groups = [{"params": list(params), "lr": lr}]
        self.velocity = [np.zeros(p.shape) for p in self.params]

    @property
    def params(self):
        return self.param_groups[0]["params"]

    def step(self):
        with wg.no_grad():
            for v, p in zip(self.velocity, self.params, strict=True):
                if p.grad is not None:
                    v *= 0.9
                    v += p.grad.numpy()
                    p -= self.param_groups[0]["lr"] * v

    def zero_grad(self):
        for p in self.params:
            p.grad = None

    def state_dict(self):
        return {"lr": self.param_groups[0]["lr"], "state": {i: {"v": v} for i, v in enumerate(self.velocity)}}

    def load_state_dict(self, state):
        self.param_groups[0]["lr"] = state["lr"]
        self.velocity = [state["state"][i]["v"].copy() for i in range(len(self.velocity))]


def mean_square(output, target):
    return ((output - target) ** 2).mean()


def batches(batch_size=8, seed=0, **options):
    return wg.data.Batches((X, Y), batch_size, shuffle=True, rng=seed, **options)


def train(model, epochs=2, data=None, optimizer=None, **options):
    """`fit`, step by step in Python, silently."""
    options = {"compile": False, "progress": False, **options}
    return wg.nn.fit(
        model,
        options.pop("loss", mean_square),
        batches() if data is None else data,
        optimizer or Momentum(model.parameters()),
        epochs,
        **options,
    )
