"""Checks of derivatives against differences: `autograd.test_util`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from wengert.compat.autograd.core import make_jvp, make_vjp, vspace
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.wrap_util import get_name, unary_to_nary
from wengert.compat.differences import without

__all__ = [
    "check_equivalent",
    "check_grads",
    "check_jvp",
    "check_vjp",
    "combo_check",
    "make_numerical_jvp",
    "scalar_close",
]

__getattr__ = without(__name__, ABSENT)

EPS = TOL = RTOL = 1e-6


def scalar_close(a: Any, b: Any) -> bool:
    """Whether two numbers agree to six digits, or to six decimals."""
    return bool(abs(a - b) < TOL or abs(a - b) / abs(a + b) < RTOL)


def make_numerical_jvp(f: Callable[[Any], Any], x: Any) -> Callable[[Any], Any]:
    """A function that pushes tangents forward by central differences."""
    inputs, outputs = vspace(x), vspace(f(x))

    def jvp(v: Any) -> Any:
        ahead = f(inputs.add(x, inputs.scalar_mul(v, EPS / 2)))
        behind = f(inputs.add(x, inputs.scalar_mul(v, -EPS / 2)))
        return outputs.scalar_mul(outputs.add(ahead, outputs.scalar_mul(behind, -1.0)), 1.0 / EPS)

    return jvp


def check_vjp(f: Callable[[Any], Any], x: Any) -> None:
    """Raise AssertionError unless reverse mode agrees with differences, in a random direction."""
    vjp, y = make_vjp(f, x)
    inputs, outputs = vspace(x), vspace(y)
    v, w = inputs.randn(), outputs.randn()
    pulled = inputs.covector(vjp(outputs.covector(w)))
    assert vspace(pulled) == inputs, f"The cotangent of {get_name(f)} is in {vspace(pulled)}, the argument in {inputs}"
    exact, numeric = inputs.inner_prod(v, pulled), outputs.inner_prod(w, make_numerical_jvp(f, x)(v))
    assert scalar_close(numeric, exact), f"{get_name(f)} at {x}: reverse mode gives {exact}, differences {numeric}"


def check_jvp(f: Callable[[Any], Any], x: Any) -> None:
    """Raise AssertionError unless forward mode agrees with differences, in a random direction."""
    v = vspace(x).randn()
    check_equivalent(make_jvp(f, x)(v)[1], make_numerical_jvp(f, x)(v))


def check_equivalent(x: Any, y: Any) -> None:
    """Raise AssertionError unless two values are in the same space and about equal."""
    space = vspace(x)
    assert space == vspace(y), f"One value is in {space}, the other in {vspace(y)}"
    v = space.randn()
    assert scalar_close(space.inner_prod(x, v), space.inner_prod(y, v)), f"The values differ: {x} and {y}"


@unary_to_nary
def check_grads(f: Callable[[Any], Any], x: Any, modes: Sequence[str] = ("fwd", "rev"), order: int = 2) -> None:
    """Raise AssertionError unless derivatives up to an order agree with differences, in both modes."""
    unknown = set(modes) - {"fwd", "rev"}
    assert not unknown, f"The modes are 'fwd' and 'rev', not {unknown}"
    for mode, check in (("fwd", check_jvp), ("rev", check_vjp)):
        if mode in modes:
            check(f, x)
        if mode in modes and order > 1:
            derivative, direction = next_order(f, x, mode)
            check_grads(derivative, (0, 1), modes, order=order - 1)(x, direction)


def next_order(f: Callable[[Any], Any], x: Any, mode: str) -> tuple[Callable[..., Any], Any]:
    """The derivative of f along a direction as a function of both, and a random direction."""
    if mode == "fwd":
        return lambda x, v: make_jvp(f, x)(v)[1], vspace(x).randn()
    return lambda x, v: make_vjp(f, x)[0](v), vspace(f(x)).randn()


def combo_check(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., None]:
    """`check_grads` for all combinations of some arguments."""

    def check(*lists: Any, **named: Any) -> None:
        for values in product(*lists):
            for options in product(*[[(name, value) for value in column] for name, column in named.items()]):
                check_grads(fun, *args, **kwargs)(*values, **dict(options))

    return check
