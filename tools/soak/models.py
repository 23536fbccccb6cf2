"""Functions and training steps that the parts run, each with inputs and an output to compare by its bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg


def bits(result: Any) -> bytes:
    """The bytes of all leaves of a result."""
    if isinstance(result, tuple | list):
        return b"".join(bits(item) for item in result)
    return (result.detach().numpy() if isinstance(result, wg.Tensor) else np.asarray(result)).tobytes()


def messages(h: Any, w: Any, s: Any, t: Any) -> Any:
    """A loss of a graph network: both ends of each edge receive a message."""
    a = np.tanh(h @ w)
    m = np.tanh(a[s] - a[t])
    return (wg.asarray(a).at[s].add(m).at[t].add(-m) ** 2).mean()


def network(x: Any, w: Any, v: Any) -> Any:
    return ((np.tanh(x @ w) @ v) ** 2).mean()


def spectrum(x: Any) -> Any:
    return np.sum(np.linalg.eigh(x @ x.T + 3 * np.eye(x.shape[0]))[0] ** 2) + np.sum(np.sort(x, axis=1)[:, 1:3])


def programs() -> list[tuple[Callable, tuple[Any, ...]]]:
    """Functions and their arguments: elements, products, scatters that threads share, LAPACK."""
    rng = np.random.default_rng(6)
    draw, ends = rng.normal, rng.integers
    return [
        (wg.value_and_grad(messages, (0, 1)), (draw(size=(300, 8)), draw(size=(8, 16)), *ends(0, 300, (2, 9000)))),
        (wg.value_and_grad(network, (1, 2)), (draw(size=(64, 9)), draw(size=(9, 16)), draw(size=(16, 3)))),
        (wg.grad(spectrum), (draw(size=(6, 6)),)),
        (lambda x: np.sum(np.sin(x) * x, axis=0), (draw(size=(4000, 40)),)),
    ]


class Perceptron:
    """A network that is trained eagerly, by a tape and an optimiser."""

    steps = 50

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.x, self.y = rng.normal(size=(16, 5)), rng.normal(size=(16, 2))
        self.first = [rng.normal(size=shape) / 3 for shape in ((5, 12), (12,), (12, 2), (2,))]
        self.parameters = [wg.tensor(a.copy(), requires_grad=True) for a in self.first]

    def loss(self) -> Any:
        w, b, v, c = self.parameters
        return ((np.tanh(self.x @ w + b) @ v + c - self.y) ** 2).mean()

    def train(self) -> bytes:
        """Some steps from the first parameters on; the bits of the last ones."""
        with wg.no_grad():
            for parameter, a in zip(self.parameters, self.first, strict=True):
                parameter[...] = a
        optimizer = wg.optim.SGD(self.parameters, lr=0.05, momentum=0.9)
        for _ in range(self.steps):
            optimizer.zero_grad()
            self.loss().backward()
            optimizer.step()
        return bits([parameter.detach() for parameter in self.parameters])


class GraphNetwork(Perceptron):
    """A network whose nodes receive messages along edges, trained the same way."""

    def __init__(self) -> None:
        rng = np.random.default_rng(2)
        self.h = rng.normal(size=(40, 4))
        self.s, self.t = rng.integers(0, 40, (2, 160))
        self.first = [rng.normal(size=shape) / 3 for shape in ((4, 8), (8, 8))]
        self.parameters = [wg.tensor(a.copy(), requires_grad=True) for a in self.first]

    def loss(self) -> Any:
        w, v = self.parameters
        a = np.tanh(self.h @ w)
        b = a.at[self.s].add(np.tanh((a[self.s] - a[self.t]) @ v))
        return (b.at[self.t].add(0.1 * a[self.s]) ** 2).mean()


class CompiledNetwork(GraphNetwork):
    """The same, with a compiled step that assigns to the parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.step = wg.compile(self.one_step)

    def one_step(self) -> Any:
        for parameter in self.parameters:
            parameter.grad = None
        loss = self.loss()
        loss.backward()
        with wg.no_grad():
            for parameter in self.parameters:
                parameter -= 0.05 * parameter.grad
        return loss

    def train(self) -> bytes:
        with wg.no_grad():
            for parameter, a in zip(self.parameters, self.first, strict=True):
                parameter[...] = a
        losses = [self.step() for _ in range(self.steps)]
        return bits([*losses, *[parameter.detach() for parameter in self.parameters]])
