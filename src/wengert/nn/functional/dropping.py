"""Dropout: zeros at random, and what remains scaled so that the expectation stays."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.devices import device_of
from wengert.core.errors import user_error
from wengert.core.levels import bottom_array, numpy_of
from wengert.core.primitive import as_operand
from wengert.nn.inputs import refuse_axes
from wengert.ops.elementwise.choices import where
from wengert.ops.shape.casting import to

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d"]

SELU_LIMIT = -1.7580993408473766
"""What SELU tends to for -inf, the product of its scale and alpha with the sign changed."""


def dropout(input: Any, p: float = 0.5, training: bool = True, *, rng: Any = None) -> Any:
    """Zeros with probability p, and x / (1 - p) elsewhere; x after training.

    `rng` is a seed or a generator (`wg.random.counter_rng`); None draws with fresh entropy.

    >>> dropout([1.0, 2.0], p=0.0, rng=0), dropout([1.0, 2.0], training=False)
    (array([1., 2.]), array([1., 2.]))
    """
    x = as_operand(input)
    return drop(x, p, x.shape, rng) if training and p else x


def dropout1d(input: Any, p: float = 0.5, training: bool = True, *, rng: Any = None) -> Any:
    """Zeros for whole channels of signals (batch, channels, length).

    >>> dropout1d([[[1.0, 2.0]]], p=1.0).tolist()
    [[[0.0, 0.0]]]
    """
    return drop_channels(1, input, p, training, rng)


def dropout2d(input: Any, p: float = 0.5, training: bool = True, *, rng: Any = None) -> Any:
    """Zeros for whole channels of images (batch, channels, height, width).

    >>> dropout2d([[[[1.0, 2.0]]]], p=1.0).tolist()
    [[[[0.0, 0.0]]]]
    """
    return drop_channels(2, input, p, training, rng)


def dropout3d(input: Any, p: float = 0.5, training: bool = True, *, rng: Any = None) -> Any:
    """Zeros for whole channels of volumes (batch, channels, depth, height, width).

    >>> dropout3d([[[[[1.0, 2.0]]]]], p=1.0).tolist()
    [[[[[0.0, 0.0]]]]]
    """
    return drop_channels(3, input, p, training, rng)


def alpha_dropout(input: Any, p: float = 0.5, training: bool = True, *, rng: Any = None) -> Any:
    """Dropout that keeps mean and variance of a standard normal input, as `selu` does.

    >>> alpha_dropout([1.0, 2.0], training=False)
    array([1., 2.])
    """
    x = as_operand(input)
    if not training or not p:
        return x
    refuse_probability(p)
    keep = 1.0 - p
    scale = (keep * (1.0 + p * SELU_LIMIT**2)) ** -0.5 if keep else 0.0
    is_kept = draw_uniform(rng, x, x.shape) < keep
    return where(is_kept, x, SELU_LIMIT) * scale - scale * p * SELU_LIMIT


def drop_channels(ndim: int, input: Any, p: float, training: bool, rng: Any) -> Any:
    """Dropout of whole channels, with `ndim` axes after them."""
    x = as_operand(input)
    refuse_axes(x, ndim, f"dropout{ndim}d")
    return drop(x, p, (*x.shape[:-ndim], *(1,) * ndim), rng) if training and p else x


def drop(x: Any, p: float, shape: tuple[int, ...], rng: Any) -> Any:
    """Zeros with probability p, one draw for each element of a shape that broadcasts."""
    refuse_probability(p)
    if x.dtype.kind != "f":
        raise user_error(
            TypeError, f"dropout takes floating-point numbers, and was given {x.dtype}", "Convert with x.astype(float)."
        )
    is_kept = draw_uniform(rng, x, shape) < 1.0 - p
    return where(is_kept, x * (1.0 / (1.0 - p) if p < 1.0 else 0.0), 0.0)


def draw_uniform(rng: Any, x: Any, shape: tuple[int, ...]) -> Any:
    """Numbers between 0 and 1, of the dtype and on the device of x; they are drawn on the CPU.

    The generators are imported here, so that layers without draws do not wait for them.
    """
    from wengert.random.counter_generator import counter_rng

    drawn = counter_rng(rng).random(shape, x.dtype)
    return drawn if numpy_of(x) is np else to(drawn, device_of(bottom_array(x)))


def refuse_probability(p: float) -> None:
    """Raise an error unless p is a probability."""
    if not 0.0 <= p <= 1.0:
        raise user_error(ValueError, f"dropout with p={p!r}", "A probability is between 0 and 1.")
