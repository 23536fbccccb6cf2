"""The operators and methods of `numpy.ndarray`, attached to Array: each is an operation of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.core.array import UFUNC_METHODS, UFUNCS, Array
from wengert.core.errors import user_error
from wengert.core.frozen import is_frozen
from wengert.core.primitive import as_operand
from wengert.core.spec import PLAIN
from wengert.ops.contraction import products
from wengert.ops.elementwise import arithmetic, choices, complex_numbers, exponential, predicates
from wengert.ops.indexing import subscripts, taking, updates
from wengert.ops.linear_algebra.linear_operator import is_linear_operator, linear_operator
from wengert.ops.linear_algebra.sparse_matrix import is_sparse, sparse
from wengert.ops.reductions import cumulative, extremes, logical, sums
from wengert.ops.samples import sorting
from wengert.ops.shape import editing, joining, rearranging, reshaping
from wengert.ops.shape.casting import astype, cast, copy, to

__all__: list[str] = []  # what it offers are the operators and methods of Array


def reflect(function: Callable) -> Callable:
    """An operator with its operands exchanged, for `2.0 - x`."""
    return lambda x, y: function(y, x)


def in_place(function: Callable) -> Callable:
    """`x += v`: the object becomes the new value, for everyone who holds it, unless it is frozen."""
    impl = getattr(getattr(function, "primitive", None), "impl", None)
    ufunc = getattr(impl, "ufunc", impl)
    elementwise = ufunc if isinstance(ufunc, np.ufunc) and ufunc.signature is None else None

    def update(x: Any, v: Any) -> Any:
        if is_frozen(x):
            return function(x, v)
        x._update(function, elementwise, v)
        return x

    return update


def _iterate(x: Any) -> Iterator:
    if not x.shape:
        raise user_error(TypeError, "Iteration over a 0-d array")
    return iter(joining.unstack(x))  # one node for all items


def _matmul(x: Any, y: Any) -> Any:
    if y.__class__ not in PLAIN and not isinstance(y, Array):
        if is_sparse(y):
            return sparse(y).__rmatmul__(x)
        if is_linear_operator(y):
            return linear_operator(y).__rmatmul__(x)
    return products.matmul(x, y)


def _rmatmul(x: Any, y: Any) -> Any:
    return sparse(y) @ x if is_sparse(y) else products.matmul(y, x)


BINARY: dict[str, Callable] = {
    "add": arithmetic.add,
    "sub": arithmetic.subtract,
    "mul": arithmetic.multiply,
    "truediv": arithmetic.divide,
    "floordiv": predicates.floor_divide,
    "mod": arithmetic.remainder,
    "pow": exponential.raise_to,
    "matmul": products.matmul,
    "and": predicates.bitwise_and,
    "or": predicates.bitwise_or,
    "xor": predicates.bitwise_xor,
    "lshift": predicates.left_shift,
    "rshift": predicates.right_shift,
}

for _name, _function in BINARY.items():
    setattr(Array, f"__{_name}__", _function)
    setattr(Array, f"__r{_name}__", reflect(_function))
    setattr(Array, f"__i{_name}__", in_place(_function))

OTHER_OPERATORS: dict[str, Callable] = {
    "__matmul__": _matmul,
    "__rmatmul__": _rmatmul,
    "__neg__": arithmetic.negative,
    "__pos__": arithmetic.positive,
    "__abs__": complex_numbers.absolute,
    "__invert__": predicates.invert,
    "__eq__": predicates.equal,
    "__ne__": predicates.not_equal,
    "__lt__": predicates.less,
    "__le__": predicates.less_equal,
    "__gt__": predicates.greater,
    "__ge__": predicates.greater_equal,
    "__divmod__": arithmetic.divmod,
    "__rdivmod__": reflect(arithmetic.divmod),
    "__round__": predicates.round,
    "__getitem__": subscripts.getitem,
    "__setitem__": lambda x, key, v: x._rebind(subscripts.set_at(x, key, v)),
    "__iter__": _iterate,
    "__contains__": lambda x, v: bool(predicates.equal(x, v).any()),
}


def _reshape(x: Any, *shape_: Any, order: str = "C") -> Any:
    """The elements in another shape."""
    return reshaping.reshape(x, shape_[0] if len(shape_) == 1 else shape_, order=order)


def _transpose(x: Any, *axes: Any) -> Any:
    """The array with its axes in another order, reversed if none is given."""
    return reshaping.transpose(x, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None)


def _flatten(x: Any, order: str = "C") -> Any:
    """The elements in one vector."""
    if not isinstance(order, str):
        raise user_error(
            TypeError, f"x.flatten({order!r}): all axes become one", "To keep the first, write x.reshape(len(x), -1)."
        )
    return reshaping.reshape(x, (-1,), order=order)


def _astype(
    x: Any, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    """The array in another dtype."""
    return astype(x, dtype, copy=copy) if casting == "unsafe" else cast(x, dtype, casting)


def _fill(x: Any, value: Any) -> None:
    """Set all elements, in place."""
    x[...] = value


def _sort(x: Any, axis: int = -1, kind: str | None = None, order: None = None, *, stable: bool | None = None) -> None:
    """Sort along an axis, in place."""
    x._rebind(sorting.sort(x, axis, kind, order, stable=stable))


def _partition(x: Any, kth: Any, axis: int = -1, kind: str = "introselect", order: None = None) -> None:
    """Move the elements `kth` to where sorting would put them, in place."""
    x._rebind(sorting.partition(x, kth, axis, kind, order))


def _compress(x: Any, condition: Any, axis: int | None = None, out: None = None) -> Any:
    """The elements, or slices along an axis, where a boolean vector is true."""
    return taking.compress(condition, x, axis, out)


def _tobytes(x: Any, order: Any = "C") -> bytes:
    """The numbers as bytes."""
    return x._plain("x.tobytes()").tobytes(order)


METHODS: dict[str, Callable] = {
    "all": logical.all,
    "any": logical.any,
    "argmax": extremes.argmax,
    "argmin": extremes.argmin,
    "argpartition": sorting.argpartition,
    "argsort": sorting.argsort,
    "astype": _astype,
    "choose": editing.choose,
    "clip": choices.clip,
    "clone": copy,
    "compress": _compress,
    "conj": complex_numbers.conj,
    "conjugate": complex_numbers.conj,
    "copy": copy,
    "cumprod": cumulative.cumprod,
    "cumsum": cumulative.cumsum,
    "diagonal": rearranging.diagonal,
    "dot": products.dot,
    "fill": _fill,
    "flatten": _flatten,
    "max": extremes.max,
    "mean": sums.mean,
    "min": extremes.min,
    "nonzero": taking.nonzero,
    "partition": _partition,
    "prod": cumulative.prod,
    "put": taking.put,
    "ravel": reshaping.ravel,
    "repeat": rearranging.repeat,
    "reshape": _reshape,
    "round": predicates.round,
    "searchsorted": sorting.searchsorted,
    "sort": _sort,
    "squeeze": reshaping.squeeze,
    "std": sums.std,
    "sum": sums.sum,
    "swapaxes": reshaping.swapaxes,
    "take": taking.take,
    "to": to,
    "tobytes": _tobytes,
    "trace": rearranging.trace,
    "transpose": _transpose,
    "var": sums.var,
}

PROPERTIES: dict[str, tuple[Callable, str]] = {
    "T": (reshaping.transpose, "The array with its axes in reverse order."),
    "mT": (reshaping.matrix_transpose, "The array with its last two axes exchanged."),
    "real": (complex_numbers.real, "The real part."),
    "imag": (complex_numbers.imag, "The imaginary part."),
    "at": (updates.At, "Updates that return a new array: `x.at[0].set(5.0)`."),
    "flat": (taking.Flat, "The elements in one row, to iterate over and to index."),
}

for _name, _method in (OTHER_OPERATORS | METHODS).items():
    setattr(Array, _name, _method)
for _name, (_getter, _doc) in PROPERTIES.items():
    setattr(Array, _name, property(_getter, doc=_doc))


def _outer(function: Callable) -> Callable:
    def outer(x: Any, y: Any) -> Any:
        x, y = as_operand(x), as_operand(y)
        return function(reshaping.reshape(x, (*x.shape, *(1,) * y.ndim)), y)

    return outer


for _ufunc, _operation in UFUNCS.items():
    if _ufunc.nin == 2:
        UFUNC_METHODS[_ufunc, "outer"] = _outer(_operation)
