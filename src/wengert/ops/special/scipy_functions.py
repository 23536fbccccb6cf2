"""How the table runs functions of `scipy.special`: imported when one is first called, never by `import wengert`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NoReturn

import numpy as np

from wengert.core.errors import GradientError, TrackedValueError, user_error
from wengert.core.kinds import Case, general, keep_params
from wengert.core.spec import Spec


@cache
def scipy_special(name: str) -> Callable:
    return getattr(import_module("scipy.special"), name)


def of_scipy(name: str) -> Callable:
    """The function of this name, as an implementation of an operation."""

    def implementation(*args: Any) -> Any:
        return scipy_special(name)(*args)

    return implementation


def refusal(function: str, argument: str) -> GradientError:
    return user_error(
        GradientError,
        f"No derivative of {function} in its {argument} is known to the table",
        "Pass a constant there (x.detach() of a tensor), or give a rule of your own with wg.custom_jvp.",
    )


def no_derivative(function: str, argument: str) -> Callable:
    """The rule of an argument in which no derivative is known: it refuses, where silence would be a wrong zero."""

    def rule(t: Any) -> NoReturn:
        raise refusal(function, argument)

    return rule


def plain_numbers(n: Any, function: str, argument: str) -> np.ndarray:
    """An argument that must be constant, because it decides which function is meant."""
    try:
        return np.asarray(n)
    except TrackedValueError:
        raise refusal(function, argument) from None


def floating(x: Spec | np.ndarray) -> np.dtype:
    """The dtype in which a function of x is computed."""
    return x.dtype if x.dtype.kind in "fc" else np.dtype(float)


def real_part_of(dtype: np.dtype) -> np.dtype:
    return np.finfo(dtype).dtype


def with_constants(
    name: str, impl: Callable, rule: Callable, inputs: tuple[str, ...], kinds: tuple[str, ...], cases: tuple[Case, ...]
) -> Callable:
    """An operation on each element with a derivative in its last argument only; `kinds` says what the others are.

    Integers among the others take the precision of the last argument, as Python's numbers would.
    """

    def run(*args: Any) -> Any:
        *constants, x = map(np.asarray, args)
        dtype = floating(x)
        constants = [c.astype(real_part_of(dtype)) if c.dtype.kind in "iub" else c for c in constants]
        out = np.asarray(impl(*constants, x.astype(dtype, copy=False)))
        return out.astype(np.result_type(dtype, *constants), copy=False)[()]

    def spec(*args: Spec) -> Spec:
        dtypes = [a.dtype for a in args[:-1] if a.dtype.kind in "fc"]
        return Spec(np.broadcast_shapes(*[a.shape for a in args]), np.result_type(floating(args[-1]), *dtypes))

    rules = (*[no_derivative(name, kind) for kind in kinds], rule)
    return general(name, run, *rules, inputs=inputs, jvps=rules, batch=keep_params, spec=spec, cases=cases)


def constants_for(x: Any, *numbers: Any) -> list:
    """Python's numbers among the arguments as arrays of the precision of x, which is what NumPy takes them for."""
    dtype = real_part_of(floating(x))
    return [np.asarray(n, dtype) if n.__class__ in (bool, int, float) else n for n in numbers]
