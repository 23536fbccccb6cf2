"""`wg.nn.init`: initial numbers of parameters. Each function fills a tensor in place and returns it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.modes.tensor import Tensor
from wengert.random.generator import default_rng

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_",
    "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip

GAINS = {
    "linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "conv_transpose1d": 1.0, "conv_transpose2d": 1.0,
    "conv_transpose3d": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3.0, "relu": math.sqrt(2.0), "selu": 0.75,
}  # fmt: skip


def fill(tensor: Any, numbers: Any) -> Tensor:
    """Assign numbers to a tensor; no tape records it."""
    if not isinstance(tensor, Tensor):
        raise user_error(TypeError, f"wg.nn.init fills a tensor in place, and was given a {type(tensor).__name__}")
    tensor.data = np.array(np.broadcast_to(numbers, tensor.shape), tensor.dtype)
    return tensor


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, rng: Any = None) -> Tensor:
    """Numbers from the uniform distribution on [a, b).

    >>> from wengert.nn import Parameter
    >>> w = uniform_(Parameter([0.0, 0.0, 0.0]), -1.0, 1.0, rng=0)
    >>> bool((abs(w) <= 1.0).all())
    True
    """
    return fill(tensor, default_rng(rng).numpy.uniform(a, b, tensor.shape))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, rng: Any = None) -> Tensor:
    """Numbers from a normal distribution.

    >>> from wengert.nn import Parameter
    >>> normal_(Parameter([0.0]), mean=5.0, std=0.0)
    tensor([5.], requires_grad=True)
    """
    return fill(tensor, default_rng(rng).numpy.normal(mean, std, tensor.shape))


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, rng: Any = None
) -> Tensor:
    """Numbers from a normal distribution, those that are between a and b.

    >>> from wengert.nn import Parameter
    >>> w = trunc_normal_(Parameter([0.0, 0.0]), a=0.5, b=1.0, rng=0)
    >>> bool((w >= 0.5).all() and (w <= 1.0).all())
    True
    """
    from scipy.special import ndtr, ndtri

    below, above = ndtr((a - mean) / std), ndtr((b - mean) / std)
    numbers = mean + std * ndtri(default_rng(rng).numpy.uniform(below, above, tensor.shape))
    return fill(tensor, np.clip(numbers, a, b))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """One number everywhere.

    >>> from wengert.nn import Parameter
    >>> constant_(Parameter([0.0, 0.0]), 3.0)
    tensor([3., 3.], requires_grad=True)
    """
    return fill(tensor, val)


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros.

    >>> from wengert.nn import Parameter
    >>> zeros_(Parameter([1.0, 2.0]))
    tensor([0., 0.], requires_grad=True)
    """
    return fill(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Ones.

    >>> from wengert.nn import Parameter
    >>> ones_(Parameter([0.0, 2.0]))
    tensor([1., 1.], requires_grad=True)
    """
    return fill(tensor, 1.0)


def eye_(tensor: Tensor) -> Tensor:
    """Ones on the diagonal of a matrix, zeros elsewhere.

    >>> from wengert.nn import Parameter
    >>> eye_(Parameter([[0.0, 1.0], [2.0, 3.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if tensor.ndim != 2:
        raise user_error(ValueError, f"eye_ fills a matrix, and was given the shape {tensor.shape}")
    return fill(tensor, np.eye(tensor.shape[0], tensor.shape[1]))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Filters of a convolution that keep the first channels of their input.

    >>> from wengert.nn import Parameter
    >>> dirac_(Parameter(np.zeros((1, 1, 3)))).tolist()
    [[[0.0, 1.0, 0.0]]]
    """
    if tensor.ndim not in (3, 4, 5) or tensor.shape[0] % groups:
        raise user_error(
            ValueError, f"dirac_ fills filters (out, in, *size) in {groups} groups, and was given {tensor.shape}"
        )
    numbers = np.zeros(tensor.shape)
    filters = tensor.shape[0] // groups
    middle = tuple([n // 2 for n in tensor.shape[2:]])
    for group in range(groups):
        for i in range(min(filters, tensor.shape[1])):
            numbers[(group * filters + i, i, *middle)] = 1.0
    return fill(tensor, numbers)


def fans(tensor: Tensor) -> tuple[int, int]:
    """How many inputs each output has, and how many outputs each input."""
    if tensor.ndim < 2:
        raise user_error(
            ValueError,
            f"A tensor of shape {tensor.shape} has no inputs and outputs to scale by",
            "Weights have at least two axes, (out, in, ...).",
        )
    size = math.prod(tensor.shape[2:])
    return tensor.shape[1] * size, tensor.shape[0] * size


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which initial weights are larger if this function follows.

    >>> calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1.0 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in GAINS:
        raise user_error(ValueError, f"There is no gain for {nonlinearity!r}", f"Use one of {', '.join(GAINS)}.")
    return GAINS[nonlinearity]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, rng: Any = None) -> Tensor:
    """Uniform numbers of variance 2 gain^2 / (fan_in + fan_out) (Glorot and Bengio 2010).

    >>> from wengert.nn import Parameter
    >>> w = xavier_uniform_(Parameter(np.zeros((3, 3))), rng=0)
    >>> bool((abs(w) <= 1.0).all())
    True
    """
    bound = gain * math.sqrt(6.0 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, rng)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, rng: Any = None) -> Tensor:
    """Normal numbers of variance 2 gain^2 / (fan_in + fan_out) (Glorot and Bengio 2010).

    >>> from wengert.nn import Parameter
    >>> xavier_normal_(Parameter(np.zeros((3, 3))), rng=0).shape
    (3, 3)
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans(tensor))), rng)


def kaiming_scale(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    """The standard deviation of Kaiming's initial weights."""
    if mode not in ("fan_in", "fan_out"):
        raise user_error(ValueError, f"mode={mode!r}", "The modes are 'fan_in' and 'fan_out'.")
    return calculate_gain(nonlinearity, a) / math.sqrt(fans(tensor)[mode == "fan_out"])


def kaiming_uniform_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", rng: Any = None
) -> Tensor:
    """Uniform numbers of variance gain^2 / fan (He et al. 2015); a is the negative slope of `leaky_relu`.

    >>> from wengert.nn import Parameter
    >>> w = kaiming_uniform_(Parameter(np.zeros((3, 6))), rng=0)
    >>> bool((abs(w) <= 1.0).all())
    True
    """
    bound = math.sqrt(3.0) * kaiming_scale(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, rng)


def kaiming_normal_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", rng: Any = None
) -> Tensor:
    """Normal numbers of variance gain^2 / fan (He et al. 2015); a is the negative slope of `leaky_relu`.

    >>> from wengert.nn import Parameter
    >>> kaiming_normal_(Parameter(np.zeros((3, 6))), nonlinearity="relu", rng=0).shape
    (3, 6)
    """
    return normal_(tensor, 0.0, kaiming_scale(tensor, a, mode, nonlinearity), rng)


def orthogonal_(tensor: Tensor, gain: float = 1.0, rng: Any = None) -> Tensor:
    """A matrix, the first axis against all others, with orthonormal rows or columns, times a gain.

    >>> from wengert.nn import Parameter
    >>> w = orthogonal_(Parameter(np.zeros((2, 5))), rng=0).detach().numpy()
    >>> bool(np.allclose(w @ w.T, np.eye(2)))
    True
    """
    fans(tensor)
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    numbers = default_rng(rng).numpy.normal(size=(max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(numbers)
    q = q * np.sign(np.diag(r))  # which makes the distribution uniform
    return fill(tensor, gain * (q if rows >= columns else q.T).reshape(tensor.shape))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, rng: Any = None) -> Tensor:
    """A matrix of normal numbers of which a fraction of each column is zero.

    >>> from wengert.nn import Parameter
    >>> int((sparse_(Parameter(np.zeros((4, 3))), 0.5, rng=0) == 0).sum())
    6
    """
    if tensor.ndim != 2:
        raise user_error(ValueError, f"sparse_ fills a matrix, and was given the shape {tensor.shape}")
    generator = default_rng(rng).numpy
    numbers = generator.normal(0.0, std, tensor.shape)
    for column in numbers.T:
        column[generator.permutation(column.size)[: math.ceil(sparsity * column.size)]] = 0.0
    return fill(tensor, numbers)
