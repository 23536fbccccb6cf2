"""The native form of each operation, and its cost."""

from __future__ import annotations

from enum import Enum

from wengert.compiler.affine import loop_position
from wengert.compiler.gather import is_native_key
from wengert.compiler.lowering import (
    SUPPORTED,
    BlasCall,
    Choice,
    Gather,
    Instructions,
    Reduction,
    Scatter,
    View,
    lowering,
)
from wengert.compiler.prepare import prepare_body
from wengert.compiler.short_rows import in_rows
from wengert.control.branches import SWITCH
from wengert.control.loop import LOOP
from wengert.core.aspects import primitive_of
from wengert.core.infer import infer
from wengert.core.primitive import OUTPUT
from wengert.core.spec import Spec
from wengert.graph.ir import Node, Operation
from wengert.ops.indexing.subscripts import _getitem, gather

GATHER, GETITEM = map(primitive_of, (gather, _getitem))
UNROLLED_TERMS = 8
"""A reduction of at most so many terms is unrolled."""


class Form(Enum):
    """What an operation becomes in a native program."""

    GIVEN = "input or constant"
    ELEMENT = "computed element by element"
    VIEW = "only moves elements"
    CHOICE = "takes each element from one of several positions"
    UNROLLED = "reduction of few terms, unrolled"
    GATHER = "reads at computed indices"
    REDUCE = "reduction in a loop"
    SCATTER = "adds at computed indices"
    BLAS = "BLAS"
    LOOP = "a loop or a choice, with functions for its bodies"
    FALLBACK = "NumPy"
    OUTPUT = "one output of a fallback that has several"


COMPUTED = (Form.ELEMENT, Form.CHOICE, Form.UNROLLED, Form.GATHER)


def form_of(node: Node, rows: tuple[int, ...], is_tiny: bool = False) -> Form:
    """The form of a node. Reductions within rows are unrolled, and in a tiny program all reductions are."""
    if not isinstance(node, Operation):
        return Form.GIVEN
    if node.primitive is OUTPUT:
        return Form.OUTPUT
    if node.primitive in (LOOP, SWITCH):
        return Form.LOOP if has_native_bodies(node) else Form.FALLBACK
    has_specs = node.spec.__class__ is Spec and all(x.dtype in SUPPORTED for x in (node, *node.args))
    form = _native_form(node, rows, is_tiny) if has_specs else None
    return Form.FALLBACK if form is None else form


def has_native_bodies(node: Operation) -> bool:
    """Whether the bodies of a loop or switch run without NumPy."""
    specs = [*[a.spec for a in node.args], *node.spec]
    if not all(spec.dtype in SUPPORTED for spec in specs):
        return False
    params = node.params
    bodies = [g for g in (params["body"], params["condition"]) if g] if node.primitive is LOOP else params["branches"]
    return all(form_of(inner, ()) is not Form.FALLBACK for body in bodies for inner in prepare_body(body).operations)


def _native_form(node: Operation, rows: tuple[int, ...], is_tiny: bool) -> Form | None:
    """The form of an operation on supported dtypes; None if NumPy runs it."""
    match lowering.of(node.primitive):
        case View():
            return Form.VIEW
        case Instructions() as found:
            return Form.ELEMENT if found.is_for([a.spec for a in node.args], node.spec) else None
        case Reduction():
            return _reduction_form(node, rows, is_tiny)
        case Choice() as found:
            return _choice_form(node, found, is_tiny)
        case Gather() if is_native_key(node.params["key"], node.args[0].shape, node.args[1:]):
            return Form.GATHER
        case BlasCall() as found if found.is_for(node):
            return Form.BLAS
    return None


def _reduction_form(node: Operation, rows: tuple[int, ...], is_tiny: bool) -> Form | None:
    """Reductions of few terms and within rows are unrolled."""
    operand = node.args[0]
    if node.params.get("initial") is not None or not operand.size:
        return None
    terms = operand.size // max(node.size, 1) if node.size else 0
    is_within_rows = in_rows(operand, rows) and min(node.params["axis"], default=0) >= len(rows)
    return Form.UNROLLED if is_tiny or is_within_rows or terms <= UNROLLED_TERMS else Form.REDUCE


def _choice_form(node: Operation, choice: Choice, is_tiny: bool) -> Form | None:
    """A choice, or a scatter at computed indices."""
    if choice.arity in (None, len(node.args)):
        position = loop_position(node.shape)
        if is_tiny or choice.reads(position, *[a.spec for a in node.args], **node.params) is not None:
            return Form.CHOICE
    is_scatter = isinstance(choice, Scatter) and is_native_key(node.params["key"], node.shape, node.args[1:])
    return Form.SCATTER if is_scatter and fills_key(node) else None


def fills_key(node: Operation) -> bool:
    """Whether a scattered operand has the shape that its key selects, without broadcasting."""
    reading = GATHER if len(node.args) > 1 else GETITEM
    selected = infer(reading, (node.spec, *[i.spec for i in node.args[1:]]), {"key": node.params["key"]})
    return selected.shape == node.args[0].shape and node.dtype.kind in "fi"


def operation_cost(node: Operation) -> int:
    """The cost of one element, in additions."""
    found = lowering.of(node.primitive)
    return found.cost if found is not None else 1


def scalar_operations(node: Operation) -> int:
    """The number of scalar operations of a node."""
    if node.spec.__class__ is not Spec:
        return 0
    return max(node.size, node.args[0].size) if isinstance(lowering.of(node.primitive), Reduction) else node.size
