"""`associative_scan`: all partial results of an associative function, in logarithmically many batched calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.core import tree
from wengert.core.errors import user_error
from wengert.core.primitive import as_operand
from wengert.modes import recording
from wengert.ops.shape.joining import concatenate, stack
from wengert.ops.shape.rearranging import flip
from wengert.ops.shape.reshaping import moveaxis, reshape

__all__ = ["associative_scan"]

Parts = list[Any]


def associative_scan(f: Callable[[Any, Any], Any], xs: Any, reverse: bool = False, axis: int = 0) -> Any:
    """The partial results x0, f(x0, x1), f(f(x0, x1), x2), ... of an associative function, along an axis.

    `f` combines arrays of many elements at once, along that axis, in about 2 log2(n) calls. With `reverse`, results
    begin at the end: the last is that of the last element alone.

    >>> import numpy as np
    >>> associative_scan(np.multiply, np.array([1.0, 2.0, 3.0, 4.0]))
    array([ 1.,  2.,  6., 24.])
    """
    f = recording.as_read(f)
    leaves, structure = tree.flatten(xs)
    parts = [moveaxis(as_operand(x), axis, 0) for x in leaves]
    lengths = sorted({x.shape[0] for x in parts})
    if len(lengths) != 1:
        raise user_error(ValueError, f"associative_scan of arrays with lengths {lengths}", "All must have the same.")
    parts = [flip(x, 0) for x in parts] if reverse else parts

    def combine(a: Parts, b: Parts) -> Parts:
        given = [tree.unflatten(structure, [moveaxis(x, 0, axis) for x in side]) for side in (a, b)]
        found, new = tree.flatten(f(*given))
        if new != structure:
            raise user_error(
                TypeError, f"The function of associative_scan was given {structure!r} and returned {new!r}"
            )
        return [moveaxis(as_operand(y), axis, 0) for y in found]

    found = combine_prefixes(combine, parts, lengths[0])
    found = [flip(y, 0) for y in found] if reverse else found
    return tree.unflatten(structure, [moveaxis(y, 0, axis) for y in found])


def combine_prefixes(combine: Callable[[Parts, Parts], Parts], parts: Parts, n: int) -> Parts:
    """All partial results: those of neighbouring pairs give every second one, and these the others."""
    if n < 2:
        return parts
    pairs = combine([x[: n - 1 : 2] for x in parts], [x[1::2] for x in parts])
    odd = combine_prefixes(combine, pairs, n // 2)
    first = [x[:1] for x in parts]
    if n == 2:
        even = first
    else:
        inner = combine([y[: (n - 1) // 2] for y in odd], [x[2::2] for x in parts])
        even = [concatenate([x, y]) for x, y in zip(first, inner, strict=True)]
    return [interleave(x, y, n) for x, y in zip(even, odd, strict=True)]


def interleave(even: Any, odd: Any, n: int) -> Any:
    """The rows of two arrays in turn, n in all; the first may have one more."""
    m = n // 2
    both: Sequence[Any] = [even[:m], odd]
    turns = reshape(stack(both, axis=1), (2 * m, *odd.shape[1:]))
    return concatenate([turns, even[m:]]) if n % 2 else turns
