"""`jax.nn`: activations and their like."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.jax.arrays import array, lift, to_array
from wengert.compat.jax.differences import ABSENT
from wengert.compat.jax.nn import initializers as initializers
from wengert.core.errors import user_error
from wengert.nn import functional

__all__ = [
    "celu", "dot_product_attention", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh",
    "identity", "initializers", "leaky_relu", "log_sigmoid", "log_softmax", "logsumexp", "mish", "one_hot", "relu",
    "relu6", "selu", "sigmoid", "silu", "soft_sign", "softmax", "softplus", "sparse_plus", "squareplus", "standardize",
    "swish", "tanh",
]  # fmt: skip

__getattr__ = without(__name__, ABSENT)

silu = swish = lift(functional.silu, "silu")
mish, selu = lift(functional.mish, "mish"), lift(functional.selu, "selu")
log_sigmoid, soft_sign = lift(functional.logsigmoid, "log_sigmoid"), lift(functional.softsign, "soft_sign")


def identity(x: Any) -> Any:
    """x."""
    return array(x)


def relu(x: Any) -> Any:
    """max(x, 0), with derivative 0 at 0."""
    return to_array(wg.relu(x))


def relu6(x: Any) -> Any:
    """x between 0 and 6."""
    return wg.minimum(relu(x), 6.0)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return to_array(wg.sigmoid(x))


def softplus(x: Any) -> Any:
    """log(1 + exp(x))."""
    return wg.logaddexp(array(x), 0.0)


def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return to_array(wg.tanh(x))


def gelu(x: Any, approximate: bool = True) -> Any:
    """x times the normal distribution function, or its approximation by tanh, which is the default."""
    return to_array(functional.gelu(array(x), "tanh" if approximate else "none"))


def elu(x: Any, alpha: Any = 1.0) -> Any:
    """x, or alpha (exp(x) - 1) for negative x."""
    x = array(x)
    return wg.where(x > 0, x, alpha * wg.expm1(wg.where(x > 0, 0.0, x)))


def celu(x: Any, alpha: Any = 1.0) -> Any:
    """x, or alpha (exp(x / alpha) - 1) for negative x."""
    return wg.maximum(array(x), 0.0) + alpha * wg.expm1(wg.minimum(array(x), 0.0) / alpha)


def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Any:
    """x, or x times a small number for negative x."""
    x = array(x)
    return wg.where(x >= 0, x, negative_slope * x)


def hard_tanh(x: Any) -> Any:
    """x between -1 and 1."""
    x = array(x)
    return wg.where(x > 1, 1.0, wg.where(x < -1, -1.0, x))


def hard_sigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6."""
    return relu6(array(x) + 3.0) / 6.0


def hard_silu(x: Any) -> Any:
    """x hard_sigmoid(x)."""
    return array(x) * hard_sigmoid(x)


hard_swish = hard_silu


def squareplus(x: Any, b: Any = 4.0) -> Any:
    """(x + sqrt(x**2 + b)) / 2."""
    return 0.5 * (array(x) + wg.sqrt(array(x) ** 2 + b))


def sparse_plus(x: Any) -> Any:
    """0 up to -1, x from 1 on, and (x + 1)**2 / 4 between."""
    x = array(x)
    return wg.where(x <= -1.0, 0.0, wg.where(x >= 1.0, x, (x + 1.0) ** 2 / 4.0))


def glu(x: Any, axis: int = -1) -> Any:
    """The first half along an axis times the sigmoid of the second."""
    return to_array(functional.glu(array(x), axis))


def softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """exp(x), divided by its sum along an axis; without the elements where a mask is false."""
    if where is None:
        return to_array(wg.special.softmax(array(x), axis))
    return to_array(wg.where(where, wg.special.softmax(wg.where(where, array(x), -np.inf), axis), 0.0))


def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """The logarithm of softmax."""
    x = array(x) if where is None else wg.where(where, array(x), -np.inf)
    return to_array(wg.special.log_softmax(x, axis))


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """The logarithm of the sum of exp(a)."""
    a = array(a) if where is None else wg.where(where, array(a), -np.inf)
    found = wg.special.logsumexp(a, axis=axis, b=b, keepdims=keepdims, return_sign=return_sign)
    return tuple(map(to_array, found)) if return_sign else to_array(found)


def one_hot(x: Any, num_classes: int, *, dtype: Any = float, axis: int = -1) -> Any:
    """Ones at the indices x, zeros elsewhere; an index out of range gives zeros.

    >>> one_hot(np.array([0, 2]), 3)
    Array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float64)
    """
    x = array(x)
    position = axis % (x.ndim + 1)
    classes = np.arange(num_classes).reshape((-1,) + (1,) * (x.ndim - position))
    return (wg.expand_dims(x, position) == classes).astype(dtype)


def standardize(
    x: Any, axis: Any = -1, mean: Any = None, variance: Any = None, epsilon: Any = 1e-5, where: Any = None
) -> Any:
    """x minus its mean, divided by its standard deviation."""
    if where is not None:
        raise user_error(NotImplementedError, "standardize has no `where` here")
    x = array(x)
    mean = wg.mean(x, axis, keepdims=True) if mean is None else mean
    variance = wg.mean(x**2, axis, keepdims=True) - mean**2 if variance is None else variance
    return (x - mean) / wg.sqrt(variance + epsilon)


def dot_product_attention(
    query: Any, key: Any, value: Any, bias: Any = None, mask: Any = None, *, scale: Any = None, is_causal: bool = False
) -> Any:
    """Attention of (batch, time, heads, features)."""
    query, key, value = array(query), array(key), array(value)
    if any(x.ndim != 4 for x in (query, key, value)) or key.shape[2] != query.shape[2]:
        raise user_error(NotImplementedError, "dot_product_attention takes 4 axes, with as many heads of keys, here")
    scores = wg.einsum("bthd,bshd->bhts", query, key) * (query.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if bias is None else scores + bias
    if is_causal:
        causal = np.tril(np.ones(scores.shape[-2:], bool))
        mask = causal if mask is None else wg.logical_and(mask, causal)
    scores = scores if mask is None else wg.where(mask, scores, -1e30)
    return to_array(wg.einsum("bhts,bshd->bthd", wg.special.softmax(scores, -1), value))
