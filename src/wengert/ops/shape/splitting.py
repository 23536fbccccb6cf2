"""Parts of arrays along an axis: `split` and its relatives."""

from __future__ import annotations

from operator import index
from typing import Any, Never

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from wengert.core.array import implements
from wengert.core.errors import user_error
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.primitive import as_operand
from wengert.ops.shape.rearranging import _spans, _split

__all__ = ["array_split", "dsplit", "hsplit", "split", "vsplit"]


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0, **foreign: Never) -> list:
    """Parts of an array along an axis, which need not be equally long.

    >>> array_split([1, 2, 3, 4, 5], 2)
    [array([1, 2, 3]), array([4, 5])]
    """
    if foreign:
        refuse_keywords(foreign)
    ary = as_operand(ary)
    axis = normalize_axis_index(axis, ary.ndim)
    length = ary.shape[axis]
    if np.ndim(indices_or_sections):
        bounds = tuple(slice(index(i)).indices(length)[1] for i in indices_or_sections)
        if list(bounds) != sorted(bounds):
            lead = (slice(None),) * axis
            return [ary[(*lead, slice(i, j))] for i, j in _spans(length, bounds)]
    else:
        sections = index(indices_or_sections)
        if sections <= 0:
            raise user_error(ValueError, "Number sections must be larger than 0")
        each, extra = divmod(length, sections)
        bounds = tuple(i * each + min(i, extra) for i in range(1, sections))
    return list(_split(ary, bounds=bounds, axis=axis))


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0, **foreign: Never) -> list:
    """Equal parts of an array along an axis, or the parts between indices.

    >>> split([1, 2, 3], [1])
    [array([1]), array([2, 3])]
    """
    if foreign:
        refuse_keywords(foreign)
    ary = as_operand(ary)
    if not np.ndim(indices_or_sections) and ary.shape[axis] % indices_or_sections:
        raise user_error(ValueError, "Array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def _split_from(name: str, ary: Any, indices_or_sections: Any, ndim: int, axis: int) -> list:
    ary = as_operand(ary)
    if ary.ndim < ndim:
        raise user_error(ValueError, f"{name} only works on arrays of {ndim} or more dimensions")
    return split(ary, indices_or_sections, axis)


@implements(np.hsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> list:
    """Parts of an array along its second axis, or the only one.

    >>> hsplit([1, 2, 3, 4], 2)
    [array([1, 2]), array([3, 4])]
    """
    return _split_from("hsplit", ary, indices_or_sections, 1, 1 if as_operand(ary).ndim > 1 else 0)


@implements(np.vsplit)
def vsplit(ary: Any, indices_or_sections: Any) -> list:
    """Parts of an array along its first axis.

    >>> [x.tolist() for x in vsplit([[1, 2], [3, 4]], 2)]
    [[[1, 2]], [[3, 4]]]
    """
    return _split_from("vsplit", ary, indices_or_sections, 2, 0)


@implements(np.dsplit)
def dsplit(ary: Any, indices_or_sections: Any) -> list:
    """Parts of an array along its third axis.

    >>> [x.shape for x in dsplit(np.ones((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    return _split_from("dsplit", ary, indices_or_sections, 3, 2)
