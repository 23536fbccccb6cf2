"""Arithmetic and elementary functions of each element."""

from __future__ import annotations

from typing import Any

from wengert.core.aspects import primitive_of
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
from wengert.graph.sympy import enter_same_names, same_number, sympy_form, sympy_function
from wengert.ops.elementwise import arithmetic, bits, choices, complex_numbers, exponential, trigonometric
from wengert.ops.reductions import sums

# Signs and short names

notation.enter(Infix("+", "+", "+", SUM), arithmetic.add)
notation.enter(Infix("-", "−", "-", SUM), arithmetic.subtract)
notation.enter(Infix("*", "·", r"\cdot", PRODUCT), arithmetic.multiply)
notation.enter(Infix("/", "/", "/", PRODUCT), arithmetic.divide)
notation.enter(Infix("%", "mod", r"\bmod", PRODUCT), arithmetic.remainder)
notation.enter(Infix("**", "^", "^", POWER), exponential._power)
notation.enter(TRANSPARENT, arithmetic.positive)
notation.enter(LN, exponential.log)
notation.enter(PrefixFunction("log₂", r"\log_2"), exponential.log2)
notation.enter(PrefixFunction("log₁₀", r"\log_{10}"), exponential.log10)
for operation in (
    exponential.exp, trigonometric.sin, trigonometric.cos, trigonometric.tan, trigonometric.sinh, trigonometric.cosh,
    trigonometric.tanh, trigonometric.arcsin, trigonometric.arccos, trigonometric.arctan,
):  # fmt: skip
    name = primitive_of(operation).name
    notation.enter(PrefixFunction(name, f"\\{name}"), operation)
notation.enter(NamedFunction("σ", r"\sigma"), exponential.sigmoid)
notation.enter(NamedFunction("max", r"\max"), choices.maximum)
notation.enter(NamedFunction("min", r"\min"), choices.minimum)
notation.enter(NamedFunction("Re", r"\mathrm{Re}"), complex_numbers.real)
notation.enter(NamedFunction("Im", r"\mathrm{Im}"), complex_numbers.imag)
notation.enter(NamedFunction("arg", r"\arg"), complex_numbers._angle)
notation.enter(Fence("|", "|", r"\left|", r"\right|"), complex_numbers.absolute, complex_numbers.fabs)


# Expressions of mathematics


@expression(arithmetic.add, arithmetic.subtract)
def write_sum(writer: Writer, node: Operation) -> Expression:
    """`x + y`, `x - y`."""
    left, right = node.args
    return writer.sum(writer.known[left], writer.known[right], is_a(node, arithmetic.subtract))


@expression(arithmetic.multiply, arithmetic.multiply_live)
def write_product(writer: Writer, node: Operation) -> Expression:
    """`xy` of numbers, with a sign for products element by element; `x^2` of a value with itself."""
    left, right = node.args
    if left is right:
        return writer.power(writer.known[left], "2")
    both = left.shape and right.shape and not (writer.known[left].is_number or writer.known[right].is_number)
    return writer.product(writer.known[left], writer.known[right], writer.style.elementwise if both else "")


@expression(arithmetic.divide, arithmetic.divide_live)
def write_quotient(writer: Writer, node: Operation) -> Expression:
    """A fraction."""
    return writer.fraction(*[writer.known[a] for a in node.args])


@expression(exponential._power)
def write_power(writer: Writer, node: Operation) -> Expression:
    """A power, or a root for the exponent 0.5."""
    base, exponent = [writer.known[a] for a in node.args]
    if exponent.is_number and exponent.text == "1" and not exponent.negative:
        return base
    if exponent.is_number and exponent.text == "0.5" and not exponent.negative:
        return writer.root(base)
    return writer.power(base, writer.with_sign(exponent))


@expression(choices._where)
def write_cases(writer: Writer, node: Operation) -> Expression:
    """A definition by cases."""
    condition, x, y = [writer.with_sign(writer.known[a]) for a in node.args]
    return Expression(writer.style.cases(condition, x, y))


expression.enter(lambda w, node: w.fraction(ONE, w.known[node.args[0]]), arithmetic.reciprocal)
expression.enter(
    lambda w, node: w.known[node.args[0]]._replace(negative=not w.known[node.args[0]].negative), arithmetic.negative
)
expression.enter(lambda w, node: w.power(w.known[node.args[0]], "2"), arithmetic.square)
expression.enter(lambda w, node: w.root(w.known[node.args[0]]), arithmetic.sqrt, sums.root)
expression.enter(lambda w, node: w.style.exponential(w, w.known[node.args[0]]), exponential.exp)
expression.enter(
    lambda w, node: w.sum(w.style.exponential(w, w.known[node.args[0]]), ONE, subtract=True), exponential.expm1
)
expression.enter(
    lambda w, node: w.function(w.style.symbol(LN), w.sum(ONE, w.known[node.args[0]], subtract=False)), exponential.log1p
)
expression.enter(
    lambda w, node: Expression(w.style.conjugate(w.within(w.known[node.args[0]], ATOM))), complex_numbers.conj
)


# Python


@python_call(trigonometric._sinc)
def call_sinc(writer: SourceWriter, node: Operation) -> str:
    """NumPy's `sinc`; derivatives of it only the table has."""
    return writer.call(node) if node.params["order"] else f"np.sinc({writer.texts[node.args[0]][0]})"


python_call.enter(template("wg.sigmoid({0})"), exponential.sigmoid)
python_call.enter(template("wg.relu({0})"), choices.relu)
python_call.enter(template("wg.softplus({0})"), exponential.softplus)
python_call.enter(template("np.sqrt({0})"), sums.root)


# SymPy


