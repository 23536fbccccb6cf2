"""Activation functions as modules. `inplace` is for programs that were written for PyTorch, and has no effect."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.modes.tensor import Tensor
from wengert.nn import functional
from wengert.nn.inputs import to_precision
from wengert.nn.module import Module, Parameter


class ReLU(Module):
    """x where it is positive, else 0; the derivative at 0 is 0.

    >>> ReLU()([-1.0, 2.0])
    array([0., 2.])
    """

    def __init__(self, inplace: bool = False):
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        return functional.relu(input)


class ReLU6(Module):
    """x held between 0 and 6.

    >>> ReLU6()([-1.0, 3.0, 9.0])
    array([0., 3., 6.])
    """

    def __init__(self, inplace: bool = False):
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        return functional.relu6(input)


class LeakyReLU(Module):
    """x where it is positive, else `negative_slope` x.

    >>> LeakyReLU(0.1)([-1.0, 2.0])
    array([-0.1,  2. ])
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False):
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Any) -> Any:
        return functional.leaky_relu(input, self.negative_slope)


class ELU(Module):
    """x where it is positive, else alpha (exp(x) - 1).

    >>> ELU()([-1.0, 2.0])
    array([-0.63212056,  2.        ])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Any) -> Any:
        return functional.elu(input, self.alpha)


class CELU(Module):
    """x where it is positive, else alpha (exp(x / alpha) - 1).

    >>> CELU(2.0)([-1.0, 2.0])
    array([-0.78693868,  2.        ])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Any) -> Any:
        return functional.celu(input, self.alpha)


class SELU(Module):
    """`ELU` with the scale and the alpha that keep mean and variance of a standard normal input.

    >>> SELU()([-1.0, 2.0])
    array([-1.11133074,  2.10140197])
    """

    def __init__(self, inplace: bool = False):
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        return functional.selu(input)


class GELU(Module):
    """x times the probability that a standard normal number is below it; "tanh" is an approximation.

    >>> GELU()([-1.0, 2.0])
    array([-0.15865525,  1.95449974])
    """

    def __init__(self, approximate: str = "none"):
        self.approximate = approximate

    def forward(self, input: Any) -> Any:
        return functional.gelu(input, self.approximate)


class SiLU(Module):
    """x sigmoid(x), also called swish.

    >>> SiLU()([-1.0, 2.0])
    array([-0.26894142,  1.76159416])
    """

    def __init__(self, inplace: bool = False):
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        return functional.silu(input)


class Mish(Module):
    """x tanh(softplus(x)).

    >>> Mish()([-1.0, 2.0])
    array([-0.30340146,  1.94395896])
    """

    def __init__(self, inplace: bool = False):
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        return functional.mish(input)


class Sigmoid(Module):
    """The logistic function 1 / (1 + exp(-x)).

    >>> Sigmoid()([0.0, 2.0])
    array([0.5       , 0.88079708])
    """

    def forward(self, input: Any) -> Any:
        return functional.sigmoid(input)


class LogSigmoid(Module):
    """log(sigmoid(x)), without overflow.

    >>> LogSigmoid()([-1000.0, 0.0])
    array([-1.00000000e+03, -6.93147181e-01])
    """

    def forward(self, input: Any) -> Any:
        return functional.logsigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent.

    >>> Tanh()([0.0, 1.0])
    array([0.        , 0.76159416])
    """

    def forward(self, input: Any) -> Any:
        return functional.tanh(input)


class Tanhshrink(Module):
    """x - tanh(x).

    >>> Tanhshrink()([0.0, 2.0])
    array([0.        , 1.03597242])
    """

    def forward(self, input: Any) -> Any:
        return functional.tanhshrink(input)


class Softplus(Module):
    """log(1 + exp(beta x)) / beta, without overflow; x where beta x is above the threshold.

    >>> Softplus()([0.0, 1000.0])
    array([6.93147181e-01, 1.00000000e+03])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0):
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Any) -> Any:
        return functional.softplus(input, self.beta, self.threshold)


