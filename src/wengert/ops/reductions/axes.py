"""What reductions share: their axes, masks, initial values and dtypes."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from wengert.core.kinds import case, nondifferentiable
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.choices import where
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import broadcast_to

Axis = int | tuple[int, ...] | None

CASES = (
    case((2, 3), axis=(0,), keepdims=False),
    case((2, 3, 2), axis=(0, 2), keepdims=False),
    case((2, 3), axis=(0, 1), keepdims=True),
    case((), axis=(), keepdims=False),
)
EMPTY = case((0, 3), axis=(0,), keepdims=False)
INDEX_CASES = (case((3,), axis=0, keepdims=False), case((2, 3), axis=1, keepdims=True))


def discrete_reduction(name: str, reduce: Callable, **definition: Any) -> Callable:
    """The operation of a reduction to booleans or integers, which has no gradient."""
    return nondifferentiable(
        name, lambda x, axis, keepdims: reduce(x, axis, keepdims=keepdims), takes_params=True, **definition
    )


def axes_of(x: Any, axis: Axis) -> tuple[int, ...]:
    """The reduced axes as a sorted tuple of non-negative numbers."""
    if axis is None:
        return tuple(range(x.ndim))
    if not isinstance(axis, tuple):
        i = normalize_axis_index(index(axis), x.ndim or 1)  # a single number has axis 0, as in NumPy
        return (i,) if x.ndim else ()
    return tuple(sorted(normalize_axis_tuple(axis, x.ndim)))


def count_along(x: Any, axes: tuple[int, ...]) -> int:
    """The number of elements that are reduced to one."""
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    return count


def apply_mask(a: Any, mask: Any, fill: Any) -> Any:
    """a with a number in place of the elements that the argument `where` of a reduction excludes."""
    return a if mask is True else where(broadcast_to(as_operand(mask), a.shape), a, fill)


def combine_initial(initial: Any, combine: Callable, result: Any) -> Any:
    """The result of a reduction combined with the number `initial`, if it is given, in the dtype of the result."""
    return result if initial is None else astype(combine(initial, result), result.dtype, copy=False)


def narrow(result: Any, dtype: Any) -> Any:
    """The result of a reduction in the given dtype, if any: NumPy's reductions widen small integers."""
    return result if dtype is None else astype(result, dtype, copy=False)


def reducing(function: Callable) -> Callable:
    """A reduction as a method of a ufunc, such as `np.add.reduce`: along the first axis by default."""

    def reduce(a: Any, axis: Axis = 0, dtype: Any = None, **options: Any) -> Any:
        return function(a if dtype is None else astype(a, dtype), axis, **options)

    return reduce
