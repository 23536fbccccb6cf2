"""`jax.nn.initializers`: functions `(key, shape, dtype) -> array` for weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.jax import random
from wengert.compat.jax.arrays import array, to_array
from wengert.compat.jax.differences import ABSENT
from wengert.core.errors import user_error

__all__ = [
    "constant", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "kaiming_normal", "kaiming_uniform",
    "lecun_normal", "lecun_uniform", "normal", "ones", "orthogonal", "truncated_normal", "uniform", "variance_scaling",
    "xavier_normal", "xavier_uniform", "zeros",
]  # fmt: skip

__getattr__ = without(__name__, ABSENT)

Initializer = Callable[..., Any]

TRUNCATED_STD = 0.87962566103423978
"""The standard deviation of a normal number between -2 and 2."""


def zeros(key: Any, shape: Sequence[int], dtype: Any = float) -> Any:  # noqa: ARG001  # as all initialisers
    """Zeros."""
    return to_array(np.zeros(shape, dtype))


def ones(key: Any, shape: Sequence[int], dtype: Any = float) -> Any:  # noqa: ARG001  # as all initialisers
    """Ones."""
    return to_array(np.ones(shape, dtype))


def constant(value: Any, dtype: Any = float) -> Initializer:
    """One number."""
    return lambda key, shape, dtype=dtype: wg.broadcast_to(array(value, dtype), tuple(shape))


def normal(stddev: Any = 1e-2, dtype: Any = float) -> Initializer:
    """Normal with mean 0."""
    return lambda key, shape, dtype=dtype: random.normal(key, shape, dtype) * stddev


def uniform(scale: Any = 1e-2, dtype: Any = float) -> Initializer:
    """Uniform between 0 and a scale."""
    return lambda key, shape, dtype=dtype: random.uniform(key, shape, dtype) * scale


def truncated_normal(stddev: Any = 1e-2, dtype: Any = float, lower: float = -2.0, upper: float = 2.0) -> Initializer:
    """Normal between bounds."""
    return lambda key, shape, dtype=dtype: random.truncated_normal(key, lower, upper, shape, dtype) * stddev


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = float) -> Initializer:
    """Matrices with orthonormal rows or columns."""

    def initialize(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Any:
        columns = shape[column_axis]
        rows = math.prod(shape) // columns
        q, r = wg.linalg.qr(random.normal(key, (max(rows, columns), min(rows, columns)), dtype))
        q = q * wg.sign(wg.linalg.diagonal(r))
        q = q.T if rows < columns else q
        rest = [n for i, n in enumerate(shape) if i != column_axis % len(shape)]
        return to_array(scale * wg.moveaxis(wg.reshape(q, (*rest, columns)), -1, column_axis))

    return initialize


def variance_scaling(
    scale: Any, mode: str, distribution: str, in_axis: int = -2, out_axis: int = -1, dtype: Any = float
) -> Initializer:
    """Numbers with variance scale / n, where n is the number of inputs, outputs, or their mean."""

    def initialize(key: Any, shape: Sequence[int], dtype: Any = dtype) -> Any:
        others = math.prod(shape) / (shape[in_axis] * shape[out_axis])
        fans = {"fan_in": shape[in_axis] * others, "fan_out": shape[out_axis] * others}
        fans["fan_avg"] = (fans["fan_in"] + fans["fan_out"]) / 2
        if mode not in fans or distribution not in ("normal", "uniform", "truncated_normal"):
            raise user_error(ValueError, f"variance_scaling has no mode {mode!r} with distribution {distribution!r}")
        deviation = math.sqrt(scale / fans[mode])
        if distribution == "normal":
            return random.normal(key, shape, dtype) * deviation
        if distribution == "uniform":
            return random.uniform(key, shape, dtype, -1.0, 1.0) * (math.sqrt(3.0) * deviation)
        return random.truncated_normal(key, -2.0, 2.0, shape, dtype) * (deviation / TRUNCATED_STD)

    return initialize


glorot_uniform = xavier_uniform = partial(variance_scaling, 1.0, "fan_avg", "uniform")
glorot_normal = xavier_normal = partial(variance_scaling, 1.0, "fan_avg", "truncated_normal")
lecun_uniform = partial(variance_scaling, 1.0, "fan_in", "uniform")
lecun_normal = partial(variance_scaling, 1.0, "fan_in", "truncated_normal")
he_uniform = kaiming_uniform = partial(variance_scaling, 2.0, "fan_in", "uniform")
he_normal = kaiming_normal = partial(variance_scaling, 2.0, "fan_in", "truncated_normal")
