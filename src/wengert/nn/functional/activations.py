"""Activation functions. Where one has a kink, the derivative there is the one that PyTorch takes."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.errors import user_error
from wengert.core.primitive import as_operand
from wengert.nn.large_calls import compiled_if_large
from wengert.ops.elementwise.choices import relu, where
from wengert.ops.elementwise.complex_numbers import absolute
from wengert.ops.elementwise.exponential import expm1, sigmoid
from wengert.ops.elementwise.exponential import softplus as log_one_plus_exp
from wengert.ops.elementwise.trigonometric import tanh
from wengert.ops.shape.casting import astype
from wengert.ops.shape.splitting import split
from wengert.ops.special import entropy
from wengert.ops.special.error import erf

__all__ = [
    "celu", "elu", "gelu", "glu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "log_softmax",
    "logsigmoid", "mish", "prelu", "relu", "relu6", "selu", "sigmoid", "silu", "softmax", "softmin", "softplus",
    "softshrink", "softsign", "tanh", "tanhshrink", "threshold",
]  # fmt: skip

ROOT_HALF, ROOT_TWO_OVER_PI = math.sqrt(0.5), math.sqrt(2.0 / math.pi)
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def leaky_relu(input: Any, negative_slope: float = 0.01) -> Any:
    """x where it is positive, else `negative_slope` x.

    >>> leaky_relu([-1.0, 2.0], 0.1)
    array([-0.1,  2. ])
    """
    x = as_operand(input)
    return where(x > 0, x, x * negative_slope)


def prelu(input: Any, weight: Any) -> Any:
    """x where it is positive, else w x, with one weight, or one for each channel (axis 1).

    >>> prelu([[-1.0, 2.0]], [0.5])
    array([[-0.5,  2. ]])
    """
    x, w = as_operand(input), as_operand(weight)
    channels = x.shape[1] if x.ndim > 1 else 1
    if w.ndim > 1 or w.size not in (1, channels):
        raise user_error(
            ValueError,
            f"prelu: an input of shape {x.shape} and a weight of shape {w.shape}",
            f"Give one weight, or {channels}, one for each channel.",
        )
    if w.size > 1:
        w = w.reshape((-1,) + (1,) * (x.ndim - 2))
    return where(x > 0, x, x * w)


@compiled_if_large("input")
def elu(input: Any, alpha: float = 1.0) -> Any:
    """x where it is positive, else alpha (exp(x) - 1).

    >>> elu([-1.0, 2.0])
    array([-0.63212056,  2.        ])
    """
    x = as_operand(input)
    return where(x > 0, x, alpha * expm1(where(x > 0, 0.0, x)))


@compiled_if_large("input")
def celu(input: Any, alpha: float = 1.0) -> Any:
    """x where it is positive, else alpha (exp(x / alpha) - 1).

    >>> celu([-1.0, 2.0], 2.0)
    array([-0.78693868,  2.        ])
    """
    x = as_operand(input)
    return where(x > 0, x, alpha * expm1(where(x > 0, 0.0, x) / alpha))


@compiled_if_large("input")
def selu(input: Any) -> Any:
    """`elu` with the scale and the alpha that keep mean and variance of a standard normal input.

    >>> selu([-1.0, 2.0])
    array([-1.11133074,  2.10140197])
    """
    return SELU_SCALE * elu(input, SELU_ALPHA)


@compiled_if_large("input")
def gelu(input: Any, approximate: str = "none") -> Any:
    """x times the probability that a standard normal number is below it; or its approximation by tanh.

    >>> gelu([-1.0, 2.0])
    array([-0.15865525,  1.95449974])
    >>> gelu([-1.0, 2.0], approximate="tanh")
    array([-0.15880801,  1.95459769])
    """
    x = as_operand(input)
    if approximate == "none":
        return 0.5 * x * (1.0 + erf(x * ROOT_HALF))
    if approximate == "tanh":
        return 0.5 * x * (1.0 + tanh(ROOT_TWO_OVER_PI * (x + 0.044715 * (x * x * x))))
    raise user_error(ValueError, f"gelu: approximate={approximate!r}", "Use 'none' or 'tanh'.")


@compiled_if_large("input")
def silu(input: Any) -> Any:
    """x sigmoid(x), also called swish.

    >>> silu([-1.0, 2.0])
    array([-0.26894142,  1.76159416])
    """
    x = as_operand(input)
    return x * sigmoid(x)


@compiled_if_large("input")
def mish(input: Any) -> Any:
    """x tanh(softplus(x)).

    >>> mish([-1.0, 2.0])
    array([-0.30340146,  1.94395896])
    """
    x = as_operand(input)
    return x * tanh(log_one_plus_exp(x))


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """log(1 + exp(beta x)) / beta, without overflow; x where beta x is above the threshold.

    >>> softplus([0.0, 1000.0])
    array([6.93147181e-01, 1.00000000e+03])
    """
    x = as_operand(input)
    scaled = x if beta == 1 else x * beta
    smooth = log_one_plus_exp(scaled)
    return where(scaled > threshold, x, smooth if beta == 1 else smooth / beta)


@compiled_if_large("input")
def softsign(input: Any) -> Any:
    """x / (1 + |x|).

    >>> softsign([-1.0, 3.0])
    array([-0.5 ,  0.75])
    """
    x = as_operand(input)
    return x / (1.0 + absolute(x))


@compiled_if_large("input")
def tanhshrink(input: Any) -> Any:
    """x - tanh(x).

    >>> tanhshrink([0.0, 2.0])
    array([0.        , 1.03597242])
    """
    x = as_operand(input)
    return x - tanh(x)


def softshrink(input: Any, lambd: float = 0.5) -> Any:
    """x moved towards zero by lambd, and zero if that is further than it is away.

    >>> softshrink([-2.0, 0.1, 1.0])
    array([-1.5,  0. ,  0.5])
    """
    x = as_operand(input)
    return where(x > lambd, x - lambd, where(x < -lambd, x + lambd, 0.0 * x))


def hardshrink(input: Any, lambd: float = 0.5) -> Any:
    """x, and zero where it is within lambd of zero.

    >>> hardshrink([-2.0, 0.1, 1.0])
    array([-2.,  0.,  1.])
    """
    x = as_operand(input)
    return where((x > lambd) | (x < -lambd), x, 0.0)


def threshold(input: Any, threshold: float, value: float) -> Any:
    """x where it is above a threshold, else a value.

    >>> threshold([0.5, 2.0], 1.0, -1.0)
    array([-1.,  2.])
    """
    x = as_operand(input)
    return where(x > threshold, x, value)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """x held between two bounds; the derivative at a bound is 0.

    >>> hardtanh([-3.0, 0.5, 2.0])
    array([-1. ,  0.5,  1. ])
    """
    x = as_operand(input)
    return where(x <= min_val, min_val, where(x >= max_val, max_val, x))


def relu6(input: Any) -> Any:
    """x held between 0 and 6.

    >>> relu6([-1.0, 3.0, 9.0])
    array([0., 3., 6.])
    """
    return hardtanh(input, 0.0, 6.0)


def hardsigmoid(input: Any) -> Any:
    """x / 6 + 1/2, held between 0 and 1.

    >>> hardsigmoid([-4.0, 0.0, 1.5])
    array([0.  , 0.5 , 0.75])
    """
    x = as_operand(input)
    return hardtanh(x + 3.0, 0.0, 6.0) / 6.0


@compiled_if_large("input")
def hardswish(input: Any) -> Any:
    """x `hardsigmoid`(x).

    >>> hardswish([-4.0, 1.5, 4.0])
    array([0.   , 1.125, 4.   ])
    """
    x = as_operand(input)
    return where(x <= -3.0, 0.0, where(x >= 3.0, x, x * (x + 3.0) / 6.0))


@compiled_if_large("input")
def logsigmoid(input: Any) -> Any:
    """log(sigmoid(x)), without overflow.

    >>> logsigmoid([-1000.0, 0.0])
    array([-1.00000000e+03, -6.93147181e-01])
    """
    return entropy.log_expit(input)


def glu(input: Any, dim: int = -1) -> Any:
    """The first half of an axis times the sigmoid of the second half.

    >>> glu([1.0, 2.0, 0.0, 0.0])
    array([0.5, 1. ])
    """
    x = as_operand(input)
    if x.shape[dim] % 2:
        raise user_error(ValueError, f"glu: axis {dim} of an input of shape {x.shape} has no halves")
    a, b = split(x, 2, dim)
    return a * sigmoid(b)


def softmax(input: Any, dim: int | None = None, dtype: Any = None) -> Any:
    """exp(x) in proportion to its sum along an axis.

    >>> softmax([1000.0, 1000.0], dim=0)
    array([0.5, 0.5])
    """
    x = as_operand(input) if dtype is None else astype(input, dtype)
    return entropy.softmax(x, class_axis("softmax", x, dim))


@compiled_if_large("input")
def softmin(input: Any, dim: int | None = None, dtype: Any = None) -> Any:
    """`softmax` of -x.

    >>> softmin([1000.0, 1000.0], dim=0)
    array([0.5, 0.5])
    """
    return softmax(-as_operand(input), dim, dtype)


@compiled_if_large("input")
def log_softmax(input: Any, dim: int | None = None, dtype: Any = None) -> Any:
    """The logarithm of `softmax`, without overflow.

    >>> log_softmax([1000.0, 1000.0], dim=0)
    array([-0.69314718, -0.69314718])
    """
    x = as_operand(input) if dtype is None else astype(input, dtype)
    return entropy.log_softmax(x, class_axis("log_softmax", x, dim))


def class_axis(name: str, x: Any, dim: int | None) -> int:
    """The axis to normalise along, which must be given unless there is only one."""
    if dim is None:
        if x.ndim != 1:
            raise user_error(
                ValueError, f"{name} of an input of shape {x.shape} needs an axis", "Pass dim=-1 for the last one."
            )
        return 0
    return dim
