"""Functions of `scipy.special` as operations. SciPy is imported at the first call, never by `import wengert`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NoReturn

import numpy as np

from wengert.core.definition import Case
from wengert.core.devices import as_payload
from wengert.core.errors import GradientError, TrackedValueError, user_error
from wengert.core.kinds import general, keep_params
from wengert.core.spec import Spec
from wengert.ops.elementwise.choices import where


@cache
def scipy_special(name: str) -> Callable:
    """The function of `scipy.special` with this name."""
    return getattr(import_module("scipy.special"), name)


def of_scipy(name: str) -> Callable:
    """The function of this name, as an implementation of an operation."""

    @keeps_precision
    def implementation(*args: Any) -> Any:
        return scipy_special(name)(*args)

    return implementation


def keeps_precision(implementation: Callable) -> Callable:
    """Mark an implementation whose results have the dtype of its arguments, floats of 32 or 64 bits.

    So the dtype of the result is known without importing SciPy.
    """
    implementation.keeps_precision = True  # type: ignore[attr-defined]  # functions may have attributes
    return implementation


def refusal(function: str, argument: str) -> GradientError:
    """The error for an argument with respect to which no derivative is known."""
    return user_error(
        GradientError,
        f"No derivative of {function} with respect to its {argument} is known",
        "Pass a constant there (x.detach() of a tensor), or give a rule of your own with wg.custom_jvp.",
    )


def no_derivative(function: str, argument: str) -> Callable:
    """The rule of an argument with respect to which no derivative is known: an error, not a wrong zero."""

    def rule(t: Any) -> NoReturn:
        raise refusal(function, argument)

    return rule


def plain_numbers(n: Any, function: str, argument: str) -> np.ndarray:
    """An argument that must be constant, because it decides which function is meant."""
    try:
        return np.asarray(n)
    except TrackedValueError:
        raise refusal(function, argument) from None


def for_each_order(orders: np.ndarray, function: Callable[[float], Any]) -> Any:
    """A function of one order, for an array of orders."""
    if not orders.ndim:
        return function(orders.item())
    out: Any = np.nan
    for order in np.unique(orders).tolist() or [0]:
        out = where(orders == order, function(order), out)
    return out


def floating_dtype(x: Spec | np.ndarray) -> np.dtype:
    """The dtype in which a function of x is computed."""
    return x.dtype if x.dtype.kind in "fc" else np.dtype(float)


def real_part_of(dtype: np.dtype) -> np.dtype:
    """The dtype of the real part of numbers."""
    return np.finfo(dtype).dtype


def with_constants(
    name: str, impl: Callable, rule: Callable, inputs: tuple[str, ...], kinds: tuple[str, ...], cases: tuple[Case, ...]
) -> Callable:
    """An elementwise operation with a derivative with respect to its last argument; `kinds` names the others.

    Integers among the others take the precision of the last argument, as Python numbers do.
    """

    def run(*args: Any) -> Any:
        *constants, x = map(as_payload, args)
        dtype = floating_dtype(x)
        constants = [c.astype(real_part_of(dtype)) if c.dtype.kind in "iub" else c for c in constants]
        out = as_payload(impl(*constants, x.astype(dtype, copy=False)))
        return out.astype(np.result_type(dtype, *constants), copy=False)[()]

    def spec(*args: Spec) -> Spec:
        dtypes = [a.dtype for a in args[:-1] if a.dtype.kind in "fc"]
        return Spec(np.broadcast_shapes(*[a.shape for a in args]), np.result_type(floating_dtype(args[-1]), *dtypes))

    rules = (*[no_derivative(name, kind) for kind in kinds], rule)
    return general(name, run, *rules, inputs=inputs, jvps=rules, batch=keep_params, spec=spec, cases=cases)


def constants_for(x: Any, *numbers: Any) -> list:
    """Python numbers among the arguments as numbers in the precision of x, as in NumPy's promotion."""
    dtype = real_part_of(floating_dtype(x))
    return [dtype.type(n) if n.__class__ in (bool, int, float) else n for n in numbers]
