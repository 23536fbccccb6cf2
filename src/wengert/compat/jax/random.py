"""`jax.random`: numbers that are functions of a key.

A key is an array of two integers. The numbers are not JAX's: they are hashes of the key and a counter, as those of
`wengert.random.counter_rng`. Equal keys give equal numbers, in eager and compiled functions and for each element of a
batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.jax.arrays import array, to_array
from wengert.compat.jax.differences import ABSENT
from wengert.core.errors import user_error
from wengert.core.primitive import as_operand
from wengert.ops.samples.counter_words import random_normal, random_uniform, random_words
from wengert.ops.special.quantile import gammaincinv
from wengert.random.counter_generator import CounterGenerator, folded_state

__all__ = [
    "PRNGKey", "ball", "bernoulli", "beta", "bits", "categorical", "cauchy", "chisquare", "choice", "clone",
    "dirichlet", "double_sided_maxwell", "exponential", "f", "fold_in", "gamma", "geometric", "gumbel", "key",
    "key_data", "laplace", "loggamma", "logistic", "lognormal", "maxwell", "multivariate_normal", "normal",
    "orthogonal", "pareto", "permutation", "rademacher", "randint", "rayleigh", "split", "t", "triangular",
    "truncated_normal", "uniform", "weibull_min", "wrap_key_data",
]  # fmt: skip

__getattr__ = without(__name__, ABSENT)

Shape = Sequence[int]

# Keys


ROOT = np.array([0x243F6A8885A308D3, 0x13198A2E03707344])
"""The key that seeds are folded into: digits of pi."""


def key(seed: Any, *, impl: Any = None) -> Any:
    """The key of a seed, an integer."""
    if impl is not None:
        raise user_error(NotImplementedError, f"There is one kind of keys, and no impl={impl!r}")
    return fold_in(ROOT, seed)


PRNGKey = key


def first_state(key: Any) -> Any:
    """The state of the generator at the beginning of the sequence of a key."""
    key = as_operand(key)
    if key.shape != (2,) or key.dtype != np.int64:
        raise user_error(
            TypeError,
            f"A key of jax.random has two integers, not {key.dtype} of shape {key.shape}",
            "Make one with jax.random.key(seed); use jax.vmap for several.",
        )
    return wg.concatenate([key, np.zeros(1, np.int64)])


def split(key: Any, num: int | Sequence[int] = 2) -> Any:
    """New keys, which are words of the sequence of this one."""
    size = (num,) if isinstance(num, int | np.integer) else tuple(num)
    return to_array(random_words(first_state(key), size=(*size, 2)))


def fold_in(key: Any, data: Any) -> Any:
    """The key that an integer chooses."""
    return to_array(folded_state(first_state(key), as_operand(data)))[:2]


def clone(key: Any) -> Any:
    """The key itself."""
    return key


def key_data(keys: Any) -> Any:
    """The integers of a key, which it is."""
    return keys


def wrap_key_data(key_bits_array: Any, *, impl: Any = None) -> Any:  # noqa: ARG001  # there is one
    """The key of these integers."""
    return array(key_bits_array)


class KeyGenerator(CounterGenerator):
    """A generator that begins at a key and is used once, so that nothing changes in place."""

    __slots__ = ()

    def __init__(self, key: Any):
        self._state = first_state(key)

    def _take(self, n: int) -> Any:  # noqa: ARG002  # each draw has its own generator
        return self._state


# Numbers


def as_shape(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, int | np.integer) else tuple(shape)


def normal(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Normal with mean 0 and standard deviation 1."""
    return to_array(random_normal(first_state(key), size=as_shape(shape), dtype=np.dtype(dtype)))


def uniform(key: Any, shape: Shape = (), dtype: Any = float, minval: Any = 0.0, maxval: Any = 1.0) -> Any:
    """Uniform between two bounds."""
    u = to_array(random_uniform(first_state(key), size=as_shape(shape), dtype=np.dtype(dtype), low=False))
    plain = isinstance(minval, int | float) and isinstance(maxval, int | float)
    if plain and (minval, maxval) == (0, 1):
        return u
    low = array(minval, dtype)
    return low + (array(maxval, dtype) - low) * u


