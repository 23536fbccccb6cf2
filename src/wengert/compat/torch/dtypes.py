"""Types of numbers as PyTorch has them: NumPy's dtypes under PyTorch's names, a default type, and type promotion.

PyTorch's rules differ from NumPy's. Numbers of a higher category (bool, integer, float, complex) decide alone about the
size of the result, so an int64 tensor with a float32 tensor gives float32. Tensors without axes, and then Python
numbers, count only if their category is higher than that of the tensors with axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.dtypes import finfo as _finfo
from wengert.core.dtypes import iinfo
from wengert.core.errors import user_error

__all__ = [
    "bool", "can_cast", "cdouble", "cfloat", "complex128", "complex64", "double", "dtype", "finfo", "float", "float16",
    "float32", "float64", "get_default_dtype", "half", "iinfo", "int", "int16", "int32", "int64", "int8", "is_complex",
    "is_floating_point", "long", "promote_types", "result_type", "set_default_dtype", "short", "uint16", "uint32",
    "uint64", "uint8",
]  # fmt: skip

dtype = np.dtype
float16 = half = np.dtype(np.float16)
float32 = float = np.dtype(np.float32)
float64 = double = np.dtype(np.float64)
complex64 = cfloat = np.dtype(np.complex64)
complex128 = cdouble = np.dtype(np.complex128)
uint8, uint16, uint32, uint64 = map(np.dtype, (np.uint8, np.uint16, np.uint32, np.uint64))
int8, int16, int32, int64 = map(np.dtype, (np.int8, np.int16, np.int32, np.int64))
short, int, long = int16, int32, int64
bool = np.dtype(np.bool_)

CATEGORIES = "b", "iu", "f", "c"
COMPLEX: dict[np.dtype, np.dtype] = {float16: complex64, float32: complex64, float64: complex128}

_default = float32


def get_default_dtype() -> np.dtype:
    """The type of new tensors of floating-point numbers, `torch.float32` unless it was changed."""
    return _default


def set_default_dtype(d: Any) -> None:
    """Set the type of new tensors of floating-point numbers.

    >>> set_default_dtype(float64)
    >>> get_default_dtype()
    dtype('float64')
    >>> set_default_dtype(float32)
    """
    global _default
    if np.dtype(d) not in COMPLEX:
        raise user_error(TypeError, f"{d} cannot be the default dtype", "Use a floating-point type.")
    _default = np.dtype(d)


def category(d: np.dtype) -> Any:
    """The position of a type in the order of bool, integer, float and complex."""
    return next(i for i, kinds in enumerate(CATEGORIES) if d.kind in kinds)


def promote_types(type1: Any, type2: Any) -> np.dtype:
    """The smallest type that both types fit into, by PyTorch's rules.

    >>> promote_types(int64, float32)
    dtype('float32')
    """
    a, b = sorted((np.dtype(type1), np.dtype(type2)), key=category)
    if category(a) == category(b):
        return np.promote_types(a, b)
    if b.kind == "c" and a == float64:
        return complex128
    return b


def combine(stronger: np.dtype | None, weaker: np.dtype | None) -> np.dtype | None:
    """The type of operands of which the weaker ones count only by their category."""
    if stronger is None or weaker is None:
        return weaker if stronger is None else stronger
    if category(weaker) <= category(stronger):
        return stronger
    return COMPLEX[stronger] if stronger.kind == "f" else promote_types(stronger, weaker)


def number_type(x: Any) -> np.dtype:
    """The type of a Python or NumPy number."""
    kind = np.result_type(x).kind
    return {"b": bool, "f": _default, "c": COMPLEX[_default]}.get(kind, int64)


def result_type(*operands: Any) -> np.dtype:
    """The type of the result of an operation on tensors and numbers.

    >>> result_type(np.ones(2, np.int64), 1.5)
    dtype('float32')
    """
    with_axes = without_axes = numbers = None
    for x in operands:
        if not isinstance(x, Array | np.ndarray):
            found = number_type(x)
            numbers = found if numbers is None else promote_types(numbers, found)
        elif x.ndim:
            with_axes = x.dtype if with_axes is None else promote_types(with_axes, x.dtype)
        else:
            without_axes = x.dtype if without_axes is None else promote_types(without_axes, x.dtype)
    result = combine(combine(with_axes, without_axes), numbers)
    assert result is not None, "an operation has operands"
    return result


def can_cast(from_: Any, to: Any) -> Any:
    """Whether PyTorch's promotion allows this conversion: to the same category or a higher one.

    >>> can_cast(float64, float32), can_cast(float32, int64)
    (True, False)
    """
    return category(np.dtype(from_)) <= category(np.dtype(to))


def is_floating_point(input: Any) -> Any:
    """Whether a tensor has floating-point numbers."""
    return input.dtype.kind == "f"


def is_complex(input: Any) -> Any:
    """Whether a tensor has complex numbers."""
    return input.dtype.kind == "c"


class finfo(_finfo):
    """What a floating-point type can hold: `bits`, `eps`, `max`, `min`, `tiny`; by default, the default type.

    >>> finfo(float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: Any = None, /):
        super().__init__(_default if type is None else type)
        self.tiny = self.smallest_normal
        self.resolution = np.finfo(self.dtype).resolution.item()
