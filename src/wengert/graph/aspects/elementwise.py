"""Arithmetic and elementary functions of each element."""

from __future__ import annotations

from typing import Any

from wengert.graph.ir import Operation, is_a
from wengert.graph.mathematics import ONE, Expression, Writer, expression
from wengert.graph.notation import (
    ATOM,
    LN,
    POWER,
    PRODUCT,
    SUM,
    TRANSPARENT,
    Fence,
    Infix,
    NamedFunction,
    PrefixFunction,
    notation,
)
from wengert.graph.python_source import SourceWriter, python_call, template
from wengert.graph.sympy import same_number, sympy_form, sympy_function
from wengert.ops.elementwise.arithmetic import (
    add,
    cbrt,
    divide,
    divide_live,
    fmod,
    multiply,
    multiply_live,
    negative,
    positive,
    reciprocal,
    remainder,
    sqrt,
    square,
    subtract,
)
from wengert.ops.elementwise.bits import _exponent, _fraction, _ldexp, _mantissa, bitwise_count, gcd, lcm, spacing
from wengert.ops.elementwise.choices import _where, copysign, fmax, fmin, heaviside, maximum, minimum, nextafter, relu
from wengert.ops.elementwise.complex_numbers import _angle, absolute, conj, fabs, imag, real
from wengert.ops.elementwise.exponential import (
    _power,
    exp,
    exp2,
    expm1,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logaddexp2,
    sigmoid,
    softplus,
)
from wengert.ops.elementwise.trigonometric import (
    _sinc,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    cos,
    cosh,
    deg2rad,
    hypot,
    rad2deg,
    sin,
    sinh,
    tan,
    tanh,
)
from wengert.ops.reductions.sums import root

# Signs and short names

notation.enter(Infix("+", "+", "+", SUM), add)
notation.enter(Infix("-", "−", "-", SUM), subtract)
notation.enter(Infix("*", "·", r"\cdot", PRODUCT), multiply)
notation.enter(Infix("/", "/", "/", PRODUCT), divide)
notation.enter(Infix("%", "mod", r"\bmod", PRODUCT), remainder)
notation.enter(Infix("**", "^", "^", POWER), _power)
notation.enter(TRANSPARENT, positive)
notation.enter(LN, log)
notation.enter(PrefixFunction("log₂", r"\log_2"), log2)
notation.enter(PrefixFunction("log₁₀", r"\log_{10}"), log10)
notation.enter(PrefixFunction("exp", r"\exp"), exp)
notation.enter(PrefixFunction("sin", r"\sin"), sin)
notation.enter(PrefixFunction("cos", r"\cos"), cos)
notation.enter(PrefixFunction("tan", r"\tan"), tan)
notation.enter(PrefixFunction("sinh", r"\sinh"), sinh)
notation.enter(PrefixFunction("cosh", r"\cosh"), cosh)
notation.enter(PrefixFunction("tanh", r"\tanh"), tanh)
notation.enter(PrefixFunction("arcsin", r"\arcsin"), arcsin)
notation.enter(PrefixFunction("arccos", r"\arccos"), arccos)
notation.enter(PrefixFunction("arctan", r"\arctan"), arctan)
notation.enter(NamedFunction("σ", r"\sigma"), sigmoid)
notation.enter(NamedFunction("max", r"\max"), maximum)
notation.enter(NamedFunction("min", r"\min"), minimum)
notation.enter(NamedFunction("Re", r"\mathrm{Re}"), real)
notation.enter(NamedFunction("Im", r"\mathrm{Im}"), imag)
notation.enter(NamedFunction("arg", r"\arg"), _angle)
notation.enter(Fence("|", "|", r"\left|", r"\right|"), absolute, fabs)


# Expressions of mathematics


@expression(add, subtract)
def write_sum(writer: Writer, node: Operation) -> Expression:
    left, right = node.args
    return writer.sum(writer.known[left], writer.known[right], is_a(node, subtract))


