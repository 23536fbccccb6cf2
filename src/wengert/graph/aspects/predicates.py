"""Comparisons, logic, rounding and bits."""

from __future__ import annotations

from typing import Any

from wengert.graph.aspects.elementwise import whole_part
from wengert.graph.mathematics import Expression, expression
from wengert.graph.notation import (
    AND,
    COMPARISON,
    OR,
    POWER,
    PRODUCT,
    SHIFT,
    XOR,
    Fence,
    Infix,
    NamedFunction,
    notation,
)
from wengert.graph.sympy import sympy_form, sympy_function, sympy_logical
from wengert.ops.elementwise import predicates

notation.enter(Infix("//", "//", "//", PRODUCT), predicates.floor_divide)
notation.enter(Infix("==", "=", "=", COMPARISON), predicates.equal)
notation.enter(Infix("!=", "≠", r"\neq", COMPARISON), predicates.not_equal)
notation.enter(Infix("<", "<", "<", COMPARISON), predicates.less)
notation.enter(Infix("<=", "≤", r"\leq", COMPARISON), predicates.less_equal)
notation.enter(Infix(">", ">", ">", COMPARISON), predicates.greater)
notation.enter(Infix(">=", "≥", r"\geq", COMPARISON), predicates.greater_equal)
notation.enter(Infix(None, "∧", r"\wedge", AND), predicates.logical_and)
notation.enter(Infix(None, "∨", r"\vee", OR), predicates.logical_or)
notation.enter(Infix("&", "&", r"\mathbin{\&}", AND), predicates.bitwise_and)
notation.enter(Infix("|", "|", r"\mid", OR), predicates.bitwise_or)
notation.enter(Infix("^", "⊕", r"\oplus", XOR), predicates.bitwise_xor)
notation.enter(Infix("<<", "≪", r"\ll", SHIFT), predicates.left_shift)
notation.enter(Infix(">>", "≫", r"\gg", SHIFT), predicates.right_shift)
notation.enter(NamedFunction("sgn", r"\mathrm{sgn}"), predicates.sign)
notation.enter(Fence("⌊", "⌋", r"\left\lfloor ", r"\right\rfloor "), predicates.floor)
notation.enter(Fence("⌈", "⌉", r"\left\lceil ", r"\right\rceil "), predicates.ceil)

expression.enter(
    lambda w, node: Expression(
        f"{w.style.pick(('¬', chr(92) + 'neg '))}{w.within(w.known[node.args[0]], POWER)}", POWER
    ),
    predicates.logical_not,
)


@sympy_form(predicates._isclose)
def sympy_isclose(sympy: Any, x: Any, y: Any, rtol: float, atol: float, **_: Any) -> Any:
    """The inequality of `np.isclose`. SymPy's symbols are no NaN."""
    return sympy.Le(sympy.Abs(x - y), atol + rtol * sympy.Abs(y))


sympy_form.enter(sympy_function("floor"), predicates.floor)
sympy_form.enter(sympy_function("ceiling"), predicates.ceil)
sympy_form.enter(sympy_function("sign"), predicates.sign)
sympy_form.enter(sympy_function("Eq"), predicates.equal)
sympy_form.enter(sympy_function("Ne"), predicates.not_equal)
sympy_form.enter(sympy_function("Lt"), predicates.less)
sympy_form.enter(sympy_function("Le"), predicates.less_equal)
sympy_form.enter(sympy_function("Gt"), predicates.greater)
sympy_form.enter(sympy_function("Ge"), predicates.greater_equal)
sympy_form.enter(sympy_logical("And"), predicates.logical_and)
sympy_form.enter(sympy_logical("Or"), predicates.logical_or)
sympy_form.enter(sympy_logical("Not"), predicates.logical_not)
sympy_form.enter(sympy_logical("Xor"), predicates.logical_xor)
sympy_form.enter(whole_part, predicates.trunc)
sympy_form.enter(lambda sympy, x, y: sympy.floor(x / y), predicates.floor_divide)
sympy_form.enter(lambda sympy, x: sympy.Eq(sympy.im(x), 0), predicates.isreal)
sympy_form.enter(lambda sympy, x: sympy.Ne(sympy.im(x), 0), predicates.iscomplex)
sympy_form.enter(lambda sympy, x, y: x * 2**y, predicates.left_shift)
sympy_form.enter(lambda sympy, x, y: sympy.floor(x / 2**y), predicates.right_shift)
sympy_form.without("SymPy rounds numbers, not symbols", predicates.rint, predicates._round)
sympy_form.without("SymPy has no signed zeros", predicates.signbit)
sympy_form.without(
    "SymPy's symbols are finite numbers",
    predicates.isnan,
    predicates.isinf,
    predicates.isfinite,
    predicates.isposinf,
    predicates.isneginf,
)
sympy_form.without(
    "SymPy has no bit operations",
    predicates.bitwise_and,
    predicates.bitwise_or,
    predicates.bitwise_xor,
    predicates.invert,
)
