"""Functions of each element: most are operations of the table, under PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.torch.values import as_type, layered, mark_view, plain, promote, viewing
from wengert.core.errors import user_error

UNARY: dict[str, Callable[..., Any]] = {
    "abs": wg.absolute, "absolute": wg.absolute, "acos": wg.arccos, "acosh": wg.arccosh, "angle": wg.angle,
    "arccos": wg.arccos, "arccosh": wg.arccosh, "arcsin": wg.arcsin, "arcsinh": wg.arcsinh, "arctan": wg.arctan,
    "arctanh": wg.arctanh, "asin": wg.arcsin, "asinh": wg.arcsinh, "atan": wg.arctan, "atanh": wg.arctanh,
    "bitwise_not": wg.invert, "ceil": wg.ceil, "cos": wg.cos, "cosh": wg.cosh,
    "deg2rad": wg.deg2rad, "exp": wg.exp, "exp2": wg.exp2, "expm1": wg.expm1, "fix": wg.trunc, "floor": wg.floor,
    "isfinite": wg.isfinite, "isinf": wg.isinf, "isnan": wg.isnan, "isneginf": wg.isneginf, "isposinf": wg.isposinf,
    "isreal": wg.isreal, "log": wg.log, "log10": wg.log10, "log1p": wg.log1p, "log2": wg.log2,
    "logical_not": wg.logical_not, "neg": wg.negative, "negative": wg.negative,
    "rad2deg": wg.rad2deg, "reciprocal": wg.reciprocal, "relu": wg.relu,
    "sgn": wg.sign, "sigmoid": wg.sigmoid, "sign": wg.sign, "signbit": wg.signbit, "sin": wg.sin, "sinc": wg.sinc,
    "sinh": wg.sinh, "sqrt": wg.sqrt, "square": wg.square, "tan": wg.tan, "tanh": wg.tanh, "trunc": wg.trunc,
}  # fmt: skip

SPECIAL: dict[str, Callable[..., Any]] = {
    "digamma": wg.special.digamma, "erf": wg.special.erf, "erfc": wg.special.erfc, "erfinv": wg.special.erfinv,
    "i0": wg.special.i0, "lgamma": wg.special.gammaln,
}  # fmt: skip
"""Functions of `torch.special` that are in `torch` and methods too."""

BINARY: dict[str, Callable[..., Any]] = {
    "arctan2": wg.arctan2, "atan2": wg.arctan2, "bitwise_and": wg.bitwise_and, "bitwise_left_shift": wg.left_shift,
    "bitwise_or": wg.bitwise_or, "bitwise_right_shift": wg.right_shift, "bitwise_xor": wg.bitwise_xor,
    "copysign": wg.copysign, "eq": wg.equal, "float_power": wg.float_power, "floor_divide": wg.floor_divide,
    "fmax": wg.fmax, "fmin": wg.fmin, "fmod": wg.fmod, "gcd": wg.gcd, "ge": wg.greater_equal, "greater": wg.greater,
    "greater_equal": wg.greater_equal, "gt": wg.greater, "heaviside": wg.heaviside, "hypot": wg.hypot, "lcm": wg.lcm,
    "ldexp": wg.ldexp, "le": wg.less_equal, "less": wg.less, "less_equal": wg.less_equal, "logaddexp": wg.logaddexp,
    "logaddexp2": wg.logaddexp2, "logical_and": wg.logical_and, "logical_or": wg.logical_or,
    "logical_xor": wg.logical_xor, "lt": wg.less, "maximum": wg.maximum, "minimum": wg.minimum, "mul": wg.multiply,
    "multiply": wg.multiply, "ne": wg.not_equal, "nextafter": wg.nextafter, "not_equal": wg.not_equal,
    "pow": wg.pow, "remainder": wg.remainder,
}  # fmt: skip

ROUNDING = {"floor": wg.floor, "trunc": wg.trunc}


def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`input + alpha * other`."""
    return wg.add(input, other) if alpha == 1 else wg.add(input, wg.multiply(other, alpha))


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`input - alpha * other`."""
    return wg.subtract(input, other) if alpha == 1 else wg.subtract(input, wg.multiply(other, alpha))


def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`other - alpha * input`."""
    return sub(other, input, alpha=alpha)


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """`input / other`, rounded down (`floor`) or towards zero (`trunc`) if a mode is given."""
    quotient = wg.divide(input, other)
    if rounding_mode is None:
        return quotient
    if rounding_mode not in ROUNDING:
        raise user_error(ValueError, f"rounding_mode={rounding_mode!r}", "Use 'floor', 'trunc' or None.")
    dtype = promote(input, other)[0]
    return as_type(ROUNDING[rounding_mode](quotient), dtype)