class Softsign(Module):
    """x / (1 + |x|).

    >>> Softsign()([-1.0, 3.0])
    array([-0.5 ,  0.75])
    """

    def forward(self, input: Any) -> Any:
        return functional.softsign(input)


class Softshrink(Module):
    """x moved towards zero by lambd, and zero if that is further than it is away.

    >>> Softshrink()([-2.0, 0.1, 1.0])
    array([-1.5,  0. ,  0.5])
    """

    def __init__(self, lambd: float = 0.5):
        self.lambd = lambd

    def forward(self, input: Any) -> Any:
        return functional.softshrink(input, self.lambd)


class Hardshrink(Module):
    """x, and zero where it is within lambd of zero.

    >>> Hardshrink()([-2.0, 0.1, 1.0])
    array([-2.,  0.,  1.])
    """

    def __init__(self, lambd: float = 0.5):
        self.lambd = lambd

    def forward(self, input: Any) -> Any:
        return functional.hardshrink(input, self.lambd)


class Hardtanh(Module):
    """x held between two bounds; the derivative at a bound is 0.

    >>> Hardtanh()([-3.0, 0.5, 2.0])
    array([-1. ,  0.5,  1. ])
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False):
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace

    def forward(self, input: Any) -> Any:
        return functional.hardtanh(input, self.min_val, self.max_val)


class Hardsigmoid(Module):
    """x / 6 + 1/2, held between 0 and 1.

    >>> Hardsigmoid()([-4.0, 0.0, 1.5])
    array([0.  , 0.5 , 0.75])
    """

    def __init__(self, inplace: bool = False):
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        return functional.hardsigmoid(input)


class Hardswish(Module):
    """x times `Hardsigmoid` of x.

    >>> Hardswish()([-4.0, 1.5, 4.0])
    array([0.   , 1.125, 4.   ])
    """

    def __init__(self, inplace: bool = False):
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        return functional.hardswish(input)


class Threshold(Module):
    """x where it is above a threshold, else a value.

    >>> Threshold(1.0, -1.0)([0.5, 2.0])
    array([-1.,  2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False):
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Any) -> Any:
        return functional.threshold(input, self.threshold, self.value)


class GLU(Module):
    """The first half of an axis times the sigmoid of the second half.

    >>> GLU()([1.0, 2.0, 0.0, 0.0])
    array([0.5, 1. ])
    """

    def __init__(self, dim: int = -1):
        self.dim = dim

    def forward(self, input: Any) -> Any:
        return functional.glu(input, self.dim)


class Softmax(Module):
    """exp(x) in proportion to its sum along an axis.

    >>> Softmax(dim=0)([1000.0, 1000.0])
    array([0.5, 0.5])
    """

    def __init__(self, dim: int | None = None):
        self.dim = dim

    def forward(self, input: Any) -> Any:
        return functional.softmax(input, self.dim)


class Softmin(Module):
    """`Softmax` of -x.

    >>> Softmin(dim=0)([1000.0, 1000.0])
    array([0.5, 0.5])
    """

    def __init__(self, dim: int | None = None):
        self.dim = dim

    def forward(self, input: Any) -> Any:
        return functional.softmin(input, self.dim)


class LogSoftmax(Module):
    """The logarithm of `Softmax`, without overflow.

    >>> LogSoftmax(dim=0)([1000.0, 1000.0])
    array([-0.69314718, -0.69314718])
    """

    def __init__(self, dim: int | None = None):
        self.dim = dim

    def forward(self, input: Any) -> Any:
        return functional.log_softmax(input, self.dim)


class PReLU(Module):
    """x where it is positive, else w x, with one parameter w, or one for each channel (axis 1).

    >>> PReLU(init=0.5)([-1.0, 2.0]).tolist()
    [-0.5, 2.0]
    """

    weight: Tensor

    def __init__(self, num_parameters: int = 1, init: float = 0.25, *, dtype: Any = np.float32):
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(np.full(num_parameters, init), dtype=dtype)

    def forward(self, input: Any) -> Any:
        return functional.prelu(to_precision(input, self.weight, "PReLU"), self.weight)
