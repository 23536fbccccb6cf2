"""Keys: the part between the brackets of `x[...]`, taken apart.

The arrays in a key (integers or booleans) are arguments of an operation like any other; the rest is an `Index`, its
parameter.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Sequence
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.foreign import is_foreign
from wengert.core.primitive import as_operand


class Hole(enum.Enum):
    """Stands in an `Index` for an array, which is an argument of the operation."""

    __hash__ = object.__hash__  # keys of caches hold it; that of enumerations is a function of Python

    SCALAR = "i"
    MASK = "mask"
    ARRAY = "array"


class Index:
    """A key without its arrays: hashable, and cheap to make.

    `repeats` says whether it may select an element more than once.

    >>> Index((slice(1, None), 0)) == Index((slice(1, None), 0))
    True
    """

    __slots__ = ("_tuple", "key", "repeats")

    def __init__(self, key: Any, repeats: bool = False):
        self.key = key
        self.repeats = repeats

    def fill(self, indices: Sequence[Any]) -> Any:
        """The key with arrays in its holes."""
        if not indices:
            return self.key
        arrays = iter(indices)
        return tuple([next(arrays) if part.__class__ is Hole else part for part in self.key])

    def without_masks(self, shape: tuple[int, ...], indices: Sequence[Any]) -> tuple[Index, list]:
        """The key and its arrays, with known masks as indices, so that the shape of the selection is known."""
        remaining = iter(indices)
        given: list[tuple[Any, Any]] = [
            (part, next(remaining) if isinstance(part, Hole) else None) for part in self.key
        ]
        lengths = [
            index.ndim if part is Hole.MASK else int(part is not None and part is not Ellipsis) for part, index in given
        ]
        parts: list[Any] = []
        arrays: list[Any] = []
        axis = 0
        for (part, index), length in zip(given, lengths, strict=True):
            if part is Hole.MASK and not isinstance(index, Array) and length:
                if index.shape != shape[axis : axis + length]:
                    raise user_error(
                        IndexError,
                        f"A mask of shape {index.shape} does not match an array of shape {shape} at axis {axis}",
                    )
                nonzero = np.nonzero(index)
                parts += [Hole.ARRAY] * len(nonzero)
                arrays += nonzero
            else:
                parts.append(part)
                arrays += [index] * isinstance(part, Hole)
            axis += len(shape) - sum(lengths) if part is Ellipsis else length
        return Index(tuple(parts), self.repeats), arrays

    def parts(self, ndim: int) -> list:
        """One part for each axis of an array and each new axis: without an ellipsis, and complete."""
        given = list(self.key) if isinstance(self.key, tuple) else [self.key]
        at, count = None, 0
        for i, part in enumerate(given):
            if part is Ellipsis:
                at = i
            elif part is not None:
                count += 1
        missing = [slice(None)] * (ndim - count)
        return given + missing if at is None else given[:at] + missing + given[at + 1 :]

    def array_axes(self, ndim: int) -> list[int]:
        """The axes that are indexed by integer arrays."""
        return [
            axis for axis, part in enumerate(p for p in self.parts(ndim) if p is not None) if isinstance(part, Hole)
        ]

    def after(self, *first: Any) -> Index:
        """The key after other parts, for an array with more axes in front."""
        return Index((*first, *(self.key if isinstance(self.key, tuple) else (self.key,))), self.repeats)

    def as_tuple(self) -> tuple:
        """What makes two keys equal; made when it is first needed."""
        try:
            return self._tuple
        except AttributeError:
            parts = self.key if isinstance(self.key, tuple) else (self.key,)
            self._tuple: tuple = (
                self.repeats,
                *[(slice, p.start, p.stop, p.step) if isinstance(p, slice) else p for p in parts],
            )
            return self._tuple

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Index) and self.as_tuple() == other.as_tuple()

    def __hash__(self) -> int:
        return hash(self.as_tuple())

    def __repr__(self) -> str:
        def part_text(part: Any) -> str:
            if isinstance(part, slice):
                bounds = ["" if b is None else str(b) for b in (part.start, part.stop, part.step)]
                return ":".join(bounds if bounds[2] else bounds[:2])
            return part.value if isinstance(part, Hole) else "..." if part is ... else str(part)

        return f"[{', '.join(map(part_text, self.key if isinstance(self.key, tuple) else (self.key,)))}]"


ARRAYS = (Array, np.ndarray)
BASIC = frozenset((int, NoneType, EllipsisType))
BOUNDS = frozenset((int, NoneType))


def split_key(key: Any) -> tuple[Index, list]:
    """A key as an `Index` and the arrays for its holes."""
    parts = key if isinstance(key, tuple) else (key,)
    for part in parts:
        if part.__class__ is slice:
            if not (part.start.__class__ in BOUNDS and part.stop.__class__ in BOUNDS and part.step.__class__ in BOUNDS):
                break
        elif part.__class__ not in BASIC:
            break
    else:
        return Index(key), []
    indices: list = []
    parts = tuple([_part(part, indices) for part in parts])
    return Index(parts, Hole.ARRAY in parts), indices


def _part(part: Any, indices: list) -> Any:
    """One part of an `Index`; an array is appended to the list, and leaves a hole."""
    if part is None or part is Ellipsis:
        return part
    if isinstance(part, slice):
        return slice(*[None if b is None else operator.index(b) for b in (part.start, part.stop, part.step)])
    if isinstance(part, ARRAYS):
        array = part
    elif isinstance(part, list | tuple) or (not isinstance(part, np.generic) and is_foreign(part)):
        array = as_operand(part)
        array = array if array.size else array.astype(np.intp)
    elif not isinstance(part, bool | np.bool) and hasattr(part, "__index__"):
        return operator.index(part)
    else:
        array = np.asarray(part)
    indices.append(array)
    return Hole.MASK if array.dtype.kind == "b" else Hole.ARRAY if array.ndim else Hole.SCALAR