def rsqrt(input: Any) -> Any:
    """`1 / sqrt(input)`."""
    return wg.reciprocal(wg.sqrt(input))


def frac(input: Any) -> Any:
    """What `trunc` leaves of each number."""
    return wg.subtract(input, wg.trunc(input))


@layered
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """Numbers below `min` as `min`, and above `max` as `max`; at a bound, the derivative is 1."""
    if min is None and max is None:
        raise user_error(ValueError, "clamp needs `min` or `max`")
    bounds = [b if b is None else promote(input, b)[2] for b in (min, max)]
    out = input
    for bound, beyond in zip(bounds, (wg.less, wg.greater), strict=True):
        if bound is not None:
            out = promote(out, bound)[1]
            out = wg.where(beyond(out, bound), wg.asarray(bound, dtype=out.dtype), out)
    return out


def clamp_min(input: Any, min: Any) -> Any:
    """`clamp(input, min=min)`."""
    return clamp(input, min)


def clamp_max(input: Any, max: Any) -> Any:
    """`clamp(input, max=max)`."""
    return clamp(input, None, max)


@layered
def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """`input` where the condition holds, and `other` elsewhere; without them, the indices where it holds."""
    if input is None and other is None:
        return wg.nonzero(condition)
    _, x, y = promote(input, other)
    if not isinstance(x, wg.Array | np.ndarray) and not isinstance(y, wg.Array | np.ndarray):
        x = np.asarray(x, promote(input, other)[0])
    return wg.where(condition, x, y)


def lerp(input: Any, end: Any, weight: Any) -> Any:
    """`input + weight * (end - input)`."""
    return wg.add(input, wg.multiply(weight, wg.subtract(end, input)))


def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """`input + value * tensor1 * tensor2`."""
    return add(input, wg.multiply(tensor1, tensor2), alpha=value)


def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """`input + value * tensor1 / tensor2`."""
    return add(input, wg.divide(tensor1, tensor2), alpha=value)


@layered
def round(input: Any, *, decimals: int = 0) -> Any:
    """Numbers rounded to even."""
    return wg.round(input, decimals)


@layered
def logit(input: Any, eps: float | None = None) -> Any:
    """`log(input / (1 - input))`, of numbers between `eps` and `1 - eps`."""
    return wg.special.logit(input if eps is None else wg.clip(input, eps, 1 - eps))


@layered
def xlogy(input: Any, other: Any) -> Any:
    """`input * log(other)`, 0 where `input` is."""
    _, x, y = promote(input, other)
    return wg.special.xlogy(x, y)


@layered
def polygamma(n: int, input: Any) -> Any:
    """The derivative of order n of the digamma function."""
    return wg.special.polygamma(n, input)


@layered
def mvlgamma(input: Any, p: int) -> Any:
    """The logarithm of the multivariate gamma function in p dimensions."""
    return wg.special.multigammaln(input, p)


