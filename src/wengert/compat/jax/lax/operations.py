"""Operations of `jax.lax`, most of them those of `jax.numpy` by other names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.jax.arrays import array, lift, to_array, to_arrays
from wengert.core.errors import user_error
from wengert.core.primitive import as_operand

NAMES = """
    abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor cbrt
    ceil conj cos cosh exp exp2 expm1 floor imag log log1p nextafter pow real reciprocal sign sin sinh
    sqrt square tan tanh stop_gradient broadcast_shapes stack tile unstack
"""
"""Names that are the same in `wengert`."""

OTHERS: dict[str, Callable[..., Any]] = {
    "bessel_i0e": wg.special.i0e,
    "bessel_i1e": wg.special.i1e,
    "betainc": wg.special.betainc,
    "digamma": wg.special.digamma,
    "eq": wg.equal,
    "erf": wg.special.erf,
    "erf_inv": wg.special.erfinv,
    "erfc": wg.special.erfc,
    "ge": wg.greater_equal,
    "gt": wg.greater,
    "igamma": wg.special.gammainc,
    "igammac": wg.special.gammaincc,
    "is_finite": wg.isfinite,
    "le": wg.less_equal,
    "lgamma": wg.special.gammaln,
    "logistic": wg.special.expit,
    "lt": wg.less,
    "max": wg.maximum,
    "min": wg.minimum,
    "mul": wg.multiply,
    "ne": wg.not_equal,
    "neg": wg.negative,
    "polygamma": wg.special.polygamma,
    "population_count": wg.bitwise_count,
    "rem": wg.fmod,
    "shift_left": wg.left_shift,
    "shift_right_arithmetic": wg.right_shift,
    "sub": wg.subtract,
    "zeta": wg.special.zeta,
}
"""Names that are others in `wengert`."""

OPERATIONS = {name: lift(getattr(wg, name), name) for name in NAMES.split()}
OPERATIONS |= {name: lift(function, name) for name, function in OTHERS.items()}

PUBLIC = sorted(
    [
        *OPERATIONS, "argmax", "argmin", "bitcast_convert_type", "broadcast", "broadcast_in_dim", "broadcasted_iota",
        "clamp", "collapse", "complex", "concatenate", "convert_element_type", "cumlogsumexp", "cummax", "cummin",
        "cumprod", "cumsum", "div",
        "expand_dims", "full", "full_like", "integer_pow", "iota", "pad", "reduce_and", "reduce_max", "reduce_min",
        "reduce_or", "reduce_prod",
        "reduce_sum", "reshape", "rev", "round", "rsqrt", "select", "select_n", "sort", "sort_key_val", "split",
        "squeeze", "top_k", "transpose",
    ]
)  # fmt: skip

globals().update(OPERATIONS)


def rsqrt(x: Any) -> Any:
    """One divided by the square root."""
    return to_array(1.0 / wg.sqrt(x))


def div(x: Any, y: Any) -> Any:
    """x / y; of integers, the integer towards zero."""
    x, y = array(x), array(y)
    if x.dtype.kind in "iu" and y.dtype.kind in "iu":
        return wg.sign(x) * wg.sign(y) * (wg.abs(x) // wg.abs(y))
    return x / y


def argmax(operand: Any, axis: int, index_dtype: Any = int) -> Any:
    """The index of the largest element along an axis."""
    return to_array(wg.argmax(array(operand), axis)).astype(index_dtype)


def argmin(operand: Any, axis: int, index_dtype: Any = int) -> Any:
    """The index of the smallest element along an axis."""
    return to_array(wg.argmin(array(operand), axis)).astype(index_dtype)


def integer_pow(x: Any, y: int) -> Any:
    """A power with an integer exponent."""
    return array(x) ** y


def complex(x: Any, y: Any) -> Any:
    """The complex number x + i y."""
    return array(x) + 1j * array(y)


def round(x: Any, rounding_method: int = 0) -> Any:
    """The nearest integer: by default, halves are rounded away from zero."""
    x = array(x)
    return wg.round(x) if rounding_method == 1 else to_array(wg.sign(x) * wg.floor(wg.abs(x) + 0.5))


def clamp(min: Any, x: Any, max: Any) -> Any:
    """x between two bounds, at which it has no derivative with respect to x."""
    x = array(x)
    return to_array(wg.where(x <= min, min, wg.where(x >= max, max, x)))


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """Elements of one array or another."""
    return to_array(wg.where(pred, on_true, on_false))


def select_n(which: Any, *cases: Any) -> Any:
    """Elements of the array that `which` says."""
    which = as_operand(which)
    if which.dtype.kind == "b":
        return to_array(wg.where(which, cases[1], cases[0]))
    return to_array(wg.select([which == i for i in range(len(cases))], list(cases)))


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """The array in another dtype."""
    return array(operand).astype(new_dtype)


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The bits of known numbers in another dtype."""
    return to_array(np.asarray(operand).view(new_dtype))


# Shapes


def reshape(operand: Any, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None) -> Any:
    """The elements in another shape."""
    moved = array(operand) if dimensions is None else wg.transpose(array(operand), dimensions)
    return wg.reshape(moved, tuple(new_sizes))


def broadcast(operand: Any, sizes: Sequence[int]) -> Any:
    """The array repeated along new axes in front."""
    operand = array(operand)
    return wg.broadcast_to(operand, (*sizes, *operand.shape))


