"""Products, cumulative sums and cumulative products.

The derivative of a product with respect to one factor is the product of the others, computed without division, so that
it is exact where factors are zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never

import numpy as np

from wengert.core.array import UFUNC_METHODS, implements
from wengert.core.errors import refuse_out, user_error
from wengert.core.facts import PRODUCT
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.infer import keep_shape
from wengert.core.kinds import case, general, linear, reduction, shift_axis
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.arithmetic import multiply
from wengert.ops.reductions.axes import CASES, EMPTY, Axis, apply_mask, axes_of, combine_initial, narrow, reducing
from wengert.ops.reductions.extremes import collapse
from wengert.ops.shape.casting import astype
from wengert.ops.shape.rearranging import concatenate, flip
from wengert.ops.shape.reshaping import along, moveaxis, reshape

__all__ = ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "prod"]


def _product_of_others(t: Any, x: Any, axis: tuple[int, ...]) -> Any:
    rows = collapse(x, axis)
    others = exclusive(cumprod(rows, -1)) * flip(exclusive(cumprod(flip(rows, -1), -1)), -1)
    kept = [i for i in range(x.ndim) if i not in axis]
    others = reshape(others, tuple(x.shape[i] for i in (*kept, *axis)))
    return t * moveaxis(others, range(len(kept), x.ndim), axis)


def exclusive(products: Any) -> Any:
    """Along the last axis, the product of all elements before each one, given the cumulative products."""
    return concatenate([numpy_of(products).ones((*products.shape[:-1], 1), products.dtype), products[..., :-1]], -1)[
        ..., : products.shape[-1]
    ]


_prod = reduction(
    "prod",
    lambda x, axis, keepdims: np.multiply.reduce(x, axis, keepdims=keepdims),
    _product_of_others,
    cases=(*CASES, EMPTY, case(np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 1.5]]), axis=(1,), keepdims=False)),
    facts=PRODUCT,
)


@implements(np.prod)
def prod(
    a: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    **foreign: Never,
) -> Any:
    """The product of the elements.

    >>> float(prod([2.0, 3.0, 4.0]))
    24.0
    """
    if foreign:
        refuse_keywords(foreign)
    refuse_out(out)
    a = apply_mask(as_operand(a), where, 1)
    product = _prod(a if dtype is None else astype(a, dtype), axis=axes_of(a, axis), keepdims=keepdims)
    return combine_initial(initial, multiply, narrow(product, dtype))


def scan(factors: Any, terms: Any) -> Any:
    """s with s[k] = factors[k] * s[k-1] + terms[k] along the last axis, in log2 of its length steps."""
    length, step = terms.shape[-1], 1
    while step < length:
        earlier = numpy_of(terms).zeros((*terms.shape[:-1], step), terms.dtype)
        terms = terms + factors * concatenate([earlier, terms[..., :-step]], -1)
        factors = factors * concatenate([earlier, factors[..., :-step]], -1)
        step *= 2
    return terms


def _cumprod_transpose(t: Any, x: Any, axis: int) -> Any:
    # out[i] is before[k] * x[k] * (x[k+1] ... x[i]), so dx[k] = before[k] * s[k] with s[k] = t[k] + x[k+1] * s[k+1].
    x, t = moveaxis(x, axis, -1), moveaxis(t, axis, -1)
    last = numpy_of(x).zeros((*x.shape[:-1], 1), x.dtype)
    following = flip(concatenate([x[..., 1:], last], -1)[..., : x.shape[-1]], -1)
    after = flip(scan(following, flip(t, -1)), -1)
    return moveaxis(exclusive(cumprod(x, -1)) * after, -1, axis)


def _cumprod_push(t: Any, x: Any, axis: int) -> Any:
    # The tangent of out[k] = out[k-1] * x[k] is d[k] = x[k] * d[k-1] + before[k] * t[k].
    x, t = moveaxis(x, axis, -1), moveaxis(t, axis, -1)
    return moveaxis(scan(x, exclusive(cumprod(x, -1)) * t), -1, axis)


_cumsum = linear(
    "cumsum",
    lambda x, axis: np.cumsum(x, axis),
    lambda t, axis: flip(cumsum(flip(t, axis), axis), axis),
    batch=shift_axis,
    spec=keep_shape(lambda x, axis: np.cumsum(x, axis)),
    cases=(case((3,), axis=0), case((2, 3), axis=1), case((0, 2), axis=0)),
)
_cumprod = general(
    "cumprod",
    lambda x, axis: np.cumprod(x, axis),
    _cumprod_transpose,
    jvps=(_cumprod_push,),
    batch=shift_axis,
    spec=keep_shape(lambda x, axis: np.cumprod(x, axis)),
    cases=(
        case((3,), axis=0),
        case((2, 3), axis=1),
        case(np.array([2.0, 0.0, 3.0, 0.0, 1.5]), axis=0),
        case((0, 2), axis=0),
    ),
    facts=PRODUCT,
)


@implements(np.cumsum)
def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None, **foreign: Never) -> Any:
    """The sums of all elements up to each one.

    >>> cumsum([1.0, 2.0, 3.0])
    array([1., 3., 6.])
    """
    if foreign:
        refuse_keywords(foreign)
    return _accumulate(_cumsum, a, axis, dtype, out)


@implements(np.cumprod)
def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None, **foreign: Never) -> Any:
    """The products of all elements up to each one.

    >>> cumprod([1.0, 2.0, 3.0])
    array([1., 2., 6.])
    """
    if foreign:
        refuse_keywords(foreign)
    return _accumulate(_cumprod, a, axis, dtype, out)


def _accumulate(operation: Callable, a: Any, axis: int | None, dtype: Any, out: None) -> Any:
    refuse_out(out)
    a, axis = along(a, axis)
    return narrow(operation(a if dtype is None else astype(a, dtype), axis=axis), dtype)


def _from_start(accumulate: Callable, x: Any, axis: int | None, dtype: Any, start: int | None) -> Any:
    x = as_operand(x)
    if axis is None and x.ndim > 1:
        raise user_error(
            ValueError, f"An array of shape {x.shape} needs `axis`", because="along which one to accumulate."
        )
    axis = -1 if axis is None else axis
    out = accumulate(x, axis, dtype)
    if start is None:
        return out
    first = list(out.shape)
    first[axis] = 1
    return concatenate([np.full(first, start, out.dtype), out], axis)


@implements(np.cumulative_sum)
def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, out: None = None, include_initial: bool = False
) -> Any:
    """The sums of all elements up to each one, with a zero in front if `include_initial`.

    >>> cumulative_sum([2.0, 3.0], include_initial=True)
    array([0., 2., 5.])
    """
    refuse_out(out)
    return _from_start(cumsum, x, axis, dtype, 0 if include_initial else None)


@implements(np.cumulative_prod)
def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, out: None = None, include_initial: bool = False
) -> Any:
    """The products of all elements up to each one, with a one in front if `include_initial`.

    >>> cumulative_prod([2.0, 3.0], include_initial=True)
    array([1., 2., 6.])
    """
    refuse_out(out)
    return _from_start(cumprod, x, axis, dtype, 1 if include_initial else None)


UFUNC_METHODS[np.multiply, "reduce"] = reducing(prod)
for _ufunc, _function in ((np.add, cumsum), (np.multiply, cumprod)):
    UFUNC_METHODS[_ufunc, "accumulate"] = lambda a, axis=0, dtype=None, function=_function: function(a, axis, dtype)
