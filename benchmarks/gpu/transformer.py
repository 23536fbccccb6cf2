"""A transformer in single precision: the loss of a batch of texts, and its gradient with respect to all parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.gpu.systems import Function, System

HEADS = 12
MASKED = np.float32(-1e30)


def transformer_data(rng: np.random.Generator, scale: float) -> tuple:
    """Tokens, the table of their embeddings, positions, and six arrays for each layer."""
    batch, length, layers = max(int(8 * scale), 2), max(int(512 * scale), 4), max(round(4 * scale), 1)
    width, words = HEADS * max(int(64 * scale), 2), max(int(16384 * scale), 16)
    f4 = lambda *shape: (rng.standard_normal(shape) / np.sqrt(shape[0])).astype("f4")
    layer = lambda: (
        np.ones(width, "f4"),
        f4(width, 3 * width),
        f4(width, width),
        np.ones(width, "f4"),
        f4(width, 4 * width),
        f4(4 * width, width),
    )
    weights = [w for _ in range(layers) for w in layer()]
    table, positions = f4(words, width), f4(length, width)
    return rng.integers(0, words, (batch, length + 1)), table, positions, *weights


def transformer_gradient(s: System) -> Function:
    """Layers of causal attention and of GELU, and the cross-entropy of the next tokens."""
    xp = s.xp

    def normalise(x: Any, gain: Any) -> Any:
        centered = x - x.mean(-1, keepdims=True)
        return gain * centered / xp.sqrt((centered * centered).mean(-1, keepdims=True) + 1e-5)

    def attend(x: Any, projection: Any, output: Any) -> Any:
        batch, length, width = x.shape
        parts = (x @ projection).reshape(batch, length, 3, HEADS, width // HEADS)
        q, k, v = [xp.swapaxes(parts[:, :, i], 1, 2) for i in range(3)]
        scores = q @ xp.swapaxes(k, 2, 3) / np.float32(np.sqrt(width // HEADS))
        scores = xp.where(np.tri(length, dtype=bool), scores, MASKED)
        weights = xp.exp(scores - s.logsumexp(scores, axis=-1, keepdims=True))
        return xp.swapaxes(weights @ v, 1, 2).reshape(batch, length, width) @ output

    def gelu(x: Any) -> Any:
        return 0.5 * x * (1.0 + xp.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))

    def loss(tokens: Any, table: Any, positions: Any, *weights: Any) -> Any:
        x = table[tokens[:, :-1]] + positions
        for k in range(0, len(weights), 6):
            first, projection, output, second, up, down = weights[k : k + 6]
            x = x + attend(normalise(x, first), projection, output)
            x = x + gelu(normalise(x, second) @ up) @ down
        scores = x @ table.T
        named = xp.take_along_axis(scores, tokens[:, 1:, None], axis=-1)[..., 0]
        return (s.logsumexp(scores, axis=-1) - named).mean()

    def run(tokens: Any, *parameters: Any) -> Any:
        return s.value_and_grad(loss, tuple(range(1, 1 + len(parameters))))(tokens, *parameters)

    return run


def transformer_torch(args: tuple, device: str) -> Callable[[], Any]:
    """The same in PyTorch, with its own functions for layers."""
    import torch
    from torch.nn import functional as F

    torch.backends.cuda.matmul.allow_tf32 = False
    tokens, *parameters = [torch.tensor(a, device=device) for a in args]
    table, positions, *weights = [p.requires_grad_() for p in parameters]

    def attend(x: Any, projection: Any, output: Any) -> Any:
        batch, length, width = x.shape
        parts = (x @ projection).reshape(batch, length, 3, HEADS, width // HEADS)
        q, k, v = [parts[:, :, i].transpose(1, 2) for i in range(3)]
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return found.transpose(1, 2).reshape(batch, length, width) @ output

    def run() -> Any:
        x = table[tokens[:, :-1]] + positions
        for k in range(0, len(weights), 6):
            first, projection, output, second, up, down = weights[k : k + 6]
            x = x + attend(F.layer_norm(x, first.shape, first), projection, output)
            x = x + F.gelu(F.layer_norm(x, second.shape, second) @ up, approximate="tanh") @ down
        scores = x @ table.T
        loss = F.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
        return loss, torch.autograd.grad(loss, parameters)

    return run
