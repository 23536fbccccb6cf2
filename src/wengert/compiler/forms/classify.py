"""The native form of each operation, and its cost."""

from __future__ import annotations

import math
from enum import Enum

from wengert.compiler.forms.affine import loop_position
from wengert.compiler.forms.gather import Written, is_native_key
from wengert.compiler.forms.lowering import (
    SUPPORTED,
    Choice,
    Draw,
    Gather,
    Instructions,
    Iteration,
    MatrixFunction,
    Reduction,
    Routine,
    Scatter,
    View,
    lowering_of,
    native_code,
)
from wengert.compiler.forms.short_rows import in_rows
from wengert.control.branches import SWITCH
from wengert.control.loop import LOOP
from wengert.core import machine
from wengert.core.primitive import OUTPUT
from wengert.core.spec import Spec
from wengert.graph.ir import Constant, Input, Node, Operation


class Form(Enum):
    """What an operation becomes in a native program."""

    GIVEN = "input or constant"
    ELEMENT = "computed element by element"
    ITERATED = "several elementwise steps, element by element"
    DRAW = "hashes the index of each element"
    VIEW = "only moves elements"
    CHOICE = "takes each element from one of several positions"
    UNROLLED = "reduction of few terms, unrolled"
    MATRIX = "all elements of a small matrix at once"
    GATHER = "reads at computed indices"
    REDUCE = "reduction in a loop"
    SCATTER = "writes or adds at computed indices, in memory"
    ROUTINE = "a step of its own, such as a call of BLAS"
    LOOP = "a loop or a choice, with functions for its bodies"
    FALLBACK = "NumPy"
    OUTPUT = "one output of a fallback that has several"


COMPUTED = (Form.ELEMENT, Form.ITERATED, Form.DRAW, Form.CHOICE, Form.UNROLLED, Form.MATRIX, Form.GATHER)


def form_of(node: Node, rows: tuple[int, ...], is_tiny: bool = False) -> Form:
    """The form of a node. Reductions within rows are unrolled, and in a tiny program all reductions are."""
    if not isinstance(node, Operation):
        return Form.GIVEN
    if node.primitive is OUTPUT:
        return Form.OUTPUT
    if node.primitive in (LOOP, SWITCH):
        return Form.LOOP if is_native_control(node) else Form.FALLBACK
    found = native_code(node)
    if isinstance(found, Routine):
        return Form.ROUTINE if found.is_for(node) else Form.FALLBACK
    has_specs = node.spec.__class__ is Spec and all(x.dtype in SUPPORTED for x in (node, *node.args))
    form = _native_form(node, rows, is_tiny) if has_specs else None
    return Form.FALLBACK if form is None else form


def is_native_control(node: Operation) -> bool:
    """Whether a loop or choice runs natively: its operands are numbers, and a switch has an integer index."""
    specs = [*[a.spec for a in node.args], *node.spec]
    has_index = node.primitive is LOOP or node.args[0].dtype in SUPPORTED
    return has_index and not any(spec.dtype.hasobject for spec in specs)


def _native_form(node: Operation, rows: tuple[int, ...], is_tiny: bool) -> Form | None:
    """The form of an operation on supported dtypes; None if NumPy runs it."""
    match native_code(node):
        case Instructions() as found:
            return Form.ELEMENT if found.is_for([a.spec for a in node.args], node.spec) else None
        case Iteration():
            return Form.ITERATED
        case View():
            return Form.VIEW
        case Draw():
            return Form.DRAW
        case MatrixFunction() as function:
            return Form.MATRIX if function.is_for(node) else None
        case Reduction() as reduction:
            is_complex = node.args[0].dtype.kind == "c"
            return None if is_complex and reduction.is_ordered else _reduction_form(node, rows, is_tiny)
        case Choice() as choice:
            loses_parts = node.dtype.kind != "c" and any(a.dtype.kind == "c" for a in node.args)
            return None if loses_parts else _choice_form(node, choice, is_tiny)
        case Gather() if is_native_key(node.params["key"], node.args[0].shape, node.args[1:]):
            return Form.GATHER
    return None


def _reduction_form(node: Operation, rows: tuple[int, ...], is_tiny: bool) -> Form | None:
    """Reductions of few terms and within rows are unrolled."""
    operand = node.args[0]
    if node.params.get("initial") is not None or not operand.size:
        return None
    terms = operand.size // max(node.size, 1) if node.size else 0
    is_within_rows = in_rows(operand, rows) and min(node.params["axis"], default=0) >= len(rows)
    return Form.UNROLLED if is_tiny or is_within_rows or terms <= machine.current.max_unrolled_terms else Form.REDUCE


def _choice_form(node: Operation, choice: Choice, is_tiny: bool) -> Form | None:
    """A choice, or a scatter in memory."""
    is_scatter = isinstance(choice, Scatter) and can_scatter(node)
    if choice.arity in (None, len(node.args)) and not (is_scatter and not is_tiny and is_small_update(node)):
        position = loop_position(node.shape)
        if is_tiny or choice.reads(position, *[a.spec for a in node.args], **node.params) is not None:
            return Form.CHOICE
    return Form.SCATTER if is_scatter else None


def can_scatter(node: Operation) -> bool:
    """Whether there is native code for the key and the dtypes of a scatter."""
    arity = lowering_of(node, Scatter).arity or 1
    if not is_native_key(node.params["key"], node.shape, node.args[arity:]):
        return False
    written = Written.by(node)
    if written.base is None:
        return written.shape == written.value.shape and node.dtype.kind in "fic"
    if written.adds:
        return node.dtype.kind in "fic" and (written.value.dtype == node.dtype or written.value.weak in (int, bool))
    return node.dtype.kind != "i" or written.value.dtype.kind != "f"  # NumPy converts floats to integers


def is_small_update(node: Operation) -> bool:
    """Whether a small part of a large array in memory is written: an input, or what such updates made of one.

    After many updates, it is in memory whatever they began with.
    """
    written, now = Written.by(node), machine.current
    if written.base is None or node.size < now.min_elements_updated_in_memory:
        return False
    if written.size * now.min_elements_per_updated_element > node.size:
        return False
    base: Node = written.base
    for _ in range(now.max_updates_traced_to_input):
        if not (isinstance(base, Operation) and is_update(base)):
            return isinstance(base, Input)
        base = base.args[0]
    return True


def is_update(node: Operation) -> bool:
    """Whether an operation writes to a copy of its first operand, or adds to it."""
    found = native_code(node)
    return isinstance(found, Scatter) and found.arity == 2


def operation_cost(node: Operation) -> int:
    """The cost of one element, in additions."""
    found = native_code(node)
    if isinstance(found, MatrixFunction):
        return max(found.flops(node) // max(math.prod(node.shape[found.lead(node) :]), 1), 1)
    if isinstance(found, Iteration):
        steps, body = node.params["shape"].length, node.params["body"]
        return max(steps * sum(map(operation_cost, body.operations)) // len(body.outputs), 1)
    return found.cost if found is not None else 1


def scalar_operations(node: Operation) -> int:
    """The number of scalar operations of a node."""
    if node.spec.__class__ is not Spec:
        return 0
    match native_code(node):
        case Reduction():
            return max(node.size, node.args[0].size)
        case MatrixFunction():
            return node.size * operation_cost(node)
    return node.size


def is_immediate(node: Node) -> bool:
    """Whether a constant is part of the code."""
    return (
        isinstance(node, Constant)
        and (node.weak is not None or node.size == 1)
        and node.dtype.kind in "fibc"
        and not node.is_captured
    )
