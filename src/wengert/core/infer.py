"""The spec of an operation's result, inferred without numbers.

NumPy is the specification of shapes and dtypes. Elementwise operations and reductions run on one element for the dtype;
all others run on arrays that take no memory. Operations that would be expensive to run, because they compute or copy
numbers, or whose shape depends on numbers, have their own rule in the table (`Definition.spec`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from wengert.core.errors import TrackedValueError, user_error
from wengert.core.primitive import Primitive, plain_impl
from wengert.core.spec import Spec

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))

Operand = Spec | type
"""The spec of an array, or the type of a Python number, which does not change the dtype of an elementwise operation."""


def infer(primitive: Primitive, operands: tuple[Operand, ...], params: dict[str, Any]) -> Any:
    """The spec of an operation's result, or a tuple of specs if it has several."""
    if params:
        return _infer_cached(primitive, operands, tuple(params.items()))
    return _infer_cached(primitive, operands, ())


@lru_cache(1 << 14)
def _infer_cached(primitive: Primitive, operands: tuple[Operand, ...], params: tuple[Any, ...]) -> Any:
    if primitive.definition.spec is None and is_elementwise(primitive):
        shapes = {o.shape for o in operands if isinstance(o, Spec)}
        shape = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)  # a length may be unknown
        kinds = tuple([o.dtype if isinstance(o, Spec) else o for o in operands])
        return Spec(shape, _infer_dtype(primitive, kinds, (), params))
    specs = [o if isinstance(o, Spec) else Spec.of(o(1)) for o in operands]
    named = dict(params)
    if primitive.definition.spec is not None:
        return primitive.definition.spec(*specs, **named)
    if "keepdims" in named:
        return _infer_reduction(primitive, specs[0], params)
    return _infer_by_example(primitive, specs, named)


def is_elementwise(primitive: Primitive) -> bool:
    """Whether each element of the result depends on one element of each argument."""
    impl = getattr(primitive.impl, "ufunc", primitive.impl)
    return primitive.kind == "elementwise" or isinstance(impl, np.ufunc) and impl.signature is None


@lru_cache(1 << 12)
def _infer_dtype(
    primitive: Primitive, kinds: tuple[Any, ...], shape: tuple[int, ...], params: tuple[Any, ...]
) -> np.dtype:
    if getattr(primitive.impl, "keeps_precision", False) and all(
        isinstance(kind, np.dtype) and kind in FLOATS for kind in kinds
    ):
        return np.result_type(*kinds)
    examples = [np.ones(shape, k) if isinstance(k, np.dtype) else k(1) for k in kinds]
    with np.errstate(all="ignore"):
        return np.asarray(plain_impl(primitive)(*examples, **dict(params))).dtype


def _infer_reduction(primitive: Primitive, x: Spec, params: tuple[Any, ...]) -> Spec:
    axis, keepdims = dict(params)["axis"], dict(params)["keepdims"]
    axes = axis if isinstance(axis, tuple) else (axis,)
    if keepdims:
        shape = tuple([1 if i in axes else n for i, n in enumerate(x.shape)])
    else:
        shape = tuple([n for i, n in enumerate(x.shape) if i not in axes])
    return Spec(shape, _infer_dtype(primitive, (x.dtype,), (1,) * len(x.shape), params))


def _infer_by_example(primitive: Primitive, specs: Sequence[Spec], params: dict[str, Any]) -> Any:
    with np.errstate(all="ignore"):
        out = plain_impl(primitive)(*map(example_of, specs), **params)
    return Spec.of(out) if primitive.outputs == 1 else tuple(map(Spec.of, out))


def example_of(spec: Spec) -> np.ndarray:
    """An array that takes no memory. A length that is not known is an error."""
    return np.broadcast_to(np.zeros((), spec.dtype), spec.shape)


def keep_shape(impl: Callable[..., Any], operand: int = 0) -> Callable[..., Spec]:
    """The spec rule of an operation whose result has the shape of an operand: it runs on one element for the dtype.

    >>> keep_shape(np.argsort)(Spec((1_000_000,), np.dtype(np.float64)), axis=0)
    i64[1000000]
    """

    def rule(*specs: Spec, **params: Any) -> Spec:
        examples = [np.zeros(tuple([min(n, 1) for n in spec.shape]), spec.dtype) for spec in specs]
        with np.errstate(all="ignore"):
            return Spec(specs[operand].shape, impl(*examples, **params).dtype)

    return rule


def data_dependent_shape(what: str) -> Callable[..., Any]:
    """The spec rule of an operation whose shape depends on the numbers: it raises an error."""

    def refuse(*_operands: Any, **_params: Any) -> Spec:
        raise user_error(
            TrackedValueError,
            f"The shape of {what} depends on the numbers in it, which are not known while a function is traced",
            "Use an operation whose shape is known, such as wg.where(condition, x, 0), or do this outside the compiled "
            "function.",
        )

    return refuse