@expression(multiply, multiply_live)
def write_product(writer: Writer, node: Operation) -> Expression:
    left, right = node.args
    if left is right:
        return writer.power(writer.known[left], "2")
    both = left.shape and right.shape and not (writer.known[left].is_number or writer.known[right].is_number)
    return writer.product(writer.known[left], writer.known[right], writer.style.elementwise if both else "")


@expression(divide, divide_live)
def write_quotient(writer: Writer, node: Operation) -> Expression:
    return writer.fraction(*[writer.known[a] for a in node.args])


@expression(_power)
def write_power(writer: Writer, node: Operation) -> Expression:
    base, exponent = [writer.known[a] for a in node.args]
    if exponent.is_number and exponent.text == "1" and not exponent.negative:
        return base
    if exponent.is_number and exponent.text == "0.5" and not exponent.negative:
        return writer.root(base)
    return writer.power(base, writer.with_sign(exponent))


@expression(_where)
def write_cases(writer: Writer, node: Operation) -> Expression:
    condition, x, y = [writer.with_sign(writer.known[a]) for a in node.args]
    return Expression(writer.style.cases(condition, x, y))


expression.enter(lambda w, node: w.fraction(ONE, w.known[node.args[0]]), reciprocal)
expression.enter(lambda w, node: w.known[node.args[0]]._replace(negative=not w.known[node.args[0]].negative), negative)
expression.enter(lambda w, node: w.power(w.known[node.args[0]], "2"), square)
expression.enter(lambda w, node: w.root(w.known[node.args[0]]), sqrt, root)
expression.enter(lambda w, node: w.style.exponential(w, w.known[node.args[0]]), exp)
expression.enter(lambda w, node: w.sum(w.style.exponential(w, w.known[node.args[0]]), ONE, subtract=True), expm1)
expression.enter(
    lambda w, node: w.function(w.style.symbol(LN), w.sum(ONE, w.known[node.args[0]], subtract=False)), log1p
)
expression.enter(lambda w, node: Expression(w.style.conjugate(w.within(w.known[node.args[0]], ATOM))), conj)


# Python


@python_call(_sinc)
def call_sinc(writer: SourceWriter, node: Operation) -> str:
    return writer.call(node) if node.params["order"] else f"np.sinc({writer.texts[node.args[0]][0]})"


python_call.enter(template("wg.sigmoid({0})"), sigmoid)
python_call.enter(template("wg.relu({0})"), relu)
python_call.enter(template("wg.softplus({0})"), softplus)
python_call.enter(template("np.sqrt({0})"), root)


# SymPy


@sympy_form(_sinc)
def sympy_sinc(sympy: Any, x: Any, order: int) -> Any:
    t = sympy.Dummy(real=True)
    return sympy.sinc(sympy.pi * t).diff(t, order).subs(t, x)


def sympy_exponent(sympy: Any, x: Any) -> Any:
    """The exponent of 2 of numbers whose mantissa is from 1/2 to 1."""
    return sympy.Piecewise((0, sympy.Eq(x, 0)), (sympy.floor(sympy.log(sympy.Abs(x), 2)) + 1, True))


def whole_part(sympy: Any, x: Any) -> Any:
    return sympy.sign(x) * sympy.floor(sympy.Abs(x))


