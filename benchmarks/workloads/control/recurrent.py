"""Recurrent networks over many steps: the products with the inputs are one product before the loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.faces import Face, write_for_jax, write_for_wengert

BATCH, INPUTS, HIDDEN = 16, 32, 64


def data(steps: int, gates: int) -> tuple:
    """The weights of inputs, of hidden states, and biases, of all gates side by side; inputs and targets."""
    rng = np.random.default_rng(0)
    normal = lambda scale, *shape: (scale * rng.standard_normal(shape)).astype(np.float32)
    wide = gates * HIDDEN
    params = [normal(0.2, INPUTS, wide), normal(0.1, HIDDEN, wide), normal(0.1, wide)]
    return params, normal(1.0, steps, BATCH, INPUTS), normal(1.0, steps, BATCH, HIDDEN)


def rnn_loss(params: Any, inputs: Any, targets: Any, face: Face) -> Any:
    """The mean squared difference between the hidden states of a plain network and targets."""
    m = face.numpy
    W, U, b = params

    def step(h: Any, z: Any) -> tuple:
        h = m.tanh(z + h @ U)
        return h, h

    _, hs = face.scan(step, m.zeros((BATCH, HIDDEN), np.float32), inputs @ W + b)
    return m.mean((hs - targets) ** 2)


def lstm_loss(params: Any, inputs: Any, targets: Any, face: Face) -> Any:
    """The same for long short-term memory."""
    m = face.numpy
    W, U, b = params

    def step(state: tuple, z: Any) -> tuple:
        h, c = state
        enter, forget, candidate, leave = m.split(z + h @ U, 4, axis=1)
        c = face.sigmoid(forget) * c + face.sigmoid(enter) * m.tanh(candidate)
        h = face.sigmoid(leave) * m.tanh(c)
        return (h, c), h

    start = m.zeros((BATCH, HIDDEN), np.float32)
    _, hs = face.scan(step, (start, start), inputs @ W + b)
    return m.mean((hs - targets) ** 2)


def gru_loss(params: Any, inputs: Any, targets: Any, face: Face) -> Any:
    """The same for gated recurrent units."""
    m = face.numpy
    W, U, b = params

    def step(h: Any, z: Any) -> tuple:
        update, reset, candidate = m.split(z, 3, axis=1)
        from_update, from_reset, from_candidate = m.split(h @ U, 3, axis=1)
        keep = face.sigmoid(update + from_update)
        found = m.tanh(candidate + face.sigmoid(reset + from_reset) * from_candidate)
        h = keep * h + (1.0 - keep) * found
        return h, h

    _, hs = face.scan(step, m.zeros((BATCH, HIDDEN), np.float32), inputs @ W + b)
    return m.mean((hs - targets) ** 2)


LAYERS = (
    ("rnn-scan", "a recurrent network", 1, rnn_loss),
    ("lstm-scan", "an LSTM", 4, lstm_loss),
    ("gru-scan", "a GRU", 3, gru_loss),
)
workloads = [
    Workload(
        name,
        f"{what} of 64 units over 100 and 2 000 steps, 32 inputs, batch 16, float32: value and gradients",
        data=lambda steps, gates=gates: data(steps, gates),
        sizes={"small": 100, "large": 2_000},
        targets={size: {"jax": 0.8} for size in ("small", "large")},
        compile_targets={size: {"jax": 0.5} for size in ("small", "large")},
        subject="wengert compiled",
        reference="wengert",
        family="loops",
    )
    for name, what, gates, _ in LAYERS
]
for made, (*_, loss) in zip(workloads, LAYERS, strict=True):
    write_for_wengert(made, loss)
    write_for_jax(made, loss)
