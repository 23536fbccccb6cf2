"""Comparisons, decisions, rounding and bits."""

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
from wengert.ops.elementwise.predicates import (
    _isclose,
    _round,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    ceil,
    equal,
    floor,
    floor_divide,
    greater,
    greater_equal,
    invert,
    iscomplex,
    isfinite,
    isinf,
    isnan,
    isneginf,
    isposinf,
    isreal,
    left_shift,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
    right_shift,
    rint,
    sign,
    signbit,
    trunc,
)

notation.enter(Infix("//", "//", "//", PRODUCT), floor_divide)
notation.enter(Infix("==", "=", "=", COMPARISON), equal)
notation.enter(Infix("!=", "≠", r"\neq", COMPARISON), not_equal)
notation.enter(Infix("<", "<", "<", COMPARISON), less)
notation.enter(Infix("<=", "≤", r"\leq", COMPARISON), less_equal)
notation.enter(Infix(">", ">", ">", COMPARISON), greater)
notation.enter(Infix(">=", "≥", r"\geq", COMPARISON), greater_equal)
notation.enter(Infix(None, "∧", r"\wedge", AND), logical_and)
notation.enter(Infix(None, "∨", r"\vee", OR), logical_or)
notation.enter(Infix("&", "&", r"\mathbin{\&}", AND), bitwise_and)
notation.enter(Infix("|", "|", r"\mid", OR), bitwise_or)
notation.enter(Infix("^", "⊕", r"\oplus", XOR), bitwise_xor)
notation.enter(Infix("<<", "≪", r"\ll", SHIFT), left_shift)
notation.enter(Infix(">>", "≫", r"\gg", SHIFT), right_shift)
notation.enter(NamedFunction("sgn", r"\mathrm{sgn}"), sign)
notation.enter(Fence("⌊", "⌋", r"\left\lfloor ", r"\right\rfloor "), floor)
notation.enter(Fence("⌈", "⌉", r"\left\lceil ", r"\right\rceil "), ceil)

expression.enter(
    lambda w, node: Expression(
        f"{w.style.pick(('¬', chr(92) + 'neg '))}{w.within(w.known[node.args[0]], POWER)}", POWER
    ),
    logical_not,
)


@sympy_form(_isclose)
def sympy_isclose(sympy: Any, x: Any, y: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    return sympy.Le(sympy.Abs(x - y), atol + rtol * sympy.Abs(y))


sympy_form.enter(sympy_function("floor"), floor)
sympy_form.enter(sympy_function("ceiling"), ceil)
sympy_form.enter(sympy_function("sign"), sign)
sympy_form.enter(sympy_function("Eq"), equal)
sympy_form.enter(sympy_function("Ne"), not_equal)
sympy_form.enter(sympy_function("Lt"), less)
sympy_form.enter(sympy_function("Le"), less_equal)
sympy_form.enter(sympy_function("Gt"), greater)
sympy_form.enter(sympy_function("Ge"), greater_equal)
sympy_form.enter(sympy_logical("And"), logical_and)
sympy_form.enter(sympy_logical("Or"), logical_or)
sympy_form.enter(sympy_logical("Not"), logical_not)
sympy_form.enter(sympy_logical("Xor"), logical_xor)
sympy_form.enter(whole_part, trunc)
sympy_form.enter(lambda sympy, x, y: sympy.floor(x / y), floor_divide)
sympy_form.enter(lambda sympy, x: sympy.Eq(sympy.im(x), 0), isreal)
sympy_form.enter(lambda sympy, x: sympy.Ne(sympy.im(x), 0), iscomplex)
sympy_form.enter(lambda sympy, x, y: x * 2**y, left_shift)
sympy_form.enter(lambda sympy, x, y: sympy.floor(x / 2**y), right_shift)
sympy_form.without("SymPy rounds numbers, not symbols", rint, _round)
sympy_form.without("SymPy has no signed zeros", signbit)
sympy_form.without("SymPy's symbols are finite numbers", isnan, isinf, isfinite, isposinf, isneginf)
sympy_form.without("SymPy has no bits", bitwise_and, bitwise_or, bitwise_xor, invert)
