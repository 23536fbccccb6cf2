"""Shape, size and kind of an array, without a look at its numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.array import implements
from wengert.core.dtypes import result_type
from wengert.core.primitive import as_operand

__all__ = ["iscomplexobj", "isrealobj", "ndim", "shape", "size"]

implements(np.result_type)(result_type)


@implements(np.can_cast)
def _can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(as_operand(from_).dtype, to, casting)


@implements(np.shape)
def shape(a: Any) -> tuple[int, ...]:
    """The lengths of the axes.

    >>> shape([[1, 2, 3]])
    (1, 3)
    """
    return as_operand(a).shape


@implements(np.ndim)
def ndim(a: Any) -> int:
    """The number of axes.

    >>> ndim([[1.0, 2.0]])
    2
    """
    return as_operand(a).ndim


@implements(np.size)
def size(a: Any, axis: int | tuple[int, ...] | None = None) -> int:
    """The number of elements, of all or along the given axes.

    >>> size([[1.0, 2.0]]), size([[1.0, 2.0]], axis=0)
    (2, 1)
    """
    a = as_operand(a)
    if axis is None:
        return a.size
    return int(np.prod([a.shape[i] for i in (axis if isinstance(axis, tuple) else (axis,))]))


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex, whatever the numbers are.

    >>> iscomplexobj([1.0 + 0.0j])
    True
    """
    return as_operand(x).dtype.kind == "c"


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex.

    >>> isrealobj([1.0])
    True
    """
    return not iscomplexobj(x)
