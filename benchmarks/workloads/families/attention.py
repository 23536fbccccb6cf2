"""What transformers consist of: the softmax and the normalisation of rows, and a block with attention."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.faces import Face, write_for_jax, write_for_torch, write_for_wengert

COLUMNS, FEATURES = 1000, 768
TOKENS, WIDTH, HEADS = 128, 128, 4
CAUSAL_HEADS, CAUSAL_SIZE = 8, 64
CLASSES = 1000


class Layers(NamedTuple):
    """The functions of a system for networks; attention has queries, keys and values (batch, heads, tokens, size)."""

    softmax: Callable
    layer_norm: Callable
    gelu: Callable
    attention: Callable
    causal_attention: Callable
    cross_entropy: Callable


def wengert_layers() -> Layers:
    from wengert.nn import functional

    return Layers(
        lambda x: functional.softmax(x, -1),
        lambda x, scale, shift: functional.layer_norm(x, x.shape[-1], scale, shift),
        functional.gelu,
        functional.scaled_dot_product_attention,
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        functional.cross_entropy,
    )


def jax_layers() -> Layers:
    import jax

    def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) / jax.numpy.sqrt(variance + 1e-5) * scale + shift

    def attention(q: Any, k: Any, v: Any, is_causal: bool = False) -> Any:
        moved = [a.swapaxes(1, 2) for a in (q, k, v)]
        return jax.nn.dot_product_attention(*moved, is_causal=is_causal).swapaxes(1, 2)

    def cross_entropy(x: Any, labels: Any) -> Any:
        return -jax.numpy.take_along_axis(jax.nn.log_softmax(x), labels[:, None], axis=-1).mean()

    return Layers(
        jax.nn.softmax,
        layer_norm,
        partial(jax.nn.gelu, approximate=False),
        attention,
        partial(attention, is_causal=True),
        cross_entropy,
    )


def torch_layers() -> Layers:
    import torch

    functional = torch.nn.functional
    return Layers(
        lambda x: torch.softmax(x, -1),
        lambda x, scale, shift: functional.layer_norm(x, x.shape[-1:], scale, shift),
        functional.gelu,
        functional.scaled_dot_product_attention,
        partial(functional.scaled_dot_product_attention, is_causal=True),
        functional.cross_entropy,
    )


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, dtype=np.float32)


def softmax_data(n: int) -> tuple:
    """Rows, and a weight for each probability."""
    rng = np.random.default_rng(0)
    return normal(rng, n, COLUMNS), normal(rng, n, COLUMNS)


def layer_norm_data(n: int) -> tuple:
    """Rows with scales and shifts, and a weight for each result."""
    rng = np.random.default_rng(0)
    return [normal(rng, n, FEATURES), normal(rng, FEATURES), normal(rng, FEATURES)], normal(rng, n, FEATURES)


def transformer_data(n: int) -> tuple:
    """The parameters of a block, and a batch of tokens with targets."""
    rng = np.random.default_rng(0)
    matrix = lambda *shape: normal(rng, *shape) / np.float32(np.sqrt(shape[0]))
    ones, zeros = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)
    params = [ones, zeros, matrix(WIDTH, 3 * WIDTH), matrix(WIDTH, WIDTH)]
    params += [ones, zeros, matrix(WIDTH, 4 * WIDTH), matrix(4 * WIDTH, WIDTH)]
    return params, normal(rng, n, TOKENS, WIDTH), normal(rng, n, TOKENS, WIDTH)


def causal_data(n: int) -> tuple:
    """Queries, keys and values of n tokens, and a weight for each result."""
    rng = np.random.default_rng(0)
    draw = lambda: normal(rng, 1, CAUSAL_HEADS, n, CAUSAL_SIZE)
    return [draw(), draw(), draw()], draw()


def entropy_data(n: int) -> tuple:
    """Scores of classes, and labels."""
    rng = np.random.default_rng(0)
    return normal(rng, n, CLASSES), rng.integers(0, CLASSES, n)


def softmax_loss(x: Any, weights: Any, face: Face, layers: Layers) -> Any:
    return face.numpy.sum(layers.softmax(x) * weights)


def layer_norm_loss(params: Any, weights: Any, face: Face, layers: Layers) -> Any:
    return face.numpy.sum(layers.layer_norm(*params) * weights)


def causal_loss(operands: Any, weights: Any, face: Face, layers: Layers) -> Any:
    return face.numpy.sum(layers.causal_attention(*operands) * weights)


def entropy_loss(x: Any, labels: Any, face: Face, layers: Layers) -> Any:
    return layers.cross_entropy(x, labels)


def transformer_loss(params: Any, x: Any, y: Any, face: Face, layers: Layers) -> Any:
    """The squared error of a block that normalises first."""
    scale, shift, into, out, second_scale, second_shift, up, down = params
    n = x.shape[0]
    z = (layers.layer_norm(x, scale, shift) @ into).reshape(n, TOKENS, 3, HEADS, WIDTH // HEADS)
    q, k, v = [face.numpy.swapaxes(z[:, :, i], 1, 2) for i in range(3)]
    attended = face.numpy.swapaxes(layers.attention(q, k, v), 1, 2).reshape(n, TOKENS, WIDTH)
    x = x + attended @ out
    x = x + layers.gelu(layers.layer_norm(x, second_scale, second_shift) @ up) @ down
    return face.numpy.sum((x - y) ** 2) / (n * TOKENS)


def _workload(name: str, statement: str, data: Callable, loss: Callable, sizes: dict[str, int]) -> Workload:
    made = Workload(
        name, statement, data=data, sizes=sizes, subject="wengert compiled", reference="wengert", family="attention"
    )
    with_layers = lambda layers: lambda *args: loss(*args, layers())
    write_for_wengert(made, with_layers(wengert_layers))
    write_for_jax(made, with_layers(jax_layers))
    write_for_torch(made, with_layers(torch_layers))
    return made


workloads = [
    _workload(
        "softmax",
        "the softmax of 100 and 1 000 rows of 1 000 numbers, float32: a weighted sum, and its gradient",
        softmax_data,
        softmax_loss,
        {"small": 100, "large": 1_000},
    ),
    _workload(
        "layer-norm",
        "the layer normalisation of 100 and 4 096 rows of 768 numbers, float32: a weighted sum, and all gradients",
        layer_norm_data,
        layer_norm_loss,
        {"small": 100, "large": 4_096},
    ),
    _workload(
        "cross-entropy",
        "the cross-entropy of 100 and 4 096 rows of 1 000 classes with labels, float32, and its gradient",
        entropy_data,
        entropy_loss,
        {"small": 100, "large": 4_096},
    ),
    _workload(
        "attention",
        "causal attention of 8 heads of 64 features on 128 and 1 024 tokens, float32: a weighted sum, and gradients in "
        "queries, keys and values",
        causal_data,
        causal_loss,
        {"small": 128, "large": 1_024},
    ),
    _workload(
        "transformer",
        "a transformer block of width 128 with 4 heads on 1 and 8 sequences of 128 tokens, float32: the squared error, "
        "and gradients in all parameters",
        transformer_data,
        transformer_loss,
        {"small": 1, "large": 8},
    ),
]
