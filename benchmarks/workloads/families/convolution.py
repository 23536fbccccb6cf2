"""Convolutional networks: two convolutions with pooling, and a block with one filter for each channel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.faces import Face, write_for_jax, write_for_torch, write_for_wengert

SIDE, CHANNELS, CLASSES = 28, (1, 16, 32), 10
WIDTH, WIDER, IMAGE = 32, 96, 32


class Layers(NamedTuple):
    """The functions of a system for networks, on (batch, channels, height, width).

    `convolve` has filters, a bias and groups; it keeps heights and widths. `pool` takes the largest of 2 x 2 elements.
    """

    convolve: Callable
    relu: Callable
    pool: Callable
    cross_entropy: Callable


def wengert_layers() -> Layers:
    from wengert.nn import functional

    return Layers(
        lambda x, w, b, groups=1: functional.conv2d(x, w, b, padding=w.shape[-1] // 2, groups=groups),
        functional.relu,
        lambda x: functional.max_pool2d(x, 2),
        functional.cross_entropy,
    )


def jax_layers() -> Layers:
    import jax

    def convolve(x: Any, w: Any, b: Any, groups: int = 1) -> Any:
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=groups) + b[:, None, None]

    def pool(x: Any) -> Any:
        return jax.lax.reduce_window(x, -np.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def cross_entropy(scores: Any, labels: Any) -> Any:
        return -jax.numpy.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], 1).mean()

    return Layers(convolve, jax.nn.relu, pool, cross_entropy)


def torch_layers() -> Layers:
    import torch

    functional = torch.nn.functional
    return Layers(
        lambda x, w, b, groups=1: functional.conv2d(x, w, b, padding=w.shape[-1] // 2, groups=groups),
        functional.relu,
        lambda x: functional.max_pool2d(x, 2),
        functional.cross_entropy,
    )


def filters(rng: np.random.Generator, *shape: int) -> list[np.ndarray]:
    """Filters or a matrix, and a bias."""
    scale = np.float32(np.sqrt(np.prod(shape[1:])))
    return [rng.standard_normal(shape, dtype=np.float32) / scale, np.zeros(shape[0], np.float32)]


def network_data(n: int) -> tuple:
    """The parameters of two convolutions and an affine layer; images with labels."""
    rng = np.random.default_rng(0)
    _, first, second = CHANNELS
    params = filters(rng, first, CHANNELS[0], 3, 3) + filters(rng, second, first, 3, 3)
    params += filters(rng, CLASSES, second * (SIDE // 4) ** 2)
    images = rng.standard_normal((n, CHANNELS[0], SIDE, SIDE), dtype=np.float32)
    return params, images, rng.integers(0, CLASSES, n)


def separable_data(n: int) -> tuple:
    """The parameters of a block; images, and targets."""
    rng = np.random.default_rng(0)
    params = filters(rng, WIDER, WIDTH, 1, 1) + filters(rng, WIDER, 1, 3, 3) + filters(rng, WIDTH, WIDER, 1, 1)
    images = [rng.standard_normal((n, WIDTH, IMAGE, IMAGE), dtype=np.float32) for _ in range(2)]
    return params, *images


def network_loss(params: Any, x: Any, labels: Any, _: Face, layers: Layers) -> Any:
    first, first_bias, second, second_bias, matrix, bias = params
    for w, b in ((first, first_bias), (second, second_bias)):
        x = layers.pool(layers.relu(layers.convolve(x, w, b)))
    return layers.cross_entropy(x.reshape(x.shape[0], -1) @ matrix.T + bias, labels)


def separable_loss(params: Any, x: Any, y: Any, face: Face, layers: Layers) -> Any:
    """The squared error of a block that widens, filters each channel, and narrows, added to its input."""
    into, into_bias, each, each_bias, out, out_bias = params
    z = layers.relu(layers.convolve(x, into, into_bias))
    z = layers.relu(layers.convolve(z, each, each_bias, WIDER))
    z = x + layers.convolve(z, out, out_bias)
    return face.numpy.sum((z - y) ** 2) / x.shape[0]


def _workload(name: str, statement: str, data: Callable, loss: Callable, sizes: dict[str, int]) -> Workload:
    made = Workload(
        name,
        statement,
        data=data,
        sizes=sizes,
        subject="wengert compiled",
        reference="wengert",
        tolerance=1e-2,  # rounding errors decide which of two almost equal elements is the largest
        family="convolution",
    )
    with_layers = lambda layers: lambda *args: loss(*args, layers())
    write_for_wengert(made, with_layers(wengert_layers))
    write_for_jax(made, with_layers(jax_layers))
    write_for_torch(made, with_layers(torch_layers))
    return made


workloads = [
    _workload(
        "conv-network",
        "convolutions of 3 x 3 with 16 and 32 channels, each with relu and pooling, and an affine layer, on 8 and 64 "
        "images of 28 x 28, float32: the cross entropy, and gradients in all parameters",
        network_data,
        network_loss,
        {"small": 8, "large": 64},
    ),
    _workload(
        "conv-separable",
        "a block that widens 32 channels to 96, has one filter of 3 x 3 for each and narrows them, on 1 and 16 images "
        "of 32 x 32, float32: the squared error, and gradients in all parameters",
        separable_data,
        separable_loss,
        {"small": 1, "large": 16},
    ),
]
