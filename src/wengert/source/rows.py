"""Lists that grow in loops: their elements may be rows of one array, which a rolled loop has computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from wengert.core import tree
from wengert.ops.shape.joining import concatenate, stack
from wengert.ops.shape.reshaping import moveaxis


class Row:
    """Element i of a list as row i of the arrays of a tree, which has `count` rows."""

    __slots__ = ("arrays", "count", "index")

    def __init__(self, arrays: Any, index: int, count: int):
        self.arrays, self.index, self.count = arrays, index, count

    def value(self) -> Any:
        """The row itself."""
        return tree.map(lambda x: x[self.index], self.arrays)


class NotRolled(Exception):  # a message from a step to the loop that is being rolled
    """A loop whose steps do something that one body cannot."""


class Rows(list):
    """A list, some elements of which are rows of arrays; they become values when they are used.

    While a loop is rolled, `window` has the last elements that its steps may read, and nothing else of it is known.
    """

    window: list[Any] | None = None
    start = 0
    needed = 0

    def get(self, i: int) -> Any:
        """Element i."""
        x = list.__getitem__(self, i)
        return x.value() if isinstance(x, Row) else x

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            self.refuse()
            return Rows(list.__getitem__(self, key))
        if self.window is not None:
            k = key.__index__()
            if k >= 0 or k < -(list.__len__(self) - self.start):
                return self.earlier(k)
        return self.get(key)

    def earlier(self, k: int) -> Any:
        """An element of earlier steps."""
        assert self.window is not None
        back = -k - (list.__len__(self) - self.start)  # as counted before this step
        if k >= 0 or back > self.start:
            raise NotRolled("a list is read at an index from its start")
        self.needed = max(self.needed, back)
        return self.window[-back] if back <= len(self.window) else self.get(self.start - back)

    def refuse(self) -> None:
        """Raise if the list is not known now, because a loop is being rolled."""
        if self.window is not None:
            raise NotRolled("a list that grows is read as a whole")

    def __iter__(self) -> Iterator[Any]:
        self.refuse()
        return iter([self.get(i) for i in range(list.__len__(self))])

    def __len__(self) -> int:
        self.refuse()
        return list.__len__(self)

    def __bool__(self) -> bool:
        return bool(self.start if self.window is not None and self.start else len(self))

    def __reversed__(self) -> Iterator[Any]:
        return reversed(list(self))

    def __add__(self, other: Any) -> list:
        return list(self) + list(other)

    def __radd__(self, other: Any) -> list:
        return list(other) + list(self)

    def __mul__(self, n: Any) -> list:
        return list(self) * n

    def __contains__(self, x: Any) -> bool:
        return x in list(self)

    def __eq__(self, other: object) -> bool:
        return list(self) == other

    def __ne__(self, other: object) -> bool:
        return list(self) != other

    __hash__ = None
    __rmul__ = __mul__

    def copy(self) -> list:
        """A list of the elements."""
        return list(self)

    def pop(self, i: Any = -1) -> Any:
        """Remove an element."""
        self.refuse()
        x = list.pop(self, i)
        return x.value() if isinstance(x, Row) else x

    def extend(self, items: Iterable[Any]) -> None:
        """Append elements."""
        for x in items:
            self.append(x)

    def index(self, x: Any, *bounds: Any) -> int:
        """The index of an element."""
        return list(self).index(x, *bounds)

    def sort(self, **options: Any) -> None:
        """Sort the elements."""
        self[:] = sorted(self, **options)

    def __repr__(self) -> str:
        return "[...]" if self.window is not None else repr(list(self))

    def stacked(self, axis: int = 0) -> Any:
        """All elements as one array: rows that follow each other as the arrays that they are rows of."""
        self.refuse()
        raw = list.copy(self)
        parts: list[Any] = []
        i = 0
        while i < len(raw):
            x = raw[i]
            j = i + 1
            if not isinstance(x, Row):
                while j < len(raw) and not isinstance(raw[j], Row):
                    j += 1
                parts.append(stack(raw[i:j]))
            else:
                while j < len(raw) and is_next(raw[j - 1], raw[j]):
                    j += 1
                whole = x.index == 0 and j - i == x.count
                parts.append(x.arrays if whole else x.arrays[x.index : x.index + j - i])
            i = j
        joined = parts[0] if len(parts) == 1 else concatenate(parts) if parts else stack([])
        return joined if axis == 0 else moveaxis(joined, 0, axis)


def is_next(x: Row, y: Any) -> bool:
    """Whether y is the row after x."""
    return isinstance(y, Row) and y.arrays is x.arrays and y.index == x.index + 1
