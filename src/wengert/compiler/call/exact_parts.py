"""Which operations native code may compute in place of eager code, because the bits are the same.

That are exact operations, and functions that eager code would run natively, too: a function of an element has the same
bits in every kernel.
"""

from __future__ import annotations

from collections.abc import Iterable

from wengert.core.aspects import primitive_of
from wengert.core.large_arrays import has_many_terms
from wengert.core.native import LargeCalls, native_call
from wengert.core.spec import Spec
from wengert.graph.ir import Node, Operation
from wengert.ops.indexing.key import Index
from wengert.ops.indexing.subscripts import _scatter

SCATTER = primitive_of(_scatter)

EXACT_KINDS = frozenset("fiub")
"""The kinds of numbers of exact operations: the parts of complex ones are rounded in different orders."""


def has_one_rounding(node: Operation) -> bool:
    """Whether an operation has the same bits in eager and in native code, whatever its size.

    Additions at a key have an order where the key may have one index twice: that of NumPy, if they start from zeros and
    are not made in pieces.
    """
    is_ordered = not adds_repeatedly(node) or (
        node.primitive is SCATTER and not has_many_terms(node.args[0].size, node.size)
    )
    return (
        is_ordered
        and node.primitive.facts.exact
        and node.spec.__class__ is Spec
        and all(x.spec.__class__ is Spec and x.dtype.kind in EXACT_KINDS for x in (node, *node.args))
    )


def adds_repeatedly(node: Operation) -> bool:
    """Whether an operation may add several numbers to one element."""
    key = node.params.get("key")
    return isinstance(key, Index) and key.repeats and not node.primitive.facts.moves


def is_native_function(node: Operation, size: int) -> bool:
    """Whether eager code computes a function natively from the first call on, for a contiguous array of this size.

    The other operands are numbers.
    """
    calls = getattr(node.primitive.impl, "large_calls", None)
    return (
        isinstance(calls, LargeCalls)
        and not calls.is_exact
        and native_call.of(node.primitive) is not None
        and any(a.shape == node.shape for a in node.args)
        and all(a.shape == node.shape or not a.shape for a in node.args)
        and calls.is_native(size)
    )


def has_eager_bits(operations: Iterable[Node], size: int) -> bool:
    """Whether native code for elementwise operations on arrays of this size has the bits of eager code."""
    return all(
        has_one_rounding(node) or (node.shape != () and is_native_function(node, size))
        for node in operations
        if isinstance(node, Operation)
    )
