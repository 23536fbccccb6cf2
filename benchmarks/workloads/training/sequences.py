"""Networks on sequences: long short-term memory, and a transformer block."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.training.networks import Batch, dense
from benchmarks.workloads.training.steps import Step

TIME, INPUTS, HIDDEN = 100, 32, 64
TOKENS, WIDTH, HEADS = 128, 128, 4


def memory(nn: Any) -> Any:
    """An LSTM of 64 units, and an affine layer on its last state."""

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.head = nn.LSTM(INPUTS, HIDDEN), nn.Linear(HIDDEN, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0][-1])

    return Classifier()


def memory_for_jax(p: dict, x: Any) -> Any:
    """The same for JAX."""
    import jax
    import jax.numpy as jnp

    inputs = x @ p["lstm.weight_ih_l0"].T + p["lstm.bias_ih_l0"] + p["lstm.bias_hh_l0"]

    def step(state: tuple, z: Any) -> tuple:
        h, c = state
        enter, forget, candidate, leave = jnp.split(z + h @ p["lstm.weight_hh_l0"].T, 4, axis=1)
        c = jax.nn.sigmoid(forget) * c + jax.nn.sigmoid(enter) * jnp.tanh(candidate)
        h = jax.nn.sigmoid(leave) * jnp.tanh(c)
        return (h, c), None

    start = jnp.zeros((x.shape[1], HIDDEN), x.dtype)
    (h, _), _ = jax.lax.scan(step, (start, start), inputs)
    return dense(p, "head", h)


def sequences(rng: np.random.Generator, n: int) -> Batch:
    """Sequences in the layout (time, batch, inputs), and labels."""
    return rng.standard_normal((TIME, n, INPUTS), dtype=np.float32), rng.integers(0, 10, n)


def transformer(nn: Any) -> Any:
    """Self-attention with 4 heads and a feed-forward part of 512, each after a normalisation."""
    return nn.TransformerEncoderLayer(
        WIDTH, HEADS, dim_feedforward=4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    )


def normalize(p: dict, name: str, x: Any) -> Any:
    """The layer normalisation of JAX's libraries."""
    import jax.numpy as jnp

    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * p[f"{name}.weight"] + p[f"{name}.bias"]


def transformer_for_jax(p: dict, x: Any) -> Any:
    """The same for JAX."""
    import jax

    n = x.shape[0]
    z = normalize(p, "norm1", x) @ p["self_attn.in_proj_weight"].T + p["self_attn.in_proj_bias"]
    q, k, v = z.reshape(n, TOKENS, 3, HEADS, WIDTH // HEADS).transpose(2, 0, 1, 3, 4)
    attended = jax.nn.dot_product_attention(q, k, v)
    x = x + dense(p, "self_attn.out_proj", attended.reshape(n, TOKENS, WIDTH))
    z = jax.nn.gelu(dense(p, "linear1", normalize(p, "norm2", x)), approximate=False)
    return x + dense(p, "linear2", z)


def tokens(rng: np.random.Generator, n: int) -> Batch:
    """Embedded tokens, and targets of the same shape."""
    return tuple(rng.standard_normal((2, n, TOKENS, WIDTH), dtype=np.float32))


STEPS = [
    Step(
        "train-lstm", "an LSTM of 64 units over 100 steps of 32 inputs, batch 16", memory, sequences, "cross_entropy",
        memory_for_jax, 16, 1.0, 0.7,
    ),
    Step(
        "train-transformer", "a transformer block of width 128 with 4 heads on 128 tokens, batch 8", transformer,
        tokens, "mse_loss", transformer_for_jax, 8, 1.1, 1.0,
    ),
]  # fmt: skip