def bits(key: Any, shape: Shape = (), dtype: Any = np.uint32) -> Any:
    """Random bits as integers."""
    return to_array(random_words(first_state(key), size=as_shape(shape))).astype(dtype)


def randint(key: Any, shape: Shape, minval: Any, maxval: Any, dtype: Any = int) -> Any:
    """Integers from minval up to, but not including, maxval."""
    return to_array(KeyGenerator(key).integers(minval, maxval, as_shape(shape), dtype))


def broadcast_shape(shape: Shape | None, *parameters: Any) -> tuple[int, ...]:
    """The shape of a draw: that of the parameters if none is given."""
    return np.broadcast_shapes(*[as_operand(p).shape for p in parameters]) if shape is None else as_shape(shape)


def bernoulli(key: Any, p: Any = 0.5, shape: Shape | None = None) -> Any:
    """True with probability p."""
    return uniform(key, broadcast_shape(shape, p)) < p


def rademacher(key: Any, shape: Shape = (), dtype: Any = int) -> Any:
    """-1 or 1."""
    return (2 * randint(key, shape, 0, 2) - 1).astype(dtype)


def truncated_normal(key: Any, lower: Any, upper: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Normal between two bounds."""
    size = broadcast_shape(shape, lower, upper)
    return to_array(KeyGenerator(key).truncated_normal(0.0, 1.0, lower, upper, size)).astype(dtype)


def exponential(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Exponential with mean 1."""
    return -wg.log(uniform(key, shape, dtype))


def gumbel(key: Any, shape: Shape = (), dtype: Any = float, mode: Any = None) -> Any:  # noqa: ARG001  # of JAX's numbers
    """Gumbel-distributed."""
    return -wg.log(exponential(key, shape, dtype))


def logistic(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Logistic."""
    u = uniform(key, shape, dtype)
    return wg.log(u) - wg.log1p(-u)


def laplace(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Laplace with scale 1."""
    u = 2.0 * uniform(key, shape, dtype) - 1.0
    return -wg.sign(u) * wg.log1p(-wg.abs(u))


def cauchy(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Cauchy."""
    return wg.tan(math.pi * (uniform(key, shape, dtype) - 0.5))


def pareto(key: Any, b: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Pareto with shape b."""
    return wg.exp(exponential(key, broadcast_shape(shape, b), dtype) / array(b, dtype))


def rayleigh(key: Any, scale: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Rayleigh."""
    return array(scale, dtype) * wg.sqrt(2.0 * exponential(key, broadcast_shape(shape, scale), dtype))


def weibull_min(key: Any, scale: Any, concentration: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Weibull."""
    return array(scale, dtype) * exponential(key, shape, dtype) ** (1.0 / array(concentration, dtype))


def lognormal(key: Any, sigma: Any = 1.0, shape: Shape | None = None, dtype: Any = float) -> Any:
    """The exponential of a normal number."""
    return wg.exp(array(sigma, dtype) * normal(key, broadcast_shape(shape, sigma), dtype))


def maxwell(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """The length of a normal vector of three."""
    return wg.linalg.norm(normal(key, (*as_shape(shape), 3), dtype), axis=-1)


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Maxwell with a random sign."""
    first, second = split(key)
    return array(loc, dtype) + array(scale, dtype) * rademacher(first, shape, dtype) * maxwell(second, shape, dtype)


def triangular(key: Any, left: Any, mode: Any, right: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Triangular between left and right."""
    u = uniform(key, broadcast_shape(shape, left, mode, right), dtype)
    left, mode, right = array(left, dtype), array(mode, dtype), array(right, dtype)
    width = right - left
    rises = left + wg.sqrt(u * width * (mode - left))
    return wg.where(u * width < mode - left, rises, right - wg.sqrt((1.0 - u) * width * (right - mode)))


def geometric(key: Any, p: Any, shape: Shape | None = None, dtype: Any = int) -> Any:
    """The number of trials up to the first success."""
    u = uniform(key, broadcast_shape(shape, p))
    return wg.floor(wg.log(u) / wg.log1p(-array(p)) + 1.0).astype(dtype)


# Gamma and what is made of it: the quantile of a uniform number, with its derivative with respect to the shape


def gamma(key: Any, a: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Gamma with shape a and scale 1."""
    a = array(a, dtype)
    return gammaincinv(a, uniform(key, broadcast_shape(shape, a), dtype))


def loggamma(key: Any, a: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """The logarithm of a gamma number."""
    return wg.log(gamma(key, a, shape, dtype))


def chisquare(key: Any, df: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Twice a gamma number."""
    return 2.0 * gamma(key, 0.5 * array(df, dtype), shape, dtype)


def beta(key: Any, a: Any, b: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """The share of one of two gamma numbers."""
    first, second = split(key)
    size = broadcast_shape(shape, a, b)
    x, y = gamma(first, a, size, dtype), gamma(second, b, size, dtype)
    return x / (x + y)


def dirichlet(key: Any, alpha: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Shares of gamma numbers."""
    alpha = array(alpha, dtype)
    size = alpha.shape if shape is None else (*as_shape(shape), alpha.shape[-1])
    parts = gamma(key, alpha, size, dtype)
    return parts / parts.sum(axis=-1, keepdims=True)


def t(key: Any, df: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Student's t."""
    first, second = split(key)
    df, size = array(df, dtype), broadcast_shape(shape or None, df)
    return normal(first, size, dtype) * wg.sqrt(df / chisquare(second, df, size, dtype))


def f(key: Any, dfnum: Any, dfden: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """The quotient of two chi-square numbers, each divided by its degrees of freedom."""
    first, second = split(key)
    dfnum, dfden, size = array(dfnum, dtype), array(dfden, dtype), broadcast_shape(shape, dfnum, dfden)
    return chisquare(first, dfnum, size, dtype) / dfnum / (chisquare(second, dfden, size, dtype) / dfden)


# Vectors, choices


def multivariate_normal(
    key: Any, mean: Any, cov: Any, shape: Shape | None = None, dtype: Any = float, method: str = "cholesky"
) -> Any:
    """Normal vectors with a mean and a covariance."""
    if method != "cholesky":
        raise user_error(NotImplementedError, f"multivariate_normal has the method 'cholesky' here, not {method!r}")
    mean, cov = array(mean, dtype), array(cov, dtype)
    size = np.broadcast_shapes(mean.shape[:-1], cov.shape[:-2]) if shape is None else as_shape(shape)
    noise = normal(key, (*size, mean.shape[-1]), dtype)
    return mean + (wg.linalg.cholesky(cov) @ noise[..., None])[..., 0]


def orthogonal(key: Any, n: int, shape: Shape = (), dtype: Any = float) -> Any:
    """Orthogonal matrices."""
    q, r = wg.linalg.qr(normal(key, (*as_shape(shape), n, n), dtype))
    return to_array(q * wg.sign(wg.linalg.diagonal(r))[..., None, :])


def ball(key: Any, d: int, p: float = 2, shape: Shape = (), dtype: Any = float) -> Any:
    """Points of the unit ball in d dimensions."""
    if p != 2:
        raise user_error(NotImplementedError, f"ball has p=2 here, not {p}")
    first, second = split(key)
    direction = normal(first, (*as_shape(shape), d), dtype)
    radius = uniform(second, (*as_shape(shape), 1), dtype) ** (1.0 / d)
    return radius * direction / wg.linalg.norm(direction, axis=-1, keepdims=True)


def categorical(key: Any, logits: Any, axis: int = -1, shape: Shape | None = None) -> Any:
    """Indices along an axis, with probabilities softmax(logits)."""
    logits = array(logits)
    rest = list(logits.shape)
    del rest[axis]
    size = tuple(rest) if shape is None else as_shape(shape)
    lead = size[: len(size) - len(rest)]
    noise = gumbel(key, (*lead, *logits.shape))
    return to_array(wg.argmax(wg.stop_gradient(logits) + noise, axis if axis < 0 else axis + len(lead)))


def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False) -> Any:
    """x in random order along an axis, or the integers up to x."""
    if independent:
        raise user_error(NotImplementedError, "permutation has no independent=True here")
    return to_array(KeyGenerator(key).permutation(x, axis))


def choice(key: Any, a: Any, shape: Shape = (), replace: bool = True, p: Any = None, axis: int = 0) -> Any:
    """Elements of `a`, or integers up to `a`, with probabilities p."""
    return to_array(KeyGenerator(key).choice(a, as_shape(shape), replace, p, axis))