@layered
def nan_to_num(input: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Numbers in place of NaN and infinities."""
    return wg.nan_to_num(input, nan=nan, posinf=posinf, neginf=neginf)


def softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """Exponentials along an axis, divided by their sum."""
    return _softmax(input if dtype is None else wg.astype(input, dtype), dim)


def log_softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """The logarithm of `softmax`."""
    return _log_softmax(input if dtype is None else wg.astype(input, dtype), dim)


_softmax = layered(lambda x, dim: wg.special.softmax(x, dim))
_log_softmax = layered(lambda x, dim: wg.special.log_softmax(x, dim))


@layered
def isclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Whether numbers are equal up to a tolerance."""
    return wg.isclose(input, other, rtol, atol, equal_nan)


def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all numbers are equal up to a tolerance."""
    return bool(wg.allclose(plain(input), plain(other), rtol, atol, equal_nan))


def equal(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape and numbers."""
    return bool(wg.array_equal(plain(input), plain(other)))


@layered
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Whether each number is one of others."""
    return wg.isin(elements, test_elements, assume_unique=assume_unique, invert=invert)


@layered
def fill(input: Any, value: Any) -> Any:
    """One number everywhere, of the size and type of a tensor."""
    return wg.broadcast_to(wg.astype(wg.asarray(value), input.dtype), input.shape)


def is_nonzero(input: Any) -> bool:
    """Whether the only number of a tensor is not zero."""
    return bool(input.item() != 0)


@layered
def igamma(input: Any, other: Any) -> Any:
    """The lower incomplete gamma function, regularised."""
    return wg.special.gammainc(input, other)


@layered
def igammac(input: Any, other: Any) -> Any:
    """The upper incomplete gamma function, regularised."""
    return wg.special.gammaincc(input, other)


@layered
def frexp(input: Any) -> Any:
    """Each number as a mantissa and an exponent of 2."""
    return tuple(wg.frexp(input))


@layered
def gradient(input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> Any:
    """Central differences along each axis."""
    axes = range(input.ndim) if dim is None else dim if isinstance(dim, tuple | list) else (dim,)
    steps = spacing if isinstance(spacing, tuple | list) else [spacing] * len(axes)
    return tuple(wg.gradient(input, h, axis=a, edge_order=edge_order) for h, a in zip(steps, axes, strict=True))


def positive(input: Any) -> Any:
    """The tensor itself."""
    return input


resolve_conj = positive


def conj(input: Any) -> Any:
    """The complex conjugates; a tensor of real numbers itself."""
    return wg.conj(input) if input.dtype.kind == "c" else input


def real(input: Any) -> Any:
    """The real part; a tensor of real numbers itself."""
    return real_part(input) if input.dtype.kind == "c" else input


real_part = viewing(lambda input: mark_view(wg.real(input)))


@viewing
def imag(input: Any) -> Any:
    """The imaginary part."""
    return mark_view(wg.imag(input))


@layered
def complex(real: Any, imag: Any) -> Any:
    """Complex numbers of their parts."""
    return wg.add(real, wg.multiply(imag, 1j))


@layered
def polar(abs: Any, angle: Any) -> Any:
    """Complex numbers of their absolute values and angles."""
    return wg.multiply(abs, wg.exp(wg.multiply(angle, 1j)))


@viewing
def view_as_real(input: Any) -> Any:
    """Complex numbers as pairs along a last axis."""
    return mark_view(wg.stack([wg.real(input), wg.imag(input)], axis=-1))


@viewing
def view_as_complex(input: Any) -> Any:
    """Pairs along the last axis as complex numbers."""
    return mark_view(wg.add(input[..., 0], wg.multiply(input[..., 1], 1j)))


subtract, divide, true_divide, clip = sub, div, div, clamp
for _name, _function in (UNARY | SPECIAL | BINARY).items():
    globals()[_name] = _function

__all__ = [
    *UNARY, *SPECIAL, *BINARY,
    "add", "addcdiv", "addcmul", "allclose", "clamp", "clamp_max", "clamp_min", "clip", "complex", "conj", "div",
    "divide", "equal", "fill", "frac", "frexp", "gradient", "igamma", "igammac", "imag", "is_nonzero", "isclose",
    "isin", "lerp", "log_softmax", "logit", "mvlgamma", "nan_to_num", "polar", "polygamma", "positive", "real",
    "resolve_conj", "round", "rsqrt", "rsub", "softmax", "sub", "subtract", "true_divide", "view_as_complex",
    "view_as_real", "where", "xlogy",
]  # fmt: skip