def broadcast_in_dim(operand: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> Any:
    """The array in a larger shape, in which its axes are at these positions."""
    operand = array(operand)
    sizes = dict(zip(broadcast_dimensions, operand.shape, strict=True))
    return wg.broadcast_to(wg.reshape(operand, [sizes.get(i, 1) for i in range(len(shape))]), tuple(shape))


def expand_dims(array: Any, dimensions: Sequence[int]) -> Any:
    """The array with new axes."""
    return to_array(wg.expand_dims(array, tuple(dimensions)))


def squeeze(array: Any, dimensions: Sequence[int]) -> Any:
    """The array without axes of length one."""
    return to_array(wg.squeeze(array, tuple(dimensions)))


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """The array with several axes as one."""
    operand = array(operand)
    stop = operand.ndim if stop_dimension is None else stop_dimension
    return wg.reshape(operand, (*operand.shape[:start_dimension], -1, *operand.shape[stop:]))


def transpose(operand: Any, permutation: Sequence[int]) -> Any:
    """The array with its axes in another order."""
    return to_array(wg.transpose(operand, permutation))


def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """The array with the order of elements along some axes reversed."""
    return to_array(wg.flip(operand, tuple(dimensions)))


def concatenate(operands: Sequence[Any], dimension: int) -> Any:
    """Arrays one after the other."""
    return to_array(wg.concatenate(list(operands), dimension))


def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> Any:
    """Parts of an array of these sizes."""
    return to_arrays(list(wg.split(operand, np.cumsum(sizes)[:-1].tolist(), axis)))


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Any:
    """The array with other elements around it; negative widths take elements away."""
    operand = array(operand)
    if any(inner for _, _, inner in padding_config):
        raise user_error(NotImplementedError, "lax.pad puts no elements between others here")
    widths = [(max(low, 0), max(high, 0)) for low, high, _ in padding_config]
    padded = wg.pad(operand, widths, constant_values=padding_value)
    ends = [(max(-low, 0), n - max(-high, 0)) for (low, high, _), n in zip(padding_config, padded.shape, strict=True)]
    return padded[tuple([slice(*end) for end in ends])]


def iota(dtype: Any, size: int) -> Any:
    """The integers from zero."""
    return to_array(np.arange(size, dtype=dtype))


def broadcasted_iota(dtype: Any, shape: Sequence[int], dimension: int) -> Any:
    """The integers from zero along an axis."""
    return broadcast_in_dim(iota(dtype, shape[dimension]), shape, (dimension,))


def full(shape: Sequence[int], fill_value: Any, dtype: Any = None) -> Any:
    """An array of one number."""
    value = array(fill_value, dtype)
    return wg.broadcast_to(value, tuple(shape))


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Sequence[int] | None = None) -> Any:
    """An array of one number, with the shape and dtype of another one."""
    x = as_operand(x)
    return full(x.shape if shape is None else shape, fill_value, x.dtype if dtype is None else dtype)


# Order


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Elements in order; of several arrays, in the order of the first one."""
    if not isinstance(operand, tuple | list):
        return to_array(wg.sort(operand, dimension, stable=is_stable))
    if num_keys != 1:
        raise user_error(NotImplementedError, "lax.sort has one key here", "Use jnp.lexsort.")
    order = wg.argsort(operand[0], dimension, stable=True)
    return tuple([to_array(wg.take_along_axis(x, order, dimension)) for x in operand])


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> Any:
    """Keys in order, and values in the same order."""
    return sort((keys, values), dimension, is_stable)


def top_k(operand: Any, k: int, *, axis: int = -1) -> tuple[Any, Any]:
    """The k largest elements along an axis, the largest first, and their indices."""
    values, indices = wg.topk(operand, k, axis)
    return to_array(values), to_array(indices)


# Reductions


def lift_reduction(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A reduction along axes."""

    def reduce(operand: Any, axes: Sequence[int]) -> Any:
        return to_array(function(operand, tuple(axes)))

    reduce.__name__, reduce.__doc__ = name, f"`wengert.{function.__name__}` along axes."
    return reduce


reduce_sum, reduce_prod = lift_reduction(wg.sum, "reduce_sum"), lift_reduction(wg.prod, "reduce_prod")
reduce_max, reduce_min = lift_reduction(wg.max, "reduce_max"), lift_reduction(wg.min, "reduce_min")
reduce_and, reduce_or = lift_reduction(wg.all, "reduce_and"), lift_reduction(wg.any, "reduce_or")


def lift_cumulative(function: Callable[[Any, Any], Any], name: str) -> Callable[..., Any]:
    """All partial results of an associative function along an axis."""

    def accumulate(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
        return to_array(wg.associative_scan(function, operand, reverse, axis))

    accumulate.__name__, accumulate.__doc__ = name, f"Partial results of `wengert.{function.__name__}` along an axis."
    return accumulate


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Partial sums along an axis."""
    return to_array(wg.flip(wg.cumsum(wg.flip(operand, axis), axis), axis) if reverse else wg.cumsum(operand, axis))


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Partial products along an axis."""
    return to_array(wg.flip(wg.cumprod(wg.flip(operand, axis), axis), axis) if reverse else wg.cumprod(operand, axis))


cummax, cummin = lift_cumulative(wg.maximum, "cummax"), lift_cumulative(wg.minimum, "cummin")
cumlogsumexp = lift_cumulative(wg.logaddexp, "cumlogsumexp")
