"""Facts about an operation besides its derivative, declared with it."""

from __future__ import annotations

from typing import NamedTuple


class Facts(NamedTuple):
    """What layers above the table need to know about an operation and would otherwise keep lists of."""

    moves: bool = False
    """It computes nothing: its result has elements of its arguments at other indices or in another dtype, and zeros."""
    view: bool = False
    """Its result shares the memory of its first argument (but for a copy of a few numbers, if that is faster)."""
    commutative: bool = False
    """Swapping its two arguments gives the same bits. (`maximum` of 0.0 and -0.0 may not.)"""
    cost: int | None = None
    """The cost of one element of its result, in additions; None if unknown."""
    selects: bool = False
    """It takes some elements of its arguments and leaves others out, by position or by comparing them."""
    overwrites: bool = False
    """It replaces elements of its first argument."""
    saturates: bool = False
    """Its slope tends to zero: for large arguments of one sign, it is zero in floating-point numbers."""
    multiplies: bool = False
    """Its derivative with respect to one element has others as factors, and is zero where these are."""
    tests_points: bool = False
    """It is true, or false, only at single points: `equal`, `isnan`."""
    exact: bool = False
    """It is arithmetic that is rounded once, a comparison, or a choice: all implementations have the same bits, so one
    may take the place of another at any time. Sums, products of matrices and functions such as `exp` are not exact, nor
    are additions at a key that has one index twice.
    """


NO_FACTS = Facts()
MOVES = Facts(moves=True, exact=True)
VIEW = Facts(moves=True, view=True, cost=0, exact=True)
CHEAP = Facts(cost=1, exact=True)
CHOICE = Facts(cost=1, selects=True, exact=True)
PART = Facts(moves=True, view=True, cost=0, selects=True, exact=True)
FLAT = Facts(saturates=True)
PRODUCT = Facts(multiplies=True)
