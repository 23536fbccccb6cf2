"""Elementwise operations: the functions of C that compute them."""

from __future__ import annotations

from wengert.export.c_source.functions import CFunction, c_function
from wengert.ops.elementwise import arithmetic, bits, choices, complex_numbers, exponential, predicates, trigonometric
from wengert.ops.reductions.sums import root
from wengert.ops.samples import counter_words
from wengert.ops.special import entropy, error, gamma

for _name, _operations in {
    "exp": (exponential.exp,),
    "exp2": (exponential.exp2,),
    "expm1": (exponential.expm1,),
    "log": (exponential.log,),
    "log2": (exponential.log2,),
    "log10": (exponential.log10,),
    "log1p": (exponential.log1p,),
    "sin": (trigonometric.sin,),
    "cos": (trigonometric.cos,),
    "tan": (trigonometric.tan,),
    "sinh": (trigonometric.sinh,),
    "cosh": (trigonometric.cosh,),
    "tanh": (trigonometric.tanh,),
    "hypot": (trigonometric.hypot,),
    "asin": (trigonometric.arcsin,),
    "acos": (trigonometric.arccos,),
    "atan": (trigonometric.arctan,),
    "asinh": (trigonometric.arcsinh,),
    "acosh": (trigonometric.arccosh,),
    "atanh": (trigonometric.arctanh,),
    "atan2": (trigonometric.arctan2,),
    "cbrt": (arithmetic.cbrt,),
    "sqrt": (arithmetic.sqrt, root),
    "pow": (exponential._power,),
    "fmax": (choices.fmax,),
    "fmin": (choices.fmin,),
    "nextafter": (choices.nextafter,),
    "erf": (error.erf,),
    "erfc": (error.erfc,),
    "lgamma": (gamma.gammaln,),
    "tgamma": (gamma.gamma,),
    "maximum": (choices.maximum,),
    "minimum": (choices.minimum,),
    "relu": (choices.relu,),
    "sign": (predicates.sign,),
    "heaviside": (choices.heaviside,),
    "angle": (complex_numbers._angle,),
    "sigmoid": (exponential.sigmoid,),
    "softplus": (exponential.softplus,),
    "logaddexp": (exponential.logaddexp,),
    "logaddexp2": (exponential.logaddexp2,),
    "ndtr": (error.ndtr,),
    "digamma": (gamma.digamma,),
    "loggamma": (gamma.loggamma,),
    "gammasgn": (gamma.gammasgn,),
    "xlogy": (entropy.xlogy,),
    "xlog1py": (entropy.xlog1py,),
    "entr": (entropy.entr,),
    "rel_entr": (entropy.rel_entr,),
    "kl_div": (entropy.kl_div,),
    "logit": (entropy.logit,),
    "fraction": (bits._fraction,),
    "mantissa": (bits._mantissa,),
}.items():
    c_function.enter(CFunction(_name), *_operations)

c_function.enter(CFunction("fmod", "remainder_truncated"), arithmetic.fmod)
c_function.enter(CFunction("remainder_floored", "integer_remainder"), arithmetic.remainder)
c_function.enter(CFunction("quotient_floored", "integer_quotient"), predicates.floor_divide)
c_function.enter(CFunction("signbit", is_predicate=True), predicates.signbit)
c_function.enter(CFunction(integers="greatest_divisor"), bits.gcd)
c_function.without("it needs integers without a sign", counter_words.multiply_high)
c_function.enter(CFunction(integers="least_multiple"), bits.lcm)
c_function.enter(CFunction(integers="shift_left"), predicates.left_shift)
