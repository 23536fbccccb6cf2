"""Small functions on tuples and nodes: `autograd.util`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any

from wengert.compat.autograd.differences import ABSENT
from wengert.compat.differences import without

__all__ = ["func", "subval", "subvals", "toposort"]

__getattr__ = without(__name__, ABSENT)


def subvals(x: Sequence[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """A tuple with other elements at some positions.

    >>> subvals((1, 2, 3), [(0, "a"), (2, "c")])
    ('a', 2, 'c')
    """
    changed = list(x)
    for i, v in ivs:
        changed[i] = v
    return tuple(changed)


def subval(x: Sequence[Any], i: int, v: Any) -> tuple[Any, ...]:
    """A tuple with another element at one position.

    >>> subval((1, 2), 1, "b")
    (1, 'b')
    """
    return subvals(x, [(i, v)])


def func(f: Any) -> Any:
    """The function of a method: f itself."""
    return f


def toposort(end_node: Any, parents: Callable[[Any], Iterable[Any]] = attrgetter("parents")) -> Iterator[Any]:
    """The nodes behind a node, each before those that it was computed from."""
    uses: Counter[Any] = Counter([end_node])
    stack = [end_node]
    while stack:
        for parent in parents(stack.pop()):
            if parent not in uses:
                stack.append(parent)
            uses[parent] += 1
    ready = [end_node]
    while ready:
        node = ready.pop()
        yield node
        for parent in parents(node):
            uses[parent] -= 1
            if not uses[parent]:
                ready.append(parent)
