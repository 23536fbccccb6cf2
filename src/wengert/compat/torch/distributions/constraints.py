"""What the parameters and the values of distributions may be: `constraints.positive.check(x)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "Constraint", "boolean", "greater_than", "interval", "lower_cholesky", "nonnegative", "nonnegative_integer",
    "positive", "positive_definite", "real", "real_vector", "simplex", "unit_interval",
]  # fmt: skip


class Constraint:
    """A property of tensors; `check(x)` says where x has it.

    >>> import wengert.compat.torch as torch
    >>> positive.check(torch.tensor([1.0, -1.0])).tolist()
    [True, False]
    """

    def __init__(self, name: str, check: Callable[[Any], Any]):
        self.name, self.check = name, check

    def __repr__(self) -> str:
        return self.name


def interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Numbers between two bounds, which are included."""
    return Constraint(f"interval({lower_bound}, {upper_bound})", lambda x: (x >= lower_bound) & (x <= upper_bound))


def greater_than(lower_bound: Any) -> Constraint:
    """Numbers above a bound."""
    return Constraint(f"greater_than({lower_bound})", lambda x: x > lower_bound)


def is_positive_definite(x: Any) -> Any:
    """Whether matrices are symmetric, with positive eigenvalues."""
    from wengert.compat.torch.linalg import eigvalsh

    return ((x - x.mT).abs() < 1e-6).all(-1).all(-1) & (eigvalsh(x) > 0).all(-1)


real = Constraint("real", lambda x: x == x)  # not NaN
positive = Constraint("positive", lambda x: x > 0)
nonnegative = Constraint("nonnegative", lambda x: x >= 0)
unit_interval = Constraint("unit_interval", lambda x: (x >= 0) & (x <= 1))
boolean = Constraint("boolean", lambda x: (x == 0) | (x == 1))
nonnegative_integer = Constraint("nonnegative_integer", lambda x: (x % 1 == 0) & (x >= 0))
simplex = Constraint("simplex", lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6))
real_vector = Constraint("real_vector", lambda x: (x == x).all(-1))  # not NaN
positive_definite = Constraint("positive_definite", is_positive_definite)
lower_cholesky = Constraint(
    "lower_cholesky", lambda x: (x.tril() == x).all(-1).all(-1) & (x.diagonal(0, -2, -1) > 0).all(-1)
)
