"""Affine and bilinear layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.modes.tensor import Tensor
from wengert.nn import functional
from wengert.nn.inputs import refuse_length, to_precision
from wengert.nn.module import Module, Parameter
from wengert.random.generator import default_rng


def draw_uniform(rng: Any, bound: float, shape: tuple[int, ...], dtype: Any) -> Tensor:
    """A parameter with numbers from the uniform distribution within a bound."""
    return Parameter(rng.numpy.uniform(-bound, bound, shape), dtype=dtype)


class Identity(Module):
    """Returns its input. Arguments are ignored.

    >>> Identity()(3.0)
    3.0
    """

    def __init__(self, *args: Any, **kwargs: Any):
        pass

    def forward(self, input: Any) -> Any:
        return input


class Linear(Module):
    """The affine map x W^T + b of the last axis. `weight` is (out_features, in_features).

    >>> Linear(3, 2, rng=0)(np.ones((5, 3))).shape
    (5, 2)
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, *, rng: Any = None, dtype: Any = np.float32
    ):
        self.in_features, self.out_features = in_features, out_features
        rng, bound = default_rng(rng), 1.0 / math.sqrt(max(in_features, 1))
        self.weight = draw_uniform(rng, bound, (out_features, in_features), dtype)
        self.bias = draw_uniform(rng, bound, (out_features,), dtype) if bias else None

    def forward(self, input: Any) -> Any:
        x = to_precision(input, self.weight, "Linear")
        refuse_length(x, -1, self.in_features, "Linear", "in_features")
        return functional.linear(x, self.weight, self.bias)


class Bilinear(Module):
    """The bilinear map x^T W y + b of the last axes. `weight` is (out_features, in1_features, in2_features).

    >>> Bilinear(3, 4, 2, rng=0)(np.ones((5, 3)), np.ones((5, 4))).shape
    (5, 2)
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        *,
        rng: Any = None,
        dtype: Any = np.float32,
    ):
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        rng, bound = default_rng(rng), 1.0 / math.sqrt(in1_features)
        self.weight = draw_uniform(rng, bound, (out_features, in1_features, in2_features), dtype)
        self.bias = draw_uniform(rng, bound, (out_features,), dtype) if bias else None

    def forward(self, input1: Any, input2: Any) -> Any:
        x, y = (to_precision(given, self.weight, "Bilinear") for given in (input1, input2))
        refuse_length(x, -1, self.in1_features, "Bilinear", "in1_features")
        refuse_length(y, -1, self.in2_features, "Bilinear", "in2_features")
        return functional.bilinear(x, y, self.weight, self.bias)