@sympy_form(trigonometric._sinc)
def sympy_sinc(sympy: Any, x: Any, order: int) -> Any:
    """A derivative of SymPy's `sinc`, which has no factor of pi in it."""
    t = sympy.Dummy(real=True)
    return sympy.sinc(sympy.pi * t).diff(t, order).subs(t, x)


def sympy_exponent(sympy: Any, x: Any) -> Any:
    """The exponent of 2 of numbers whose mantissa is from 1/2 to 1."""
    return sympy.Piecewise((0, sympy.Eq(x, 0)), (sympy.floor(sympy.log(sympy.Abs(x), 2)) + 1, True))


def whole_part(sympy: Any, x: Any) -> Any:
    """The integer next to x towards zero."""
    return sympy.sign(x) * sympy.floor(sympy.Abs(x))


sympy_form.enter(same_number, arithmetic.positive)
enter_same_names(
    exponential.exp, exponential.log, trigonometric.sin, trigonometric.cos, trigonometric.tan, trigonometric.sinh,
    trigonometric.cosh, trigonometric.tanh,
)  # fmt: skip
sympy_form.enter(sympy_function("sqrt"), arithmetic.sqrt, sums.root)
sympy_form.enter(sympy_function("asin"), trigonometric.arcsin)
sympy_form.enter(sympy_function("acos"), trigonometric.arccos)
sympy_form.enter(sympy_function("atan"), trigonometric.arctan)
sympy_form.enter(sympy_function("asinh"), trigonometric.arcsinh)
sympy_form.enter(sympy_function("acosh"), trigonometric.arccosh)
sympy_form.enter(sympy_function("atanh"), trigonometric.arctanh)
sympy_form.enter(sympy_function("atan2"), trigonometric.arctan2)
sympy_form.enter(sympy_function("Abs"), complex_numbers.absolute, complex_numbers.fabs)
sympy_form.enter(sympy_function("Max"), choices.maximum, choices.fmax)
sympy_form.enter(sympy_function("Min"), choices.minimum, choices.fmin)
sympy_form.enter(sympy_function("conjugate"), complex_numbers.conj)
sympy_form.enter(sympy_function("re"), complex_numbers.real)
sympy_form.enter(sympy_function("im"), complex_numbers.imag)
sympy_form.enter(sympy_function("arg"), complex_numbers._angle)
sympy_form.enter(sympy_function("Heaviside"), choices.heaviside)
sympy_form.enter(lambda sympy, x, y: x + y, arithmetic.add)
sympy_form.enter(lambda sympy, x, y: x - y, arithmetic.subtract)
sympy_form.enter(lambda sympy, x, y: x * y, arithmetic.multiply, arithmetic.multiply_live)
sympy_form.enter(lambda sympy, x, y: x / y, arithmetic.divide, arithmetic.divide_live)
sympy_form.enter(lambda sympy, x, y: x**y, exponential._power)
sympy_form.enter(lambda sympy, x, y: x % y, arithmetic.remainder)
sympy_form.enter(lambda sympy, x, y: sympy.sign(x) * (sympy.Abs(x) % sympy.Abs(y)), arithmetic.fmod)
sympy_form.enter(lambda sympy, x: -x, arithmetic.negative)
sympy_form.enter(lambda sympy, x: 1 / x, arithmetic.reciprocal)
sympy_form.enter(lambda sympy, x: x**2, arithmetic.square)
sympy_form.enter(lambda sympy, x: sympy.sign(x) * sympy.cbrt(sympy.Abs(x)), arithmetic.cbrt)
sympy_form.enter(lambda sympy, x: 2**x, exponential.exp2)
sympy_form.enter(lambda sympy, x: sympy.exp(x) - 1, exponential.expm1)
sympy_form.enter(lambda sympy, x: sympy.log(x, 2), exponential.log2)
sympy_form.enter(lambda sympy, x: sympy.log(x, 10), exponential.log10)
sympy_form.enter(lambda sympy, x: sympy.log(1 + x), exponential.log1p)
sympy_form.enter(lambda sympy, x, y: sympy.log(sympy.exp(x) + sympy.exp(y)), exponential.logaddexp)
sympy_form.enter(lambda sympy, x, y: sympy.log(2**x + 2**y, 2), exponential.logaddexp2)
sympy_form.enter(lambda sympy, x, y: sympy.sqrt(x**2 + y**2), trigonometric.hypot)
sympy_form.enter(lambda sympy, x: x * sympy.pi / 180, trigonometric.deg2rad)
sympy_form.enter(lambda sympy, x: x * 180 / sympy.pi, trigonometric.rad2deg)
sympy_form.enter(lambda sympy, condition, x, y: sympy.Piecewise((x, condition), (y, True)), choices._where)
sympy_form.enter(lambda sympy, x: 1 / (1 + sympy.exp(-x)), exponential.sigmoid)
sympy_form.enter(lambda sympy, x: sympy.log(1 + sympy.exp(x)), exponential.softplus)
sympy_form.enter(lambda sympy, x: sympy.Max(x, 0), choices.relu)
sympy_form.enter(lambda sympy, x: x - whole_part(sympy, x), bits._fraction)
sympy_form.enter(sympy_exponent, bits._exponent)
sympy_form.enter(lambda sympy, x: x / 2 ** sympy_exponent(sympy, x), bits._mantissa)
sympy_form.enter(lambda sympy, x, exponent: x * 2**exponent, bits._ldexp)
sympy_form.without("SymPy has no signed zeros", choices.copysign)
sympy_form.without("SymPy's numbers have no neighbours", choices.nextafter, bits.spacing)
sympy_form.without("SymPy's divisors are those of polynomials", bits.gcd, bits.lcm)
sympy_form.without("SymPy has no bit operations", bits.bitwise_count)
