"""Arithmetic, powers, exponentials, trigonometry and choices as JavaScript."""

from __future__ import annotations

from wengert.core.aspects import primitive_of
from wengert.explain.live.javascript import element, javascript
from wengert.ops.elementwise import arithmetic, bits, choices, complex_numbers, exponential, trigonometric
from wengert.ops.reductions import named_axes, sums

for template, *operations in (
    ("{0} + {1}", arithmetic.add),
    ("{0} - {1}", arithmetic.subtract),
    ("{0} * {1}", arithmetic.multiply),
    ("{0} / {1}", arithmetic.divide),
    ("-{0}", arithmetic.negative),
    ("{0}", arithmetic.positive, complex_numbers.conj, complex_numbers.real),
    ("1 / {0}", arithmetic.reciprocal),
    ("{0} * {0}", arithmetic.square),
    ("remainder({0}, {1})", arithmetic.remainder),
    ("{0} % {1}", arithmetic.fmod),
    ("({0} === 0 ? 0 : {0} / {1})", arithmetic.divide_live),
    ("({0} === 0 ? 0 : {0} * {1})", arithmetic.multiply_live),
    ("Math.sqrt({0})", arithmetic.sqrt, sums.root),
    ("Math.pow({0}, {1})", exponential._power),
    ("Math.pow(2, {0})", exponential.exp2),
    ("log2({0})", exponential.log2),
    ("logaddexp({0}, {1})", exponential.logaddexp),
    ("logaddexp({0} * Math.LN2, {1} * Math.LN2) / Math.LN2", exponential.logaddexp2),
    ("sigmoid({0})", exponential.sigmoid),
    ("logaddexp({0}, 0)", exponential.softplus),
    ("Math.asin({0})", trigonometric.arcsin),
    ("Math.acos({0})", trigonometric.arccos),
    ("Math.atan({0})", trigonometric.arctan),
    ("Math.asinh({0})", trigonometric.arcsinh),
    ("Math.acosh({0})", trigonometric.arccosh),
    ("Math.atanh({0})", trigonometric.arctanh),
    ("Math.atan2({0}, {1})", trigonometric.arctan2),
    ("Math.hypot({0}, {1})", trigonometric.hypot),
    ("{0} * (Math.PI / 180)", trigonometric.deg2rad),
    ("{0} * (180 / Math.PI)", trigonometric.rad2deg),
    ("sinc({0}, {order})", trigonometric._sinc),
    ("Math.abs({0})", complex_numbers.absolute, complex_numbers.fabs),
    ("0 * {0}", complex_numbers.imag),
    ("Math.atan2(0, {0})", complex_numbers._angle),
    ("({0} ? {1} : {2})", choices._where),
    ("maximum({0}, {1})", choices.maximum),
    ("minimum({0}, {1})", choices.minimum),
    ("(Number.isNaN({0}) ? {1} : Number.isNaN({1}) ? {0} : maximum({0}, {1}))", choices.fmax),
    ("(Number.isNaN({0}) ? {1} : Number.isNaN({1}) ? {0} : minimum({0}, {1}))", choices.fmin),
    ("copysign({0}, {1})", choices.copysign),
    ("nextafter({0}, {1})", choices.nextafter),
    ("({0} === 0 ? {1} : {0} < 0 ? 0 : {0} > 0 ? 1 : NaN)", choices.heaviside),
    ("maximum({0}, 0)", choices.relu),
    ("{0} % 1", bits._fraction),
    ("split({0})[0]", bits._mantissa),
    ("split({0})[1]", bits._exponent),
    ("{0} * Math.pow(2, {1})", bits._ldexp),
    ("nextafter({0}, {0} < 0 ? -Infinity : Infinity) - {0}", bits.spacing),
    ("divisor({0}, {1})", bits.gcd),
    ("(Math.abs({0} * {1}) / (divisor({0}, {1}) || 1))", bits.lcm),
    ("ones({0})", bits.bitwise_count),
    ("{0} * {size}", named_axes._psum),
):  # fmt: skip
    javascript.enter(element(template), *operations)

for operation in (
    arithmetic.cbrt, exponential.exp, exponential.expm1, exponential.log, exponential.log10, exponential.log1p,
    trigonometric.sin, trigonometric.cos, trigonometric.tan, trigonometric.sinh, trigonometric.cosh, trigonometric.tanh,
):  # fmt: skip
    javascript.enter(element(f"Math.{primitive_of(operation).name}({{0}})"), operation)
