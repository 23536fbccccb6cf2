"""Rounding, comparisons, logic and casts as JavaScript, where true is 1 and false is 0."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.core.aspects import primitive_of
from wengert.explain.live.javascript import CodeWriter, element, javascript
from wengert.graph.ir import Operation
from wengert.ops.elementwise import predicates
from wengert.ops.shape import casting

for template, *operations in (
    ("rint({0})", predicates.rint),
    ("Math.floor({0} / {1})", predicates.floor_divide),
    ("rint({0} * Math.pow(10, {decimals})) / Math.pow(10, {decimals})", predicates._round),
    ("+({0} === {1})", predicates.equal),
    ("+({0} !== {1})", predicates.not_equal),
    ("+({0} < {1})", predicates.less),
    ("+({0} <= {1})", predicates.less_equal),
    ("+({0} > {1})", predicates.greater),
    ("+({0} >= {1})", predicates.greater_equal),
    ("+({0} !== 0 && {1} !== 0)", predicates.logical_and),
    ("+({0} !== 0 || {1} !== 0)", predicates.logical_or),
    ("+(({0} !== 0) !== ({1} !== 0))", predicates.logical_xor),
    ("+({0} === 0)", predicates.logical_not),
    ("+Number.isNaN({0})", predicates.isnan),
    ("+(Math.abs({0}) === Infinity)", predicates.isinf),
    ("+Number.isFinite({0})", predicates.isfinite),
    ("+({0} < 0 || Object.is({0}, -0))", predicates.signbit),
    ("+({0} === Infinity)", predicates.isposinf),
    ("+({0} === -Infinity)", predicates.isneginf),
    ("1", predicates.isreal),
    ("0", predicates.iscomplex),
    ("Number(BigInt({0}) & BigInt({1}))", predicates.bitwise_and),
    ("Number(BigInt({0}) | BigInt({1}))", predicates.bitwise_or),
    ("Number(BigInt({0}) ^ BigInt({1}))", predicates.bitwise_xor),
    ("{0} * Math.pow(2, {1})", predicates.left_shift),
    ("Math.floor({0} / Math.pow(2, {1}))", predicates.right_shift),
    ("+(Math.abs({0} - {1}) <= {atol} + {rtol} * Math.abs({1}))", predicates._isclose),
    ("{0}", casting._stop_gradient),
):  # fmt: skip
    javascript.enter(element(template), *operations)

for operation in (predicates.floor, predicates.ceil, predicates.trunc, predicates.sign):
    javascript.enter(element(f"Math.{primitive_of(operation).name}({{0}})"), operation)


@javascript(predicates.invert)
def write_invert(writer: CodeWriter, node: Operation, args: Sequence[str]) -> str:
    """The complement of bits, or of a boolean."""
    return element("+({0} === 0)" if node.dtype.kind == "b" else "-{0} - 1")(writer, node, args)


@javascript(casting._astype, casting._astype_discrete)
def write_cast(writer: CodeWriter, node: Operation, args: Sequence[str]) -> str:
    """Another dtype: integers are rounded towards zero, and all but zero is true."""
    template = {"b": "+({0} !== 0)", "i": "Math.trunc({0})", "u": "Math.trunc({0})"}.get(node.dtype.kind, "{0}")
    return element(template)(writer, node, args)