sympy_form.enter(same_number, positive)
sympy_form.enter(sympy_function("exp"), exp)
sympy_form.enter(sympy_function("log"), log)
sympy_form.enter(sympy_function("sqrt"), sqrt, root)
sympy_form.enter(sympy_function("sin"), sin)
sympy_form.enter(sympy_function("cos"), cos)
sympy_form.enter(sympy_function("tan"), tan)
sympy_form.enter(sympy_function("sinh"), sinh)
sympy_form.enter(sympy_function("cosh"), cosh)
sympy_form.enter(sympy_function("tanh"), tanh)
sympy_form.enter(sympy_function("asin"), arcsin)
sympy_form.enter(sympy_function("acos"), arccos)
sympy_form.enter(sympy_function("atan"), arctan)
sympy_form.enter(sympy_function("asinh"), arcsinh)
sympy_form.enter(sympy_function("acosh"), arccosh)
sympy_form.enter(sympy_function("atanh"), arctanh)
sympy_form.enter(sympy_function("atan2"), arctan2)
sympy_form.enter(sympy_function("Abs"), absolute, fabs)
sympy_form.enter(sympy_function("Max"), maximum, fmax)
sympy_form.enter(sympy_function("Min"), minimum, fmin)
sympy_form.enter(sympy_function("conjugate"), conj)
sympy_form.enter(sympy_function("re"), real)
sympy_form.enter(sympy_function("im"), imag)
sympy_form.enter(sympy_function("arg"), _angle)
sympy_form.enter(sympy_function("Heaviside"), heaviside)
sympy_form.enter(lambda sympy, x, y: x + y, add)
sympy_form.enter(lambda sympy, x, y: x - y, subtract)
sympy_form.enter(lambda sympy, x, y: x * y, multiply, multiply_live)
sympy_form.enter(lambda sympy, x, y: x / y, divide, divide_live)
sympy_form.enter(lambda sympy, x, y: x**y, _power)
sympy_form.enter(lambda sympy, x, y: x % y, remainder)
sympy_form.enter(lambda sympy, x, y: sympy.sign(x) * (sympy.Abs(x) % sympy.Abs(y)), fmod)
sympy_form.enter(lambda sympy, x: -x, negative)
sympy_form.enter(lambda sympy, x: 1 / x, reciprocal)
sympy_form.enter(lambda sympy, x: x**2, square)
sympy_form.enter(lambda sympy, x: sympy.sign(x) * sympy.cbrt(sympy.Abs(x)), cbrt)
sympy_form.enter(lambda sympy, x: 2**x, exp2)
sympy_form.enter(lambda sympy, x: sympy.exp(x) - 1, expm1)
sympy_form.enter(lambda sympy, x: sympy.log(x, 2), log2)
sympy_form.enter(lambda sympy, x: sympy.log(x, 10), log10)
sympy_form.enter(lambda sympy, x: sympy.log(1 + x), log1p)
sympy_form.enter(lambda sympy, x, y: sympy.log(sympy.exp(x) + sympy.exp(y)), logaddexp)
sympy_form.enter(lambda sympy, x, y: sympy.log(2**x + 2**y, 2), logaddexp2)
sympy_form.enter(lambda sympy, x, y: sympy.sqrt(x**2 + y**2), hypot)
sympy_form.enter(lambda sympy, x: x * sympy.pi / 180, deg2rad)
sympy_form.enter(lambda sympy, x: x * 180 / sympy.pi, rad2deg)
sympy_form.enter(lambda sympy, condition, x, y: sympy.Piecewise((x, condition), (y, True)), _where)
sympy_form.enter(lambda sympy, x: 1 / (1 + sympy.exp(-x)), sigmoid)
sympy_form.enter(lambda sympy, x: sympy.log(1 + sympy.exp(x)), softplus)
sympy_form.enter(lambda sympy, x: sympy.Max(x, 0), relu)
sympy_form.enter(lambda sympy, x: x - whole_part(sympy, x), _fraction)
sympy_form.enter(sympy_exponent, _exponent)
sympy_form.enter(lambda sympy, x: x / 2 ** sympy_exponent(sympy, x), _mantissa)
sympy_form.enter(lambda sympy, x, exponent: x * 2**exponent, _ldexp)
sympy_form.without("SymPy has no signed zeros", copysign)
sympy_form.without("SymPy's numbers have no neighbours", nextafter, spacing)
sympy_form.without("SymPy's divisors are those of polynomials", gcd, lcm)
sympy_form.without("SymPy has no bits", bitwise_count)
