"""Algebraic simplification, where it changes no bit of any result.

NaN, infinities and signed zeros are kept too (a NaN may change its sign). So `x + 0.0`, which makes 0.0 of -0.0, stays,
and so do `x * 0.0`, `x - x` and `x / x`. A rule returns what an operation is equal to; whether shape, dtype and weak
type are equal too is checked by the loop. Complex products mix the parts of a number, in which an infinity becomes NaN,
so the rules of arithmetic are for real numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.aspects import Aspect
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation, is_a
from wengert.graph.passes.rewrite import broadcast_node, can_replace, constant_value, is_uniform, make_node, rebuild
from wengert.ops.elementwise.arithmetic import add, divide, multiply, negative, positive, square, subtract
from wengert.ops.elementwise.choices import _where, maximum, minimum
from wengert.ops.elementwise.complex_numbers import absolute, conj, fabs, real
from wengert.ops.elementwise.exponential import _power
from wengert.ops.elementwise.predicates import equal, logical_and, logical_not, logical_or, not_equal
from wengert.ops.indexing.key import Hole
from wengert.ops.indexing.subscripts import _set_at
from wengert.ops.reductions.extremes import _max, _min
from wengert.ops.shape.casting import _astype, _astype_discrete, _copy, _stop_gradient
from wengert.ops.shape.joining import _full_like, _pad, _stack
from wengert.ops.shape.rearranging import _concatenate, _flip, _roll
from wengert.ops.shape.reshaping import _broadcast_to, _expand_dims, _reshape

SimplificationRule = Callable[[Operation], Node | None]
simplifications: Aspect[tuple[SimplificationRule, ...]] = Aspect(
    "simplifications", "rules that replace it by simpler operations", rest="no rule is known that keeps every bit"
)
REAL = "fiub"


def simplify(graph: Graph) -> Graph:
    """The graph without operations that change nothing, and with cheaper ones where they give the same bits."""

    def rule(node: Operation, _: Operation) -> Node | None:
        for simpler in simplifications.of(node.primitive) or ():
            if (found := simpler(node)) is not None and can_replace(found, node):
                return found
        return None

    return rebuild(graph, rule)


def is_number(node: Node, number: float) -> bool:
    """Whether a node is that number, possibly broadcast."""
    for _ in range(3):  # longer chains of views are merged elsewhere
        node = node.args[0] if is_a(node, _broadcast_to, _reshape, _expand_dims) else node
    return is_uniform(node, number)


def drop(node: Operation) -> Node:
    """The operand, of an operation that changes nothing where the specs are equal."""
    return node.args[0]


def drop_if_real(node: Operation) -> Node | None:
    """The operand, if it is real."""
    return node.args[0] if node.args[0].dtype.kind in REAL else None


def neutral(number: float, both: bool = False) -> SimplificationRule:
    """The rule of an operation that does nothing if its second operand, or either, is a given number."""

    def rule(node: Operation) -> Node | None:
        if node.dtype.kind not in REAL:
            return None
        x, y = node.args
        if is_number(y, number):
            return broadcast_node(node, x, node.shape)
        return broadcast_node(node, y, node.shape) if both and is_number(x, number) else None

    return rule


def add_zero(node: Operation) -> Node | None:
    """x + -0.0 is x for every floating-point number; integers have only one zero."""
    return neutral(-0.0 if node.dtype.kind == "f" else 0, both=True)(node)


def subtract_zero(node: Operation) -> Node | None:
    """x - 0.0 is x."""
    return neutral(0.0 if node.dtype.kind == "f" else 0)(node)


def operand_of_negative(x: Node) -> Node | None:
    """y, if x is -y. Not for integers, whose negative may wrap around before they meet a wider dtype."""
    return x.args[0] if is_a(x, negative) and x.dtype.kind in "fc" else None


def cancel_inverse(node: Operation) -> Node | None:
    """-(-x), and `not not x`."""
    (x,) = node.args
    return x.args[0] if is_a(x, node.primitive.op) else None


def add_negative(node: Operation) -> Node | None:
    """x + (-y) is x - y."""
    x, y = node.args
    if (z := operand_of_negative(y)) is not None:
        return make_node(node, subtract, x, z)
    return None if (z := operand_of_negative(x)) is None else make_node(node, subtract, y, z)


def subtract_negative(node: Operation) -> Node | None:
    """x - (-y) is x + y, and -0.0 - y is -y."""
    x, y = node.args
    if (z := operand_of_negative(y)) is not None:
        return make_node(node, add, x, z)
    if y.dtype == node.dtype and node.dtype.kind == "f" and is_number(x, -0.0):
        return make_node(node, negative, y)
    return None


def cancel_signs(node: Operation) -> Node | None:
    """(-x) * (-y) is x * y."""
    x, y = map(operand_of_negative, node.args)
    return None if x is None or y is None or node.dtype.kind != "f" else make_node(node, node.primitive, x, y)


def move_sign_to_number(node: Operation) -> Node | None:
    """-x * c is x * -c, for a number c."""
    if node.dtype.kind != "f":
        return None
    for i, j in ((0, 1), (1, 0)):
        x, number = operand_of_negative(node.args[i]), float_constant(node.args[j])
        if x is not None and number is not None:
            return make_node(node, node.primitive, *((x, Constant(-number)) if i == 0 else (Constant(-number), x)))
    return None


def merge_scales(node: Operation) -> Node | None:
    """c * (2.0 * x) is (2.0 * c) * x, for a power of two that is at least 1 and a number c that is too.

    The first product is exact then, even of subnormal numbers, and if it overflows, the whole does.
    """
    whole = split_product(node)
    if whole is None or not is_a(whole[1], multiply) or node.dtype.kind != "f" or node.dtype.itemsize < 4:
        return None
    inner = whole[1]
    part = split_product(inner) if inner.dtype == node.dtype else None
    if part is None:
        return None
    outer, (power, x) = whole[0], part
    if not 1 <= abs(outer) <= LARGEST or not 1 <= power <= LARGEST or math.frexp(power)[0] != 0.5:
        return None
    return make_node(node, multiply, Constant(outer * power), x)


LARGEST = 2.0**60


def split_product(node: Operation) -> tuple[Any, Node] | None:
    """A product as a number and the other factor."""
    for i in (0, 1):
        if (number := float_constant(node.args[i])) is not None:
            return number, node.args[1 - i]
    return None


def float_constant(node: Node) -> Any:
    """The value of a constant that is one floating-point number, Python's or NumPy's; else None."""
    value = constant_value(node)
    return value if isinstance(value, float | np.float32 | np.float64) else None


def negate(node: Operation) -> Node | None:
    """x * -1 and x / -1 are -x."""
    if node.dtype.kind not in "fi":
        return None
    x, y = node.args
    if is_number(y, -1) and x.dtype == node.dtype:
        return broadcast_node(node, make_node(node, negative, x), node.shape)
    if is_a(node, multiply) and is_number(x, -1) and y.dtype == node.dtype:
        return broadcast_node(node, make_node(node, negative, y), node.shape)
    return None


def multiply_by_reciprocal(node: Operation) -> Node | None:
    """x / 4.0 is x * 0.25: the reciprocal of a power of two is exact, away from the ends of the range."""
    x, y = node.args
    value = constant_value(y)
    if (
        value is None
        or y.shape
        or node.dtype.kind != "f"
        or node.dtype.itemsize < 4
        or (y.weak is None and y.dtype.kind != "f")
    ):
        return None
    if value == 0 or not np.isfinite(value):
        return None
    mantissa, exponent = math.frexp(value)
    if abs(mantissa) != 0.5 or abs(exponent) > 100:
        return None
    reciprocal = 1.0 / value
    return make_node(node, multiply, x, Constant(y.dtype.type(reciprocal) if y.weak is None else float(reciprocal)))


def simplify_where(node: Operation) -> Node | None:
    """`where` with a known condition, with equal branches, or with one condition twice."""
    condition, x, y = node.args
    if is_number(condition, True):
        return broadcast_node(node, x, node.shape)
    if is_number(condition, False):
        return broadcast_node(node, y, node.shape)
    if x is y:
        return broadcast_node(node, x, node.shape)
    if is_a(condition, logical_not) and condition.args[0].dtype.kind == "b":
        return make_node(node, _where, condition.args[0], y, x)
    if is_a(x, _where) and x.args[0] is condition:
        return make_node(node, _where, condition, x.args[1], y)
    if is_a(y, _where) and y.args[0] is condition:
        return make_node(node, _where, condition, x, y.args[2])
    return None


def cancel_conversion(node: Operation) -> Node | None:
    """A conversion to a wider dtype of the same kind, and back."""
    (x,) = node.args
    if not is_a(x, _astype, _astype_discrete):
        return None
    (z,) = x.args
    return z if z.dtype.kind == x.dtype.kind and np.can_cast(z.dtype, x.dtype, "safe") else None


def drop_sign(node: Operation) -> Node | None:
    """|-x| is |x|, and (-x)**2 is x**2."""
    (x,) = node.args
    if not is_a(x, negative, absolute, fabs) or x.args[0].dtype.kind != "f":
        return None
    return make_node(node, node.primitive, x.args[0])


def invert_comparison(node: Operation) -> Node | None:
    """`not (x == y)` is `x != y`, for NaN too; `not (x < y)` is not `x >= y`."""
    (x,) = node.args
    if not is_a(x, equal, not_equal):
        return None
    return make_node(node, not_equal if is_a(x, equal) else equal, *x.args)


def merge_equal_operands(node: Operation) -> Node | None:
    """`maximum(x, x)` is x."""
    x, y = node.args
    return x if x is y else None


def absorb(number: bool) -> SimplificationRule:
    """`and` with False is False, `or` with True is True."""

    def rule(node: Operation) -> Node | None:
        return next((broadcast_node(node, a, node.shape) for a in node.args if is_number(a, number)), None)

    return rule


def broadcast_fill(node: Operation) -> Node | None:
    """`full_like` needs nothing of its first operand but the shape."""
    value = constant_value(node.args[1])
    if value is None or np.ndim(value):
        return None
    return broadcast_node(node, Constant(np.asarray(value).astype(node.dtype)[()]), node.shape)


def drop_if_zero(name: str) -> SimplificationRule:
    """The rule of an operation along no axes, or by distances that are all zero."""

    def rule(node: Operation) -> Node | None:
        return None if any(map(np.any, node.params[name])) else node.args[0]

    return rule


def drop_without_axes(node: Operation) -> Node | None:
    """The operand, of an operation along no axes."""
    return node.args[0] if not node.params["axis"] and node.params.get("initial") is None else None


def use_new_value(node: Operation) -> Node | None:
    """`x[...] = v` is v, if it has the spec of x."""
    key, v = node.params["key"].key, node.args[1]
    parts = key if isinstance(key, tuple) else (key,)
    is_whole = all(part is Ellipsis or part == slice(None) for part in parts if part.__class__ is not Hole)
    return v if is_whole and len(node.args) == 2 and v.spec == node.spec and v.weak is None else None


def expand_single(node: Operation) -> Node | None:
    """A stack of one array is that array with one more axis."""
    return make_node(node, _expand_dims, node.args[0], axis=(node.params["axis"],)) if len(node.args) == 1 else None


def drop_single(node: Operation) -> Node | None:
    """A concatenation of one array is that array."""
    return node.args[0] if len(node.args) == 1 else None


simplifications.enter((add_zero, add_negative), add)
simplifications.enter((subtract_zero, subtract_negative), subtract)
simplifications.enter((neutral(1, both=True), negate, cancel_signs, move_sign_to_number, merge_scales), multiply)
simplifications.enter((neutral(1), negate, cancel_signs, move_sign_to_number, multiply_by_reciprocal), divide)
simplifications.enter((neutral(1),), _power)
simplifications.enter((cancel_inverse,), negative)
simplifications.enter((drop,), positive, _copy, _stop_gradient, _reshape, _expand_dims, _broadcast_to)
simplifications.enter((drop_if_real,), conj, real)
simplifications.enter((drop_sign,), absolute, fabs, square)
simplifications.enter((merge_equal_operands,), maximum, minimum)
simplifications.enter((simplify_where,), _where)
simplifications.enter((cancel_inverse, invert_comparison), logical_not)
simplifications.enter((merge_equal_operands, neutral(True, both=True), absorb(False)), logical_and)
simplifications.enter((merge_equal_operands, neutral(False, both=True), absorb(True)), logical_or)
simplifications.enter((drop, cancel_conversion), _astype, _astype_discrete)
simplifications.enter((broadcast_fill,), _full_like)
simplifications.enter((drop_without_axes,), _flip, _max, _min)
simplifications.enter((drop_if_zero("shift"),), _roll)
simplifications.enter((drop_if_zero("pad_width"),), _pad)
simplifications.enter((drop_single,), _concatenate)
simplifications.enter((expand_single,), _stack)
simplifications.enter((use_new_value,), _set_at)
