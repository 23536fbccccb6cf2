"""Facts: what is plainly true of an operation beside its derivative, declared with it, for whoever asks."""

from __future__ import annotations

from typing import NamedTuple


class Facts(NamedTuple):
    """What several layers above the table need to know about an operation, so that none of them keeps lists."""

    moves: bool = False
    """It computes nothing: the numbers of its result are numbers of its arguments, at other places or in another dtype,
    and zeros.
    """
    view: bool = False
    """Its result lies in the memory of its first argument (a copy of a few numbers aside, where that is faster)."""
    commutative: bool = False
    """Two arguments give the same bits either way round. (`maximum` of 0.0 and -0.0 may not.)"""
    cost: int | None = None
    """About how many additions one element of its result costs; None where that is not known, as for functions."""
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


NO_FACTS = Facts()
MOVES = Facts(moves=True)
VIEW = Facts(moves=True, view=True, cost=0)
CHEAP = Facts(cost=1)
CHOICE = Facts(cost=1, selects=True)
PART = Facts(moves=True, view=True, cost=0, selects=True)
FLAT = Facts(saturates=True)
PRODUCT = Facts(multiplies=True)
