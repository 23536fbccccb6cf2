"""How each operation becomes native, and what it costs."""

from __future__ import annotations

from enum import Enum

from wengert.compiler.affine import Affine, Counter
from wengert.compiler.gather import is_native_key
from wengert.compiler.lowering import (
    SUPPORTED,
    Choice,
    Gather,
    Instructions,
    LibraryCall,
    Reduction,
    Scatter,
    View,
    lowering,
)
from wengert.compiler.short_rows import in_rows
from wengert.core.aspects import primitive_of
from wengert.core.infer import infer
from wengert.core.primitive import OUTPUT
from wengert.core.spec import Spec
from wengert.graph.ir import Node, Operation
from wengert.ops.indexing.subscripts import _getitem, gather
from wengert.ops.shape.reshaping import _expand_dims, _reshape

GATHER, GETITEM, RESHAPE, EXPAND_DIMS = map(primitive_of, (gather, _getitem, _reshape, _expand_dims))
UNROLLED_TERMS = 8
"""So many terms of a reduction are written out instead of looped over."""


class Kind(Enum):
    """How an operation becomes native."""

    GIVEN = "input or constant"
    ELEMENT = "computed element by element"
    VIEW = "only moves elements"
    CHOICE = "takes elements from one position or another"
    UNROLLED = "reduction of few terms, written out"
    GATHER = "reads at positions that are computed"
    REDUCE = "reduction in a loop"
    SCATTER = "adds at positions that are computed"
    LIBRARY = "BLAS"
    FALLBACK = "NumPy"
    OUTPUT = "one result of a call of NumPy that has several"


COMPUTED = (Kind.ELEMENT, Kind.CHOICE, Kind.UNROLLED, Kind.GATHER)


def kind_of(node: Node, rows: tuple[int, ...], tiny: bool = False) -> Kind:
    """How a node becomes native. Reductions within rows are written out, and in a tiny program everything is."""
    if not isinstance(node, Operation):
        return Kind.GIVEN
    if node.primitive is OUTPUT:
        return Kind.OUTPUT
    if (
        node.spec.__class__ is not Spec
        or node.dtype not in SUPPORTED
        or any(a.dtype not in SUPPORTED for a in node.args)
    ):
        return Kind.FALLBACK
    found = lowering.of(node.primitive)
    if isinstance(found, View):
        return Kind.VIEW
    if isinstance(found, Instructions):
        return Kind.ELEMENT if found.is_for([a.spec for a in node.args], node.spec) else Kind.FALLBACK
    if isinstance(found, Reduction):
        return kind_of_reduction(node, rows, tiny)
    if isinstance(found, Choice) and found.arity in (None, len(node.args)):
        probe = tuple([Affine(0, ((Counter(i, n), 1),)) for i, n in enumerate(node.shape)])
        if tiny or found.reads(probe, *[a.spec for a in node.args], **node.params) is not None:
            return Kind.CHOICE
    if isinstance(found, Scatter) and is_native_key(node.params["key"], node.shape, node.args[1:]) and fills_key(node):
        return Kind.SCATTER
    if isinstance(found, Gather) and is_native_key(node.params["key"], node.args[0].shape, node.args[1:]):
        return Kind.GATHER
    return Kind.LIBRARY if isinstance(found, LibraryCall) and found.is_for(node) else Kind.FALLBACK


def kind_of_reduction(node: Operation, rows: tuple[int, ...], tiny: bool) -> Kind:
    """Few terms, or those within a row, are written out."""
    operand = node.args[0]
    if node.params.get("initial") is not None or not operand.size:
        return Kind.FALLBACK
    terms = operand.size // max(node.size, 1) if node.size else 0
    within = in_rows(operand, rows) and min(node.params["axis"], default=0) >= len(rows)
    return Kind.UNROLLED if tiny or within or terms <= UNROLLED_TERMS else Kind.REDUCE


def fills_key(node: Operation) -> bool:
    """Whether what is scattered has the shape of the position, without broadcasting."""
    reading = GATHER if len(node.args) > 1 else GETITEM
    position = infer(reading, (node.spec, *[i.spec for i in node.args[1:]]), {"key": node.params["key"]})
    return position.shape == node.args[0].shape and node.dtype.kind in "fi"


def is_reshape(node: Node) -> bool:
    return isinstance(node, Operation) and node.primitive in (RESHAPE, EXPAND_DIMS)


def operation_cost(node: Operation) -> int:
    found = lowering.of(node.primitive)
    return found.cost if found is not None else 1


def work(node: Operation) -> int:
    """How many scalar operations a node stands for."""
    if node.spec.__class__ is not Spec:
        return 0
    return max(node.size, node.args[0].size) if isinstance(lowering.of(node.primitive), Reduction) else node.size
